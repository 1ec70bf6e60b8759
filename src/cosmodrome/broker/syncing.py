"""Putting the store on disk in threads beside the event loop.

Owns: one sync at a time, with what gathered meanwhile in the next; the checkpoint; trying again after a failure.
Must not know: who waits for a sync (turn.py).
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cosmodrome.broker.turn import Turn
from cosmodrome.errors import StorageError, StoreUnavailableError
from cosmodrome.store.message_store import MessageStore

logger = logging.getLogger(__name__)

CHECKPOINT_S: Final = 1.0
INDEX_EVERY: Final = 10
"""Checkpoints of which one saves the index: by then most of its slots have changed, however many messages there were."""


class Syncing:
    """Runs syncs and checkpoints of one store, from `start` to `stop`."""

    def __init__(self, store: MessageStore, turn: Turn) -> None:
        """Sync this store; `turn` has those who wait for it."""
        self._store = store
        self._turn = turn
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="cosmodrome-sync")
        self._sync: asyncio.Task[None] | None = None
        self._checkpoints: asyncio.Task[None] | None = None
        self._marked_to = self._indexed_to = store.end
        self._checkpoint_count = 0
        self._is_stopping = asyncio.Event()

    def start(self) -> None:
        """Begin; from now on `turn` has what it wants synced."""
        self._turn.on_sync_wanted = self._want
        self._checkpoints = asyncio.create_task(self._keep_checkpoints(), name="checkpoints")

    async def settle(self) -> None:
        """Return when nobody waits for the disk."""
        while self._sync is not None:
            await asyncio.wait({self._sync})

    async def everything(self) -> None:
        """Return when all that is written now is on disk.

        Raises:
            StorageError: It is not, or nobody knows.
        """
        try:
            job = self._store.begin_sync()
            await self._in_thread(job.run)
            self._store.end_sync(job)
        except StoreUnavailableError as error:
            self._turn.fail_waiting()
            raise StorageError(f"{error}.") from error
        self._turn.synced()

    async def stop(self) -> None:
        """Finish what is under way, and sync for those who wait. May be called again."""
        self._is_stopping.set()
        checkpoints, self._checkpoints = self._checkpoints, None
        if checkpoints is not None:
            await checkpoints
        await self.settle()
        self._threads.shutdown()

    def _want(self) -> None:
        if self._sync is None:
            self._sync = asyncio.create_task(self._run_sync(), name="sync")

    async def _run_sync(self) -> None:
        try:
            job = self._store.begin_sync()
            await self._in_thread(job.run)
            self._store.end_sync(job)
        except StoreUnavailableError as error:
            logger.error("syncing the message store failed: %s", error.reason)  # noqa: TRY400 -- the cause is told
            self._turn.fail_waiting()
        finally:
            self._sync = None
        self._turn.synced()

    async def _keep_checkpoints(self) -> None:
        while not self._is_stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECKPOINT_S):
                    await self._is_stopping.wait()
                    return
            if self._store.failure is not None:
                await self._resume()
            elif self._store.end != self._marked_to:
                self._checkpoint_count += 1
                await self._checkpoint(has_index=self._checkpoint_count % INDEX_EVERY == 0)
            elif self._store.end != self._indexed_to:
                await self._checkpoint(has_index=True)

    async def _checkpoint(self, *, has_index: bool) -> None:
        self._marked_to = self._store.end
        if has_index:
            self._indexed_to = self._marked_to
        try:
            job = self._store.begin_checkpoint(has_index=has_index)
            await self._in_thread(job.run)
            self._store.end_checkpoint(job)
        except StoreUnavailableError as error:
            logger.error("a checkpoint of the message store failed: %s", error.reason)  # noqa: TRY400
            self._turn.fail_waiting()
        else:
            self._turn.synced()

    async def _resume(self) -> None:
        """Try to accept messages again. No sync is under way: none begins while the store has failed."""
        if self._sync is not None:
            return
        try:
            self._store.resume()
        except StorageError as error:
            logger.warning("the message store accepts nothing still: %s", error.what)
        else:
            logger.warning("the message store accepts messages again")
            self._turn.synced()

    async def _in_thread(self, run: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, run)
