"""RemotingServer: listening, idle connections, draining, closing."""
# ruff: noqa: S104 -- any address is what is tested

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, eventually
from tests.support.pusher import Pusher

from cosmodrome.errors import BindError
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.connection import ConnectionOptions
from cosmodrome.transport.dispatch import Answer, Dispatcher, Peer
from cosmodrome.transport.limits import PeerLimits
from cosmodrome.transport.server import ListenOptions, RemotingServer

SLOW, FAST, LARGE = 1, 2, 3


def read_to_end(sock: socket.socket) -> None:
    while sock.recv(65536):
        continue


class Server:
    """A server with one slow, one fast and one large answer, and what it told."""

    def __init__(self, **options: object) -> None:
        self.let_go = asyncio.Event()
        self.lost: list[Peer] = []
        self.refused: list[tuple[Peer, str, str]] = []
        connection = ConnectionOptions(send_buffer_bytes=8192, high_water_bytes=65536, low_water_bytes=32768)
        defaults = {"host": "127.0.0.1", "port": 0, "max_idle_s": 60, "connection": connection}
        self.server = RemotingServer(
            Dispatcher({SLOW: self._slow, FAST: self._fast, LARGE: self._large}),
            ListenOptions(**(defaults | options)),  # type: ignore[arg-type]  # each test knows its option
            self.lost.append,
            lambda peer, cause, reason: self.refused.append((peer, cause, reason)),
        )

    async def peer(self) -> AsyncWire:
        return await AsyncWire.connect(self.server.address)

    async def _wait(self, request: RemotingCommand) -> RemotingCommand:
        await self.let_go.wait()
        return response_to(request, 0, "slow")

    def _slow(self, request: RemotingCommand, _: Peer) -> Answer:
        return self._wait(request)

    def _fast(self, request: RemotingCommand, _: Peer) -> Answer:
        return response_to(request, 0, "fast")

    def _large(self, request: RemotingCommand, _: Peer) -> Answer:
        return response_to(request, 0, None, None, b"l" * 100_000)


@asynccontextmanager
async def started(**options: object) -> AsyncIterator[Server]:
    one = Server(**options)
    await one.server.start()
    try:
        yield one
    finally:
        await one.server.close()
        assert one.server.connection_count == 0


async def test_port_0_is_any_free_port() -> None:
    async with started() as one, await one.peer() as peer:
        host, _, port = one.server.address.rpartition(":")

        assert host == "127.0.0.1"
        assert int(port) > 0
        assert (await peer.request(FAST)).remark == "fast"
        assert one.server.connection_count == 1


async def test_the_address_is_shown_as_it_was_configured() -> None:
    async with started(host="0.0.0.0") as one:
        assert one.server.address.startswith("0.0.0.0:")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_any_address_takes_ipv4_and_ipv6_peers(host: str) -> None:
    async with started(host=host) as one:
        port = one.server.address.rpartition(":")[2]
        for peer_host in ("127.0.0.1", "[::1]"):
            async with await AsyncWire.connect(f"{peer_host}:{port}") as peer:
                assert (await peer.request(FAST)).code == 0
        await eventually(lambda: len(one.lost) == 2, "both ends")

    assert [peer.address.rpartition(":")[0] for peer in one.lost] == ["127.0.0.1", "[::1]"]


async def test_an_ipv6_address() -> None:
    async with started(host="::1") as one, await one.peer() as peer:
        assert one.server.address.startswith("[::1]:")
        assert (await peer.request(FAST)).code == 0


async def test_a_port_that_is_taken() -> None:
    async with started() as one:
        port = int(one.server.address.rpartition(":")[2])
        other = Server(port=port)

        with pytest.raises(BindError, match="address already in use") as caught:
            await other.server.start()

        assert isinstance(caught.value.__cause__, OSError)
        await other.server.close()


async def test_a_lost_connection_is_told_once() -> None:
    async with started() as one:
        for _ in range(2):
            peer = await one.peer()
            await peer.request(FAST)
            await peer.close()
        await eventually(lambda: len(one.lost) == 2, "both ends")

        assert [peer.connection_id for peer in one.lost] == [1, 2]
        assert one.server.connection_count == 0


