"""Requests that wait for their answer.

Owns: opaque numbers; which request a response belongs to.
Must not know: connections; how a waiter is woken, or how long it waits.
"""

from typing import Final, Generic, TypeVar

WaiterT = TypeVar("WaiterT")

_OPAQUE_LIMIT: Final = 2**31


class Exchange(Generic[WaiterT]):
    """One side's outstanding requests, by opaque."""

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[int, WaiterT] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def next_opaque(self) -> int:
        """Give a number that no outstanding request has; the counter wraps at int32."""
        while True:
            opaque = self._next
            self._next = (self._next + 1) % _OPAQUE_LIMIT
            if opaque not in self._waiting:
                return opaque

    def expect(self, opaque: int, waiter: WaiterT) -> None:
        """Remember who waits for the answer with this opaque."""
        self._waiting[opaque] = waiter

    def settle(self, opaque: int) -> WaiterT | None:
        """Give, once, who waits for this answer; None for an answer that nobody waits for (any more)."""
        return self._waiting.pop(opaque, None)

    def abandon(self) -> list[WaiterT]:
        """Give, once, all that still wait: their connection is gone."""
        waiters = list(self._waiting.values())
        self._waiting.clear()
        return waiters
