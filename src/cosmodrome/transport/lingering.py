"""A connection on which everything is said, and whose peer may still be sending.

Owns: that what comes is thrown away.
Must not know: what was said.
"""

import asyncio
from collections.abc import Callable


class Lingering(asyncio.Protocol):
    """Takes the place of a connection until the peer closes, too; `lost` is told of the end."""

    __slots__ = ("_lost",)

    def __init__(self, lost: Callable[[Exception | None], None]) -> None:
        self._lost = lost

    def data_received(self, data: bytes) -> None:
        """Throw it away."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._lost(exc)
