"""A slave whose messages are others is found at once, as far as a sample shows."""

import asyncio
import itertools
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller
from tests.support.simulated_disk import SimulatedDisk
from tests.support.slave_double import SlaveDouble
from tests.support.small_store import filled, opened

from cosmodrome import Broker, NameServer
from cosmodrome.broker.replication import comparison
from cosmodrome.broker.replication.comparison import sample
from cosmodrome.protocol.command import request
from cosmodrome.transport.client import RemotingClient

SIZES: dict[str, Any] = {
    "mapped_file_size_commit_log": 1_048_576, "mapped_file_size_consume_queue": 6000, "max_hash_slot_num": 100, "max_index_num": 1000,
    "max_message_size": 100_000,
}  # fmt: skip
BODIES = [b"message %d" % number for number in range(40)]


async def fill(store: Path) -> None:
    async with Broker(store=store, **SIZES) as broker, Caller(broker.address) as caller:
        for number, body in enumerate(BODIES):
            await caller.send("T", body, number % 3)


def change(store: Path, body: bytes, new: bytes) -> None:
    """Put another body in the place of one."""
    path = store / "commitlog" / f"{0:020d}"
    with path.open("r+b") as file:
        place = file.read(1 << 20).index(body)
        file.seek(place)
        file.write(new)


async def register(client: RemotingClient, name_server: str, broker_id: int, address: str) -> None:
    """Register a broker, for as long as the client's connection lasts."""
    fields: dict[str, str | None] = {
        "brokerName": "broker-a", "brokerAddr": address, "clusterName": "DefaultCluster", "brokerId": str(broker_id),
        "haServerAddr": "127.0.0.1:2",
    }  # fmt: skip
    answer = await client.request(name_server, request(103, fields), 20)
    assert answer.code == 0


@asynccontextmanager
async def remoting_client() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def pair(
    tmp_path: Path, changed: bytes | None, *, is_registered: bool = True, address: str = ""
) -> AsyncIterator[SlaveDouble]:
    """Give a slave that has everything; what answers for it has a copy of the store, with one body changed."""
    await fill(tmp_path / "ours")
    shutil.copytree(tmp_path / "ours", tmp_path / "copy")
    if changed is not None:
        change(tmp_path / "copy", changed, b"M" + changed[1:])
    async with (
        remoting_client() as client,
        NameServer(port=0) as name_server,
        Broker(store=tmp_path / "copy", broker_name="answers", **SIZES) as other,
        Broker(store=tmp_path / "ours", namesrv=name_server.address, ha_listen_port=0, **SIZES) as broker,
        Caller(broker.address) as caller,
    ):
        if is_registered:
            await register(client, name_server.address, 1, address or other.address)
        told = (await caller.ok(906)).ext_fields or {}
        async with await SlaveDouble.connect(int((told["masterHaAddress"] or "").rpartition(":")[2])) as slave:
            slave.report(int(told["masterFlushOffset"] or 0))
            yield slave


@pytest.mark.parametrize("body", [BODIES[0], BODIES[20], BODIES[-1]])
async def test_b044_another_byte_ends_the_connection_and_is_told_of(
    tmp_path: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with pair(tmp_path, body) as slave:
        with pytest.raises(asyncio.IncompleteReadError) as nothing:
            await slave.transfer()
        assert nothing.value.partial == b"", "a log of two masters must not come to be"
    assert "has another message at" in caplog.text
    assert "Delete its store" in caplog.text


async def test_a_copy_is_a_copy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with pair(tmp_path, None) as slave:
        slave.report((await slave.transfer()).end)
        with pytest.raises(TimeoutError):
            await closed_soon(slave)
    assert "another message" not in caplog.text


async def test_who_cannot_be_asked_is_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with pair(tmp_path, BODIES[0], is_registered=False) as slave:
        slave.report((await slave.transfer()).end)
        with pytest.raises(TimeoutError):
            await closed_soon(slave)


async def test_who_does_not_answer_in_time_is_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "COMPARING_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = ":".join(map(str, silent.getsockname()))
        async with pair(tmp_path, BODIES[0], address=address) as slave:
            await slave.transfer()
    assert "another message" not in caplog.text
    assert "another message" not in caplog.text


async def closed_soon(slave: SlaveDouble) -> None:
    """Raise TimeoutError when the connection stays open for a while."""
    async with asyncio.timeout(0.5):
        await slave.is_closed()


def test_the_sample_has_the_last_of_each_queue_and_some_of_all() -> None:
    store = opened(SimulatedDisk(), segment_bytes=1 << 20, queue_file_bytes=20_000)
    filled(store, 1000, queues=3)
    places = [store.reader.unit("T", queue, offset) for queue in range(3) for offset in range(333)]
    all_of = sorted(each.log_offset for each in places if each is not None)
    found = sample(store.reader, store.end)
    assert 100 < len(found) < 300
    assert {*all_of[-20:]} <= {*found}
    assert max(b - a for a, b in itertools.pairwise(found)) < store.end // 50
    half = sample(store.reader, store.end // 2)
    assert max(half) < store.end // 2
    assert max(half) > store.end // 2 - 3 * 200
    assert sample(store.reader, 0) == []
