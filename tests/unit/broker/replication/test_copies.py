"""Which sends are answered with success when slaves have their messages."""

import pytest

from cosmodrome.broker.replication.copies import Copies, CopyRules
from cosmodrome.broker.replication.slave import SlaveState
from cosmodrome.broker.turn import Stored

LOG = (0, 10_000)


class Scene:
    """Slaves that have reported 1000, and those who wait for them."""

    def __init__(self, slaves: int, needed: int = 1) -> None:
        self.now_ms = 0
        self.slaves = [self.slave() for _ in range(slaves)]
        self.told: list[tuple[int, Stored]] = []
        rules = CopyRules(slaves=needed, timeout_ms=3000, most_behind_bytes=5000)
        self.copies = Copies(rules, lambda: self.slaves, lambda: self.now_ms)

    def slave(self) -> SlaveState:
        one = SlaveState("s", 0)
        one.report(1000, LOG, 0)
        one.sent(9000, 0)
        return one

    def stored(self, end: int, stored: Stored = Stored.SAFE) -> None:
        settle = self.copies.settling(lambda found: self.told.append((end, found)))
        settle.end = end
        settle(stored)

    def report(self, slave: int, offset: int) -> None:
        self.slaves[slave].report(offset, LOG, 0)
        self.copies.acknowledged()


def test_nothing_is_answered_before_a_slave_has_it() -> None:
    scene = Scene(1)
    for end in (2000, 3000, 4000):
        scene.stored(end)
    scene.report(0, 1999)
    assert (scene.told, len(scene.copies)) == ([], 3)
    scene.report(0, 3000)
    assert scene.told == [(2000, Stored.SAFE), (3000, Stored.SAFE)]
    scene.report(0, 4000)
    assert scene.told[2:] == [(4000, Stored.SAFE)]


def test_what_a_slave_has_already_is_answered_at_once() -> None:
    scene = Scene(1)
    scene.report(0, 5000)
    scene.stored(5000)
    assert scene.told == [(5000, Stored.SAFE)]


@pytest.mark.parametrize("needed", [2, 3])
def test_as_many_slaves_as_are_asked_for(needed: int) -> None:
    scene = Scene(3, needed)
    scene.stored(2000)
    for slave in range(needed):
        assert scene.told == []
        scene.report(slave, 2000)
    assert scene.told == [(2000, Stored.SAFE)]


def test_one_slave_that_reports_twice_is_one() -> None:
    scene = Scene(2, needed=2)
    scene.stored(2000)
    scene.report(0, 2000)
    scene.report(0, 2000)
    assert scene.told == []


def test_without_enough_slaves_the_answer_is_immediate() -> None:
    scene = Scene(1, needed=2)
    scene.stored(2000)
    assert scene.told == [(2000, Stored.NO_SLAVE)]


def test_a_slave_that_has_said_nothing_counts_as_none() -> None:
    scene = Scene(0)
    scene.slaves = [SlaveState("silent", 0)]
    scene.stored(2000)
    assert scene.told == [(2000, Stored.NO_SLAVE)]


def test_a_slave_that_is_far_behind_counts_as_none() -> None:
    scene = Scene(1)
    scene.stored(1000 + 5000)
    scene.stored(1000 + 4999)
    assert scene.told == [(6000, Stored.NO_SLAVE)]
    scene.report(0, 6000)
    assert scene.told[1:] == [(5999, Stored.SAFE)]


def test_whoever_waits_too_long_is_told() -> None:
    scene = Scene(1)
    scene.stored(2000)
    scene.now_ms = 1000
    scene.stored(3000)
    scene.now_ms = 3000
    scene.copies.overdue()
    assert scene.told == [(2000, Stored.SLAVE_TIMEOUT)]
    scene.report(0, 3000)
    assert scene.told[1:] == [(3000, Stored.SAFE)]


def test_a_slave_that_is_gone_acknowledges_nothing_later() -> None:
    scene = Scene(1)
    scene.stored(2000)
    scene.slaves = []
    scene.copies.acknowledged()
    assert scene.told == []
    scene.now_ms = 3000
    scene.copies.overdue()
    assert scene.told == [(2000, Stored.SLAVE_TIMEOUT)]


def test_what_is_not_stored_waits_for_nobody() -> None:
    scene = Scene(0)
    scene.stored(2000, Stored.FAILED)
    assert scene.told == [(2000, Stored.FAILED)]


def test_what_was_late_on_the_disk_stays_so() -> None:
    scene = Scene(1)
    scene.stored(2000, Stored.DISK_TIMEOUT)
    scene.report(0, 2000)
    assert scene.told == [(2000, Stored.DISK_TIMEOUT)]


def test_giving_up_tells_all_in_order() -> None:
    scene = Scene(1)
    for end in (3000, 2000):
        scene.stored(end)
    scene.copies.give_up()
    assert scene.told == [(2000, Stored.SLAVE_TIMEOUT), (3000, Stored.SLAVE_TIMEOUT)]
    assert len(scene.copies) == 0
