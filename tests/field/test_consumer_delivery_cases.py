"""Failed messages, retries, dead letters, stuck messages (C010, C017, C029, C048, C054, C055, C063, C064)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, committed, consumer, fill, named, undisturbed
from tests.support.faulty_broker import (
    V4_9_7,
    V5_5_0,
    CloseUnanswered,
    DropAnswer,
    FaultyBroker,
    Refuse,
    Release,
    faulty_cluster,
)

from cosmodrome.client.consumer.filters import Sql
from cosmodrome.client.consumer.handlers import Later
from cosmodrome.client.message import ReceivedMessage
from cosmodrome.errors import AuthenticationError, RefusedError

RETRY = f"%RETRY%{GROUP}"
DEAD = f"%DLQ%{GROUP}"
releases = pytest.mark.parametrize("release", [V4_9_7, V5_5_0], ids=lambda release: f"v{release.version}")


def fails(_: ReceivedMessage) -> object:
    raise ValueError("the handler of this test fails")


def hurry(broker: FaultyBroker) -> None:
    """Let every delay level pass at once."""
    broker.sends.settings.level_s = 0.01


@releases
@pytest.mark.parametrize(("limit", "deliveries"), [(0, 1), (1, 2), (3, 4), (-1, 17)])
async def test_c055_as_many_deliveries_as_the_limit_says_then_one_dead_letter(
    tmp_path: Path, release: Release, limit: int, deliveries: int
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, release=release) as cluster:
        broker = cluster.broker
        hurry(broker)
        broker.put(TOPIC, b"bad", UNIQ_KEY="ID1")
        seen = Seen(fails)
        async with consumer(cluster, seen, max_reconsume_times=limit):
            await broker.journal.until(lambda: broker.store.messages(DEAD), "a dead letter", 30)
            await committed(broker, 1)
        dead = broker.store.messages(DEAD)
        assert [message.reconsume_times for message in seen.messages] == list(range(deliveries))
        assert {(message.topic, message.msg_id) for message in seen.messages} == {(TOPIC, "ID1")}
        assert [(each.body, each.named["RETRY_TOPIC"], each.unique_key) for each in dead] == [(b"bad", TOPIC, "ID1")]


@releases
@pytest.mark.parametrize(("limit", "deliveries"), [(0, 1), (1, 2), (3, 4)])
async def test_c055_in_order_too(tmp_path: Path, release: Release, limit: int, deliveries: int) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, release=release) as cluster:
        broker = cluster.broker
        hurry(broker)
        broker.put(TOPIC, b"bad", UNIQ_KEY="ID1")
        broker.put(TOPIC, b"good")
        seen = Seen(lambda message: fails(message) if message.body == b"bad" else None)
        async with consumer(cluster, seen, max_reconsume_times=limit, orderly=True, orderly_pause_s=0.01):
            await broker.journal.until(lambda: broker.store.messages(DEAD), "a dead letter")
            await committed(broker, 2)
        assert seen.bodies == [b"bad"] * deliveries + [b"good"]
        assert [(each.body, each.unique_key) for each in broker.store.messages(DEAD)] == [(b"bad", "ID1")]


async def test_c055_the_limit_travels_with_each_message_that_is_sent_back(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 1)
        async with consumer(cluster, Seen(lambda _: Later(7)), max_reconsume_times=5):
            (back,) = await cluster.broker.journal.arrived(36)
        assert (back.ext["maxReconsumeTimes"], back.ext["delayLevel"], back.ext["group"]) == ("5", "7", GROUP)


async def test_c054_failed_messages_go_to_the_brokers_address_in_the_route(tmp_path: Path) -> None:
    """Not to the one in the message, here a network that leads nowhere."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, store_host=("172.17.0.5", 10911)) as cluster:
        hurry(cluster.broker)
        fill(cluster.broker, 1)
        seen = Seen(lambda message: Later() if message.reconsume_times == 0 else None)
        async with consumer(cluster, seen):
            await seen.came(2)
            await committed(cluster.broker, 1)


