"""Writing the broker's tables to their files, without anybody's turn waiting for the disk.

Owns: one write of a file at a time; the newest table wins.
Must not know: what a table holds; which files there are.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from cosmodrome.broker.kept_tables import KeptTables
from cosmodrome.errors import StorageError
from cosmodrome.store.config_files import CONSUMER_OFFSETS, DELAY_OFFSETS

logger = logging.getLogger(__name__)

RETRY_S: Final = 1.0
_MARKS: Final = (CONSUMER_OFFSETS, DELAY_OFFSETS)
"""Tables that say how far messages were dealt with."""


class Keeper:
    """Keeps tables. `sources` gives the document of each file, as its table is now.

    Attributes:
        covered: Waits until the messages are on disk of which a table may say that they are done. The mark is written
            after what it covers.
    """

    def __init__(self, tables: KeptTables, sources: Mapping[str, Callable[[], Mapping[str, Any]]]) -> None:
        """Write these."""
        self._tables = tables
        self.covered: Callable[[], Awaitable[None]] = _at_once
        self._sources = dict(sources)
        self._locks = {name: asyncio.Lock() for name in sources}
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        self._stopped = asyncio.Event()

    async def keep(self, name: str) -> None:
        """Return when the table, as it is now or later, is on disk.

        Raises:
            StorageError: It is not.
        """
        async with self._locks[name]:
            document = self._sources[name]()
            if name in _MARKS:
                await self.covered()
            await asyncio.to_thread(self._tables.write, name, document)

    def soon(self, name: str) -> None:
        """Have a table written, and tried again until it is."""
        self._wanted.add(name)
        if name not in self._pending and not self._stopped.is_set():
            task = self._pending[name] = asyncio.create_task(self._until_kept(name), name=f"keeping {name}")
            task.add_done_callback(lambda _: self._pending.pop(name, None))

    async def stop(self) -> None:
        """Write every table a last time. Raises StorageError for the last that cannot be."""
        self._stopped.set()
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
        failure: StorageError | None = None
        for name in self._sources:
            try:
                await self.keep(name)
            except StorageError as error:
                logger.warning("%s is not kept: %s", name, error.what)
                failure = error
        if failure is not None:
            raise failure

    async def _until_kept(self, name: str) -> None:
        await asyncio.sleep(0)  # what else changes in this turn goes with it
        while name in self._wanted and not self._stopped.is_set():
            self._wanted.discard(name)
            try:
                await self.keep(name)
            except StorageError as error:
                logger.warning("%s is not kept: %s", name, error.what)
                self._wanted.add(name)
                await self._pause()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(RETRY_S):
                await self._stopped.wait()
        except TimeoutError:
            return


async def _at_once() -> None:
    """Wait for nothing."""
