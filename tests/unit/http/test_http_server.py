"""What a peer may cost, and when the listener loads what it needs."""

import asyncio
import importlib.util
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from tests.support.builders import eventually

from cosmodrome.http import http_server as module
from cosmodrome.http import plane as plane_module
from cosmodrome.http.plane import HttpPlane, missing_libraries

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Answer with a length that the query asks for."""
    assert scope["type"] == "http"
    size = int(scope["query_string"] or b"2")
    headers = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"x" * size})


@asynccontextmanager
async def served(*, is_awaited: bool = True) -> AsyncIterator[HttpPlane]:
    plane = HttpPlane("127.0.0.1", 0)
    plane.bind()
    plane.start(lambda: hello, is_awaited=is_awaited)
    try:
        yield plane
    finally:
        await plane.stop()


class Visitor:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, bytes]:
        """Read one answer: its status and body."""
        async with asyncio.timeout(20):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            body = await self.reader.readexactly(int(length.partition(b":")[2]))
        return int(head.split()[1]), body

    async def rest(self) -> bytes:
        async with asyncio.timeout(20):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


@asynccontextmanager
async def visit(plane: HttpPlane) -> AsyncIterator[Visitor]:
    host, _, port = plane.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Visitor(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def code_of(body: bytes) -> str:
    return str(json.loads(body)["code"])


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("begun", [b"", b"G", HEAD])
async def test_a_head_that_does_not_come_ends_the_connection(begun: bytes) -> None:
    async with served() as plane, visit(plane) as visitor:
        visitor.send(begun)
        status, body = await visitor.answer()
        assert (status, code_of(body), await visitor.rest()) == (408, "slow_head", b"")


async def test_a_second_head_that_drips_has_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as plane, visit(plane) as visitor:
        visitor.send(HEAD + b"\r\n")
        assert (await visitor.answer())[0] == 200
        monkeypatch.setattr(module, "HEAD_TIMEOUT_S", 0.1)
        visitor.send(b"GET")
        assert (await visitor.answer())[0] == 408


async def test_who_has_asked_may_be_silent_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as plane, visit(plane) as visitor:
        visitor.send(HEAD + b"\r\n")
        assert (await visitor.answer())[0] == 200
        monkeypatch.setattr(module, "HEAD_TIMEOUT_S", 0.1)
        async with visit(plane) as other:
            assert (await other.answer())[0] == 408, "which takes longer than a head may"
        visitor.send(HEAD + b"\r\n")
        assert (await visitor.answer())[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 100) for n in range(1000)) + b"\r\n",
        HEAD + b"Cookie: " + b"x" * 100_000,
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
    ],
    ids=["no http", "no host", "two hosts", "many fields", "long field", "two lengths"],
)
async def test_what_is_no_request_is_a_problem_and_no_line_in_the_log(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with served() as plane, visit(plane) as visitor:
            visitor.send(data)
            status, body = await visitor.answer()
            assert (status, code_of(body)) == (400, "bad_request")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_there_are_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 2)
    async with served() as plane:
        async with visit(plane) as first, visit(plane) as second:
            for visitor in (first, second):
                visitor.send(HEAD + b"\r\n")
                assert (await visitor.answer())[0] == 200
            async with visit(plane) as third:
                status, body = await third.answer()
                assert (status, code_of(body), await third.rest()) == (503, "busy", b"")
            first.send(HEAD + b"\r\n")
            assert (await first.answer())[0] == 200
        connections = connections_of(plane)
        await eventually(lambda: not connections, "the end of all")
        async with visit(plane) as again:
            again.send(HEAD + b"\r\n")
            assert (await again.answer())[0] == 200


def connections_of(plane: HttpPlane) -> set[Any]:
    assert isinstance(plane._server, module.HttpServer)
    return plane._server.server_state.connections


async def test_who_does_not_take_an_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAKING_TIMEOUT_S", 0.05)
    async with served() as plane, visit(plane) as visitor:
        visitor.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
        visitor.send(b"GET /?30000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        connections = connections_of(plane)
        await eventually(lambda: connections, "the connection")
        await eventually(lambda: not connections, "its end")
        visitor.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await visitor.rest()) < 30_000_000


async def test_nothing_is_loaded_before_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[bool] = []
    real = plane_module._loaded

    def load_noted(load: Callable[[], Any]) -> Any:
        loaded.append(True)
        return real(load)

    monkeypatch.setattr(plane_module, "_loaded", load_noted)
    async with served(is_awaited=False) as plane:
        for _ in range(20):
            await asyncio.sleep(0)
        assert loaded == []
        async with visit(plane) as visitor:
            visitor.send(HEAD + b"\r\n")
            assert await visitor.answer() == (200, b"xx")
        assert loaded == [True]


async def test_one_that_nobody_visited_stops_too() -> None:
    async with served(is_awaited=False) as plane:
        assert plane.address
    assert plane.address == ""


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_libraries() == ()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else name)
    assert missing_libraries() == ("uvicorn",)
