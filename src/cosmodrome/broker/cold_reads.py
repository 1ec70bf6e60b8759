"""Reads of what is old and not in memory, for which nobody but the asker waits.

Owns: threads that bring it into memory; how many requests may wait for them; asking again.
Must not know: what is read; what a request means.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import refused
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import LATER, Answer, Peer, Processor

MOST_WAITING: Final = 1024
MOST_ROUNDS: Final = 64
"""So often one request waits: what was read for it may have gone out of memory again. Then all that is missing is read at once."""
THREADS: Final = 2


class ColdReads:
    """Lets who reads wait for the disk without holding up others, from the first one to `stop`.

    Attributes:
        waiting: How many wait, by the word that was given for them.
    """

    def __init__(self, reader: Reader, dispatch: Callable[[RemotingCommand, Peer], Answer], outbox: Outbox) -> None:
        """Ask again with `dispatch`; threads are begun when they are needed."""
        self._reader = reader
        self._dispatch = dispatch
        self._outbox = outbox
        self._round = 0
        self._threads: ThreadPoolExecutor | None = None
        self.waiting: Counter[str] = Counter()
        self._futures: set[asyncio.Future[None]] = set()
        self._is_stopping = False

    def patient(self, processor: Processor, word: str) -> Processor:
        """Give a processor whose request is asked again when what it reads is in memory, or refused when too many wait.

        What the processor has done before it met a NotInMemoryError it does again, so that must make no difference.
        """
        reader = self._reader

        def run(request: RemotingCommand, peer: Peer) -> Answer:
            waited = self._round
            reader.may_wait = waited == MOST_ROUNDS or self._is_stopping
            try:
                return processor(request, peer)
            except NotInMemoryError as cold:
                self._fetch(cold, word, lambda: self._ask_again(request, peer, waited + 1))
                return LATER
            finally:
                reader.may_wait = True

        return run

    @contextlib.contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Have reads raise NotInMemoryError when they would have to wait, for as long as this is entered."""
        self._reader.may_wait = False
        try:
            yield
        finally:
            self._reader.may_wait = True

    def fetch(self, cold: NotInMemoryError, word: str, then: Callable[[], None]) -> None:
        """Bring something into memory, and call `then`; never after `stop`."""
        if self._is_stopping:
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="cosmodrome-cold")
        work = asyncio.get_running_loop().run_in_executor(self._threads, cold.fetch)
        self._futures.add(work)
        self.waiting[word] += 1

        def done(_: object) -> None:
            self._futures.discard(work)
            self.waiting[word] -= 1
            if not work.cancelled():
                then()

        work.add_done_callback(done)

    def _fetch(self, cold: NotInMemoryError, word: str, then: Callable[[], None]) -> None:
        if len(self._futures) >= MOST_WAITING:
            raise refused(ResponseCode.SYSTEM_BUSY, "too many requests wait for old messages, which are on disk only")
        self.fetch(cold, word, then)

    def _ask_again(self, request: RemotingCommand, peer: Peer, waited: int) -> None:
        self._round = waited
        try:
            answer = self._dispatch(request, peer)
        finally:
            self._round = 0
        if isinstance(answer, RemotingCommand) and answer is not LATER:
            self._outbox.answer(peer.connection_id, request, answer)

    async def stop(self) -> None:
        """Answer those that are being read for; the others are dropped, and nobody waits any more. May be called again."""
        self._is_stopping = True
        threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.shutdown(wait=False, cancel_futures=True)
        if self._futures:
            await asyncio.wait(set(self._futures))
