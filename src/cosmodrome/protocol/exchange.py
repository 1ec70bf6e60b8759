"""Requests that wait for their answer.

Owns: opaque numbers; which request a response belongs to; which of them have waited for too long.
Must not know: connections; how a waiter is woken; what time it is.
"""

from array import array
from typing import Final, Generic, TypeVar

WaiterT = TypeVar("WaiterT")

_OPAQUE_LIMIT: Final = 2**31
TICKS_PER_S: Final = 10
"""Deadlines are kept in buckets of 100 ms: one timer serves them all."""


class Exchange(Generic[WaiterT]):
    """One side's outstanding requests, by opaque."""

    __slots__ = ("_buckets", "_next", "_waiting")

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[int, WaiterT] = {}
        # Opaques that were answered stay in their bucket until it is due: taking them out costs more.
        self._buckets: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def next_opaque(self) -> int:
        """Give a number that no outstanding request has; the counter wraps at int32."""
        while True:
            opaque = self._next
            self._next = (self._next + 1) % _OPAQUE_LIMIT
            if opaque not in self._waiting:
                return opaque

    def expect(self, opaque: int, waiter: WaiterT, deadline_s: float | None = None) -> None:
        """Remember who waits for the answer with this opaque, and until when; None for ever."""
        self._waiting[opaque] = waiter
        if deadline_s is not None:
            # The next tick after it: nobody is overdue too early.
            tick = int(deadline_s * TICKS_PER_S) + 1
            bucket = self._buckets.get(tick)
            if bucket is None:
                self._buckets[tick] = array("i", (opaque,))
            else:
                bucket.append(opaque)

    def is_expected(self, opaque: int) -> bool:
        """Whether somebody waits for the answer with this opaque."""
        return opaque in self._waiting

    def settle(self, opaque: int) -> WaiterT | None:
        """Give, once, who waits for this answer; None for an answer that nobody waits for (any more)."""
        return self._waiting.pop(opaque, None)

    def overdue(self, now_s: float) -> list[WaiterT]:
        """Give, once, all whose deadline has passed, at most 200 ms after it when asked every 100 ms."""
        now = int(now_s * TICKS_PER_S)
        due = sorted(tick for tick in self._buckets if tick <= now)
        opaques = [opaque for tick in due for opaque in self._buckets.pop(tick)]
        found = (self._waiting.pop(opaque, None) for opaque in opaques)
        return [waiter for waiter in found if waiter is not None]

    def abandon(self) -> list[WaiterT]:
        """Give, once, all that still wait: their connection is gone."""
        waiters = list(self._waiting.values())
        self._waiting.clear()
        self._buckets.clear()
        return waiters
