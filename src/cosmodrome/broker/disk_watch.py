"""How full the disk is, and what follows for who sends.

Owns: whether messages are refused because of it, with which words.
Must not know: files; timers.
"""

import logging

from cosmodrome.store.retention import RetentionSettings, is_too_full

logger = logging.getLogger(__name__)


class DiskWatch:
    """Remembers the last look at the disk."""

    def __init__(self, settings: RetentionSettings) -> None:
        """Judge by these."""
        self._settings = settings
        self._used: float | None = None

    def look(self, used: float) -> None:
        """Take note of how full the disk is, 0 to 1."""
        is_full = is_too_full(self._settings, used)
        if is_full and self._used is None:
            logger.warning("messages are refused: the disk is %.0f %% full (diskSpaceWarningLevelRatio)", used * 100)
        elif not is_full and self._used is not None:
            logger.warning("messages are accepted again: the disk is %.0f %% full", used * 100)
        self._used = used if is_full else None

    def refusal(self) -> str | None:
        """Say why messages are refused; None when they are not."""
        if self._used is None:
            return None
        shown = f"{self._used:.2f}"
        return f"the broker's disk is full [CL:  {shown} CQ:  {shown} INDEX:  {shown}]"
