"""Reads beyond a number wait for the next turn of the loop, so that everything else has one."""

import asyncio
from dataclasses import dataclass, field

from tests.support.builders import AsyncWire, Owner, eventually
from tests.unit.transport.test_connection import echo, listening

from cosmodrome.protocol.command import encode_command, request
from cosmodrome.transport.connection import Connection, ConnectionOptions
from cosmodrome.transport.read_budget import READS_PER_TURN, ReadBudget


@dataclass(eq=False)
class Reader:
    """Somebody who waits."""

    answered: list["Reader"] = field(repr=False)

    def answer_held(self) -> None:
        self.answered.append(self)


async def test_who_waits_has_his_turn_in_order_and_nobody_new_before() -> None:
    budget, answered = ReadBudget(), list[Reader]()
    readers = [Reader(answered) for _ in range(2 * READS_PER_TURN + 10)]
    for reader in readers:
        budget.hold(reader)
        budget.hold(reader)

    assert answered == []
    await asyncio.sleep(0)
    assert (answered, budget.left) == (readers[:READS_PER_TURN], 0)
    await asyncio.sleep(0)
    assert (answered, budget.left) == (readers[: 2 * READS_PER_TURN], 0)
    await asyncio.sleep(0)
    assert (answered, budget.left) == (readers, READS_PER_TURN - 10)


async def test_other_work_has_its_turn_while_thousands_ask_at_once() -> None:
    """The loop may hand over all that is readable before it calls anything that was scheduled."""
    owner, seen = Owner(echo), list[int]()
    asyncio.get_running_loop().call_soon(lambda: seen.append(len(owner.requests)))
    asked = [Connection(owner, number, ConnectionOptions()) for number in range(3 * READS_PER_TURN)]
    for connection in asked:
        connection.data_received(encode_command(request(105, {"topic": "T"})))
    for _ in range(4):
        await asyncio.sleep(0)

    assert seen == [READS_PER_TURN]
    assert len(owner.requests) == len(asked)


async def test_a_request_that_waits_is_answered() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        for _ in range(3):
            owner.reads.left = 0
            assert (await peer.request(105)).code == 0


async def test_a_peer_that_says_no_more_has_its_waiting_request_answered_first() -> None:
    owner = Owner(echo)
    async with listening(owner) as address:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        owner.reads.left = 0
        writer.write(encode_command(request(105, None, b"body")))
        writer.write_eof()

        assert (await reader.read()).endswith(b"body")
        writer.close()
        await writer.wait_closed()


async def test_a_connection_that_ends_while_it_waits_is_no_matter() -> None:
    owner = Owner(echo)
    async with listening(owner) as address:
        async with await AsyncWire.connect(address) as peer:
            await peer.request(105)
            connection = owner.made[0]
            owner.reads.left = 0
            connection.data_received(encode_command(request(105)))
            connection.reset()
        await eventually(lambda: owner.lost == [connection], "the end of the connection")

        assert len(owner.requests) == 1


async def test_no_more_than_one_read_is_kept_of_who_waits() -> None:
    owner = Owner(echo)
    async with listening(owner) as address, await AsyncWire.connect(address) as peer:
        await peer.request(105)
        connection, frame = owner.made[0], encode_command(request(105))
        owner.reads.left = 0
        connection.data_received(frame)
        assert connection._transport is not None
        was_reading = connection._transport.is_reading()
        connection.data_received(frame)
        is_reading = connection._transport.is_reading()
        await eventually(lambda: len(owner.requests) == 3, "both answers")

        assert (was_reading, is_reading, connection._transport.is_reading()) == (True, False, True)
