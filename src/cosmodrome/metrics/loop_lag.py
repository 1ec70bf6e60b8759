"""How late the event loop is.

Owns: asking it, four times a second.
Must not know: what keeps it; who reads the times.
"""

import asyncio
from typing import Final

from cosmodrome.transport.traffic import Durations

INTERVAL_S: Final = 0.25


class LoopLag:
    """Notes how long after its time a timer is called: as long as anything else has to wait then."""

    def __init__(self) -> None:
        self.durations = Durations()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin; needs a running loop."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(loop.time() + INTERVAL_S, self._called, loop.time() + INTERVAL_S)

    def stop(self) -> None:
        """End. May be called again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _called(self, due_s: float) -> None:
        self.durations.add(max(0.0, asyncio.get_running_loop().time() - due_s))
        self.start()
