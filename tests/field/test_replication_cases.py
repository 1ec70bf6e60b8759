"""Peers on the replication port that are no slaves, or not of this master, and what a switch leaves (B043, B044)."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller
from tests.support.slave_double import SlaveDouble

from cosmodrome import Broker
from cosmodrome.protocol.replication import encode_report

NO_SLAVE, SLAVE_TIMEOUT = 11, 12
OFFSET_MOVED = 21
BEYOND = {
    "one too many": None,
    "the largest": encode_report(2**63 - 1),
    "negative": encode_report(-1),
    "the smallest": encode_report(-(2**63)),
    "text": b"hello, are you there?\r\n",
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a frame": b"\0\0\0\x10\0\0\0\x0c" + b'{"code":10}',
}
SYNC: dict[str, Any] = {"broker_role": "SYNC_MASTER", "slave_timeout": 150}


@asynccontextmanager
async def master(**settings: Any) -> AsyncIterator[tuple[Caller, int]]:
    """Give a client of a broker, and the broker's replication port."""
    async with Broker(**{"ha_listen_port": 0, **settings}) as broker, Caller(broker.address) as caller:
        address = ((await caller.ok(906)).ext_fields or {})["masterHaAddress"] or ""
        yield caller, int(address.rpartition(":")[2])


async def log_end(caller: Caller) -> int:
    return int(json.loads((await caller.ok(28)).body)["table"]["commitLogMaxOffset"])


async def slaves(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((await caller.ok(907)).body)["haConnectionInfo"]
    return found


async def serves_on(caller: Caller, port: int) -> None:
    """See that a real slave follows, and that sends count with it."""
    one = await SlaveDouble.connect(port)
    one.report(await log_end(caller))
    found = await one.transfer()
    one.report(found.end)
    async with asyncio.timeout(20):
        while True:
            if [each["slaveAckOffset"] for each in await slaves(caller)] == [found.end]:
                break
            await asyncio.sleep(0.01)
    send = asyncio.create_task(caller.send("T", b"and on"))
    one.report((await one.transfer()).end)
    assert (await send).code in {0, SLAVE_TIMEOUT}
    one.close()


@pytest.mark.parametrize("kind", BEYOND)
async def test_b043_a_peer_that_claims_what_cannot_be_acknowledges_nothing(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with master(**SYNC) as (caller, port):
        assert (await caller.send("T", b"before")).code == NO_SLAVE
        peer = await SlaveDouble.connect(port)
        sends = [asyncio.create_task(caller.send("T", b"%d" % number)) for number in range(20)]
        peer.say(BEYOND[kind] or encode_report(await log_end(caller) + 100_000))
        assert await peer.is_closed()
        answers = [await each for each in sends] + [await caller.send("T", b"after")]
        assert {each.code for each in answers} <= {NO_SLAVE, SLAVE_TIMEOUT}
        assert "is closed" in caplog.text
        await serves_on(caller, port)
        peer.close()


async def test_b043_a_peer_that_knows_the_end_acknowledges_nothing_by_its_first_word() -> None:
    """It says again and again that it has everything, and reads nothing: what it was not sent does not count."""
    async with master(**SYNC) as (caller, port):
        await caller.send("T", b"before")
        peer = await SlaveDouble.connect(port)
        peer.report(await log_end(caller))
        await peer.transfer()
        answer = await caller.send("T", b"after")
        peer.report(await log_end(caller) + 1)
        assert await peer.is_closed()
        assert answer.code == SLAVE_TIMEOUT
        peer.close()


async def test_b043_half_a_report_and_silence() -> None:
    async with master(**SYNC, ha_housekeeping_interval=300) as (caller, port):
        await caller.send("T", b"before")
        peers = [await SlaveDouble.connect(port) for _ in range(2)]
        peers[0].say(bytes(5))
        assert (await caller.send("T", b"x")).code == NO_SLAVE
        for each in peers:
            assert await each.is_closed()
            each.close()
        await serves_on(caller, port)


async def test_b043_a_thousand_connections_and_sends_go_on() -> None:
    """Some claim to be empty slaves and never read; a real slave has its place all the time."""
    async with master(**{**SYNC, "slave_timeout": 20_000}) as (caller, port):
        await caller.send("T", b"x" * 100_000)
        real = await SlaveDouble.connect(port)
        real.report(0)

        async def follow() -> None:
            while True:
                real.report((await real.transfer()).end)

        following = asyncio.create_task(follow())
        crowd: list[socket.socket] = []
        loop = asyncio.get_running_loop()
        try:
            for number in range(1000):
                one = socket.socket()
                one.setblocking(False)
                crowd.append(one)
                await loop.sock_connect(one, ("127.0.0.1", port))
                if number % 2:
                    one.send(bytes(8))
                if number % 250 == 249:
                    assert (await caller.send("T", b"%d" % number)).code == 0
                    assert len(await slaves(caller)) <= 64
        finally:
            following.cancel()
            for one in crowd:
                one.close()
            real.close()


@pytest.mark.parametrize("at", ["ahead", "older"])
async def test_b044_a_slave_of_another_log_is_told_apart_at_once(
    at: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is sent to it, it acknowledges nothing, and the log says what to do."""
    sizes = {"mapped_file_size_commit_log": 131_072, "max_message_size": 20_000, "file_reserved_time": 0}
    async with master(**SYNC, **sizes, store=tmp_path) as (caller, port):
        for _ in range(30):
            await caller.send("T", b"x" * 10_000)
        await caller.ok(329)
        async with asyncio.timeout(20):
            while True:
                start = int(json.loads((await caller.ok(28)).body)["table"]["commitLogMinOffset"])
                if start > 0:
                    break
                await asyncio.sleep(0.01)
        peer = await SlaveDouble.connect(port)
        peer.report(await log_end(caller) + 5000 if at == "ahead" else start - 1000)
        assert await peer.is_closed()
        assert peer.transfers == []
        assert (await caller.send("T")).code == NO_SLAVE
        peer.close()
    assert {"ahead": "messages that this broker does not have", "older": "Delete its store"}[at] in caplog.text


async def test_b044_offsets_beyond_the_end_are_corrected_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A slave that had not everything is started as the master, with the offsets of its old master."""
    offset = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        for number in range(5):
            await caller.send("T", b"%d" % number)
        await caller.heartbeat("g")
        await caller.ok(15, offset | {"commitOffset": "9"})
        await caller.ok(15, offset | {"commitOffset": "3", "queueId": "1"})
        await caller.ok(15, offset | {"commitOffset": "2", "consumerGroup": "g", "queueId": "0", "topic": "TBW102"})
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        assert (await caller.ok(14, offset)).ext_fields == {"offset": "5"}
        assert (await caller.ok(14, offset | {"queueId": "1"})).ext_fields == {"offset": "3"}, "a queue without files"
        await caller.send("T", b"new")
        answer = await caller.pull("T", 5)
        assert answer.code == 0
        assert b"new" in answer.body
    assert "1 offsets of groups were beyond" in caplog.text


async def test_b044_a_consumer_that_asks_beyond_the_end_is_sent_to_it() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        for number in range(5):
            await caller.send("T", b"%d" % number)
        answer = await caller.pull("T", 100)
        assert answer.code == OFFSET_MOVED
        assert (answer.ext_fields or {})["nextBeginOffset"] == "5"
