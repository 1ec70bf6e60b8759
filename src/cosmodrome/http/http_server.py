"""The HTTP server, as we want it of uvicorn.

Owns: its settings, and what a peer may cost: how many connections, how long a head may take, how long an answer may
    lie untaken; that what it refuses by itself is a problem like any other.
Must not know: the paths; when it is started and stopped (plane.py).
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cosmodrome.http.application import Application
from cosmodrome.http.problems import CONTENT_TYPE, Problem

MOST_CONNECTIONS: Final = 200
HEAD_TIMEOUT_S: Final = 10.0
TAKING_TIMEOUT_S: Final = 30.0
LAST_TAKING_S: Final = 1.0
"""While the server stops; shorter than the server waits, so that what is left open is closed without a word."""
_STOP_TIMEOUT_S: Final = 2
_KEEP_ALIVE_S: Final = 30
_LONGEST_HEAD_BYTES: Final = 16 * 1024
_PIECE_BYTES: Final = 4 * 1024
"""What is looked at in one piece: a head that is whole in its first piece would be as long as a read may be."""

_QUIET: Final = logging.getLogger(f"{__name__}.peers")
"""Of what peers do wrong, which they may do as often as they like; faults of ours are errors, and pass."""


class HttpServer(uvicorn.Server):
    """One that leaves signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Deadline:
    """A timer that may run."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        return self._timer is not None

    def start(self, loop: asyncio.AbstractEventLoop, delay_s: float, act: Callable[[], None]) -> None:
        """Run, anew if it runs already."""
        self.stop()
        self._timer = loop.call_later(delay_s, act)

    def stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()


class Connection(H11Protocol):
    """One peer, with deadlines: for a head from its first byte on (a new connection counts as one), and for taking answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _QUIET
        self._head = _Deadline()
        self._taking = _Deadline()
        self._is_last = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            busy = Problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", f"there are {MOST_CONNECTIONS} connections already")
            self._end_with(busy)
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a head must come to its end."""
        for start in range(0, len(data), _PIECE_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _PIECE_BYTES])
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._head.stop()
        elif not self._head.is_running and self.timeout_keep_alive_task is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._head.stop()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Give the peer time to take what it was sent."""
        super().pause_writing()
        self._taking.start(self.loop, LAST_TAKING_S if self._is_last else TAKING_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the peer has taken it."""
        self._taking.stop()
        super().resume_writing()

    def shutdown(self) -> None:
        """End when what is under way is answered; who is slow to take it has less time from now on."""
        self._is_last = True
        if self._taking.is_running:
            self._taking.start(self.loop, LAST_TAKING_S, self.transport.abort)
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._head.stop()
        self._taking.stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        self._end_with(Problem(HTTPStatus.BAD_REQUEST, "bad_request", msg))

    def _await_head(self) -> None:
        self._head.start(self.loop, HEAD_TIMEOUT_S, self._head_is_late)

    def _head_is_late(self) -> None:
        self._end_with(Problem(HTTPStatus.REQUEST_TIMEOUT, "slow_head", f"no request came in {HEAD_TIMEOUT_S:g} s"))

    def _end_with(self, problem: Problem) -> None:
        """Say a last word, past the state of a request that never was whole, and close."""
        if self.transport.is_closing():
            return
        body = problem.encoded()
        head = (
            f"HTTP/1.1 {problem.status.value} {problem.status.phrase}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()


def http_server(application: Application) -> HttpServer:
    """Give a server of this application, ready to serve."""
    _QUIET.setLevel(logging.ERROR)
    config = uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_STOP_TIMEOUT_S,
        h11_max_incomplete_event_size=_LONGEST_HEAD_BYTES,
        http=Connection,
        ws="none",
    )
    config.load()
    return HttpServer(config)
