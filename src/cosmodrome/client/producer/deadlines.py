"""Futures that end in time, with one timer for all of them.

Owns: the timer.
Must not know: what is waited for.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from cosmodrome.protocol.exchange import TICKS_PER_S, Exchange

_Entry = tuple[asyncio.Future[Any], Callable[[], Exception]]


class Deadlines:
    """Ends futures with an error, at most 200 ms after their deadline.

    A timer of each, as `asyncio.timeout` has it, costs more than what is waited for when thousands wait.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._entries: Exchange[_Entry] = Exchange()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, future: asyncio.Future[Any], deadline_s: float, error: Callable[[], Exception]) -> int:
        """Have a future end with this error at the deadline, by the loop's clock. `remove` takes what this gives."""
        ticket = self._entries.next_opaque()
        self._entries.expect(ticket, (future, error), deadline_s)
        if self._timer is None:
            self._timer = self._loop.call_later(1 / TICKS_PER_S, self._sweep)
        return ticket

    def remove(self, ticket: int) -> None:
        """Let a future be."""
        self._entries.settle(ticket)

    def close(self) -> None:
        """Stop the timer; nothing may be added any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        for future, error in self._entries.overdue(self._loop.time()):
            if not future.done():
                future.set_exception(error())
        self._timer = self._loop.call_later(1 / TICKS_PER_S, self._sweep) if len(self._entries) else None
