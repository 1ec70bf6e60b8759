"""Messages of delay levels when the disk fails, and when the process ends (B023, B026)."""

import contextlib
import errno
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import NOW_MS, bodies_of, message, opened, stored

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.delivery import DelayedDelivery
from cosmodrome.broker.messages import delayed
from cosmodrome.broker.turn import Turn
from cosmodrome.errors import StorageError
from cosmodrome.protocol.bodies.offsets import DelayOffsetTable
from cosmodrome.store.cold import NotInMemoryError


class Levels:
    """One level of a second, on a simulated disk; time is what a test says."""

    def __init__(self, disk: SimulatedDisk, now_ms: int = NOW_MS, kept: DelayOffsetTable | None = None) -> None:
        self.now_ms = now_ms
        self.store = opened(
            disk, segment_bytes=1 << 20, queue_file_bytes=20_000, is_index_enabled=False, delays_ms=(1000,)
        )
        self._calls: list[Callable[[], None]] = []
        turn = Turn(self.store, self._calls.append, lambda: self.now_ms)
        self.delays = Delays((1000,), now_ms)
        if kept is not None:
            reader = self.store.reader
            self.delays.load(kept, lambda _: (0, reader.max_offset("SCHEDULE_TOPIC_XXXX", 0)))
        clock = Clock(lambda: self.now_ms, lambda: self.now_ms)
        self.delivery = DelayedDelivery(self.delays, self.store.reader, turn, clock)

    def send(self, count: int) -> None:
        stored(self.store, *(delayed(message(b"%d" % number), 1, 1) for number in range(count)), now_ms=self.now_ms)

    def turn(self) -> None:
        self.delivery.run()
        calls, self._calls[:] = list(self._calls), []
        for call in calls:
            call()

    @property
    def delivered(self) -> list[int]:
        return [int(body) for body in bodies_of(self.store)]


@pytest.mark.parametrize("times", [1, 3, 10, 60])
def test_b026_only_what_was_not_stored_is_tried_again(times: int) -> None:
    """Fifty are due in one second; the turn that has the 20th fails so often, the last a minute long."""
    disk = SimulatedDisk()
    levels = Levels(disk)
    levels.send(50)
    seen = iter(range(10_000))

    def fails(kind: str, path: Path) -> int | None:
        return errno.EIO if kind == "write" and "commitlog" in path.parts and next(seen) < times else None

    disk.fails = fails
    levels.now_ms += 1500
    failures = 0
    while len(levels.delivered) < 50:
        levels.turn()
        levels.now_ms += 1000
        if levels.store.failure is not None:
            failures += 1
            with contextlib.suppress(StorageError):
                levels.store.resume()
    levels.turn()
    assert failures
    assert levels.delivered == list(range(50))


@pytest.mark.parametrize("saves_after", [0, 1])
def test_b023_a_kill_repeats_what_was_delivered_since_the_last_save_only(saves_after: int) -> None:
    """1,500 instead of 100,000 are due at once; a turn delivers 500 of them."""
    disk = SimulatedDisk()
    levels = Levels(disk)
    levels.send(1500)
    levels.now_ms += 1500
    kept = levels.delays.table()
    saved = 0
    for turn in range(2):
        levels.turn()
        if turn < saves_after:
            kept, saved = levels.delays.table(), len(levels.delivered)
    assert len(levels.delivered) == 1000
    after = Levels(disk.after_kill(), levels.now_ms, kept)
    for _ in range(4):
        after.turn()
    counts = Counter(after.delivered)
    assert set(counts) == set(range(1500))
    assert {number for number, count in counts.items() if count > 1} == set(range(saved, 1000))


def test_one_on_disk_only_waits_with_what_is_behind_it_and_no_longer() -> None:
    """What is before it is delivered, and nothing twice."""
    disk = SimulatedDisk()
    levels = Levels(disk)
    levels.send(3)
    reader = levels.store.reader
    reader.recent_bytes = reader.recent_units = 0
    levels.now_ms += 1500
    asked = iter(range(10_000))
    disk.is_cold = lambda path: "commitlog" in path.parts and next(asked) >= 3
    reader.may_wait = False
    with pytest.raises(NotInMemoryError) as cold:
        levels.turn()
    cold.value.fetch()
    disk.is_cold = lambda _: False
    levels.turn()
    reader.may_wait = True
    assert levels.delivered == [0, 1, 2]
