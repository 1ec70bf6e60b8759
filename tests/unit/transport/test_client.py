"""RemotingClient: connections that we open."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support import wire
from tests.support.builders import eventually

from cosmodrome.errors import ConnectError, RequestTimeoutError
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.transport import client as client_module
from cosmodrome.transport.client import RemotingClient

ASK = request(105, {"topic": "T"}, b"body")


class Server:
    """Answers by `reply`, or not at all; counts connections and keeps what it got."""

    def __init__(self, reply: Callable[[wire.Answer], bytes]) -> None:
        self.reply = reply
        self.got: list[wire.Answer] = []
        self.connections = 0
        self.open: list[asyncio.StreamWriter] = []
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.append(writer)
        rest = b""
        try:
            while data := await reader.read(65536):
                answers, rest = wire.split(rest + data)
                self.got += answers
                for answer in answers:
                    writer.write(self.reply(answer))
        except ConnectionError:
            return
        finally:
            self.open.remove(writer)
            writer.close()


def answered(asked: wire.Answer) -> bytes:
    return wire.encode_request(0, None, asked.body, opaque=asked.opaque, flag=1)


@asynccontextmanager
async def serving(reply: Callable[[wire.Answer], bytes] = answered) -> AsyncIterator[Server]:
    one = Server(reply)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.address = "{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield one
    finally:
        server.close()
        for writer in list(one.open):
            writer.close()
        await eventually(lambda: not one.open, "the end of all connections")


@asynccontextmanager
async def a_client(idle_limit_s: float = 60) -> AsyncIterator[RemotingClient]:
    client = RemotingClient(idle_limit_s)
    try:
        yield client
    finally:
        await client.close()


async def test_a_request_gets_its_answer() -> None:
    async with serving() as server, a_client() as client:
        answer = await client.request(server.address, ASK, 5)

        assert (answer.code, answer.body) == (0, b"body")
        assert server.got[0].ext == {"topic": "T"}


async def test_requests_share_a_connection_and_find_their_own_answers() -> None:
    """Answers may come in any order."""
    held: list[wire.Answer] = []

    def reversed_pairs(asked: wire.Answer) -> bytes:
        held.append(asked)
        if len(held) % 2:
            return b""
        return answered(held[-1]) + answered(held[-2])

    async with serving(reversed_pairs) as server, a_client() as client:
        answers = await asyncio.gather(
            *(client.request(server.address, request(105, None, b"%d" % number), 5) for number in range(10))
        )

        assert [answer.body for answer in answers] == [b"%d" % number for number in range(10)]
        assert server.connections == 1
        assert len({asked.opaque for asked in server.got}) == 10


async def test_a_oneway_is_sent_and_not_waited_for() -> None:
    async with serving(lambda _: b"") as server, a_client() as client:
        await client.send_oneway(server.address, request(905, is_oneway=True), 5)
        await eventually(lambda: server.got, "the oneway")

        assert server.got[0].flag == wire.FLAG_ONEWAY


async def test_no_answer_in_time() -> None:
    """One that comes later is dropped; the next request gets its own."""
    late: list[wire.Answer] = []

    def first_late(asked: wire.Answer) -> bytes:
        late.append(asked)
        return b"" if len(late) == 1 else answered(late[0]) + answered(asked)

    async with serving(first_late) as server, a_client() as client:
        with pytest.raises(RequestTimeoutError, match=r"did not answer request 105 in 0\.05 s"):
            await client.request(server.address, ASK, 0.05)

        answer = await client.request(server.address, request(105, None, b"second"), 5)
        assert answer.body == b"second"


async def test_nobody_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        async with a_client() as client:
            with pytest.raises(ConnectError, match=address):
                await client.request(address, ASK, 5)
            with pytest.raises(ConnectError, match=address):
                await client.send_oneway(address, ASK, 5)


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:", "127.0.0.1:x", ":", "", "127.0.0.1:99999999"])
async def test_an_address_that_is_none(address: str) -> None:
    async with a_client() as client:
        with pytest.raises(ConnectError, match="cannot connect to"):
            await client.request(address, ASK, 5)


async def test_a_connection_that_breaks_before_the_answer() -> None:
    async with serving(lambda _: b"") as server, a_client() as client:
        asking = asyncio.ensure_future(client.request(server.address, ASK, 5))
        await eventually(lambda: server.got, "the request")
        server.open[0].transport.abort()

        with pytest.raises(ConnectError, match="broke"):
            await asking


async def test_after_a_break_the_next_request_connects_again() -> None:
    async with serving() as server, a_client() as client:
        await client.request(server.address, ASK, 5)
        server.open[0].close()
        await eventually(lambda: not client._channels, "the end of the connection")

        assert (await client.request(server.address, ASK, 5)).code == 0
        assert server.connections == 2


async def test_an_answer_that_is_none_ends_the_connection() -> None:
    async with serving(lambda _: b"\0\0\0\1") as server, a_client() as client:
        with pytest.raises(ConnectError, match="broke"):
            await client.request(server.address, ASK, 5)


async def test_requests_of_the_other_side_are_ignored() -> None:
    async with (
        serving(lambda asked: wire.encode_request(40, opaque=asked.opaque) + answered(asked)) as server,
        a_client() as client,
    ):
        assert (await client.request(server.address, ASK, 5)).code == 0


async def test_an_idle_connection_is_closed() -> None:
    async with serving() as server, a_client(idle_limit_s=0.1) as client:
        await client.request(server.address, ASK, 5)
        await eventually(lambda: not server.open, "the idle close")

        assert (await client.request(server.address, ASK, 5)).code == 0


async def test_closing_ends_what_waits() -> None:
    async with serving(lambda _: b"") as server:
        client = RemotingClient()
        asking = asyncio.ensure_future(client.request(server.address, ASK, 5))
        await eventually(lambda: server.got, "the request")

        await client.close()
        await client.close()

        with pytest.raises(ConnectError):
            await asking


@asynccontextmanager
async def black_hole() -> AsyncIterator[str]:
    """Give an address whose host does not answer: its queue of connections is full."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        fillers = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(sock.getsockname())
            fillers.append(filler)
        try:
            yield "{}:{}".format(*sock.getsockname())
        finally:
            for filler in fillers:
                filler.close()