async def test_an_idle_connection_is_closed() -> None:
    """One that speaks is not, though its answers are all it gets."""
    async with started(max_idle_s=1.5) as one, await one.peer() as silent, await one.peer() as busy:
        await silent.request(FAST)
        closing = asyncio.ensure_future(silent.closed())
        while not closing.done():
            await busy.request(FAST)
            await asyncio.sleep(0.03)

        await closing
        assert one.server.connection_count == 1


async def test_the_idle_limit_may_change_and_be_lifted() -> None:
    async with started(max_idle_s=0) as one, await one.peer() as peer:
        await peer.request(FAST)
        await asyncio.sleep(0.1)
        assert one.server.connection_count == 1

        one.server.set_max_idle(0.05)
        await peer.closed()


async def test_a_pause_of_this_process_is_nobodys_silence() -> None:
    """The event loop stood still for longer than the limit: the peers could not have been heard."""
    async with started(max_idle_s=1.0) as one, await one.peer() as peer:
        await peer.request(FAST)
        time.sleep(2.5)  # noqa: ASYNC251  # the loop must stand still
        await asyncio.sleep(0.15)

        assert one.server.connection_count == 1
        assert (await peer.request(FAST)).code == 0


async def test_a_greeting_that_does_not_end_is_not_waited_for() -> None:
    async with started(limits=PeerLimits(greeting_timeout_s=0.05)) as one, await one.peer() as peer:
        peer.send(b"PROXY TCP4 ")
        await peer.closed()

        assert [reason for _, _, reason in one.refused] == ["the greeting or TLS handshake takes too long"]


async def test_a_peer_of_another_protocol_is_named() -> None:
    async with started() as one, await one.peer() as peer:
        peer.send(b"\0\0\0\1nonsense")
        await peer.closed()

        [(refused, cause, reason)] = one.refused
        assert refused.address == peer.local_address
        assert (cause, reason) == ("malformed_frame", "impossible frame length 1")


async def test_who_comes_after_listening_stopped_is_refused() -> None:
    """Connections that are open go on."""
    async with started() as one, await one.peer() as peer:
        await peer.request(FAST)
        await one.server.stop_listening()
        await one.server.stop_listening()

        with pytest.raises(ConnectionRefusedError):
            await one.peer()
        assert (await peer.request(FAST)).code == 0


async def test_draining_waits_for_what_is_being_worked_on() -> None:
    async with started() as one, await one.peer() as peer, await one.peer() as idle:
        await idle.request(FAST)
        peer.post(SLOW)
        await eventually(lambda: [c for c in one.server._connections.values() if c.work], "the work")

        draining = asyncio.ensure_future(one.server.drain(10))
        await asyncio.sleep(0)
        one.let_go.set()

        assert await draining == 1
        assert (await peer.answer()).remark == "slow"


async def test_draining_does_not_wait_for_ever() -> None:
    async with started() as one, await one.peer() as peer:
        peer.post(SLOW)
        await eventually(lambda: [c for c in one.server._connections.values() if c.work], "the work")

        assert await one.server.drain(0.05) == 0
        one.let_go.set()


async def test_draining_reads_nothing_more() -> None:
    async with started() as one, await one.peer() as peer:
        await peer.request(FAST)
        assert await one.server.drain(10) == 0
        peer.post(FAST)
        assert await one.server.drain(10) == 0
        await one.server.close()
        with pytest.raises(ConnectionError):
            await peer.answer()


async def test_what_was_read_is_answered_and_the_rest_is_not_read() -> None:
    """However many requests are under way: each has its answer, in order, and then the end, without a reset."""
    async with started() as one:
        pushers = [Pusher(wire.encode_request(FAST, opaque=number) for number in count()) for _ in range(3)]
        running = [asyncio.ensure_future(each.run(one.server.address)) for each in pushers]
        await asyncio.gather(*(each.is_in_full_flight.wait() for each in pushers))
        await one.server.stop_listening()
        await one.server.drain(10)
        await one.server.close(10)
        await asyncio.gather(*running)

        answered = [[answer.opaque for answer in each.answers] for each in pushers]
        assert answered == [list(range(len(each))) for each in answered]
        assert sum(map(len, answered)) == one.server.dispatcher.traffic.total
        assert [each.is_reset for each in pushers] == [False] * len(pushers)


