"""Sends that wait until slaves have their messages (Java: GroupTransferService).

Owns: how many slaves must have a message; who waits for them, and until when; what a sender is told.
Must not know: what a message is; how slaves are reached.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cosmodrome.broker.replication.slave import SlaveState
from cosmodrome.broker.turn import Settle, Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRules:
    """How a master waits for slaves.

    Attributes:
        slaves: So many must have a message before it is answered with success; at least 1.
        timeout_ms: How long that may take.
        most_behind_bytes: A slave that lacks as much counts as none.
    """

    slaves: int
    timeout_ms: int
    most_behind_bytes: int


class Copies:
    """Those who wait. A message that is stored stays stored, whatever they are told."""

    def __init__(
        self, rules: CopyRules, slaves: Callable[[], Iterable[SlaveState]], clock_ms: Callable[[], int]
    ) -> None:
        """Wait for these slaves, by a clock that never steps."""
        self._rules = rules
        self._slaves = slaves
        self._clock_ms = clock_ms
        self._waiting: list[tuple[int, int, int, Stored, Settle]] = []
        self._next_id = 0

    def __len__(self) -> int:
        """Give how many wait."""
        return len(self._waiting)

    def settling(self, settle: Settle) -> "CopySettle":
        """Give what is to be told, in the place of `settle`, what became of a message here; set its `end` first."""
        return CopySettle(self, settle, self._clock_ms() + self._rules.timeout_ms)

    def wait(self, end: int, deadline_ms: int, stored: Stored, settle: Settle) -> None:
        """Tell `settle` when enough slaves have everything before `end`; at once when they have, or nobody can have it in time."""
        slaves = tuple(self._slaves())
        if end <= self._copied_to(slaves):
            settle(stored)
        elif not self._are_enough(slaves, end):
            settle(Stored.NO_SLAVE)
        else:
            self._next_id += 1
            heapq.heappush(self._waiting, (end, self._next_id, deadline_ms, stored, settle))

    def _copied_to(self, slaves: tuple[SlaveState, ...]) -> int:
        """Give where ends what enough slaves have. It is asked anew each time: nothing outlives a slave's connection."""
        found = sorted((slave.acknowledged for slave in slaves), reverse=True)
        return found[self._rules.slaves - 1] if len(found) >= self._rules.slaves else 0

    def _are_enough(self, slaves: tuple[SlaveState, ...], end: int) -> bool:
        behind = (slave.behind(end) for slave in slaves)
        near = sum(each is not None and each < self._rules.most_behind_bytes for each in behind)
        return near >= self._rules.slaves

    def acknowledged(self) -> None:
        """Look again at what slaves have, and tell those whose messages are there."""
        if not self._waiting:
            return
        copied_to = self._copied_to(tuple(self._slaves()))
        while self._waiting and self._waiting[0][0] <= copied_to:
            _, _, _, stored, settle = heapq.heappop(self._waiting)
            settle(stored)

    def overdue(self) -> None:
        """Tell those who have waited for too long."""
        now_ms = self._clock_ms()
        late = sorted(each for each in self._waiting if each[2] <= now_ms)
        if late:
            self._waiting = [each for each in self._waiting if each[2] > now_ms]
            heapq.heapify(self._waiting)
            for each in late:
                each[4](Stored.SLAVE_TIMEOUT)

    def give_up(self) -> None:
        """Tell all who wait that slaves did not have it in time."""
        waiting, self._waiting = sorted(self._waiting), []
        for each in waiting:
            each[4](Stored.SLAVE_TIMEOUT)


class CopySettle:
    """What a store tells about one message, before slaves are waited for. `end` is where the message ends."""

    __slots__ = ("_copies", "_deadline_ms", "_settle", "end")

    def __init__(self, copies: Copies, settle: Settle, deadline_ms: int) -> None:
        """Pass on to `settle`."""
        self.end = 0
        self._copies = copies
        self._settle = settle
        self._deadline_ms = deadline_ms

    def __call__(self, stored: Stored) -> None:
        """Wait for slaves, unless the message is not stored."""
        if stored is Stored.FAILED:
            self._settle(stored)
        else:
            self._copies.wait(self.end, self._deadline_ms, stored, self._settle)
