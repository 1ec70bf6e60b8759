"""Pops and notifications that wait."""

from cosmodrome.broker.filters.subscriptions import EVERYTHING
from cosmodrome.broker.pop.taking import PopAsk
from cosmodrome.broker.pop.waiting import Waiting, WaitingLimits, WaitingPops
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer


def waiting(
    queue_id: int = -1, topic: str = "T", group: str = "g", *, deadline_ms: int = 100, connection: int = 1
) -> Waiting:
    ask = PopAsk(
        group=group, topic=topic, queue_id=queue_id, most=32, invisible_ms=1, begins_at_newest=False,
        wanted=EVERYTHING, wanted_text="", is_in_order=False, attempt_id=None,
    )  # fmt: skip
    return Waiting(RemotingCommand(200_050), Peer(connection, "1.2.3.4:5"), ask, False, deadline_ms)


def pops(*all_waiting: Waiting, of_queue: int = 10, in_all: int = 100) -> WaitingPops:
    found = WaitingPops(WaitingLimits(of_queue, in_all))
    for each in all_waiting:
        assert found.hold(each)
    return found


def test_who_waits_for_a_queue_is_found_by_it_and_by_what_comes_again() -> None:
    anybody, second, other = waiting(), waiting(2), waiting(group="other")
    found = pops(anybody, second, other)
    assert found.at([("T", 1)]) == {("T", "g"): [anybody], ("T", "other"): [other]}
    assert found.at([("T", 2)]) == {("T", "g"): [anybody, second], ("T", "other"): [other]}
    assert found.at([("%RETRY%g_T", 0)]) == {("T", "g"): [anybody, second]}
    assert found.at([("%RETRY%other+T", 0)]) == {("T", "other"): [other]}
    assert found.at([("U", 0), ("%RETRY%g_U", 0)]) == {}
    assert found.of("T", "g") == [anybody, second]
    assert found.of_topic("T") == [anybody, second, other]
    assert found.of_topic("%RETRY%g_T") == []


def test_time_ends_waiting_once() -> None:
    first, second = waiting(deadline_ms=100), waiting(deadline_ms=200)
    found = pops(first, second)
    assert found.next_ms() == 100
    assert found.take_timed(99) == []
    assert found.take_timed(100) == [first]
    assert first.is_over
    assert found.next_ms() == 200
    found.release(second)
    found.release(second)
    assert found.next_ms() is None
    assert len(found) == 0
    assert found.at([("T", 0)]) == {}


def test_a_request_is_looked_at_again_before_its_time_is_over() -> None:
    held = waiting(deadline_ms=100)
    found = pops(held)
    found.look_at(held, 40)
    assert found.next_ms() == 40
    assert found.take_timed(50) == [held]
    assert not held.is_over
    assert found.take_timed(60) == []
    assert found.take_timed(100) == [held]
    assert held.is_over


def test_there_are_limits() -> None:
    found = pops(waiting(), waiting(), of_queue=1, in_all=3)
    assert not found.hold(waiting()), "one more than the setting, as in Java"
    assert found.hold(waiting(3))
    assert not found.hold(waiting(4))
    assert (found.count("T", "g", -1), found.count("T", "g", 3), found.count("T", "g", 4)) == (2, 1, 0)


def test_a_connection_takes_its_requests_with_it() -> None:
    stays = waiting(connection=2)
    found = pops(waiting(), waiting(1), stays)
    found.connection_lost(1)
    found.connection_lost(9)
    assert len(found) == 1
    assert found.release_all() == [stays]
    assert found.count("T", "g", -1) == 0
