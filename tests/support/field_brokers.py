"""Brokers that listen: the other end of what a NameServer sends by itself.

Owns: listeners that are near, far away, or never let a connection be made; the frames they got.
Must not know: what a frame should say.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from tests.support.wire import Answer, split

_TICK_S: Final = 0.05
_FILLERS: Final = 4


class Listener:
    """Accepts connections on an address of its own and keeps every frame that arrives.

    A closed one (`is_open=False`) is a black hole: its queue is full and the kernel drops every attempt to
    connect. Once it is opened, a peer's kernel tries again about a second after its first attempt, so that
    such a listener looks like a broker a second away.
    """

    def __init__(self, host: str, *, is_open: bool = True) -> None:
        """Listen on a free port of `host`, a 127.x address."""
        self.frames: list[Answer] = []
        self._socket = socket.create_server((host, 0), backlog=128 if is_open else 0)
        self._socket.settimeout(_TICK_S)
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._fillers = [] if is_open else [self._filler() for _ in range(_FILLERS)]
        if is_open:
            self.open()

    @property
    def address(self) -> str:
        """Where it listens, as `host:port`."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(5)
        for filler in self._fillers:
            filler.close()
        self._socket.close()

    def open(self) -> None:
        """Begin to accept whoever waits or comes."""
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _filler(self) -> socket.socket:
        filler = socket.socket()
        filler.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            filler.connect(self._socket.getsockname())
        return filler

    def _accept(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = self._socket.accept()
                self._start(self._read, connection)

    def _read(self, connection: socket.socket) -> None:
        buffer = b""
        with connection:
            connection.settimeout(_TICK_S)
            while not self._is_over.is_set():
                try:
                    data = connection.recv(65536)
                except TimeoutError:
                    continue
                except OSError:
                    return
                if not data:
                    return
                frames, buffer = split(buffer + data)
                self.frames += frames
