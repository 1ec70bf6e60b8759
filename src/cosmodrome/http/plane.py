"""The HTTP listener of a server: its address and its life.

Owns: when its libraries are loaded (in a thread, after the server serves), which they are, and that its end delays nobody's.
Must not know: what is asked over HTTP, and of what.
"""

import asyncio
import contextlib
import importlib.util
import logging
import socket
from collections.abc import Callable
from typing import Final, Protocol

from cosmodrome.errors import BindError
from cosmodrome.http.application import Application
from cosmodrome.transport.listening import bind_error, listening_socket
from cosmodrome.transport.sockets import format_address

logger = logging.getLogger(__name__)

_BACKLOG: Final = 128
_LIBRARIES: Final = ("starlette", "uvicorn", "prometheus_client")


class Server(Protocol):
    """What answers on a socket until `should_exit` is set."""

    should_exit: bool

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer."""


class HttpPlane:
    """Bind it, start it with what answers, stop it."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._socket: socket.socket | None = None
        self._server: Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._visited = asyncio.Event()
        self.address = ""
        """As bound, `host:port`; empty when it does not listen."""

    def bind(self) -> None:
        """Take the address. Who connects waits until it is started.

        Raises:
            BindError: It could not be had; the cause is the system's error.
        """
        try:
            sock = listening_socket(self._host, self._port)
            sock.listen(_BACKLOG)
        except OSError as error:
            what = bind_error(self._host, self._port, error).what
            remedy = f"choose another address for HTTP: --http {self._host}:0 takes a free port, --http off none"
            raise BindError(what, remedy=remedy) from error
        self._socket = sock
        self.address = format_address(sock.getsockname())

    def start(self, load: Callable[[], Application], *, is_awaited: bool = True) -> None:
        """Answer, once the libraries are loaded, which takes longer than everything else at a start.

        Args:
            load: Called in a thread, and may import what is slow to import.
            is_awaited: Load at once; else when the first peer connects, so that who never looks pays nothing.
        """
        if self._socket is not None:
            if is_awaited:
                self._visited.set()
            self._task = asyncio.ensure_future(self._serve(self._socket, load))

    async def stop(self) -> None:
        """Stop answering. May be called again."""
        self._is_stopping = True
        self._visited.set()
        if self._server is not None:
            self._server.should_exit = True
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait([task])
        sock, self._socket = self._socket, None
        if sock is not None:
            sock.close()
        self.address = ""

    async def _serve(self, sock: socket.socket, load: Callable[[], Application]) -> None:
        try:
            await self._first_visit(sock)
            if self._is_stopping:
                return
            server = await asyncio.to_thread(_loaded, load)
            if not self._is_stopping:
                self._server = server
                await server.serve(sockets=[sock])
        except Exception:
            logger.exception("the HTTP listener ended; everybody else is served")

    async def _first_visit(self, sock: socket.socket) -> None:
        """Wait until somebody connects, where the event loop can tell."""
        if self._visited.is_set():
            return
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_reader(sock.fileno(), self._visited.set)
            try:
                await self._visited.wait()
            finally:
                loop.remove_reader(sock.fileno())


def missing_libraries() -> tuple[str, ...]:
    """Give the libraries that a listener needs and that are not installed; none of them is loaded."""
    return tuple(name for name in _LIBRARIES if importlib.util.find_spec(name) is None)


def plane_at(address: str) -> HttpPlane | None:
    """Give the listener for an address, `host:port`; None when there is to be none (`off`, or empty)."""
    host, _, port = address.rpartition(":")
    return HttpPlane(host.strip("[]"), int(port)) if port.isdecimal() else None


def _loaded(load: Callable[[], Application]) -> Server:
    from cosmodrome.http.http_server import http_server  # noqa: PLC0415 -- slow to load, and not for everybody

    return http_server(load())
