"""Settings of a server that runs, by its JSON API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cosmodrome.configuring.servers import settings_over_http
from cosmodrome.errors import AdminError, MissingError
from cosmodrome.operating.api import Api

WITHIN_S = 30.0


@contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Give where a server answers one after the other, and the paths that it is asked for."""
    asked: list[str] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, body = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def page(*keys: str, cursor: str | None = None) -> tuple[int, bytes]:
    items = [{"key": key, "value": "1", "source": "default"} for key in keys]
    return 200, json.dumps({"items": items, "next_cursor": cursor}).encode()


def test_all_pages_are_read() -> None:
    with answering(page("a", "b", cursor="b&c"), page("d")) as (address, asked):
        found = settings_over_http(Api(address, timeout_s=WITHIN_S))

    assert [each["key"] for each in found] == ["a", "b", "d"]
    assert [path.partition("cursor=")[2] for path in asked] == ["", "b%26c"]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        ((404, b"{}"), MissingError, "status 404"),
        ((200, b"{}"), AdminError, "something else"),
        ((200, b'{"items":[1],"next_cursor":null}'), AdminError, "something else"),
        ((200, b'{"items":[{"key":"a"}],"next_cursor":null}'), AdminError, "something else"),
        ((200, b"no JSON"), AdminError, "no JSON"),
    ],
)
def test_answers_that_are_none(answer: tuple[int, bytes], kind: type[AdminError], said: str) -> None:
    with answering(answer) as (address, _), pytest.raises(kind, match=said):
        settings_over_http(Api(f"http://{address}", timeout_s=WITHIN_S))
