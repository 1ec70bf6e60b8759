"""What is wrong with slaves, in the log, without filling it.

Owns: how often the same complaint about the same host is repeated.
Must not know: what a complaint is about.
"""

import logging
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

AGAIN_MS: Final = 60_000
_MOST: Final = 1000


class Complaints:
    """Tells the first of a kind at once, and then once a minute how many there were."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        """Use a clock that never steps."""
        self._clock_ms = clock_ms
        self._told: dict[tuple[str, str], tuple[int, int]] = {}

    def tell(self, address: str, cause: str, reason: str) -> None:
        """Log it, or count it."""
        key = (address.rpartition(":")[0], cause)
        now_ms = self._clock_ms()
        told_ms, unsaid = self._told.get(key, (-AGAIN_MS, 0))
        if now_ms - told_ms < AGAIN_MS and key in self._told:
            self._told[key] = (told_ms, unsaid + 1)
            return
        if key not in self._told and len(self._told) >= _MOST:
            del self._told[next(iter(self._told))]
        self._told[key] = (now_ms, 0)
        before = f" ({unsaid} more since this was said last)" if unsaid else ""
        logger.warning("the connection of the slave %s is closed: %s%s", address, reason, before)
