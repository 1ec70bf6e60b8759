"""What becomes of answers of a server's JSON API that are none, or refusals."""

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from cosmodrome.errors import (
    AdminError,
    ConfigError,
    DeniedError,
    MissingError,
    NoAnswerError,
    OperatorError,
    UnreachableError,
    UsageError,
    WarmingUpError,
)
from cosmodrome.operating import control
from cosmodrome.operating.api import Api


class Handler(BaseHTTPRequestHandler):
    """Answers what `answers` has for a path, and notes what was asked."""

    answers: ClassVar[dict[str, tuple[int, bytes]]] = {}
    asked: ClassVar[list[tuple[str, str, bytes, str | None]]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append((self.command, self.path, body, self.headers.get("Authorization")))
        status, content = self.answers.get(self.path, (404, b"{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815  # the names of http.server

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    Handler.answers.clear()
    Handler.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def never(_: float) -> None:
    """Wait."""


def test_it_asks_with_the_token_and_in_json(address: str) -> None:
    Handler.answers["/api/v1/reload"] = (
        200, b'{"applied": ["a"], "needs_restart": [], "overridden": {"k": "--set"}}',
    )  # fmt: skip

    result = control.reload_over_http(Api(f"http://{address}/", token="secret"))  # noqa: S106  # a test's

    assert result == control.Reloaded(applied=("a",), needs_restart=(), overridden={"k": "--set"})
    assert Handler.asked == [("POST", "/api/v1/reload", b"{}", "Bearer secret")]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, DeniedError),
        (403, DeniedError),
        (421, DeniedError),
        (404, MissingError),
        (409, ConfigError),
        (503, WarmingUpError),
        (500, AdminError),
    ],
)
def test_a_refusal_is_an_error_with_its_reason(address: str, status: int, error: type[OperatorError]) -> None:
    Handler.answers["/x"] = (status, json.dumps({"detail": "not so", "hint": "so"}).encode())

    with pytest.raises(error) as caught:
        Api(address).get("/x")
    assert type(caught.value) is error
    assert caught.value.what == f"{address}: not so."
    assert caught.value.remedy == "so"


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b'{"draining": 1, "connections": "x"}', b"null"])
def test_something_else_is_named_so(address: str, content: bytes) -> None:
    Handler.answers["/api/v1/drain"] = (200, content)

    with pytest.raises(AdminError):
        control.drain(Api(address), draining=True, until=None, timeout_s=1, waiting=never)


def test_a_drain_that_is_waited_for(address: str) -> None:
    Handler.answers["/api/v1/drain"] = (200, b'{"draining": true, "since": "t", "connections": 2}')
    api = Api(address)

    assert control.drain(api, draining=True, until=2, timeout_s=1, waiting=never).connections == 2
    with pytest.raises(NoAnswerError):
        control.drain(api, draining=True, until=1, timeout_s=0.01, waiting=never)


def test_nobody_there_and_nobody_who_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoAnswerError):
            Api(address, timeout_s=0.05).get("/x")
    with socket.socket() as taken:  # bound, so that nobody else listens there either
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(UnreachableError):
            Api(f"127.0.0.1:{taken.getsockname()[1]}", timeout_s=30).text("/x")


@pytest.mark.parametrize("given", ["", "ftp://a:1", "a:b", "http://", "127.0.0.1:0", "127.0.0.1:99999"])
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(UsageError):
        Api(given)
