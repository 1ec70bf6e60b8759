"""Times in which this process did not run: stopped, starved of processor time, or busy with one long piece of work.

Owns: noticing them, and for how long afterwards peers that lost patience may still come back.
Must not know: whose silence is measured.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

NOTICED_S: Final = 1.0
"""A shorter pause is no pause: nothing here is measured that finely."""
TICK_S: Final = 0.5

# A broker whose request is not answered closes its connection and comes back with its next request. One that sends a
# heartbeat every second is back soon; one that does not notices a pause of 6 s at the earliest (registerBrokerTimeoutMills
# of 4.9) and is back with its next registration, 60 s later at most (registerNameServerPeriod).
_SHORT_PAUSE_S: Final = 5.0
_SHORT_GRACE_S: Final = 3.0
_LONG_GRACE_S: Final = 65.0


class PauseWatch:
    """Tells listeners how long a pause was, before anybody is blamed for having been silent in it.

    Whoever is about to judge by elapsed time calls `look` first: after a pause all timers are due at once.
    The clock is one that never steps, and does not count the sleep of the whole machine.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due_s = 0.0
        self._grace_until_s = 0.0
        self._listeners: list[Callable[[float], None]] = []
        self._timer: asyncio.TimerHandle | None = None

    def subscribe(self, listener: Callable[[float], None]) -> None:
        """Call this with the seconds of each pause."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Begin to watch; needs a running loop."""
        self._schedule()

    def stop(self) -> None:
        """Watch no more. May be called again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """Tell the listeners if there was a pause until now. Does nothing when not watching."""
        now_s = self._clock()
        pause_s = now_s - self._due_s
        if self._timer is None or pause_s <= NOTICED_S:
            return
        self._due_s = now_s + TICK_S
        grace_s = min(pause_s, _SHORT_GRACE_S) if pause_s < _SHORT_PAUSE_S else _LONG_GRACE_S
        self._grace_until_s = max(self._grace_until_s, now_s + grace_s)
        for listener in self._listeners:
            listener(pause_s)

    def grace_s(self) -> float:
        """Give the seconds in which peers that lost patience during a pause may still come back; 0 without a pause."""
        self.look()
        return max(0.0, self._grace_until_s - self._clock())

    def _schedule(self) -> None:
        self._due_s = self._clock() + TICK_S
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self.look()
        self._schedule()
