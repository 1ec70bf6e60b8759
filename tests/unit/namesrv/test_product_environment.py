"""Routes of another environment."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import running

from cosmodrome.namesrv import product_environment
from cosmodrome.namesrv.product_environment import ProductEnvironment, address_server_url, split_addresses
from cosmodrome.transport.client import RemotingClient

TWO = [wire.topic_config("T1"), wire.topic_config("T2")]
DEAD = "127.0.0.1:1"


@pytest.fixture
async def client() -> AsyncIterator[RemotingClient]:
    one = RemotingClient()
    yield one
    await one.close()


@asynccontextmanager
async def http(answer: Callable[[], bytes]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve one HTTP answer; give the URL and the request lines that came."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/list", asked


def ok(body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()


async def test_the_first_that_answers_is_believed(tmp_path: Path, client: RemotingClient) -> None:
    async with running(tmp_path) as run:
        await (await run.wire()).register(wire.Broker(), TWO)
        environment = ProductEnvironment(client, lambda: "", f"{DEAD};{run.server.address}")

        body = await environment.route("T1")
        assert body is not None
        assert b"{0:" in body, "the plain dialect"
        assert await environment.route("?") is None


async def test_nobody_answers(client: RemotingClient) -> None:
    assert await ProductEnvironment(client, lambda: "", DEAD).route("T1") is None


async def test_an_address_server_is_asked_once_in_a_while(
    tmp_path: Path, client: RemotingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as run:
        await (await run.wire()).register(wire.Broker(), TWO)
        async with http(lambda: ok(f"{run.server.address}\n")) as (url, asked):
            environment = ProductEnvironment(client, lambda: url)
            assert await environment.route("T1") is not None
            assert await environment.route("T2") is not None
            assert asked == [b"GET /list HTTP/1.1\r\n"]

            monkeypatch.setattr(product_environment, "_ADDRESSES_VALID_S", -1.0)
            environment._valid_until_s = 0
            assert await environment.route("T1") is not None
            assert len(asked) == 2
        assert await environment.route("T1") is not None, "the address server is gone, what it said is not"


async def test_another_environment_has_other_addresses(client: RemotingClient) -> None:
    urls = ["http://127.0.0.1:1/a"]
    environment = ProductEnvironment(client, lambda: urls[-1])
    assert await environment.route("T1") is None
    async with http(lambda: ok("")) as (url, asked):
        urls.append(url)
        assert await environment.route("T1") is None
        assert len(asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    ],
)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # http.client leaves its socket to the collector
async def test_an_address_server_that_makes_no_sense(client: RemotingClient, answer: bytes) -> None:
    async with http(lambda: answer) as (url, _):
        assert await ProductEnvironment(client, lambda: url).route("T1") is None


async def test_a_url_that_is_none(client: RemotingClient) -> None:
    assert await ProductEnvironment(client, lambda: "http://a host:8080/x").route("T1") is None


def test_urls_are_those_of_javas_clients() -> None:
    assert address_server_url("jmenv.tbsite.net", "nsaddr", "center") == (
        "http://jmenv.tbsite.net:8080/rocketmq/nsaddr-center?nofix=1"
    )
    assert address_server_url("host:80", "sub", "") == "http://host:80/rocketmq/sub"


def test_lists_of_addresses() -> None:
    assert split_addresses(" a:1; b:2,c:3;; \n") == ("a:1", "b:2", "c:3")
    assert split_addresses("") == ()
