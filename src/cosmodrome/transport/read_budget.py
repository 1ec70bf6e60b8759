"""How much is read and answered before the event loop comes round to everything else.

Owns: the count of reads; who waits for the next turn, in order.
Must not know: what is read.

Event loops built on libuv ask for 1,024 ready sockets at a time, and again up to 48 times while that many are ready; what
was scheduled meanwhile (other work, new connections) waits for all of them. So reads beyond a number wait, too.
"""

import asyncio
from typing import Final, Protocol

READS_PER_TURN: Final = 512
"""About eight milliseconds of routes."""


class Held(Protocol):
    """Who was told to wait."""

    def answer_held(self) -> None:
        """Answer what came until now."""


class ReadBudget:
    """Shared by all connections of one server."""

    __slots__ = ("_held", "left")

    def __init__(self) -> None:
        self.left = READS_PER_TURN
        """Reads that may still be answered; whoever takes the one after the last waits with `hold`."""
        self._held: dict[Held, None] = {}

    def hold(self, reader: Held) -> None:
        """Have this one answer in a later turn of the loop, behind those who wait already."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._held[reader] = None

    def _next_turn(self) -> None:
        chosen = list(self._held)[:READS_PER_TURN]
        for reader in chosen:
            del self._held[reader]
        self.left = 0 if self._held else READS_PER_TURN - len(chosen)
        if self._held:
            asyncio.get_running_loop().call_soon(self._next_turn)
        for reader in chosen:
            reader.answer_held()
