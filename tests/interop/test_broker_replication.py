"""Slaves of Apache's releases follow our broker, serve when it is gone, and find it again."""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import Stage
from tests.support.broker_calls import Caller

from cosmodrome import Broker, Consumer, Message, Producer

NAME = "replicated"
TOPIC = "Failover"
QUEUES = 4
SEGMENT_BYTES = 1_048_576
WITHIN_S = 60.0
TABLES_WITHIN_S = 150.0
"""A 5.5.0 slave copies topics and groups once a minute, and not at first."""
SETTINGS: dict[str, Any] = {
    "broker_cluster_name": CLUSTER, "broker_name": NAME, "mapped_file_size_commit_log": SEGMENT_BYTES, "max_message_size": 100_000,
    "mapped_file_size_consume_queue": 60_000, "max_hash_slot_num": 5000, "max_index_num": 20_000, "ha_listen_port": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Where our broker and its slave are, and what they keep."""

    stage: Stage
    name_server: NameServer
    slave: ApacheBroker
    slave_store: Path

    def master(self, store: Path, **settings: Any) -> Broker:
        return Broker(namesrv=self.name_server.address, store=store, **{**SETTINGS, **settings})

    async def start_slave(self) -> None:
        await asyncio.to_thread(self.slave.start_registered)

    async def promote_slave(self) -> ApacheBroker:
        """Stop the slave, and start it as a master on its store."""
        await asyncio.to_thread(self.slave.stop)
        settings = dataclasses.replace(self.slave.settings, id=0)
        master = self.stage.broker(settings)
        await asyncio.to_thread(master.start_registered)
        return master


def pair_on(stage: Stage, folder: Path, release: str) -> Pair:
    """Give a slave that is not started yet."""
    return slave_on(stage, stage.name_server(), folder / "slave", release)


def slave_on(stage: Stage, name_server: NameServer, store: Path, release: str, number: int = 1) -> Pair:
    settings = {
        "mappedFileSizeCommitLog": str(SEGMENT_BYTES), "slaveReadEnable": "true", "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
    }  # fmt: skip
    slave = stage.broker(
        BrokerSettings(release=release, name=NAME, id=number, name_servers=[name_server.address], config=settings)
    )
    return Pair(stage, name_server, slave, store)


def log_of(store: Path, end: int) -> bytes:
    """Give the log of a store up to a place."""
    folder = store / "commitlog"
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return b"".join(path.read_bytes() for path in paths)[:end]


async def until(claim: Callable[[], object], within_s: float = WITHIN_S) -> None:
    async def asked() -> object:
        return claim()

    await until_true(asked, within_s)


async def until_true(claim: Callable[[], Awaitable[object]], within_s: float = WITHIN_S) -> None:
    """Wait until a claim is true that has to be asked for."""
    async with asyncio.timeout(within_s):
        while True:
            if await claim():
                return
            await asyncio.sleep(0.1)


async def log_end(caller: Caller) -> int:
    return int(json.loads((await caller.ok(28)).body)["table"]["commitLogMaxOffset"])


async def log_start(caller: Caller) -> int:
    return int(json.loads((await caller.ok(28)).body)["table"]["commitLogMinOffset"])


async def have_same_end(one: Caller, other: Caller) -> bool:
    queue: dict[str, str | None] = {"topic": "T", "queueId": "1"}
    return (await one.ok(30, queue)).ext_fields == (await other.ok(30, queue)).ext_fields


async def slaves(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((await caller.ok(907)).body)["haConnectionInfo"]
    return found


async def wait_for_slave(caller: Caller) -> None:
    """Wait until a slave has everything."""

    async def has_everything() -> bool:
        return any(each["diff"] == 0 for each in await slaves(caller))

    await until_true(has_everything)


async def fill(caller: Caller, first: int, count: int, size: int = 4000) -> None:
    for number in range(first, first + count):
        answer = await caller.send("T", b"%d." % number + b"x" * size, number % 2)
        assert answer.code == 0


async def until_refused(caller: Caller) -> None:
    """Wait until the master knows that its slave is gone."""

    async def is_known() -> bool:
        return (await caller.send("T", b"gone")).code == 11

    await until_true(is_known)


async def test_a_slave_has_every_byte_and_a_sync_master_waits_for_it(new_stage: StageMaker, tmp_path: Path) -> None:
    """Several files of the log, of which the first are there before the slave is; then sends that are answered by its word."""
    ours = tmp_path / "ours"
    with new_stage("replication") as stage:
        pair = pair_on(stage, tmp_path, V5_5)
        async with (
            pair.master(ours, broker_role="SYNC_MASTER", slave_timeout=20_000) as master,
            Caller(master.address) as caller,
        ):
            assert (await caller.send("T", b"alone")).code == 11, "nobody is there to copy it"
            for number in range(600):
                assert (await caller.send("T", b"%d." % number + b"x" * 4000, 0, WAIT="false")).code == 0
            await pair.start_slave()
            await wait_for_slave(caller)
            await asyncio.gather(*(fill(caller, 1000 * part, 50) for part in range(4)))
            end = await log_end(caller)
            assert end > 3 * SEGMENT_BYTES
            assert log_of(pair.slave_store, end) == log_of(ours, end), "the answers were its word"
            await asyncio.to_thread(pair.slave.kill)
            await until_refused(caller)


def topic_fields() -> dict[str, str | None]:
    return {
        "topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": str(QUEUES), "writeQueueNums": str(QUEUES), "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip


async def committed(caller: Caller, group: str) -> int:
    """Give the sum of what a group has committed."""
    fields = [{"consumerGroup": group, "topic": TOPIC, "queueId": str(each)} for each in range(QUEUES)]
    answers = [await caller.ask(14, each) for each in fields]
    return sum(int((each.ext_fields or {}).get("offset") or 0) for each in answers)


async def has_tables(slave: ApacheBroker, groups: tuple[str, ...], offset: int) -> None:
    """Wait until a slave has copied topics and offsets."""
    async with Caller(slave.address) as caller:

        async def are_there() -> bool:
            topics = json.loads((await caller.ok(21)).body)["topicConfigTable"]
            return TOPIC in topics and [await committed(caller, each) for each in groups] == [offset] * len(groups)

        await until_true(are_there, TABLES_WITHIN_S)


async def produce(name_server: str, numbers: range) -> None:
    async with Producer("makers", namesrv=name_server) as producer:
        for number in numbers:
            await producer.send(Message(topic=TOPIC, body=b"%d" % number))


async def consume(name_server: str, count: int) -> list[int]:
    """Have our consumer get so many messages, one after the other, and acknowledge them."""
    found: list[int] = []
    options: dict[str, Any] = {"subscriptions": {TOPIC: None}, "consume_from": "first"}
    async with asyncio.timeout(WITHIN_S), Consumer("ours", namesrv=name_server, **options) as consumer:
        async for message in consumer:
            found.append(int(message.body))
            await message.ack()
            if len(found) == count:
                break
    return sorted(found)


def is_served_by(stage_name_server: NameServer, addresses: dict[str, str]) -> bool:
    return stage_name_server.view.route_addresses(TOPIC, NAME) == addresses


@pytest.mark.full
@pytest.mark.timeout(500)
@pytest.mark.parametrize("release", [V5_5, V4_9])
async def test_consumers_go_on_at_the_slave_and_at_the_master_again(
    new_stage: StageMaker, tmp_path: Path, release: str
) -> None:
    ours = tmp_path / "ours"
    with new_stage(f"failover-of-ours-{release}") as stage:
        pair = pair_on(stage, tmp_path, release)
        at = pair.name_server.address
        java = await asyncio.to_thread(stage.message_clients, release)
        async with pair.master(ours) as master, Caller(master.address) as caller:
            await caller.ok(17, topic_fields())
            await pair.start_slave()
            await produce(at, range(100))
            await asyncio.to_thread(java.consumer, "before", at, "java", TOPIC, **{"from": "FIRST_OFFSET"})
            seen = await asyncio.to_thread(java.wait_seen, "before", 100)
            await asyncio.to_thread(java.end, "before")
            assert await consume(at, 100) == list(range(100)) == sorted(int(each.body) for each in seen)
            await produce(at, range(100, 200))
            await wait_for_slave(caller)
            assert [await committed(caller, each) for each in ("java", "ours")] == [100, 100]
            await has_tables(pair.slave, ("java", "ours"), 100)
            port = int(master.address.rpartition(":")[2])
        await until(lambda: is_served_by(pair.name_server, {"1": pair.slave.address}))

        await asyncio.to_thread(java.consumer, "after", at, "java", TOPIC, **{"from": "FIRST_OFFSET"})
        seen = await asyncio.to_thread(java.wait_seen, "after", 100)
        assert sorted(int(each.body) for each in seen) == list(range(100, 200))
        assert await consume(at, 100) == list(range(100, 200))

        async with pair.master(ours, port=port) as master, Caller(master.address) as caller:
            await until(lambda: is_served_by(pair.name_server, {"0": master.address, "1": pair.slave.address}))
            await produce(at, range(200, 250))
            seen = await asyncio.to_thread(java.wait_seen, "after", 150)
            assert {int(each.body) for each in seen} == set(range(100, 250))
            await wait_for_slave(caller)
            end = await log_end(caller)
            assert log_of(pair.slave_store, end) == log_of(ours, end)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", [V5_5, V4_9])
async def test_a_slave_of_another_log_is_refused_and_told_of(
    new_stage: StageMaker, tmp_path: Path, release: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The master comes back without its store, and then has a longer log: the slave keeps its own, and acknowledges nothing (B044)."""
    with new_stage(f"other-log-{release}") as stage:
        pair = pair_on(stage, tmp_path, release)
        async with pair.master(tmp_path / "ours") as master, Caller(master.address) as caller:
            await fill(caller, 0, 50)
            await pair.start_slave()
            await wait_for_slave(caller)
            end = await log_end(caller)
        kept = log_of(pair.slave_store, end)
        async with (
            pair.master(tmp_path / "new", broker_role="SYNC_MASTER") as master,
            Caller(master.address) as caller,
        ):
            await until(lambda: f"its log ends at {end}, and this one at" in caplog.text)
            assert (await caller.send("T", b"new")).code == 11
            assert await slaves(caller) == []
            while await log_end(caller) <= end:
                assert (await caller.send("T", b"other" * 800, WAIT="false")).code == 0
            await until(lambda: "has another message at" in caplog.text)
            assert (await caller.send("T", b"new")).code == 11
        assert log_of(pair.slave_store, end) == kept
        assert not any(log_of(pair.slave_store, SEGMENT_BYTES)[end:])


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", [V5_5, V4_9])
async def test_a_new_slave_gets_a_log_from_its_beginning_and_keeps_up(
    new_stage: StageMaker, tmp_path: Path, release: str
) -> None:
    """Also when the log does not begin at 0 any more, and while it grows by thousands of messages a second."""
    ours = tmp_path / "ours"
    with new_stage(f"catching-up-{release}") as stage:
        pair = pair_on(stage, tmp_path, release)
        async with pair.master(ours, file_reserved_time=0) as master, Caller(master.address) as caller:
            await asyncio.gather(*(fill(caller, 1000 * part, 250) for part in range(4)))
            await caller.ok(329)
            await until_true(lambda: log_start(caller))
            start = await log_start(caller)
            filling = [asyncio.create_task(fill(caller, 10_000 * part, 2000, 100)) for part in range(1, 9)]
            await pair.start_slave()
            await asyncio.gather(*filling)
            await wait_for_slave(caller)
            end = await log_end(caller)
            assert log_of(pair.slave_store, end - start) == log_of(ours, end - start)
            async with Caller(pair.slave.address) as there:
                await until_true(lambda: have_same_end(there, caller))


@pytest.mark.full
@pytest.mark.timeout(500)
@pytest.mark.parametrize("release", [V5_5, V4_9])
async def test_a_slave_becomes_the_master(new_stage: StageMaker, tmp_path: Path, release: str) -> None:
    """The way to Apache's broker of docs/broker.md: nothing is lost, and nothing that was read comes again."""
    with new_stage(f"moving-{release}") as stage:
        pair = pair_on(stage, tmp_path, release)
        at = pair.name_server.address
        java = await asyncio.to_thread(stage.message_clients, release)
        async with pair.master(tmp_path / "ours") as master, Caller(master.address) as caller:
            await caller.ok(17, topic_fields())
            await pair.start_slave()
            await produce(at, range(100))
            await asyncio.to_thread(java.consumer, "before", at, "java", TOPIC, **{"from": "FIRST_OFFSET"})
            await asyncio.to_thread(java.wait_seen, "before", 100)
            await asyncio.to_thread(java.end, "before")
            assert await consume(at, 100) == list(range(100))
            await produce(at, range(100, 150))
            await has_tables(pair.slave, ("java", "ours"), 100)
            await wait_for_slave(caller)
        apache = await pair.promote_slave()
        await until(lambda: is_served_by(pair.name_server, {"0": apache.address}))
        await produce(at, range(150, 200))
        await asyncio.to_thread(java.consumer, "after", at, "java", TOPIC, **{"from": "FIRST_OFFSET"})
        seen = await asyncio.to_thread(java.wait_seen, "after", 100)
        assert sorted(int(each.body) for each in seen) == list(range(100, 200))
        assert await consume(at, 100) == list(range(100, 200))


@pytest.mark.full
@pytest.mark.timeout(400)
async def test_a_sync_master_waits_for_as_many_as_it_is_told(new_stage: StageMaker, tmp_path: Path) -> None:
    """Two slaves of both releases must have a message. One is stopped in its tracks, goes on, and is killed."""
    settings: dict[str, Any] = {"broker_role": "SYNC_MASTER", "in_sync_replicas": 3, "slave_timeout": 2000}
    with new_stage("two-slaves") as stage:
        one = pair_on(stage, tmp_path, V5_5)
        two = slave_on(stage, one.name_server, tmp_path / "second", V4_9, 2)
        async with one.master(tmp_path / "ours", **settings) as master, Caller(master.address) as caller:
            await one.start_slave()
            assert (await caller.send("T", b"one is not enough")).code == 11
            await two.start_slave()

            async def are_both_there() -> bool:
                return (await caller.send("T", b"both?")).code == 0

            await until_true(are_both_there)
            assert [each["inSync"] for each in await slaves(caller)] == [True, True]
            admin = await asyncio.to_thread(stage.mqadmin, V5_5)
            shown = await asyncio.to_thread(admin.run, "haStatus", "-b", master.address, "-n", one.name_server.address)
            assert master.address in shown
            assert shown.count("OK") == 2, shown
            two.slave.process.suspend()
            assert (await caller.send("T", b"frozen")).code == 12
            two.slave.process.resume()
            await until_true(are_both_there)
            await asyncio.to_thread(two.slave.kill)

            async def is_gone() -> bool:
                return (await caller.send("T", b"gone")).code == 11

            await until_true(is_gone)
