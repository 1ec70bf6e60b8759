"""Reads of what is old and not in memory, for which nobody but the asker waits.

Owns: threads that bring it into memory; how many requests may wait for them; asking again.
Must not know: what is read; what a request means.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import refused
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.store.reading import NotInMemoryError
from cosmodrome.transport.dispatch import LATER, Answer, Peer, Processor

MOST_WAITING: Final = 1024
THREADS: Final = 2


class ColdReads:
    """Lets requests wait for the disk, from the first one to `stop`.

    Attributes:
        is_retry: Whether the request that is answered now has waited already: what is missing still is read at once.
    """

    def __init__(self, dispatch: Callable[[RemotingCommand, Peer], Answer], outbox: Outbox) -> None:
        """Ask again with `dispatch`; threads are begun when they are needed."""
        self.is_retry = False
        self._dispatch = dispatch
        self._outbox = outbox
        self._threads: ThreadPoolExecutor | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def patient(self, processor: Processor) -> Processor:
        """Give a processor whose NotInMemoryError has the request answered later, or refused when too many wait."""

        def run(request: RemotingCommand, peer: Peer) -> Answer:
            try:
                return processor(request, peer)
            except NotInMemoryError as cold:
                self._fetch(cold, request, peer)
                return LATER

        return run

    def _fetch(self, cold: NotInMemoryError, request: RemotingCommand, peer: Peer) -> None:
        if len(self._waiting) >= MOST_WAITING:
            raise refused(ResponseCode.SYSTEM_BUSY, "too many requests wait for old messages, which are on disk only")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="cosmodrome-cold")
        work = asyncio.get_running_loop().run_in_executor(self._threads, cold.fetch)
        self._waiting.add(work)
        work.add_done_callback(lambda _: self._ask_again(work, request, peer))

    def _ask_again(self, work: "asyncio.Future[None]", request: RemotingCommand, peer: Peer) -> None:
        self._waiting.discard(work)
        if work.cancelled():
            return
        self.is_retry = True
        try:
            answer = self._dispatch(request, peer)
        finally:
            self.is_retry = False
        if isinstance(answer, RemotingCommand) and answer is not LATER:
            self._outbox.answer(peer.connection_id, request, answer)

    async def stop(self) -> None:
        """Answer those that are being read for; the others are dropped. May be called again."""
        threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.shutdown(wait=False, cancel_futures=True)
        if self._waiting:
            await asyncio.wait(set(self._waiting))