@pytest.mark.parametrize("fault", [Refuse(1, "no"), CloseUnanswered(), DropAnswer()], ids=named)
async def test_c054_what_cannot_be_sent_back_goes_to_the_retry_topic_as_a_message(
    tmp_path: Path, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.requests.SEND_BACK_TIMEOUT_S", 0.2)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        hurry(broker)
        broker.put(TOPIC, b"bad", UNIQ_KEY="ID1", KEYS="K")
        broker.faults.add(fault, 36, times=1)
        seen = Seen(lambda message: Later() if message.reconsume_times == 0 else None)
        async with consumer(cluster, seen):
            await broker.journal.arrived(310)
            await seen.came(2)
            await committed(broker, 1)
        copy = broker.store.messages(RETRY)[-1].named
        assert (copy["RETRY_TOPIC"], copy["UNIQ_KEY"], copy["KEYS"]) == (TOPIC, "ID1", "K")
        assert {(message.topic, message.msg_id) for message in seen.messages} == {(TOPIC, "ID1")}


async def test_c054_what_nobody_takes_is_handled_again_here_and_its_offset_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.backoff.CONSUME_AGAIN_LOCALLY_S", 0.05)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        fill(broker, 3)
        broker.faults.add(Refuse(14, "the disk is full"), (36, 310), times=None)
        seen = Seen(
            lambda message: fails(message) if message.queue_offset == 1 and message.reconsume_times < 3 else None
        )
        async with consumer(cluster, seen):
            await seen.until(lambda: seen.counts[b"0.1"] == 4)
            await committed(broker, 3)
        offsets = [offset for key, offset in broker.groups.offset_history if key == (GROUP, TOPIC, 0)]
        assert set(offsets) <= {0, 1, 3}
        assert 1 in offsets


async def test_c048_a_message_that_is_handled_for_ever_is_named_and_sent_back(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        hurry(broker)
        broker.put(TOPIC, b"stuck", UNIQ_KEY="ID1")
        fill(broker, 5)
        seen = Seen(lambda message: never.wait() if message.reconsume_times == 0 and message.body == b"stuck" else None)
        async with consumer(cluster, seen, consume_timeout_s=0.5, close_timeout_s=0.2) as reader:
            await seen.came(6)
            await broker.journal.until(lambda: broker.groups.offsets.get((GROUP, TOPIC, 0)) == 0, "offset 0")
            waits_for = reader.status().queues[-1].waits_for
            assert waits_for is not None
            assert waits_for.msg_id == "ID1"
            await seen.came(7)
            await committed(broker, 6)
        assert seen.messages[-1].reconsume_times == 1


async def test_c010_a_message_too_full_to_be_sent_back_holds_up_nothing_but_its_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.backoff.CONSUME_AGAIN_LOCALLY_S", 0.05)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.put(TOPIC, b"full", UNIQ_KEY="ID1", BIG="v" * 32_700)
        fill(broker, 5)
        broker.faults.add(Refuse(13, "the message is illegal"), (36, 310), times=None)
        seen = Seen(lambda message: fails(message) if message.body == b"full" else None)
        async with consumer(cluster, seen, max_reconsume_times=2):
            await seen.until(lambda: seen.counts[b"full"] >= 3 and len(seen.counts) == 6)
            await committed(broker, 0)
        assert max(offset for key, offset in broker.groups.offset_history if key == (GROUP, TOPIC, 0)) == 0


async def test_c029_the_consumer_survives_whatever_handlers_do(tmp_path: Path) -> None:
    endings: list[Any] = [None, True, "ok", Later(1), ValueError("no"), SystemExit(3), KeyboardInterrupt()]

    def act(message: ReceivedMessage) -> object:
        ending = endings[message.queue_offset] if message.reconsume_times == 0 else None
        if isinstance(ending, BaseException):
            raise ending
        return ending

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        hurry(cluster.broker)
        bodies = fill(cluster.broker, len(endings))
        seen = Seen(act)
        async with consumer(cluster, seen):
            await seen.came(len(endings) + 4)
            await committed(cluster.broker, len(endings))
        assert [seen.counts[body] for body in bodies] == [1, 1, 1, 2, 2, 2, 2]


async def test_c064_tags_of_one_hash_reach_only_who_wants_them(tmp_path: Path) -> None:
    tags = ["Aa", "BB", "AaAa", "BBBB", "标签", "😀", "other"]
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        for tag in tags * 3:
            cluster.broker.put(TOPIC, tag.encode(), TAGS=tag)
        seen = Seen()
        async with consumer(cluster, seen, subscriptions={TOPIC: "Aa || BBBB || 标签 || 😀"}):
            await committed(cluster.broker, 21)
        assert seen.counts == {tag.encode(): 3 for tag in ("Aa", "BBBB", "标签", "😀")}


async def test_c063_sql_reads_what_matches(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.groups.sql = lambda _, properties: properties.get("A") == "5"
        for number in range(10):
            cluster.broker.put(TOPIC, b"%d" % number, A=str(number))
        seen = Seen()
        async with consumer(cluster, seen, subscriptions={TOPIC: Sql("A = 5")}):
            await seen.came(1)
            await committed(cluster.broker, 10)
        assert seen.bodies == [b"5"]


@pytest.mark.parametrize("is_on", ["on", "off"])
async def test_c063_sql_that_a_broker_cannot_read_makes_the_start_raise_with_its_words(
    tmp_path: Path, is_on: str
) -> None:
    def unreadable(text: str, _: object) -> bool:
        raise ValueError(f"cannot parse {text}")

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.groups.sql = unreadable if is_on == "on" else None
        words = "code 23" if is_on == "on" else "does not support consumer to filter message by SQL92"
        with pytest.raises(RefusedError, match=words):
            await consumer(cluster, Seen(), subscriptions={TOPIC: Sql("A >>> 5")}).start()


async def test_c017_wrong_credentials_make_the_start_raise(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        words = "check signature failed."
        cluster.broker.faults.add(Refuse(16, words), times=None)
        with pytest.raises(AuthenticationError):
            await consumer(cluster, Seen()).start()
