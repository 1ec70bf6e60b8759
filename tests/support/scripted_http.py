"""An HTTP server that says what a test has written down, answer by answer.

Owns: one connection after another in a thread, the heads of what was asked, that everything is closed at the end.
Must not know: what is asked for.
"""

import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"


def answer(status: str, body: bytes, content_type: str = "application/json") -> bytes:
    """Give a whole answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class ScriptedHttp:
    """Gives each connection the next answer and closes it; with `stays`, the last one is kept open until the end."""

    def __init__(self, answers: Sequence[bytes], *, stays: bool = False) -> None:
        self.heads: list[str] = []
        self._answers = answers
        self._stays = stays
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes a thread that accepts
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        for number, data in enumerate(self._answers):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.heads.append(_head(connection))
                connection.sendall(data)
                if self._stays and number == len(self._answers) - 1:
                    self._ended.wait()


def _head(connection: socket.socket) -> str:
    """Read a request, with the body that it announces."""
    data = b""
    while b"\r\n\r\n" not in data and (part := connection.recv(4096)):
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]) and (part := connection.recv(4096)):
                body += part
    return (head + b"\r\n\r\n" + body).decode()
