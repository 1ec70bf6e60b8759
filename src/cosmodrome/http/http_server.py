"""The HTTP server, as we want it of uvicorn.

Owns: its settings and limits.
Must not know: the paths; when it is started and stopped (plane.py).
"""

import contextlib
from collections.abc import Iterator
from typing import Final

import uvicorn

from cosmodrome.http.application import Application

_MOST_CONNECTIONS: Final = 200
_STOP_TIMEOUT_S: Final = 2
_KEEP_ALIVE_S: Final = 30
_LONGEST_HEAD_BYTES: Final = 16 * 1024


class HttpServer(uvicorn.Server):
    """One that leaves signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def http_server(application: Application) -> HttpServer:
    """Give a server of this application, ready to serve."""
    config = uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_STOP_TIMEOUT_S,
        h11_max_incomplete_event_size=_LONGEST_HEAD_BYTES,
        http="h11",
        ws="none",
    )
    config.load()
    return HttpServer(config)
