"""One accepted connection, over a real loopback socket."""

import asyncio
import functools
import itertools
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.support import wire
from tests.support.builders import UNSERVED, AsyncWire, Owner, eventually, split_into

from cosmodrome.errors import FrameTooLargeError, MalformedFrameError, MalformedHeaderError
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport import connection as connection_module
from cosmodrome.transport.connection import Connection, ConnectionOptions
from cosmodrome.transport.dispatch import Answer, Peer
from cosmodrome.transport.limits import PeerLimits
from cosmodrome.transport.sockets import format_address

KIB = 1024


def echo(request: RemotingCommand, _: Peer) -> Answer:
    """Answer with the request's body."""
    return response_to(request, 0, None, None, request.body)


@asynccontextmanager
async def listening(owner: Owner, options: ConnectionOptions | None = None) -> AsyncIterator[str]:
    """Accept connections for this owner; give the address."""
    loop = asyncio.get_running_loop()
    numbers = itertools.count(1)
    server = await loop.create_server(
        lambda: Connection(owner, next(numbers), options or ConnectionOptions()), "127.0.0.1", 0
    )
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname())
    finally:
        server.close()
        for connection in owner.made:
            if connection not in owner.lost:
                connection.reset()
        await eventually(lambda: len(owner.lost) == len(owner.made), "the end of all connections")


def blocking_socket(address: str, *, receive_buffer: int = 4 * KIB) -> socket.socket:
    """Connect a socket that reads only when it is told to."""
    host, _, port = address.rpartition(":")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.connect((host, int(port)))
    sock.setblocking(False)
    return sock


def has_requests(owner: Owner, count: int) -> bool:
    return len(owner.requests) >= count


async def read_to_end(sock: socket.socket) -> bytes:
    data = b""
    while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**16), 10):
        data += piece
    return data


async def send_all(sock: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, data)


