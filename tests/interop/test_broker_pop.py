"""POP mode of our broker: Java's push consumer pops, a broker is killed under it, a store with open receipts changes hands."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.ports import free_port
from tests.interop.rig.stage import Stage
from tests.interop.test_broker_handover import SIZES, java
from tests.support.broker_calls import Caller
from tests.support.broker_process import BrokerProcess
from tests.support.popping import Popped, Popper
from tests.support.waiting import wait_until

from cosmodrome import Broker

TOPIC = "Popped"
GROUP = "poppers"
INVISIBLE_MS = 45_000
LONG_MS = 3_600_000
"""An Apache broker may take half of it to start."""


def bodies(all_popped: list[Popped]) -> list[bytes]:
    return sorted(each.body for each in all_popped)


@contextmanager
def our_broker(stage: Stage, **settings: Any) -> Iterator[tuple[OurBroker, str]]:
    name_server = stage.name_server()
    with OurBroker("broker-a", name_server.address, **settings) as broker:
        broker.create_topic(TOPIC)
        yield broker, name_server.address


def test_a_java_consumer_pops_once_its_group_is_told_to(new_stage: StageMaker) -> None:
    with new_stage("our-pop") as stage, our_broker(stage) as (broker, name_server):
        where = ("-b", broker.broker.address, "-n", name_server, "-t", TOPIC, "-g", GROUP)
        told = stage.mqadmin(V5_5).run("setConsumeMode", *where, "-m", "POP", "-q", "0")
        assert "success" in told, told
        clients = stage.message_clients(V5_5)
        clients.producer("producer", name_server, "senders")
        clients.consumer("popper", name_server, GROUP, TOPIC, pop=True)
        assert {queue.queue_id for queue in clients.wait_allocation("popper", TOPIC, 1)} == {-1}
        clients.send("producer", TOPIC, "m", count=20)
        found = clients.wait_seen("popper", 20)
        assert Counter([each.body for each in found]) == {b"m%d" % number: 1 for number in range(20)}
        clients.end("popper")


@pytest.mark.full
def test_a_message_that_a_java_consumer_refuses_comes_again(new_stage: StageMaker) -> None:
    """It hides a refused message for 10 seconds."""
    with new_stage("our-pop-refused") as stage, our_broker(stage) as (broker, name_server):
        broker.serve_by_pop(TOPIC, GROUP)
        clients = stage.message_clients(V5_5)
        clients.producer("producer", name_server, "senders")
        clients.consumer("popper", name_server, GROUP, TOPIC, pop=True, fail=1)
        clients.send("producer", TOPIC, "m", count=3)
        found = clients.wait_seen("popper", 6, within_s=60)
        counts = Counter([(each.body, each.reconsume_times) for each in found])
        assert counts == {(b"m%d" % number, times): 1 for number in range(3) for times in (0, 1)}
        clients.end("popper")


@pytest.mark.full
def test_a_broker_is_killed_under_a_java_consumer(new_stage: StageMaker, tmp_path: Path) -> None:
    """Everything comes; what was acknowledged before the kill, or had not been popped, comes once."""
    with new_stage("our-pop-killed") as stage:
        name_server = stage.name_server()
        broker = BrokerProcess(tmp_path, namesrvAddr=name_server.address, listenPort=free_port())
        clients = stage.message_clients(V5_5)
        with broker:
            asyncio.run(_prepare(broker.address))
            clients.producer("producer", name_server.address, "senders")
            clients.consumer("popper", name_server.address, GROUP, TOPIC, pop=True)
            clients.send("producer", TOPIC, "before", count=50)
            clients.wait_seen("popper", 50)
            asyncio.run(_pop_one_more(broker.address))
            broker.kill()
        with broker:
            clients.send("producer", TOPIC, "after", count=50)
            sent = {b"%s%d" % (when, number) for when in (b"before", b"after") for number in range(50)}
            expected = sent | {b"left behind"}
            wait_until(lambda: {each.body for each in clients.seen("popper")} == expected, "all messages", 90)


async def _pop_one_more(address: str) -> None:
    """Have a message popped whose receipt nobody brings back."""
    async with Caller(address) as caller:
        popper = Popper(caller, GROUP, TOPIC)
        waiting = asyncio.create_task(popper.pop(poll_time=15_000, invisible_time=5000))
        await caller.send(TOPIC, b"left behind")
        await waiting


async def _prepare(address: str) -> None:
    async with Caller(address) as caller:
        await _make(caller)


async def _make(caller: Caller) -> None:
    fields: dict[str, str | None] = {
        "topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    await caller.ok(17, fields)
    body = f'{{"topic":"{TOPIC}","consumerGroup":"{GROUP}","mode":"POP","popShareQueueNum":0}}'
    await caller.ok(401, {}, body.encode())


def apache_on(stage: Stage, store: Path, name_server: str) -> ApacheBroker:
    settings = {java(name): str(value) for name, value in SIZES.items()}
    settings |= {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    return stage.broker(BrokerSettings(release=V5_5, name="broker-a", name_servers=[name_server], config=settings))


@pytest.mark.full
async def test_a_store_with_open_receipts_goes_to_apaches_broker(new_stage: StageMaker, tmp_path: Path) -> None:
    """What is not acknowledged comes again there, and what is, by either broker, does not."""
    with new_stage("pop-handover") as stage:
        name_server = await asyncio.to_thread(stage.name_server)
        async with (
            Broker(store=tmp_path, broker_cluster_name=CLUSTER, **SIZES) as broker,
            Caller(broker.address) as caller,
        ):
            await _make(caller)
            for number in range(8):
                await caller.send(TOPIC, b"%d" % number)
            popper = Popper(caller, GROUP, TOPIC)
            popped = await popper.wait(6, max_msg_nums=6, invisible_time=INVISIBLE_MS)
            await popper.ack(popped[0])
            await popper.ack_all(popped[1:3])
            hidden = await popper.hide(popped[3], INVISIBLE_MS)
        apache = apache_on(stage, tmp_path, name_server.address)
        await asyncio.to_thread(apache.start)
        async with Caller(apache.address) as caller:
            popper = Popper(caller, GROUP, TOPIC)
            # These never come again while the test goes on, however long brokers take to start.
            assert bodies(await popper.wait(2, invisible_time=LONG_MS)) == [b"6", b"7"]
            assert (await popper.ack(hidden)).code == 0
            again = await popper.wait(2, invisible_time=LONG_MS)
            assert bodies(again) == [b"4", b"5"]
            assert {each.message.reconsume_times for each in again} == {1}
            assert await popper.pop(poll_time=8000) == [], "the others are done"
            assert (await popper.ack(again[0])).code == 0
        await asyncio.to_thread(apache.stop)
        async with (
            Broker(store=tmp_path, broker_cluster_name=CLUSTER, **SIZES) as broker,
            Caller(broker.address) as caller,
        ):
            popper = Popper(caller, GROUP, TOPIC)
            sooner = await popper.hide(again[1], 500)
            assert bodies(await popper.wait(1)) == [again[1].body]
            assert (await popper.ack(sooner)).code == 0
            assert await popper.pop(poll_time=2000) == []


@pytest.mark.full
async def test_a_store_with_open_receipts_comes_from_apaches_broker(new_stage: StageMaker, tmp_path: Path) -> None:
    """Its check points are in the timer still. And back: nothing that is done comes again at Apache's broker."""
    with new_stage("pop-handover-back") as stage:
        name_server = await asyncio.to_thread(stage.name_server)
        apache = apache_on(stage, tmp_path, name_server.address)
        await asyncio.to_thread(apache.start)
        async with Caller(apache.address) as caller:
            await _make(caller)
            for number in range(8):
                await caller.send(TOPIC, b"%d" % number)
            popper = Popper(caller, GROUP, TOPIC)
            popped = await popper.wait(6, max_msg_nums=6, invisible_time=INVISIBLE_MS)
            await popper.ack(popped[0])
            await popper.ack_all(popped[1:3])
            hidden = await popper.hide(popped[3], INVISIBLE_MS)
        await asyncio.to_thread(apache.stop)
        async with (
            Broker(store=tmp_path, broker_cluster_name=CLUSTER, **SIZES) as broker,
            Caller(broker.address) as caller,
        ):
            popper = Popper(caller, GROUP, TOPIC)
            assert bodies(await popper.wait(2)) == [b"6", b"7"]
            assert (await popper.ack(hidden)).code == 0
            again = await popper.wait(2)
            assert bodies(again) == [b"4", b"5"]
            for each in again:
                assert (await popper.ack(each)).code == 0
            assert await popper.pop(poll_time=5000) == []
