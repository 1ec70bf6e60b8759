"""The one event loop in which all blocking clients of a process live, and its thread.

Owns: starting the thread with the first client and ending it with the last; handing work over and waiting for it; a
    fresh start after a fork; the end of the process.
Must not know: what a client does.
"""

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from cosmodrome.errors import ClientClosedError

ResultT = TypeVar("ResultT")

EXIT_LIMIT_S: Final = 3.0
"""How long the end of the process waits for clients that were not closed."""
_JOIN_LIMIT_S: Final = 5.0


class LoopThread:
    """An event loop in a daemon thread; it runs from the start."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cosmodrome-sync", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run something in the loop, wait for its end, and give its result.

        When waiting is interrupted (KeyboardInterrupt) the work is cancelled.

        Raises:
            RuntimeError: This is the loop's own thread, which would wait for itself.
            ClientClosedError: The loop ended before the work did.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a blocking call would stop the event loop that has to do it: handlers that are async use asyncio clients"
            )
        future = self.begin(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ClientClosedError("the client was closed before the call ended", is_outcome_unknown=True) from None
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, ResultT]) -> concurrent.futures.Future[ResultT]:
        """Run something in the loop without waiting for it.

        Raises:
            ClientClosedError: The loop has ended.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            raise ClientClosedError("the client is closed") from error

    def stop(self) -> None:
        """End the loop, and what still runs in it. Called in the loop's own thread it does not wait for that."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_LIMIT_S)

    def _run(self) -> None:
        loop = self._loop
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(_cancel_tasks(loop))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


async def _cancel_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Closing(Protocol):
    """A client that the end of the process closes."""

    def begin_close(self) -> concurrent.futures.Future[None] | None:
        """Begin to close it; None if there is nothing to close."""


class SharedLoop:
    """The loop thread that there is while there are clients."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Guards what changes with the process: held for moments only."""
        self._thread: LoopThread | None = None
        self._users: weakref.WeakSet[Closing] = weakref.WeakSet()
        self._count = 0
        self._inherited: list[object] = []

    def enter(self, user: Closing) -> LoopThread:
        """Give the thread to a client, which calls `leave` once."""
        with self.lock:
            return self.enter_locked(user)

    def enter_locked(self, user: Closing) -> LoopThread:
        """As `enter`, for who holds the lock."""
        if self._thread is None:
            self._thread = LoopThread()
        self._count += 1
        self._users.add(user)
        return self._thread

    def leave(self, thread: LoopThread) -> None:
        """Take a client out; with the last one the thread ends."""
        with self.lock:
            if thread is not self._thread:
                return
            self._count -= 1
            if self._count:
                return
            self._thread = None
        thread.stop()

    def keep(self, inherited: object) -> None:
        """Keep what belongs to the parent process: taking it apart here would disturb it there."""
        self._inherited.append(inherited)

    def after_fork(self) -> None:
        """Begin anew in a child process: threads do not come along."""
        self.lock = threading.Lock()
        self._inherited.append((self._thread, tuple(self._users)))
        self._thread, self._users, self._count = None, weakref.WeakSet(), 0

    def end(self) -> None:
        """Close all clients that are open, within EXIT_LIMIT_S, and end the thread."""
        closing = [future for user in tuple(self._users) if (future := user.begin_close()) is not None]
        concurrent.futures.wait(closing, EXIT_LIMIT_S)
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()


def _at_fork(act: Callable[[], None]) -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


SHARED: Final = SharedLoop()
_at_fork(SHARED.after_fork)
atexit.register(SHARED.end)