async def test_requests_are_answered_in_their_order() -> None:
    """However they are pipelined."""
    async with listening(Owner(echo)) as address, await AsyncWire.connect(address) as peer:
        for number in range(300):
            peer.post(105, None, b"%d" % number)

        answers = await peer.answers(300)

    assert [answer.body for answer in answers] == [b"%d" % number for number in range(300)]
    assert [answer.opaque for answer in answers] == list(range(1, 301))


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_requests_in_pieces(size: int) -> None:
    data = b"".join(wire.encode_request(105, {"a": "b"}, b"x" * 10, opaque=number) for number in range(5))
    async with listening(Owner(echo)) as address, await AsyncWire.connect(address) as peer:
        for piece in split_into(data, size):
            peer.send(piece)
            await asyncio.sleep(0)

        assert [answer.opaque for answer in await peer.answers(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
async def test_the_codec_of_the_request_is_that_of_the_answer(codec: wire.Codec) -> None:
    async with listening(Owner(echo)) as address, await AsyncWire.connect(address) as peer:
        answer = await peer.request(105, {"a": "b"}, b"body", codec=codec)

    assert (answer.codec, answer.body, answer.flag) == (codec, b"body", 1)


async def test_a_oneway_is_acted_on_and_never_answered() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.post(904, flag=wire.FLAG_ONEWAY)
        answer = await peer.request(105, None, b"next")

        assert answer.body == b"next"
        assert [request.code for request in owner.requests] == [904, 105]
        assert peer.untaken == 0


async def test_a_response_is_ignored() -> None:
    """We asked nothing on this connection. The oneway bit changes nothing about it."""
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.post(0, flag=wire.FLAG_RESPONSE)
        peer.post(0, flag=wire.FLAG_RESPONSE | wire.FLAG_ONEWAY)
        await peer.request(105)

        assert [request.code for request in owner.requests] == [105]
        assert peer.untaken == 0


@pytest.mark.parametrize(
    ("junk", "error"),
    [
        (b"\0\0\0\3", MalformedFrameError),
        (b"GET / HTTP/1.1\r\n\r\n", FrameTooLargeError),
        (wire.frame(b"{}")[:4] + b"\2" + wire.frame(b"{}")[5:], MalformedFrameError),
        (wire.frame(b"nonsense"), MalformedHeaderError),
        (wire.frame(b"short", header_type=1), MalformedHeaderError),
    ],
)
async def test_what_is_not_the_protocol_ends_the_connection(junk: bytes, error: type[Exception]) -> None:
    """What came before is answered; what comes after, in the same bytes, is not even looked at."""
    owner = Owner(echo)
    good = wire.encode_request(105, opaque=7)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(good + junk + good)

        assert (await peer.answer()).opaque == 7
        await peer.closed()

    assert [type(each) for each in owner.errors] == [error]
    assert len(owner.requests) == 1


async def test_a_frame_over_the_limit_is_refused_before_its_data_comes() -> None:
    owner = Owner(echo)
    async with (
        listening(owner, ConnectionOptions(max_frame_bytes=1000)) as address,
        await AsyncWire.connect(address) as peer,
    ):
        peer.send((997).to_bytes(4, "big"))
        await peer.closed()

    assert str(owner.errors[0]) == "frame of 1001 bytes is over the limit of 1000 bytes"


async def test_a_frame_of_just_the_limit_is_read() -> None:
    limit = 1000
    head = len(wire.encode_request(105, opaque=1))
    async with (
        listening(Owner(echo), ConnectionOptions(max_frame_bytes=limit)) as address,
        await AsyncWire.connect(address) as peer,
    ):
        assert len((await peer.request(105, None, b"x" * (limit - head))).body) == limit - head
        peer.post(105, None, b"x" * (limit - head + 1))
        await peer.closed()


async def test_a_peer_that_has_finished_gets_its_answers_and_the_end() -> None:
    """Half close: it sends FIN right behind its requests."""
    async with listening(Owner(echo)) as address, await AsyncWire.connect(address) as peer:
        peer.post(105)
        peer.post(105)
        peer.end_sending()

        assert [answer.opaque for answer in await peer.answers(2)] == [1, 2]
        await peer.closed()


class Gate:
    """A processor that waits until it is let go."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.began: list[int] = []

    def __call__(self, request: RemotingCommand, peer: Peer) -> Answer:
        return self._wait(request) if request.code == 100 else echo(request, peer)

    async def _wait(self, request: RemotingCommand) -> RemotingCommand:
        self.began.append(request.opaque)
        await self.opened.wait()
        return response_to(request, 0, "waited")


async def test_a_request_that_waits_holds_back_the_later_ones_of_its_connection() -> None:
    """Answers keep the order of the requests; other connections go on."""
    gate = Gate()
    owner = Owner(gate)
    async with (
        listening(owner) as address,
        await AsyncWire.connect(address) as peer,
        await AsyncWire.connect(address) as other,
    ):
        for code in (105, 100, 105, 100, 105):
            peer.post(code)
        await eventually(lambda: gate.began, "the first request that waits")

        assert (await peer.answer()).opaque == 1
        assert (await other.request(105)).code == 0
        assert gate.began == [2]
        assert owner.made[0].work is not None

        gate.opened.set()
        assert [answer.opaque for answer in await peer.answers(4)] == [2, 3, 4, 5]
        assert [answer.remark for answer in [await peer.request(100)]] == ["waited"]
        assert owner.made[0].work is None


async def test_a_oneway_that_waits_is_not_answered_and_holds_back_too() -> None:
    gate = Gate()
    async with listening(Owner(gate)) as address, await AsyncWire.connect(address) as peer:
        peer.post(100, flag=wire.FLAG_ONEWAY)
        peer.post(105)
        await eventually(lambda: gate.began, "the oneway")
        assert peer.untaken == 0

        gate.opened.set()
        assert (await peer.answer()).opaque == 2


async def test_half_close_while_a_request_waits() -> None:
    gate = Gate()
    async with listening(Owner(gate)) as address, await AsyncWire.connect(address) as peer:
        peer.post(100)
        peer.post(105)
        peer.end_sending()
        await eventually(lambda: gate.began, "the request that waits")

        gate.opened.set()
        assert [answer.opaque for answer in await peer.answers(2)] == [1, 2]
        await peer.closed()


async def test_a_peer_that_is_gone_when_its_answer_is_ready(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    owner = Owner(gate)
    async with listening(owner) as address:
        peer = await AsyncWire.connect(address)
        peer.post(100)
        peer.post(105)
        await eventually(lambda: gate.began, "the request that waits")
        peer.abort()
        owner.made[0].close()
        await eventually(lambda: owner.lost, "the end of the connection")
        work = owner.made[0].work
        assert work is not None

        gate.opened.set()
        await work

    assert [request.code for request in owner.requests] == [100]
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def test_a_peer_that_breaks_off_is_noticed() -> None:
    owner = Owner(echo)
    async with listening(owner) as address:
        peer = await AsyncWire.connect(address)
        await peer.request(105)
        peer.abort()
        await eventually(lambda: owner.lost, "the end of the connection")

    assert owner.lost == owner.made
    assert not owner.errors


async def test_closing_sends_what_was_answered() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        body = b"x" * 50_000
        peer.post(105, None, body)
        await eventually(lambda: owner.requests, "the request")
        owner.made[0].close()
        owner.made[0].close()

        assert (await peer.answer()).body == body
        await peer.closed()
        await eventually(lambda: owner.lost, "the end of the connection")


async def test_nothing_is_answered_after_a_close_in_the_middle_of_requests() -> None:
    owner = Owner(lambda request, peer: response_to(request, 0))

    def close_at_second(request: RemotingCommand, _: Peer) -> Answer:
        if request.opaque == 2:
            owner.made[0].close()
        return response_to(request, 0)

    owner.on_request = close_at_second
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(b"".join(wire.encode_request(105, opaque=number) for number in (1, 2, 3)))
        await peer.closed()

    assert [request.opaque for request in owner.requests] == [1, 2]


async def test_a_reset_is_seen_as_a_reset() -> None:
    owner = Owner(echo)
    async with listening(owner) as address:
        sock = blocking_socket(address)
        await eventually(lambda: owner.made, "the connection")
        owner.made[0].reset()
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 1), 10)
        sock.close()


BIG = b"r" * 2000
REQUESTS = 10_000


def big_route(request: RemotingCommand, _: Peer) -> Answer:
    return response_to(request, 0, None, None, BIG)


async def send_without_reading(sock: socket.socket, count: int) -> asyncio.Task[None]:
    """Send that many requests for as long as the server takes them."""
    data = b"".join(wire.encode_request(105, {"topic": "T"}, opaque=number) for number in range(count))
    return asyncio.ensure_future(send_all(sock, data))


async def stands_still(value: Callable[[], int]) -> int:
    """Wait until a number has not changed for a while, and give it."""
    loop = asyncio.get_running_loop()
    last, since = value(), loop.time()
    while loop.time() < since + 0.3:
        await asyncio.sleep(0.02)
        if value() != last:
            last, since = value(), loop.time()
    return last


SMALL_BUFFERS = ConnectionOptions(send_buffer_bytes=8 * KIB, high_water_bytes=64 * KIB, low_water_bytes=32 * KIB)


async def test_a_peer_that_never_reads_costs_a_bounded_amount() -> None:
    """10,000 route requests of 20 MB of answers: few are answered, and little is kept."""
    owner = Owner(big_route)
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, REQUESTS)

        answered = await stands_still(lambda: len(owner.requests))

        transport = owner.made[0]._transport
        assert transport is not None
        # The high-water mark and one burst of answers.
        assert transport.get_write_buffer_size() < 64 * KIB + 64 * KIB + len(BIG) + 200
        assert owner.made[0]._decoder.buffered_bytes <= 256 * KIB
        assert 0 < answered < REQUESTS / 4
        sending.cancel()
        sock.close()


async def test_a_peer_that_reads_late_gets_everything_in_order() -> None:
    owner = Owner(big_route)
    count = 2000
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, count)
        assert await stands_still(lambda: len(owner.requests)) < count

        data = b""
        opaques: list[int] = []
        while len(opaques) < count:
            data += await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**16), 10)
            answers, data = wire.split(data)
            opaques += [answer.opaque for answer in answers]

        assert opaques == list(range(count))
        await sending
        sock.close()


async def test_a_peer_that_finished_and_reads_late_gets_everything_and_the_end() -> None:
    owner = Owner(big_route)
    count = 300
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, count)
        await stands_still(lambda: len(owner.requests))
        await sending
        sock.shutdown(socket.SHUT_WR)

        data = b""
        while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**16), 10):
            data += piece

        assert [answer.opaque for answer in wire.split(data)[0]] == list(range(count))
        await eventually(lambda: owner.lost, "the end of the connection")
        sock.close()


async def test_closing_a_peer_that_never_reads_resets_it() -> None:
    """A FIN would wait behind the unsent answers for ever."""
    owner = Owner(big_route)
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, REQUESTS)
        await stands_still(lambda: len(owner.requests))

        owner.made[0].close()

        await eventually(lambda: owner.lost, "the end of the connection", within_s=5)
        with pytest.raises(ConnectionResetError):
            await read_to_end(sock)
        sending.cancel()
        sock.close()


async def test_closing_a_peer_that_never_reads_and_is_owed_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than the high-water mark is unsent: reading was never paused, and still nothing will ever be taken."""
    monkeypatch.setattr(connection_module, "_CLOSE_TIMEOUT_S", 0.2)
    owner = Owner(big_route)
    async with listening(owner, ConnectionOptions(send_buffer_bytes=8 * KIB)) as address:
        sock = blocking_socket(address)
        await eventually(lambda: owner.made, "the connection")
        transport = owner.made[0]._transport
        assert transport is not None
        opaque = 0
        while transport.get_write_buffer_size() == 0:
            opaque += 1
            await send_all(sock, wire.encode_request(105, opaque=opaque))
            await eventually(functools.partial(has_requests, owner, opaque), "the request")
            await asyncio.sleep(0.01)
        assert transport.get_write_buffer_size() < 32 * KIB

        owner.made[0].close()

        await eventually(lambda: owner.lost, "the end of the connection", within_s=5)
        sock.close()


async def test_closing_while_the_peer_catches_up_sends_everything() -> None:
    """A slow reader is not one that never reads."""
    owner = Owner(lambda request, _: response_to(request, 0, None, None, b"z" * 300_000))
    async with listening(owner, ConnectionOptions(high_water_bytes=10**6, low_water_bytes=10**5)) as address:
        sock = blocking_socket(address)
        await send_all(sock, wire.encode_request(105, opaque=1))
        await eventually(lambda: owner.requests, "the request")
        owner.made[0].close()

        data = b""
        while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**16), 10):
            data += piece
        assert len(wire.split(data)[0][0].body) == 300_000
        sock.close()


