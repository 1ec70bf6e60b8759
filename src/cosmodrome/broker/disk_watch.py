"""How full the disk is, and what follows for who sends.

Owns: whether messages are refused because of it, with which words.
Must not know: files; timers.
"""

import logging
from pathlib import Path
from typing import Final

from cosmodrome.store.retention import RetentionSettings, is_too_full

logger = logging.getLogger(__name__)

SETTING: Final = "diskSpaceWarningLevelRatio"


class DiskWatch:
    """Remembers the last look at the disk."""

    def __init__(self, settings: RetentionSettings) -> None:
        """Judge by these."""
        self._settings = settings
        self._refusal: str | None = None

    def judge_by(self, settings: RetentionSettings) -> None:
        """Use other limits from now on."""
        self._settings = settings

    def look(self, used: float, path: Path) -> None:
        """Take note of how full the fullest disk is, 0 to 1, and which folder is on it."""
        is_full = is_too_full(self._settings, used)
        shown = f"{path} is on a disk that is {used:.0%} full, and {SETTING} is {self._settings.refuse_ratio:.0%}"
        if is_full and self._refusal is None:
            logger.warning("messages are refused: %s", shown)
        elif not is_full and self._refusal is not None:
            logger.warning("messages are accepted again: %s", shown)
        java = f"{used:.2f}"
        self._refusal = (
            f"the broker's disk is full [CL:  {java} CQ:  {java} INDEX:  {java}] ({shown})" if is_full else None
        )

    def refusal(self) -> str | None:
        """Say why messages are refused; None when they are not."""
        return self._refusal
