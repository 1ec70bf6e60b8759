"""Deleting old messages, while everything else goes on.

Owns: when it is looked, which thread removes files, who is told what groups have lost.
Must not know: the rules (store/retention.py); requests.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.statistics import GROUP_LOST_NUMS, Statistics
from cosmodrome.errors import StorageError
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.retention import RetentionSettings, reason_for_oldest

logger = logging.getLogger(__name__)

FIRST_SWEEP_S: Final = 60.0
SWEEP_S: Final = 10.0
FILES_PER_SWEEP: Final = 10
SLICE_S: Final = 0.005
"""So long queues are looked through before others have their turn."""
OUTLOOK: Final = "messageDeletion"
"""Ours, among what 28 tells."""

Minima = Mapping[tuple[str, int], int]


class CleaningParts(NamedTuple):
    """What is deleted from, and who is told."""

    store: MessageStore
    offsets: Offsets
    statistics: Statistics
    clock: Clock


class Lost(NamedTuple):
    """Messages that a group had not read when they were deleted."""

    group: str
    topic: str
    queue_id: int
    messages: int


class Cleaner:
    """Deletes old messages of a store: one sweep at a time."""

    def __init__(self, settings: RetentionSettings, parts: CleaningParts) -> None:
        """Delete by these rules."""
        self.settings = settings
        self._parts = parts
        self._sweeping = asyncio.Lock()

    async def run(self) -> None:
        """Sweep now and then, until it is cancelled."""
        await asyncio.sleep(FIRST_SWEEP_S)
        while True:
            try:
                await self.sweep()
            except StorageError as error:
                logger.warning("old messages cannot be deleted: %s", error.what)
            await asyncio.sleep(SWEEP_S)

    async def sweep(self, *, is_asked: bool = False) -> int:
        """Delete a few files of the log, the oldest first and never the last one. Say how many.

        A file is out of sight at once. It is removed in a thread, for that may take seconds.

        Raises:
            StorageError: A file is still there; the next sweep tries again.
        """
        async with self._sweeping:
            deleted = await self._remove()
            while deleted < FILES_PER_SWEEP and (reason := self._reason(is_asked=is_asked)) is not None:
                if not await self._let_go():
                    break
                logger.info("a file of the log is deleted: %s", reason)
                deleted += await self._remove()
            return deleted

    def outlook(self) -> dict[str, str]:
        """Say when old messages go next, and why not now; for people."""
        store, settings = self._parts.store, self.settings
        written_ms = store.oldest_written_ms()
        if written_ms is None:
            return {OUTLOOK: "never while the log has one file"}
        reason = self._reason(is_asked=False)
        if reason is not None:
            return {OUTLOOK: f"at the next look, every {SWEEP_S:g} s: {reason}"}
        until = datetime.fromtimestamp((written_ms + settings.reserved_ms) / 1000).astimezone()
        hours = ";".join(f"{hour:02}" for hour in sorted(settings.delete_hours)) or "no"
        return {
            OUTLOOK: f"the oldest file is kept until {until:%Y-%m-%d %H:%M:%S} (fileReservedTime), then until the hour {hours} (deleteWhen) "
            f"or until the disk is {settings.delete_ratio:.0%} full (diskMaxUsedSpaceRatio; now {store.used_ratio():.0%}); "
            f"it goes at once at {settings.force_ratio:.0%} (diskSpaceCleanForciblyRatio)"
        }

    def _reason(self, *, is_asked: bool) -> str | None:
        store, now_ms = self._parts.store, self._parts.clock.wall_ms()
        hour = datetime.fromtimestamp(now_ms / 1000).astimezone().hour
        return reason_for_oldest(store, self.settings, now_ms, hour, is_asked=is_asked)

    async def _let_go(self) -> bool:
        """Take the oldest file out of sight, and tell of those who had not read it. Others have their turn meanwhile."""
        store = self._parts.store
        before = self._minima()
        if not store.detach_first_segment():
            return False
        begun_s = time.monotonic()
        for _ in store.dropping_what_points_nowhere():
            if time.monotonic() - begun_s > SLICE_S:
                await asyncio.sleep(0)
                begun_s = time.monotonic()
        for lost in self._lost(before, self._minima()):
            key = f"{lost.topic}@{lost.group}"
            self._parts.statistics.count(GROUP_LOST_NUMS, key, lost.messages)
            logger.warning(
                "group %s has lost %d messages of topic %s, queue %d: they were deleted before it read them",
                lost.group, lost.messages, lost.topic, lost.queue_id,
            )  # fmt: skip
        return True

    def _minima(self) -> Minima:
        reader = self._parts.store.reader
        return {(topic, each): reader.min_offset(topic, each) for topic, ids in reader.queues().items() for each in ids}

    def _lost(self, before: Minima, after: Minima) -> Iterable[Lost]:
        offsets = self._parts.offsets
        for (topic, queue_id), least in after.items():
            former = before.get((topic, queue_id), 0)
            if least <= former:
                continue
            for group in offsets.groups_of(topic):
                committed = offsets.committed(topic, group, queue_id)
                if committed is not None and committed < least:
                    yield Lost(group, topic, queue_id, least - max(committed, former))

    async def _remove(self) -> int:
        """Remove what was let go; say how many files of the log that were."""
        store, count = self._parts.store, 0
        for path in store.detached:
            await asyncio.to_thread(store.remove_detached, path)
            store.removed(path)
            count += path.parent == store.settings.log_folder
        return count