async def test_an_answer_that_fits_no_frame_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """A remark that repeats what the peer sent may grow beyond 24 bits when it is escaped."""
    loop = asyncio.get_running_loop()
    failures: list[dict[str, object]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    owner = Owner(lambda request, _: response_to(request, 17, "\1" * 3_000_000))
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.post(105)
        try:
            answer = await peer.answer()
        except ConnectionError:
            pass
        else:
            assert answer.code == 1
        assert not failures, failures


async def test_socket_options() -> None:
    owner = Owner(echo)
    options = ConnectionOptions(send_buffer_bytes=16 * KIB, receive_buffer_bytes=16 * KIB)
    async with listening(owner, options) as address, await AsyncWire.connect(address) as peer:
        await peer.request(105)
        transport = owner.made[0]._transport
        assert transport is not None
        sock = transport.get_extra_info("socket")

        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        # Linux doubles them.
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) in (16 * KIB, 32 * KIB)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in (16 * KIB, 32 * KIB)


async def test_the_peer_is_known_by_its_address() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        await peer.request(105)

        assert owner.made[0].peer == Peer(1, peer.local_address, peer.local_address)


async def test_what_was_received_and_sent_counts_as_activity() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        await peer.request(105)
        connection = owner.made[0]
        connection.last_active_s -= 100
        before = connection.last_active_s
        await peer.request(105)

        assert connection.last_active_s > before + 99


