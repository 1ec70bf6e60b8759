"""Noticing that somebody blocks the event loop, which stops heartbeats, pulls and timers alike.

Owns: measuring, and the word in the log.
Must not know: who blocks it.
"""

import asyncio
import logging
from typing import Final

logger = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 1.0
TOO_LATE_S: Final = 2.0


async def watch_loop(who: str) -> None:
    """Look for ever whether a timer of one second is late, and name it in the log."""
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + LOOK_EVERY_S
        await asyncio.sleep(LOOK_EVERY_S)
        late_s = loop.time() - due_s
        if late_s > TOO_LATE_S:
            logger.warning(
                "%s: the event loop stood still for %.1f s. An async handler must not block; a plain function may, it "
                "runs in a thread", who, late_s,
            )  # fmt: skip