async def test_what_there_is_no_time_for_is_not_begun() -> None:
    async with started() as one, await one.peer() as peer:
        peer.send(b"".join(wire.encode_request(SLOW, opaque=number) for number in range(3)))
        (connection,) = await eventually(
            lambda: [c for c in one.server._connections.values() if c.work and c._decoder.buffered_bytes], "the work"
        )
        connection.finish()
        connection.drop_unanswered()
        one.let_go.set()
        assert (await peer.answer()).remark == "slow"
        await one.server.close()
        with pytest.raises(ConnectionError):
            await peer.answer()
        assert one.server.dispatcher.traffic.total == 1


async def test_a_drain_waits_for_a_peer_that_takes_its_answers_slowly() -> None:
    async with started() as one:
        host, _, port = one.server.address.rpartition(":")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((host, int(port)))
        sock.setblocking(False)
        sock.sendall(b"".join(wire.encode_request(LARGE, opaque=number) for number in range(20)))
        await eventually(lambda: [c for c in one.server._connections.values() if c._is_paused], "back-pressure")

        draining = asyncio.ensure_future(one.server.drain(30))
        loop, data = asyncio.get_running_loop(), b""
        while not draining.done():
            with contextlib.suppress(TimeoutError):
                data += await asyncio.wait_for(loop.sock_recv(sock, 65536), 0.02)
        await one.server.close()
        while more := await loop.sock_recv(sock, 65536):
            data += more
        sock.close()
        assert len(wire.split(data)[0]) == one.server.dispatcher.traffic.total > 1


async def test_closing_ends_every_connection() -> None:
    async with started() as one, await one.peer() as peer, await one.peer() as other:
        await peer.request(FAST)
        await other.request(FAST)
        await one.server.close()
        await one.server.close()

        await peer.closed()
        await other.closed()
        assert len(one.lost) == 2


async def test_closing_resets_a_peer_that_never_reads() -> None:
    async with started() as one:
        host, _, port = one.server.address.rpartition(":")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((host, int(port)))
        sock.sendall(b"".join(wire.encode_request(LARGE, opaque=number) for number in range(20)))
        await eventually(lambda: [c for c in one.server._connections.values() if c._is_paused], "back-pressure")
        loop = asyncio.get_running_loop()

        began_s = loop.time()
        await one.server.close(timeout_s=0.5)

        assert loop.time() - began_s < 5
        assert one.server.connection_count == 0
        with pytest.raises(ConnectionResetError):
            read_to_end(sock)
        sock.close()


async def test_one_connection_may_be_closed() -> None:
    async with started() as one, await one.peer() as peer, await one.peer() as other:
        await peer.request(FAST)
        await other.request(FAST)
        one.server.close_connection(1)
        one.server.close_connection(99)

        await peer.closed()
        assert (await other.request(FAST)).code == 0


async def test_closing_before_the_start() -> None:
    one = Server()
    await one.server.stop_listening()
    await one.server.close()

    assert one.server.address == ""


async def test_closing_does_not_wait_for_ever_for_a_peer_that_takes_nothing() -> None:
    """It is owed less than the high-water mark: reading from it was never paused."""
    options = ConnectionOptions(send_buffer_bytes=8192, high_water_bytes=10**7, low_water_bytes=10**6)
    async with started(connection=options) as one:
        host, _, port = one.server.address.rpartition(":")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((host, int(port)))
        sock.sendall(b"".join(wire.encode_request(LARGE, opaque=number) for number in range(5)))
        await eventually(lambda: one.server.connection_count, "the connection")
        [connection] = one.server._connections.values()
        transport = connection._transport
        assert transport is not None
        await eventually(lambda: transport.get_write_buffer_size() > 300_000, "the unsent answers")

        await one.server.close(timeout_s=0.2)

        assert one.server.connection_count == 0
        with pytest.raises(ConnectionResetError):
            read_to_end(sock)
        sock.close()


async def expect_refused(one: Server) -> None:
    """A reset may come before the connect is over."""
    with contextlib.suppress(ConnectionError):
        async with await one.peer() as newcomer:
            await newcomer.closed()


