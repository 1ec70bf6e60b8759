"""A peer that sends many requests at once takes turns with the others."""

from tests.support import wire
from tests.support.builders import AsyncWire, at_each_turn

from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.connection import BURST_FRAMES
from cosmodrome.transport.dispatch import Answer, Dispatcher, Peer
from cosmodrome.transport.server import ListenOptions, RemotingServer

MANY = 20 * BURST_FRAMES


async def test_others_are_answered_in_the_middle_of_a_burst() -> None:
    """In order, and all of them; nothing is read meanwhile."""
    order: list[tuple[int, int]] = []

    def answered(request: RemotingCommand, peer: Peer) -> Answer:
        order.append((peer.connection_id, request.opaque))
        return response_to(request, 0)

    server = RemotingServer(Dispatcher({105: answered}), ListenOptions(host="127.0.0.1", port=0))
    await server.start()
    try:
        async with await AsyncWire.connect(server.address) as many, await AsyncWire.connect(server.address) as few:
            await many.request(105, opaque=0)
            many.send(b"".join(wire.encode_request(105, opaque=number) for number in range(1, MANY)))
            await at_each_turn(lambda: len(order) > 1)
            assert len(order) <= 1 + BURST_FRAMES, "a burst ends"
            await few.request(105, opaque=MANY)
            answers = await many.answers(MANY - 1)
    finally:
        await server.close()

    first = order[0][0]
    assert [opaque for of, opaque in order if of == first] == list(range(MANY))
    assert [answer.opaque for answer in answers] == list(range(1, MANY))
    between = [opaque for _, opaque in order].index(MANY)
    assert BURST_FRAMES < between < MANY - 1, "the other peer did not wait for the end"


async def test_a_burst_is_finished_when_its_peer_says_no_more() -> None:
    server = RemotingServer(
        Dispatcher({105: lambda request, _: response_to(request, 0)}), ListenOptions(host="127.0.0.1", port=0)
    )
    await server.start()
    try:
        async with await AsyncWire.connect(server.address) as many:
            many.send(b"".join(wire.encode_request(105, opaque=number) for number in range(MANY)))
            many.end_sending()

            assert [answer.opaque for answer in await many.answers(MANY)] == list(range(MANY))
            await many.closed()
    finally:
        await server.close()


async def test_a_long_frame_is_read_in_parts_and_answered_when_its_peer_says_no_more() -> None:
    """Others have their turn between the parts, and what comes behind it is answered too."""
    body, sizes = bytes(5 * 1024 * 1024 + 7), list[int]()

    def answered(request: RemotingCommand, _: Peer) -> Answer:
        sizes.append(len(request.body))
        return response_to(request, 0)

    server = RemotingServer(Dispatcher({105: answered}), ListenOptions(host="127.0.0.1", port=0))
    await server.start()
    try:
        async with await AsyncWire.connect(server.address) as many, await AsyncWire.connect(server.address) as few:
            many.send(wire.encode_request(105, None, body, opaque=1) + wire.encode_request(105, opaque=2))
            many.end_sending()
            await few.request(105, opaque=3)

            assert [answer.opaque for answer in await many.answers(2)] == [1, 2]
            await many.closed()
        async with await AsyncWire.connect(server.address) as broken:
            broken.send(wire.encode_request(105, None, body, opaque=4)[:-1])
            broken.end_sending()
            await broken.closed()
    finally:
        await server.close()

    assert sorted(sizes) == [0, 0, len(body)]
