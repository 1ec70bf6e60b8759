"""A client of an event loop, for threads that block.

Owns: opening, closing and calling a client in the shared loop; what happens to it in a child process; how an async
    method becomes one that blocks, with the same types.
Must not know: which clients there are.
"""

import concurrent.futures
import os
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from cosmodrome.errors import ClientClosedError
from cosmodrome.sync.loop_thread import SHARED, LoopThread

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")
PartT = TypeVar("PartT")
PartT_co = TypeVar("PartT_co", covariant=True)


class Client(Protocol):
    """What can be opened and closed in an event loop."""

    async def start(self) -> None:
        """Open it."""

    async def close(self) -> None:
        """Close it."""


ClientT = TypeVar("ClientT", bound=Client)


class Calls(Protocol[PartT_co]):
    """What has its work done in the loop."""

    @abstractmethod
    def call(self, ask: Callable[[PartT_co], Coroutine[Any, Any, ResultT]]) -> ResultT:
        """Do something with the client, and wait for it."""


class Blocking(Generic[PartT, ParametersT, ResultT]):
    """A method that does what an async one does, and waits for it; parameters, result and errors are the same."""

    def __init__(self, method: Callable[Concatenate[PartT, ParametersT], Coroutine[Any, Any, ResultT]]) -> None:
        self.__doc__ = method.__doc__
        self._method = method

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Calls[PartT], owner: type) -> Callable[ParametersT, ResultT]: ...

    def __get__(self, instance: Calls[PartT] | None, owner: type) -> Self | Callable[ParametersT, ResultT]:
        """Bind it to a client."""
        if instance is None:
            return self
        method, call = self._method, instance.call

        def blocking(*args: ParametersT.args, **kwargs: ParametersT.kwargs) -> ResultT:
            return call(lambda part: method(part, *args, **kwargs))

        blocking.__doc__ = method.__doc__
        return blocking


class Facade(Generic[ClientT]):
    """A client in the shared loop. `with` opens and closes it; or call `start` and `close`.

    It may be used by any number of threads. In a child process a client that is still open is opened anew when it is
    first used, unless `what` must not be in two processes at once: then it is refused.

    Args:
        what: How texts call it.
        make: Makes the client, and checks its settings.
        reopens: Whether a child process may open it anew.
    """

    def __init__(self, what: str, make: Callable[[], ClientT], *, reopens: bool) -> None:
        self._what = what
        self._make = make
        self._reopens = reopens
        self._client = make()
        self._thread: LoopThread | None = None
        self._pid = os.getpid()
        self._is_closed = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Open it. Raises as the asyncio client's `start`; it cannot be started again then.

        Raises:
            ClientClosedError: It was closed; make a new one.
            RuntimeError: It is open already.
        """
        if self._pid != os.getpid():
            self._drop_inherited(opens=False)
        if self._is_closed:
            raise ClientClosedError(f"this {self._what} was closed; make a new one")
        if self._thread is not None:
            raise RuntimeError(f"this {self._what} is open already")
        self._thread = thread = SHARED.enter(self)
        try:
            thread.call(self._client.start())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it, as the asyncio client does. May be called again, and from several threads."""
        if self._pid != os.getpid():
            SHARED.keep(self._client)
            self._is_closed, self._thread = True, None
            return
        with SHARED.lock:
            is_first, self._is_closed = not self._is_closed, True
            thread = self._thread
        if not is_first:
            if thread is not None:
                self._ended.wait()
            return
        try:
            if thread is not None:
                thread.call(self._client.close())
        finally:
            self._thread = None
            self._ended.set()
            if thread is not None:
                SHARED.leave(thread)

    def call(self, ask: Callable[[ClientT], Coroutine[Any, Any, ResultT]]) -> ResultT:
        """Do something with the asyncio client in its loop, wait for it, and give its result.

        Raises:
            ClientClosedError: It is not open.
            RuntimeError: This is the loop's own thread, or another process than the one that opened it.
        """
        if self._pid != os.getpid():
            self._drop_inherited(opens=True)
        thread = self._thread
        if thread is None:
            raise ClientClosedError(f"the {self._what} is {'closed' if self._is_closed else 'not started'}")
        return thread.call(ask(self._client))

    def begin_close(self) -> concurrent.futures.Future[None] | None:
        """Begin to close it at the end of the process."""
        thread, self._thread = self._thread, None
        self._is_closed = True
        self._ended.set()
        return None if thread is None else thread.begin(self._client.close())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Warn of a client that was never closed, and close it."""
        thread = getattr(self, "_thread", None)
        if thread is None or self._pid != os.getpid():
            return
        warnings.warn(f"a {self._what} was not closed", ResourceWarning, stacklevel=1)
        client, self._thread = self._client, None

        async def close() -> None:
            try:
                await client.close()
            finally:
                SHARED.leave(thread)

        thread.begin(close())

    def _drop_inherited(self, *, opens: bool) -> None:
        """Leave to the parent process what is its own."""
        with SHARED.lock:
            if self._pid == os.getpid():  # another thread was faster
                return
            was_open = self._thread is not None
            if was_open and not self._reopens:
                raise RuntimeError(
                    f"this {self._what} was opened in process {self._pid}: make one in this process, after the fork"
                )
            SHARED.keep(self._client)
            self._thread, self._client = None, self._make()
            if was_open and opens:
                self._thread = SHARED.enter_locked(self)
                self._thread.call(self._client.start())
            self._pid = os.getpid()


class Part(Generic[PartT]):
    """A part of a client that is opened and closed with it."""

    def __init__(self, whole: Facade[Any], pick: Callable[[Any], PartT]) -> None:
        self._whole = whole
        self._pick = pick

    def call(self, ask: Callable[[PartT], Coroutine[Any, Any, ResultT]]) -> ResultT:
        """As Facade.call."""
        pick = self._pick
        return self._whole.call(lambda client: ask(pick(client)))


async def at_once(work: Callable[[], ResultT]) -> ResultT:
    """Call something that does not wait, in the loop to which it belongs."""
    return work()