def never(_: RemotingCommand, __: Peer) -> Answer:
    raise AssertionError("nobody asked")


async def test_closing_what_was_never_opened_does_nothing() -> None:
    connection = Connection(Owner(never), 1, ConnectionOptions())

    connection.close()
    connection.reset()

    assert connection.peer == Peer(1, "unknown")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (("127.0.0.1", 1), "127.0.0.1:1"),
        (("::1", 2, 0, 0), "[::1]:2"),
        (("::ffff:10.0.0.1", 3, 0, 0), "10.0.0.1:3"),
        (("fe80::1%eth0", 4, 0, 2), "[fe80::1]:4"),
        ("/run/socket", "unknown"),
        ((), "unknown"),
        (None, "unknown"),
    ],
)
def test_addresses(name: object, shown: str) -> None:
    assert format_address(name) == shown


async def test_a_peer_that_speaks_http_is_told() -> None:
    owner = Owner(never)
    async with listening(owner) as address:
        sock = blocking_socket(address)
        await send_all(sock, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        data = await read_to_end(sock)
        sock.close()

    assert data.startswith(b"HTTP/1.1 400 ")
    assert b"RocketMQ" in data
    assert len(owner.errors) == 1


@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_a_peer_behind_a_proxy(size: int) -> None:
    """Known by the address that the proxy names, and by that of the socket."""
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        for piece in split_into(b"PROXY TCP4 10.1.1.1 10.2.2.2 1111 2222\r\n", size):
            peer.send(piece)
            await asyncio.sleep(0)

        assert (await peer.request(105, None, b"x")).body == b"x"
        assert owner.made[0].peer == Peer(1, "10.1.1.1:1111", peer.local_address)
        assert owner.made[0].entering_since_s is None


async def test_a_greeting_that_is_not_over_is_timed() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(b"PROXY TC")
        await eventually(lambda: owner.made and owner.made[0].entering_since_s is not None, "the first bytes")
        began_s = owner.made[0].entering_since_s
        peer.send(b"P4")
        await asyncio.sleep(0.05)

        assert owner.made[0].entering_since_s == began_s


async def test_an_answer_over_the_frame_limit_is_an_error() -> None:
    """Peers have the same limit as we."""
    owner = Owner(lambda request, _: response_to(request, 0, None, None, b"x" * 2000))
    async with (
        listening(owner, ConnectionOptions(max_frame_bytes=1000)) as address,
        await AsyncWire.connect(address) as peer,
    ):
        answer = await peer.request(105)

        assert answer.code == 1
        assert "more than the frame limit of 1000" in (answer.remark or "")
        assert (await peer.request(105)).code == 1


PACE = PeerLimits(greeting_timeout_s=10, frame_timeout_s=30, write_timeout_s=30, min_bytes_per_s=100)


async def test_a_frame_that_has_begun_is_awaited_until_it_is_complete() -> None:
    owner = Owner(echo)
    data = wire.encode_request(105, None, b"x" * 10_000, opaque=1)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        await peer.request(105)
        connection = owner.made[0]
        assert not connection.is_awaited
        peer.send(data[:50])
        await eventually(lambda: connection.is_awaited, "the beginning")
        now_s = connection.last_active_s

        assert connection.check_pace(now_s + 30, PACE) is None
        error = connection.check_pace(now_s + 31, PACE)
        assert error is not None
        assert error.cause == "frame_deadline"

        peer.send(data[50:] + data[:20])
        assert (await peer.answer()).opaque == 1
        await eventually(lambda: connection.held_bytes == 20, "the beginning of the next")
        assert connection.check_pace(connection.last_active_s + 29, PACE) is None, "each frame has its own time"
        peer.send(data[20:])
        assert (await peer.answer()).opaque == 1
        assert not connection.is_awaited


async def test_a_frame_that_moves_on_gets_as_long_again() -> None:
    owner = Owner(echo)
    data = wire.encode_request(105, None, b"x" * 100_000, opaque=1)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(data[:10])
        await eventually(lambda: owner.made and owner.made[0].held_bytes == 10, "the beginning")
        connection = owner.made[0]
        now_s = connection.last_active_s
        for received in (4010, 8010):
            peer.send(data[connection.held_bytes : received])
            await eventually(lambda received=received: connection.held_bytes == received, "more of it")  # type: ignore[misc]
            now_s += 35
            assert connection.check_pace(now_s, PACE) is None
            assert connection.check_pace(now_s + 30, PACE) is None
        assert connection.check_pace(now_s + 31, PACE) is not None


async def test_a_peer_that_does_not_take_its_answers_is_awaited() -> None:
    owner = Owner(big_route)
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, REQUESTS)
        await stands_still(lambda: len(owner.requests))
        connection = owner.made[0]
        assert owner.stalled == [connection]
        owed = connection.unsent_bytes
        assert owed > 64 * KIB
        now_s = connection._clock()

        assert connection.check_pace(now_s + 29, PACE) is None
        error = connection.check_pace(now_s + 31, PACE)
        assert error is not None
        assert error.cause == "write_stalled"
        assert str(owed) in str(error)

        while owner.stalled:
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**14), 10)
        assert connection.check_pace(connection._clock() + 29, PACE) is None
        sending.cancel()
        sock.close()


