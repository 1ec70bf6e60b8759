"""Delay levels (Java: ScheduleMessageService).

Owns: how far each level is delivered; when the next message of a level is due.
Must not know: how a message is read or stored; files; the clock.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.offsets import DelayOffsetTable


class Head(NamedTuple):
    """The next message of a level: its level, its offset in the level's queue, and its due time as it is stored."""

    level: int
    offset: int
    due_ms: int


Peek = Callable[[int, int], int | None]
"""Level and offset → due time of the message there; None when it cannot be read."""


class Delays:
    """Where delivery stands. A message is taken, and then is done or is put back; levels are apart."""

    def __init__(self, delays_ms: Sequence[int], now_ms: int) -> None:
        """Begin with these levels, from level 1 on."""
        self._delays_ms = tuple(delays_ms)
        self._done: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._version = DataVersion(counter=0, timestamp=now_ms)
        self.is_changed = False

    @property
    def highest(self) -> int:
        """The highest level."""
        return len(self._delays_ms)

    def load(self, table: DelayOffsetTable, bounds: Callable[[int], tuple[int, int]]) -> list[str]:
        """Take over offsets that were kept, inside the bounds of each level's queue; say what had to be put right."""
        corrected = []
        if table.data_version is not None:
            self._version = table.data_version
        for level, offset in table.offset_table.items():
            if not 1 <= level <= self.highest:
                corrected.append(f"delay level {level} does not exist; its offset {offset} is not used")
                continue
            low, high = bounds(level)
            fit = min(max(offset, low), high)
            if fit != offset:
                corrected.append(
                    f"the offset {offset} of delay level {level} is not between {low} and {high}; {fit} is used"
                )
                self.is_changed = True
            self._done[level] = self._taken[level] = fit
        return corrected

    def heads(self, ends: Mapping[int, int], peek: Peek) -> list[Head]:
        """Give the next message of each level that has one; `ends` are the levels' largest offsets.

        What cannot be read is passed over: it must not hold up what is behind it.
        """
        heads = []
        for level, end in ends.items():
            offset = self._taken.get(level, 0)
            while offset < end:
                due_ms = peek(level, offset)
                if due_ms is not None:
                    heads.append(Head(level, offset, due_ms))
                    break
                offset += 1
                self._pass_over(level, offset)
        return heads

    def is_due(self, head: Head, now_ms: int) -> bool:
        """Whether a message is to be delivered now; one that is due later than its level waits has a clock's step behind it."""
        return head.due_ms <= now_ms or head.due_ms > now_ms + self._delays_ms[head.level - 1]

    def take(self, head: Head) -> None:
        """Note that a message is being delivered."""
        self._taken[head.level] = head.offset + 1

    def done(self, head: Head) -> None:
        """Note that a message was delivered."""
        self._done[head.level] = max(self._done.get(head.level, 0), head.offset + 1)
        self.is_changed = True

    def put_back(self, head: Head) -> None:
        """Note that a message could not be delivered: it comes again, and what is behind it waits for it."""
        self._taken[head.level] = min(self._taken.get(head.level, 0), head.offset)

    def _pass_over(self, level: int, offset: int) -> None:
        if self._done.get(level, 0) == self._taken.get(level, 0):
            self._done[level] = offset
        self._taken[level] = offset
        self.is_changed = True

    def offsets(self) -> Mapping[int, int]:
        """Give how far each level is delivered."""
        return dict(self._done)

    def table(self, now_ms: int | None = None) -> DelayOffsetTable:
        """Give the table as it is shown; with a time, as it is kept, which moves its version."""
        if now_ms is not None:
            counter = (self._version.counter or 0) + 1
            self._version = DataVersion(counter=counter, state_version=self._version.state_version, timestamp=now_ms)
        return DelayOffsetTable(offset_table=dict(self._done), data_version=self._version)