async def test_a_host_that_does_not_answer() -> None:
    async with black_hole() as address, a_client() as client:
        with pytest.raises(RequestTimeoutError, match=address):
            await client.request(address, ASK, 0.1)
        with pytest.raises(RequestTimeoutError, match="did not take request 105"):
            await client.send_oneway(address, ASK, 0.1)


async def test_a_connection_that_fails_after_everybody_gave_up_is_no_fault_of_anybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop would tell of an exception that nobody asked for."""
    faults: list[object] = []
    may_fail = asyncio.Event()

    async def refused(*_: object, **__: object) -> None:
        await may_fail.wait()
        raise OSError("refused")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    monkeypatch.setattr(RemotingClient, "_connect_to_one", refused)
    client = RemotingClient()
    asking = asyncio.create_task(client.request("127.0.0.1:1", ASK, 5))
    await eventually(lambda: client._connecting, "the attempt")
    asking.cancel()
    await asyncio.wait({asking})
    may_fail.set()
    await eventually(lambda: not client._connecting, "the end of the attempt")
    await client.close()
    assert asking.cancelled()
    del asking  # whose frames know the attempt
    gc.collect()

    assert faults == []


async def test_closing_ends_what_waits_for_a_connection() -> None:
    """With an error of ours; only a caller's own cancellation is a cancellation."""
    async with black_hole() as address:
        client = RemotingClient()
        asking = asyncio.ensure_future(client.request(address, ASK, 5))
        await eventually(lambda: client._connecting, "the attempt")

        await client.close()

        with pytest.raises(ConnectError):
            await asking


async def test_a_peer_that_takes_nothing() -> None:
    """A oneway is not sent while earlier ones are not taken."""

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stopped.wait()
        writer.close()

    stopped = asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1", 0, limit=1024)
    address = "{}:{}".format(*server.sockets[0].getsockname())
    big = request(905, None, b"x" * 1_000_000, is_oneway=True)
    async with a_client() as client:

        async def flood() -> None:
            for _ in range(40):
                await client.send_oneway(address, big, 0.2)

        with pytest.raises(RequestTimeoutError, match="did not take"):
            await flood()
    stopped.set()
    server.close()


async def test_opaques_are_the_connections_own() -> None:
    """Whatever the command says."""
    async with serving() as server, a_client() as client:
        answers = [await client.request(server.address, RemotingCommand(105, opaque=99), 5) for _ in range(3)]

        assert [asked.opaque for asked in server.got] == [answer.opaque for answer in answers] == [0, 1, 2]


async def test_nothing_connects_after_the_end() -> None:
    async with serving() as server:
        client = RemotingClient()
        await client.close()

        with pytest.raises(ConnectError, match="was closed"):
            await client.request(server.address, ASK, 5)
        assert server.connections == 0


async def test_an_attempt_that_nobody_answers_is_given_up_and_another_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would repeat the first one at ever longer intervals, though the peer may be back."""
    monkeypatch.setattr(client_module, "CONNECT_LIMIT_S", 0.05)
    async with black_hole() as address, a_client() as client:
        with pytest.raises(ConnectError, match=r"no answer in 0\.05 s"):
            await client.request(address, ASK, 5)
        assert client._connecting == {}


async def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does by chance when a peer on this host is gone, and its port is taken for our own end."""
    loop = asyncio.get_running_loop()
    connect = loop.create_connection
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]

    async def from_there(factory: Any, host: str, port: int, **options: Any) -> Any:
        return await connect(factory, host, port, **options, local_addr=(host, port))

    monkeypatch.setattr(asyncio, "get_running_loop", lambda: _Loop(loop, from_there))
    async with a_client() as client:
        with pytest.raises(ConnectError, match="nobody listens there"):
            await client.request(f"127.0.0.1:{port}", ASK, 5)
        assert client.addresses() == ()


class _Loop:
    """A loop that connects in its own way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, create_connection: Any) -> None:
        self._loop = loop
        self.create_connection = create_connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)