async def test_an_answer_that_is_taken_slowly_gets_as_long_again() -> None:
    """A limit that lets it: what it takes in these moments counts as taken in 31 seconds."""
    owner = Owner(lambda request, _: response_to(request, 0, None, None, b"z" * 4_000_000))
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        await send_all(sock, wire.encode_request(105, opaque=1))
        await eventually(lambda: owner.stalled, "the answer")
        connection = owner.made[0]
        now_s = connection._clock()
        for _ in range(3):
            owed = connection.unsent_bytes
            while connection.unsent_bytes > owed - 200_000:
                await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 2**16), 10)
            now_s += 31
            assert connection.check_pace(now_s, PACE) is None
            assert connection.last_active_s == now_s, "it is not idle"
        assert connection.check_pace(now_s + 31, PACE) is not None
        sock.close()


async def test_answers_of_any_size_are_owed_one_at_a_time() -> None:
    """The bound of what one peer is owed: the high-water mark, 64 KiB, and one answer."""
    owner = Owner(lambda request, _: response_to(request, 0, None, None, b"z" * 1_000_000))
    async with listening(owner, SMALL_BUFFERS) as address:
        sock = blocking_socket(address)
        sending = await send_without_reading(sock, 500)
        await stands_still(lambda: len(owner.requests))
        assert 0 < owner.made[0].unsent_bytes < 64 * KIB + 64 * KIB + 1_000_200
        sending.cancel()
        sock.close()


