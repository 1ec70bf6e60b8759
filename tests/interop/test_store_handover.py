"""A store goes from our hands to Apache's brokers and back: nothing is lost, doubled or renumbered on the way.

Each test follows one folder. It ends cleanly or by a kill, is opened by the other side, read through its whole length by
queue and by key, and written on.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import Stage
from tests.support.waiting import wait_until
from tests.support.wire import Wire

from cosmodrome.errors import StoreInUseError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.record import decode_record, decode_records
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.config_files import TOPICS, ConfigFiles
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits, ReadStatus
from cosmodrome.store.settings import StoreSettings

SEND, PULL, QUERY = 10, 11, 12
FOUND, NOT_FOUND = 0, 19
QUEUES: Final = 3
TOPIC_NAMES: Final = ("HandA", "HandB", "HandC")
EVER: Final = 1 << 62
HOST: Final = encode_host("127.0.0.1", 10911)
ORDERS: Final = [(V5_5, V4_9), (V4_9, V5_5)]

Queues = dict[tuple[str, int], list[bytes]]


@pytest.fixture(scope="module")
def stage(new_stage: StageMaker) -> Iterator[Stage]:
    with new_stage("store-handover") as stage:
        yield stage


@pytest.fixture(scope="module")
def name_server(stage: Stage) -> NameServer:
    return stage.name_server()


def broker_on(stage: Stage, name_server: NameServer, release: str, root: Path) -> ApacheBroker:
    config = {"storePathRootDir": str(root), "storePathCommitLog": str(root / "commitlog")}
    return stage.broker(
        BrokerSettings(release=release, name="broker-handed", name_servers=[name_server.address], config=config)
    )


def settings(root: Path) -> StoreSettings:
    """The sizes are those that the rig gives its brokers."""
    return StoreSettings(
        root=root,
        store_host=HOST,
        segment_bytes=16777216,
        queue_file_bytes=60000,
        index_slots=5000,
        index_entries=20000,
    )


def fill(store: MessageStore, sent: Queues, count: int) -> None:
    """Store messages of many lengths, some of them megabytes long, in turns of 50; the log gets several files."""
    now_ms = time.time_ns() // 1_000_000
    for number in range(count):
        key = (TOPIC_NAMES[number % 3], number // 3 % QUEUES)
        body = f"{sum(map(len, sent.values()))}:".encode() + b"b" * (number * 37 % 5000 if number % 500 else 1_000_000)
        properties = (
            f"UNIQ_KEY\x01{id_of(body)}\x02KEYS\x01key-{number} every\x02TAGS\x01Tag{number % 5}\x02WAIT\x01true\x02"
        )
        store.add(NewMessage(*key, body, properties.encode(), now_ms, encode_host("10.1.2.3", 4567)), now_ms)
        sent.setdefault(key, []).append(body)
        if number % 50 == 49:
            store.write()
    store.write()


def id_of(body: bytes) -> str:
    return f"{int(body.partition(b':')[0]):032X}"


def make_topics(root: Path) -> None:
    common = {"perm": 6, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False}
    table = {
        name: {"topicName": name, "readQueueNums": QUEUES, "writeQueueNums": QUEUES, **common} for name in TOPIC_NAMES
    }
    ConfigFiles(root).save(TOPICS, {"topicConfigTable": table})


def pulled(wire: Wire, topic: str, queue_id: int) -> list[bytes]:
    """Pull a queue from its start to its end, as a consumer without a connection of its own does."""
    bodies: list[bytes] = []
    while True:
        fields = {
            "consumerGroup": "handover", "topic": topic, "queueId": str(queue_id), "queueOffset": str(len(bodies)),
            "maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0",
            "subscription": "*", "expressionType": "TAG",
        }  # fmt: skip
        answer = wire.request(PULL, fields)
        if answer.code == NOT_FOUND:
            assert answer.ext is not None
            assert int(answer.ext["maxOffset"]) == len(bodies)
            return bodies
        assert answer.code == FOUND, answer
        for record in decode_records(answer.body):
            assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, len(bodies))
            assert record.is_intact
            bodies.append(record.body)


def assert_served(address: str, sent: Queues) -> None:
    """Fail unless a broker serves exactly these messages, and finds some of them by their keys."""
    with Wire(address, timeout=30) as wire:
        for (topic, queue_id), bodies in sent.items():
            assert pulled(wire, topic, queue_id) == bodies
            for body in (bodies[0], bodies[len(bodies) // 2], bodies[-1]):
                fields = {
                    "topic": topic, "key": id_of(body), "maxNum": "32", "beginTimestamp": "0",
                    "endTimestamp": str(EVER), "_UNIQUE_KEY_QUERY": "true",
                }  # fmt: skip
                answer = wire.request(QUERY, fields)
                assert answer.code == FOUND, (topic, body[:10], answer)
                assert body in [record.body for record in decode_records(answer.body)]


def sent_to(address: str, sent: Queues, count: int) -> None:
    """Send messages to a broker, and fail unless each gets the next number of its queue."""
    with Wire(address, timeout=30) as wire:
        for number in range(count):
            topic, queue_id = TOPIC_NAMES[number % 3], number // 3 % QUEUES
            bodies = sent.setdefault((topic, queue_id), [])
            body = f"{sum(map(len, sent.values()))}:".encode() + b"a" * (number * 71 % 3000)
            fields = {
                "producerGroup": "handover", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": str(QUEUES),
                "queueId": str(queue_id), "sysFlag": "0", "bornTimestamp": "1700000000000", "flag": "0",
                "properties": f"UNIQ_KEY\x01{id_of(body)}\x02TAGS\x01Sent\x02WAIT\x01true\x02", "reconsumeTimes": "0",
                "unitMode": "false", "batch": "false",
            }  # fmt: skip
            answer = wire.request(SEND, fields, body)
            assert answer.code == FOUND, answer
            assert answer.ext is not None
            assert int(answer.ext["queueOffset"]) == len(bodies)
            bodies.append(body)


def assert_ours(store: MessageStore, sent: Queues) -> None:
    """Fail unless our store holds exactly these messages in these topics."""
    assert not store.report.damaged
    assert not store.report.misnumbered
    for (topic, queue_id), bodies in sent.items():
        found: list[bytes] = []
        while True:
            result = store.reader.read((topic, queue_id), len(found), ReadLimits())
            if result.status is not ReadStatus.FOUND:
                assert result.status is ReadStatus.OFFSET_OVERFLOW_ONE
                break
            for view in result.records:
                record = decode_record(view)[0]
                assert record.queue_offset == len(found)
                found.append(record.body)
        assert found == bodies
        for body in (bodies[0], bodies[-1]):
            views = store.reader.find(topic, id_of(body), 32, 0, EVER)
            assert body in [decode_record(view)[0].body for view in views]


def started(broker: ApacheBroker) -> None:
    broker.start_registered()

    def knows_topics() -> bool:
        with Wire(broker.address, timeout=5) as wire:
            return wire.request(30, {"topic": TOPIC_NAMES[0], "queueId": "0"}).code == FOUND

    wait_until(knows_topics, f"{broker.address} to serve", 60, (OSError,))


@pytest.mark.parametrize("order", ORDERS, ids="-then-".join)
def test_b008_a_store_of_ours_goes_from_hand_to_hand(
    stage: Stage, name_server: NameServer, tmp_path: Path, order: tuple[str, str]
) -> None:
    """Ours, one release, ours, the other release, ours; always stopped cleanly, always written on."""
    root, sent = tmp_path / "store", dict[tuple[str, int], list[bytes]]()
    make_topics(root)
    with MessageStore.open(settings(root)) as store:
        fill(store, sent, 6000)

    for release in order:
        broker = broker_on(stage, name_server, release, root)
        started(broker)
        assert_served(broker.address, sent)
        sent_to(broker.address, sent, 200)
        assert_served(broker.address, sent)
        broker.stop()
        with MessageStore.open(settings(root)) as store:
            assert store.report.is_clean
            assert_ours(store, sent)
            fill(store, sent, 300)
            assert_ours(store, sent)


@pytest.mark.parametrize("release", [V5_5, V4_9])
def test_b008_killed_processes_hand_over_too(
    stage: Stage, name_server: NameServer, tmp_path: Path, release: str
) -> None:
    """Ours ends without a word, then the broker is killed, then ours again."""
    root, sent = tmp_path / "store", dict[tuple[str, int], list[bytes]]()
    make_topics(root)
    with MessageStore.open(settings(root)) as store:
        fill(store, sent, 1000)
    program = (
        "import os, sys; from pathlib import Path; from tests.interop.test_store_handover import *\n"
        "store = MessageStore.open(settings(Path(sys.argv[1]))); fill(store, {('', 0): [b''] * 1000}, 1500); os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(root)], check=False)
    assert ended.returncode == 9
    after = [b""] * 1000
    _imitate(sent, after, 1500)

    broker = broker_on(stage, name_server, release, root)
    started(broker)
    assert_served(broker.address, sent)
    sent_to(broker.address, sent, 300)
    assert_served(broker.address, sent)
    broker.kill()

    with MessageStore.open(settings(root)) as store:
        assert not store.report.is_clean
        assert_ours(store, sent)


def _imitate(sent: Queues, before: list[bytes], count: int) -> None:
    """Add what `fill` stores in the other process, whose numbers go on behind those that are there."""
    for number in range(count):
        body = f"{len(before) + number}:".encode() + b"b" * (number * 37 % 5000 if number % 500 else 1_000_000)
        sent[TOPIC_NAMES[number % 3], number // 3 % QUEUES].append(body)


@pytest.mark.parametrize("release", [V5_5, V4_9])
def test_two_brokers_never_have_one_store(stage: Stage, name_server: NameServer, tmp_path: Path, release: str) -> None:
    root = tmp_path / "store"
    broker = broker_on(stage, name_server, release, root)
    with MessageStore.open(settings(root)):
        broker.process.start()
        broker.process.wait_ended()
        assert "MQ already started" in broker.process.tail() + broker.process.log_tails()
    broker.start()
    with pytest.raises(StoreInUseError):
        MessageStore.open(settings(root))
