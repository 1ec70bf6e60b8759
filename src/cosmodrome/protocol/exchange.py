"""Requests that wait for their answer.

Owns: opaque numbers; which request a response belongs to; which of them have waited for too long.
Must not know: connections; how a waiter is woken; what time it is.
"""

import math
from typing import Final, Generic, TypeVar

WaiterT = TypeVar("WaiterT")

_OPAQUE_LIMIT: Final = 2**31
TICKS_PER_S: Final = 10
"""How often to ask who is overdue: one timer serves all deadlines."""


class Exchange(Generic[WaiterT]):
    """One side's outstanding requests, by opaque."""

    __slots__ = ("_first_s", "_next", "_waiting")

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[int, tuple[WaiterT, float, object]] = {}
        # No deadline is earlier. Most are settled long before theirs: all of them are looked at once in a while, then.
        self._first_s = math.inf

    def __len__(self) -> int:
        return len(self._waiting)

    def next_opaque(self) -> int:
        """Give a number that no outstanding request has; the counter wraps at int32."""
        opaque = self._next
        while opaque in self._waiting:
            opaque = (opaque + 1) % _OPAQUE_LIMIT
        self._next = (opaque + 1) % _OPAQUE_LIMIT
        return opaque

    def expect(self, opaque: int, waiter: WaiterT, deadline_s: float = math.inf, owner: object = None) -> None:
        """Remember who waits for the answer with this opaque, until when, and on whose behalf."""
        self._waiting[opaque] = (waiter, deadline_s, owner)
        if deadline_s < self._first_s:  # noqa: PLR1730 -- a call of min costs more
            self._first_s = deadline_s

    def is_expected(self, opaque: int) -> bool:
        """Whether somebody waits for the answer with this opaque."""
        return opaque in self._waiting

    def settle(self, opaque: int) -> WaiterT | None:
        """Give, once, who waits for this answer; None for an answer that nobody waits for (any more)."""
        found = self._waiting.pop(opaque, None)
        return None if found is None else found[0]

    def overdue(self, now_s: float) -> list[WaiterT]:
        """Give, once, all whose deadline has passed."""
        if now_s <= self._first_s:
            return []
        late = [opaque for opaque, (_, deadline_s, _) in self._waiting.items() if deadline_s < now_s]
        found = [self._waiting.pop(opaque)[0] for opaque in late]
        self._first_s = min((deadline_s for _, deadline_s, _ in self._waiting.values()), default=math.inf)
        return found

    def abandon(self, owner: object = None) -> list[WaiterT]:
        """Give, once, all that still wait, or those of one owner: nobody answers them any more."""
        gone = [opaque for opaque, entry in self._waiting.items() if owner is None or entry[2] is owner]
        return [self._waiting.pop(opaque)[0] for opaque in gone]
