"""HTTP address servers: what is asked, what is read, and what is refused."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.builders import eventually
from tests.support.consuming import TOPIC, Seen, fill
from tests.support.faulty_broker import faulty_cluster

from cosmodrome import AdminClient, ClientConfig, Consumer, Message, Producer
from cosmodrome.client import server_list
from cosmodrome.client.address_server import MAX_BODY_BYTES, MAX_HEAD_BYTES, is_url, name_servers_at
from cosmodrome.client.addresses import Address
from cosmodrome.client.server_list import ServerList
from cosmodrome.errors import AddressServerError, ConfigError

FIRST = Address("10.0.0.1", 9876)
BOTH = (FIRST, Address("10.0.0.2", 9877))


@dataclass
class Web:
    """An HTTP server that gives these bytes for each path, and notes what was asked."""

    answers: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0
    hold: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/rocketmq/nsaddr"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            if self.hold is not None:
                await self.hold.wait()
            writer.write(self.answers.get(path, b"HTTP/1.0 404 Not Found\r\n\r\n"))
            await writer.drain()
        writer.close()


@asynccontextmanager
async def web(answer: bytes = b"") -> AsyncIterator[Web]:
    served = Web({"/rocketmq/nsaddr": answer})
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    async with server:
        yield served
        if served.hold is not None:
            served.hold.set()


def ok(text: str | bytes, *, with_length: bool = True) -> bytes:
    body = text.encode() if isinstance(text, str) else text
    length = f"Content-Length: {len(body)}\r\n" if with_length else ""
    return f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        ok("10.0.0.1:9876;10.0.0.2:9877\n"),
        ok("10.0.0.1:9876,10.0.0.2:9877", with_length=False),
        ok("\r\n 10.0.0.1 ; 10.0.0.2:9877 \r\n"),
        ok("10.0.0.1:9876;10.0.0.2:9877") + b"more than was told",
    ],
)
async def test_a_list_is_read(answer: bytes) -> None:
    async with web(answer) as served:
        assert await name_servers_at(served.url, 5) == BOTH
        assert served.asked == ["/rocketmq/nsaddr"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "HTTP status 500"),
        (b"nonsense\r\n\r\n", "it is no HTTP server"),
        (b"HTTP/1.1 200", "it is no HTTP server"),
        (b"", "it is no HTTP server"),
        (ok(""), "there is no address in it"),
        (ok("<html>welcome</html>"), "'<html>welcome</html>'"),
        (ok("10.0.0.1:99999"), "10.0.0.1:99999"),
        (ok(b"\xff\xfe"), "its answer is no text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n10.0.0.1:9876;10", "its answer was cut off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n10.0.0.1:9876", "Content-Length '-1'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "Content-Length '99999999999'"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "an answer in chunks"),
        (ok("10.0.0.1:9876;" * 10_000), f"more than {MAX_BODY_BYTES} bytes"),
        (ok("10.0.0.1:9876;" * 10_000, with_length=False), f"more than {MAX_BODY_BYTES} bytes"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * MAX_HEAD_BYTES + b"\r\n\r\n", f"more than {MAX_HEAD_BYTES} bytes"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "it redirects to 'file:///etc/passwd'"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/x\r\n\r\n", "it redirects to 'https://127.0.0.1/x'"),
        (b"HTTP/1.1 302 Found\r\n\r\n", "which is not followed"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_reason(answer: bytes, reason: str) -> None:
    async with web(answer) as served:
        with pytest.raises(AddressServerError) as refused:
            await name_servers_at(served.url, 5)
    assert reason in str(refused.value)
    assert served.url in str(refused.value)


async def test_a_redirect_to_nowhere_is_named() -> None:
    async with web(b"HTTP/1.1 302 Found\r\nLocation: http://host:port/x\r\n\r\n") as served:
        with pytest.raises(AddressServerError, match="http://host:port/x: the URL has no host and port"):
            await name_servers_at(served.url, 5)


async def test_redirects_are_followed_a_few_times() -> None:
    async with web() as served:
        served.answers = {
            "/rocketmq/nsaddr": b"HTTP/1.1 301 Moved\r\nLocation: /2\r\n\r\n",
            "/2": f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{served.port}/3?x=1\r\n\r\n".encode(),
            "/3?x=1": ok("10.0.0.1"),
            "/round": b"HTTP/1.1 301 Moved\r\nLocation: /and\r\n\r\n",
            "/and": b"HTTP/1.1 301 Moved\r\nLocation: /round\r\n\r\n",
        }
        assert await name_servers_at(served.url, 5) == (FIRST,)
        assert served.asked == ["/rocketmq/nsaddr", "/2", "/3?x=1"]
        with pytest.raises(AddressServerError, match="more than 3 redirects"):
            await name_servers_at(f"http://127.0.0.1:{served.port}/round", 5)


async def test_one_that_says_nothing_has_its_time(unused_tcp_port_factory: Callable[[], int]) -> None:
    async with web() as served:
        served.hold = asyncio.Event()
        with pytest.raises(AddressServerError, match=r"no answer in 0\.05 s"):
            await name_servers_at(served.url, 0.05)
    with pytest.raises(AddressServerError, match=r"address server http://127\.0\.0\.1:"):
        await name_servers_at(f"http://127.0.0.1:{unused_tcp_port_factory()}/x", 5)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("http://jmenv.tbsite.net:8080/rocketmq/nsaddr", True),
        (" HTTPS://host/x ", True),
        ("http://10.0.0.1:9876", False),
        ("http://10.0.0.1:9876/", False),
        ("10.0.0.1:9876", False),
        ("http://a/b;http://c/d", False),
    ],
)
def test_a_url_with_a_path_is_an_address_server(text: str, is_one: bool) -> None:  # noqa: FBT001 -- an outcome
    assert is_url(text) == is_one


def test_the_unit_is_a_part_of_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "http://host:8080/rocketmq/nsaddr")
    assert ClientConfig().address_server == "http://host:8080/rocketmq/nsaddr"
    assert ClientConfig().name_servers == ()
    assert ClientConfig(unit_name="hz").address_server == "http://host:8080/rocketmq/nsaddr-hz?nofix=1"
    assert ClientConfig(namesrv="10.0.0.1").address_server is None
    with pytest.raises(ConfigError, match="namesrv"):
        ClientConfig(namesrv="http://a/b;http://c/d")


async def test_the_list_is_asked_for_again_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web(ok("10.0.0.1:9876")) as served:
        servers = ServerList((), served.url, 5)
        found = await asyncio.gather(*(servers.current() for _ in range(5)))
        assert (set(found), len(served.asked)) == ({(FIRST,)}, 1)
        assert await servers.current() == (FIRST,)
        assert len(served.asked) == 1

        monkeypatch.setattr(server_list, "VALID_S", 0.0)
        servers._valid_until_s = 0.0
        served.answers["/rocketmq/nsaddr"] = ok("10.0.0.1:9876;10.0.0.2:9877")
        await servers.current()
        await eventually(lambda: servers.known == BOTH, "the new list")
        servers.close()


async def test_what_is_known_stays_when_the_address_server_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with web(ok("10.0.0.1:9876")) as served:
        servers = ServerList((), served.url, 5)
        await servers.current()
        served.answers["/rocketmq/nsaddr"] = ok("<html>maintenance</html>")
        servers._valid_until_s = 0.0
        assert await servers.current() == (FIRST,)
        await eventually(lambda: "the NameServers stay 10.0.0.1:9876" in caplog.text, "a word in the log")
        assert await servers.current() == (FIRST,)
        assert len(served.asked) == 2


async def test_without_any_answer_it_is_an_error_at_once_and_asked_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with web(ok("")) as served:
        servers = ServerList((), served.url, 5)
        for _ in range(3):
            with pytest.raises(AddressServerError):
                await servers.current()
        assert len(served.asked) == 1
        servers._valid_until_s = 0.0
        served.answers["/rocketmq/nsaddr"] = ok("10.0.0.1")
        assert await servers.current() == (FIRST,)


async def test_clients_find_their_name_servers_by_it(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster, web(ok(cluster.name_server)) as served:
        fill(cluster.broker, 1)
        async with Producer("pg", namesrv=served.url) as producer:
            await producer.send(Message(topic=TOPIC, body=b"1"))
        async with (
            Consumer(
                "G", namesrv=served.url, subscriptions={TOPIC: None}, handler=(seen := Seen()), consume_from="first"
            ),
            AdminClient(namesrv=served.url) as admin,
        ):
            await seen.came(2)
            assert [broker.name for broker in await admin.brokers.list()] == ["broker-a"]
        assert len(served.asked) == 3


async def test_a_consumer_whose_address_server_fails_says_so(tmp_path: Path) -> None:
    async with web(b"HTTP/1.1 503 Busy\r\n\r\n") as served:
        reader = Consumer("G", namesrv=served.url, subscriptions={TOPIC: None})
        with pytest.raises(AddressServerError, match="HTTP status 503"):
            await reader.start()
