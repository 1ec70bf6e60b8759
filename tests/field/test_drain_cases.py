"""A stop under load loses no answer: what was read is answered, what was not is given back by a clean end.

The servers are processes that get SIGTERM while clients push requests without waiting for answers.
"""
# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from tests.support import wire
from tests.support.broker_calls import send_fields
from tests.support.broker_process import BrokerProcess
from tests.support.peer import Peer
from tests.support.pusher import Pusher
from tests.support.server_process import ServerProcess

PEERS: Final = 4


@asynccontextmanager
async def pushing(
    address: str, frames: Callable[[int], Iterator[bytes]], first_answers: int = 200
) -> AsyncIterator[list[Pusher]]:
    """Push from several peers; the body begins in full flight and has the server end, which ends the pushing.

    That nobody's end is a reset is shown where nothing else is busy (tests/unit/transport/test_server.py).
    """
    pushers = [Pusher(frames(number), first_answers) for number in range(PEERS)]
    running = [asyncio.ensure_future(each.run(address)) for each in pushers]
    await asyncio.gather(*(each.is_in_full_flight.wait() for each in pushers))
    yield pushers
    await asyncio.gather(*running)
    for each in pushers:
        assert [answer.opaque for answer in each.answers] == list(range(len(each.answers))), "a gap, or another order"


async def test_F128_a_name_server_that_stops_answers_all_that_it_read(tmp_path: Path) -> None:
    def routes(_: int) -> Iterator[bytes]:
        return (wire.encode_request(105, {"topic": "T"}, opaque=number) for number in count())

    with ServerProcess(tmp_path) as server:
        async with pushing(server.address, routes) as pushers:
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.wait_ended) == 0
    assert {answer.code for each in pushers for answer in each.answers} == {17}


async def test_F128_an_entry_is_stored_if_and_only_if_it_was_answered(tmp_path: Path) -> None:
    def puts(peer: int) -> Iterator[bytes]:
        for number in count():
            fields = {"namespace": f"N{peer}", "key": str(number), "value": "v" * 4000}
            yield wire.encode_request(100, fields, opaque=number)

    with ServerProcess(tmp_path, config={"auditLog": "off"}) as server:
        async with pushing(server.address, puts, 20) as pushers:
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.wait_ended) == 0
    with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
        for number, each in enumerate(pushers):
            table = peer.request(219, {"namespace": f"N{number}"}).json()["table"]
            assert {answer.code for answer in each.answers} == {0}
            assert set(table) == {str(key) for key in range(len(each.answers))}


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_B008_a_message_is_stored_if_and_only_if_it_was_answered(tmp_path: Path, flush: str) -> None:
    """So that a producer that sends all others again, elsewhere, loses none, and doubles none by this stop."""

    def sends(peer: int) -> Iterator[bytes]:
        for number in count():
            yield wire.encode_request(310, send_fields("T", peer), b"%d/%d" % (peer, number), opaque=number)

    with BrokerProcess(tmp_path, flushDiskType=flush, syncFlushTimeout=60000) as broker:
        async with pushing(broker.address, sends) as pushers:
            assert await asyncio.to_thread(broker.stop) == 0
    answered = sum(len(each.answers) for each in pushers)
    assert {answer.code for each in pushers for answer in each.answers} == {0}
    with BrokerProcess(tmp_path, flushDiskType=flush) as broker, wire.Wire(broker.address) as connection:
        ends = [
            int((connection.request(30, {"topic": "T", "queueId": str(queue)}).ext or {})["offset"])
            for queue in range(PEERS)
        ]
    assert sum(ends) == answered