async def test_refusals_are_counted_by_cause() -> None:
    async with started(limits=PeerLimits(greeting_timeout_s=0.05, frame_timeout_s=0.05)) as one:
        for data in (b"PROXY TCP4 ", b"\0\0\0\x64\0", b"\0\0\0\1nonsense", b"\x7f\0\0\0", b"GET / HTTP/1.1\r\n\r\n"):
            async with await one.peer() as peer:
                peer.send(data)
                with contextlib.suppress(AssertionError):  # HTTP is answered
                    await peer.closed()
        await eventually(lambda: sum(one.server.refusals.values()) == 5, "all of them")

        causes = ["greeting_deadline", "frame_deadline", "malformed_frame", "frame_too_large", "greeting_refused"]
        assert dict(one.server.refusals) == dict.fromkeys(causes, 1)
        assert [cause for _, cause, _ in one.refused] == causes


async def test_no_more_connections_than_configured() -> None:
    async with started(limits=PeerLimits(connections=2)) as one, await one.peer() as first, await one.peer() as second:
        await first.request(FAST)
        await second.request(FAST)
        await expect_refused(one)

        [(refused, cause, reason)] = one.refused
        assert refused.address.startswith("127.0.0.1:")
        assert cause == "too_many_connections"
        assert "2" in reason
        assert (await first.request(FAST)).code == 0
        assert (await second.request(FAST)).code == 0
        assert one.server.connection_count == 2


async def test_a_silent_connection_gives_way() -> None:
    async with started(limits=PeerLimits(connections=2)) as one, await one.peer() as first, await one.peer() as silent:
        await first.request(FAST)
        await eventually(lambda: one.server.connection_count == 2, "both")
        async with await one.peer() as third:
            assert (await third.request(FAST)).code == 0
            await silent.closed()
        assert [(peer.address, cause) for peer, cause, _ in one.refused] == [(silent.local_address, "gave_way")]
        assert (await first.request(FAST)).code == 0


async def test_no_more_connections_of_one_address_than_configured() -> None:
    async with started(limits=PeerLimits(connections_per_address=1)) as one, await one.peer() as first:
        await first.request(FAST)
        await expect_refused(one)
        assert [cause for _, cause, _ in one.refused] == ["too_many_connections_of_address"]
        await first.close()
        await eventually(lambda: not one.server.connection_count, "the end of the first")
        async with await one.peer() as third:
            assert (await third.request(FAST)).code == 0


async def test_peers_that_take_nothing_are_owed_a_bounded_amount() -> None:
    """That stopped taking first is reset first."""
    async with started(limits=PeerLimits(unsent_bytes=400_000)) as one:
        host, _, port = one.server.address.rpartition(":")
        socks = []
        for number in range(12):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect((host, int(port)))
            sock.sendall(b"".join(wire.encode_request(LARGE, opaque=opaque) for opaque in range(50)))
            await eventually(lambda number=number: one.server._last_connection_id == number + 1, "it")  # type: ignore[misc]
            socks.append(sock)
        await eventually(lambda: one.server.refusals["unsent_bytes"] > 5, "the reset of some")

        assert 0 < one.server.connection_count < 6
        assert min(one.server._connections) > 5
        for sock in socks:
            sock.close()


async def test_what_ended_connections_held_is_counted() -> None:
    async with started() as one:
        async with await one.peer() as peer:
            peer.send(b"\0\1\0\0\0\0\0\1" + b"x" * 10_000)
            await eventually(
                lambda: [c for c in one.server._connections.values() if c.held_bytes > 10_000],
                "the beginning of a frame",
            )
        await eventually(lambda: not one.server.connection_count, "its end")
        assert 10_000 < one.server.released_bytes < 20_000


async def test_what_is_accepted_is_sent_without_delay() -> None:
    """asyncio sets this by itself only on sockets that were made with a protocol number."""
    async with started() as one, await one.peer() as peer:
        await peer.request(FAST)
        [connection] = one.server._connections.values()
        transport = connection._transport
        assert transport is not None
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_one_that_is_gone_before_it_is_served_leaves_nothing() -> None:
    async with started() as one:
        host, _, port = one.server.address.rpartition(":")
        for _ in range(50):
            sock = socket.create_connection((host, int(port)))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        async with await one.peer() as peer:
            assert (await peer.request(FAST)).code == 0
        await eventually(lambda: len(one.server._census) == 0, "an empty census")
        assert one.server.connection_count == 0
