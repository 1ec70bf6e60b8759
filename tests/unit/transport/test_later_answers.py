"""Answers that come later, requests of the server, and answers of its peers."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.support import wire

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.command import RemotingCommand, request, response_to
from cosmodrome.transport.channel import Channel, Links
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import LATER, Dispatcher, Peer
from cosmodrome.transport.server import ListenOptions, RemotingServer

LATE = 10
AT_ONCE = 11


class Desk:
    """A server that answers LATE when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[RemotingCommand, Peer]] = []
        self.heard: list[tuple[Peer, RemotingCommand]] = []
        self.has_heard = asyncio.Event()
        dispatcher = Dispatcher({LATE: self._late})
        dispatcher.serve({AT_ONCE: lambda asked, _: response_to(asked, 0)})
        self.server = RemotingServer(dispatcher, ListenOptions(host="127.0.0.1", port=0))
        self.server.on_response = self._response

    def _late(self, asked: RemotingCommand, peer: Peer) -> RemotingCommand:
        self.waiting.append((asked, peer))
        return LATER

    def _response(self, peer: Peer, answer: RemotingCommand) -> None:
        self.heard.append((peer, answer))
        self.has_heard.set()

    def answer_all(self, body: bytes = b"") -> list[bool]:
        """Answer what waits, the last first."""
        waiting, self.waiting[:] = list(self.waiting), []
        return [
            self.server.send(peer.connection_id, response_to(asked, 0, body=body)) for asked, peer in reversed(waiting)
        ]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    one = Desk()
    await one.server.start()
    yield one
    await one.server.close()


async def test_other_requests_of_the_connection_go_on_meanwhile(desk: Desk) -> None:
    client = RemotingClient()
    late = [asyncio.create_task(client.request(desk.server.address, request(LATE), 5)) for _ in range(3)]
    assert (await client.request(desk.server.address, request(AT_ONCE), 5)).code == 0
    assert not any(each.done() for each in late)
    assert desk.answer_all(b"now") == [True] * 3
    assert [each.body for each in await asyncio.gather(*late)] == [b"now"] * 3
    await client.close()


async def test_a_big_answer_does_not_wait_for_the_end_of_the_turn(desk: Desk) -> None:
    """So that whoever sends sees whether it is taken."""
    with wire.Wire(desk.server.address) as peer:
        peer.send(b"".join(wire.encode_request(LATE, opaque=number) for number in range(40)))
        async with asyncio.timeout(5):
            while True:
                if len(desk.waiting) == 40:
                    break
                await asyncio.sleep(0.01)
        connection = desk.waiting[0][1].connection_id
        assert desk.server.is_writable(connection)
        desk.answer_all(b"x" * 1_000_000)
        assert not desk.server.is_writable(connection)


async def test_who_is_gone_gets_nothing(desk: Desk) -> None:
    client = RemotingClient()
    late = asyncio.create_task(client.request(desk.server.address, request(LATE), 5))
    await client.request(desk.server.address, request(AT_ONCE), 5)
    await client.close()
    with pytest.raises(Exception, match="broke"):
        await late
    async with asyncio.timeout(5):
        while True:
            if not desk.server.connection_count:
                break
            await asyncio.sleep(0.01)
    assert desk.answer_all() == [False]


async def test_a_peer_is_asked_over_its_own_connection(desk: Desk) -> None:
    def answer(channel: Channel, asked: RemotingCommand) -> None:
        channel.answer(response_to(asked, 0, "heard"))

    client = RemotingClient(links=Links(on_request=answer))
    late = asyncio.create_task(client.request(desk.server.address, request(LATE), 5))
    await client.request(desk.server.address, request(AT_ONCE), 5)
    ((_, peer),) = desk.waiting
    assert desk.server.send(peer.connection_id, request(40, opaque=77))
    async with asyncio.timeout(5):
        await desk.has_heard.wait()
    assert [(who.connection_id, answer.opaque, answer.remark) for who, answer in desk.heard] == [
        (peer.connection_id, 77, "heard")
    ]
    desk.answer_all()
    await late
    await client.close()


async def test_what_was_answered_in_the_last_turn_leaves_before_the_close(desk: Desk) -> None:
    client = RemotingClient()
    late = asyncio.create_task(client.request(desk.server.address, request(LATE), 5))
    await client.request(desk.server.address, request(AT_ONCE), 5)
    desk.answer_all(b"last")
    await desk.server.close()
    assert (await late).body == b"last"
    await client.close()


async def test_an_address_that_is_taken_before_the_start() -> None:
    server = RemotingServer(Dispatcher({}), ListenOptions(host="127.0.0.1", port=0))
    server.bind()
    host, _, port = server.address.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
    await server.close()


def test_an_error_that_is_its_own_cause_ends_in_an_answer() -> None:
    def refuse(_: RemotingCommand, __: Peer) -> RemotingCommand:
        error = RequestRefusedError(16, "no")
        raise error from error

    answer = Dispatcher({LATE: refuse}).dispatch(request(LATE), Peer(1, "127.0.0.1:1"))
    assert isinstance(answer, RemotingCommand)
    assert answer.code == 16
