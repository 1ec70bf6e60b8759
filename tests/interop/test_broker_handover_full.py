"""A big store goes from hand to hand: ours, Apache's brokers of both releases, ours again, and the other way round.

Topics with 100,000 messages, groups in the middle of them, failed messages that wait for their retry, delayed ones.
Every record is the same bytes for whoever serves it, groups go on where they were, nothing comes twice or not at all.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import OURS, Stage
from tests.support.broker_load import Outgoing, commit, committed, end_of, join, read_queue, send_all
from tests.support.broker_process import SMALL, BrokerProcess
from tests.support.faulty_broker.records import offset_of
from tests.support.waiting import wait_until
from tests.support.wire import Wire

MESSAGES: Final = 100_000
MORE: Final = 1_000
FAILED: Final = 50
DELAYED: Final = 100
TOPICS: Final = ("BigA", "BigB", "BigC")
QUEUES: Final = 4
GROUPS: Final = ("g-start", "g-middle", "g-end")
RETRY: Final = "%RETRY%g-middle"
LATER: Final = "Later"
LEVELS: Final = "45s 50s 55s 60s"
"""They end when several brokers had the store."""
SIZES: Final = (
    "mappedFileSizeCommitLog",
    "mappedFileSizeConsumeQueue",
    "maxHashSlotNum",
    "maxIndexNum",
    "maxMessageSize",
)
SEND_BACK, QUERY = 36, 12
EVER: Final = str(1 << 62)

Queue = tuple[str, int]


class Story:
    """What was given to the store so far, whoever served it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.digests: dict[Queue, list[bytes]] = {(topic, each): [] for topic in TOPICS for each in range(QUEUES)}
        self.offsets: dict[tuple[str, Queue], int] = {}
        self.sent = 0

    def send(self, address: str, count: int) -> None:
        """Send messages of many lengths to all queues."""
        send_all(address, [self._message(self.sent + at) for at in range(count)])
        self.sent += count
        self.look(address)

    def _message(self, number: int) -> Outgoing:
        properties = f"UNIQ_KEY\x01U{number:031X}\x02KEYS\x01key-{number}\x02TAGS\x01Tag{number % 5}\x02"
        body = f"{number}:".encode() + b"b" * (number * 37 % 300)
        return Outgoing(topic=TOPICS[number % 3], queue_id=number // 3 % QUEUES, body=body, properties=properties)

    def look(self, address: str) -> None:
        """Fail unless every queue holds what it held, byte for byte; take note of what came behind."""
        with Wire(address, timeout=60) as connection:
            total = sum(end_of(connection, *queue) for queue in self.digests)
            wait_until(
                lambda: sum(end_of(connection, *queue) for queue in self.digests) >= self.sent,
                f"{self.sent} after {total}",
            )
            for queue, before in self.digests.items():
                now = read_queue(connection, *queue).digests
                assert now[: len(before)] == before, queue
                self.digests[queue] = now
        assert sum(map(len, self.digests.values())) == self.sent

    def commit(self, address: str) -> None:
        """Have the groups come to the start, the middle and nearly the end of each queue."""
        with Wire(address, timeout=60) as connection:
            for group, tenths in zip(GROUPS, (0, 5, 9), strict=True):
                join(connection, group, TOPICS)
                for queue, digests in self.digests.items():
                    offset = len(digests) * tenths // 10 + 1
                    commit(connection, group, *queue, offset)
                    self.offsets[group, queue] = offset

    def look_at_groups(self, address: str) -> None:
        """Fail unless every group is where it was, and old and new messages are found by key."""
        with Wire(address, timeout=60) as connection:
            for (group, queue), offset in self.offsets.items():
                assert committed(connection, group, *queue) == offset, (group, queue)
            for number in (0, self.sent // 2, self.sent - 1):
                fields = {
                    "topic": TOPICS[number % 3], "key": f"key-{number}", "maxNum": "32", "beginTimestamp": "0",
                    "endTimestamp": EVER,
                }  # fmt: skip
                assert connection.request(QUERY, fields).code == 0, number

    def fail_and_delay(self, address: str) -> None:
        """Have messages wait: for their retry, and for their level."""
        delayed = [
            Outgoing(topic=LATER, body=b"%d" % at, properties=f"DELAY\x01{at % 4 + 1}\x02") for at in range(DELAYED)
        ]
        send_all(address, delayed)
        answers = send_all(address, [Outgoing(topic="Failing", body=b"%d" % at) for at in range(FAILED)])
        with Wire(address, timeout=60) as connection:
            join(connection, "g-middle", [*TOPICS, "Failing"])
            for answer in answers:
                offset = str(offset_of((answer.ext or {})["msgId"]))
                back = {"offset": offset, "group": "g-middle", "delayLevel": "2", "maxReconsumeTimes": "16"}
                assert connection.request(SEND_BACK, back).code == 0


def look_at_late_ones(address: str, *, is_over: bool) -> None:
    """Fail if one of those that wait came twice; wait until all have come if it is time."""
    with Wire(address, timeout=60) as connection:
        for topic, count in ((LATER, DELAYED), (RETRY, FAILED)):

            def bodies(topic: str = topic) -> list[bytes]:
                return [each.body for each in read_queue(connection, topic, 0).records]

            if is_over:
                wait_until(lambda count=count, bodies=bodies: len(bodies()) >= count, f"{count} in {topic}", 120)  # type: ignore[misc]
            found = bodies()
            assert len(set(found)) == len(found), f"{topic} twice"
            assert not is_over or sorted(found) == sorted(b"%d" % at for at in range(count))


@contextlib.contextmanager
def served(kind: str, folder: Path, stage: Stage, name_server: NameServer) -> Iterator[str]:
    """Serve the store in a folder with a broker of ours or of a release; give its address."""
    if kind == OURS:
        with BrokerProcess(folder, messageDelayLevel=LEVELS) as ours:
            yield ours.address
            assert ours.stop() == 0
        return
    store = folder / "store"
    config = {key: SMALL[key] for key in SIZES}
    config |= {
        "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
        "messageDelayLevel": LEVELS,
    }
    settings = BrokerSettings(
        release=kind, name="broker-p", name_servers=[name_server.address], cluster="C", config=config
    )
    apache = stage.broker(settings)
    apache.start()
    yield apache.address
    apache.stop()


@pytest.mark.full
@pytest.mark.parametrize(
    "order", [(OURS, V5_5, OURS, V4_9, OURS), (V5_5, OURS, V4_9), (V4_9, OURS, V5_5, OURS)], ids="-then-".join
)
def test_a_hundred_thousand_messages_go_from_hand_to_hand(
    new_stage: StageMaker, tmp_path: Path, order: tuple[str, ...]
) -> None:
    story = Story()
    with new_stage("handover-full") as stage:
        name_server = stage.name_server()
        for at, kind in enumerate(order):
            with served(kind, tmp_path, stage, name_server) as address:
                if at:
                    story.look(address)
                    story.look_at_groups(address)
                    story.send(address, MORE)
                else:
                    story.send(address, MESSAGES)
                    story.fail_and_delay(address)
                story.commit(address)
                look_at_late_ones(address, is_over=at == len(order) - 1)
