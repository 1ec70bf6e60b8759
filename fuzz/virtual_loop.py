"""An event loop without sockets, threads and waiting.

Owns: time, which passes only when nothing is left to do; connections, which are objects; what failed unseen.
Must not know: what runs on it.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

_THREAD_S: Final = 0.002
"""How long work in a thread takes."""


class NothingToDoError(Exception):
    """Everything waits, and nothing will come."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop on which a server runs as on any other, and the same way every time.

    There is one listening socket, whatever its name: who knocks comes to whoever accepts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 1000.0
        self._selector = self
        self._newcomers: asyncio.Queue[tuple[Any, tuple[str, int]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[Any]] = []
        self._failures: list[str] = []
        self.attach: Callable[[asyncio.BaseProtocol, Any], Any] = lambda _protocol, _sock: None
        """Makes the transport of an accepted connection; `sock` is what was let in."""
        self.set_exception_handler(lambda _, context: self._failures.append(repr(context)))
        self.set_task_factory(self._new_task)  # type: ignore[arg-type]  # of a coroutine, as always here

    def time(self) -> float:
        """Give the time."""
        return self._now_s

    def select(self, timeout: float | None) -> list[Any]:
        """Let time pass; nothing ever comes from outside.

        Raises:
            NothingToDoError: It would wait for ever.
        """
        if timeout is None:
            raise NothingToDoError
        self._now_s += timeout
        return []

    def failures(self) -> list[str]:
        """Give what failed without anybody being told."""
        unseen = [task for task in self._tasks if task.done() and task._log_traceback]
        return self._failures + [repr(task.exception()) for task in unseen]

    def knock(self, sock: Any, address: tuple[str, int]) -> None:
        """Let somebody connect."""
        self._newcomers.put_nowait((sock, address))

    async def sock_accept(self, _sock: socket.socket) -> tuple[Any, Any]:
        """Wait for the next one that knocks."""
        return await self._newcomers.get()

    async def connect_accepted_socket(
        self, protocol_factory: Callable[[], Any], sock: Any, **_: Any
    ) -> tuple[Any, Any]:
        """Put a protocol on what was let in."""
        protocol = protocol_factory()
        return self.attach(protocol, sock), protocol

    async def create_connection(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: nobody is outside."""
        raise ConnectionRefusedError("nobody is there")

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # noqa: ARG002
        """Do the work at once, and tell its result later."""
        result = self.create_future()
        try:
            value, error = func(*args), None
        except Exception as failure:  # noqa: BLE001 -- it belongs to whoever waits
            value, error = None, failure

        def tell() -> None:
            if not result.done():
                if error is None:
                    result.set_result(value)
                else:
                    result.set_exception(error)

        self.call_later(_THREAD_S, tell)
        return result

    def _new_task(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **how: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=loop, **how)
        self._tasks.append(task)
        return task

    def _process_events(self, event_list: list[Any]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        """Nobody needs to be woken: there are no threads."""