async def test_what_is_awaited_is_not_while_this_process_does_not_run() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(wire.encode_request(105, opaque=1)[:20])
        await eventually(lambda: owner.made and owner.made[0].is_awaited, "the beginning")
        connection = owner.made[0]
        now_s = connection.last_active_s + 1000
        connection.forgive_pause(990, now_s)

        assert connection.check_pace(now_s, PACE) is None
        assert connection.check_pace(now_s + 30, PACE) is not None


async def test_a_greeting_is_judged_by_its_own_limit() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(b"PROXY TC")
        await eventually(lambda: owner.made and owner.made[0].is_awaited, "the first bytes")
        began_s = owner.made[0].entering_since_s
        assert began_s is not None
        assert owner.made[0].check_pace(began_s + 10, PACE) is None
        error = owner.made[0].check_pace(began_s + 11, PACE)
        assert error is not None
        assert error.cause == "greeting_deadline"


async def test_what_nobody_serves_and_answers_prove_nothing() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        await peer.request(UNSERVED)
        assert owner.proofs == [False]
        peer.send(wire.encode_request(105, opaque=1, flag=1))
        await peer.request(UNSERVED)
        assert True not in owner.proofs
        await peer.request(105)
        await peer.request(UNSERVED)

    assert owner.proofs[-1]
    assert owner.proofs.count(True) == 1


async def test_one_whole_request_that_is_served_is_the_proof() -> None:
    """Told once; until then every piece is told."""
    owner = Owner(echo)
    data = wire.encode_request(105, opaque=1)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(data[:10])
        await eventually(lambda: owner.proofs == [False], "the piece")
        peer.send(data[10:])
        await peer.answer()
        await peer.request(105)

    assert owner.proofs == [False, False, True]


async def test_who_is_being_closed_is_too_slow_for_nothing() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        peer.send(b"PROXY TC")
        await eventually(lambda: owner.made and owner.made[0].is_awaited, "the first bytes")
        owner.made[0].reset()
        assert owner.made[0].check_pace(owner.made[0].last_active_s + 1000, PACE) is None


async def test_an_answer_that_comes_while_the_peer_does_not_read_is_no_step_back() -> None:
    """What the peer took before counts."""
    opened = asyncio.Event()

    async def wait(request: RemotingCommand) -> RemotingCommand:
        await opened.wait()
        return response_to(request, 0, None, None, b"w" * 500_000)

    def answer(request: RemotingCommand, _: Peer) -> Answer:
        return wait(request) if request.code == 100 else response_to(request, 0, None, None, b"z" * 60_000)

    owner = Owner(answer)
    options = ConnectionOptions(send_buffer_bytes=8 * KIB, high_water_bytes=8 * KIB, low_water_bytes=4 * KIB)
    async with listening(owner, options) as address:
        sock = blocking_socket(address)
        await send_all(sock, wire.encode_request(105, opaque=1) + wire.encode_request(100, opaque=2))
        await eventually(lambda: owner.stalled and owner.made[0].work, "an answer unsent, and a request in work")
        connection = owner.made[0]
        owed, now_s = connection.unsent_bytes, connection._clock()
        while connection.unsent_bytes > owed - 10_000:
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 1000), 10)
        opened.set()
        await eventually(lambda: connection.unsent_bytes > owed, "the other answer")

        assert owner.stalled == [connection]
        assert connection.check_pace(now_s + 40, PACE) is None
        sock.close()
