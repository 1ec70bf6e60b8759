"""Java producers and consumers of each release exchange every kind of message through a broker of their release.

This is how the rig is known to play its part: what a client of ours is tested with in other files works between Java clients.
And through the double that the client's own tests stand on, in the place of a broker: it must not lie.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import FOR_MESSAGES, ApacheBroker, BrokerSettings
from tests.interop.rig.double import DoubleBroker
from tests.interop.rig.jars import RELEASES, V4_9, V5_1, V5_5
from tests.interop.rig.message_clients import JavaClientError, MessageClients, Seen
from tests.interop.rig.name_servers import NameServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

QUEUES = 4
DOUBLE = "double-"
SQL = "n > 0 AND TAGS IN ('A','B')"
NEW = (V5_5, V5_1)
"""Releases with timer messages and POP."""


@dataclass(frozen=True, slots=True)
class Place:
    """A NameServer, a broker and Java clients of one release."""

    name_server: NameServer
    broker: ApacheBroker | DoubleBroker
    clients: MessageClients

    @property
    def release(self) -> str:
        return self.clients.release

    @property
    def address(self) -> str:
        return self.name_server.address

    def topic(self, name: str) -> str:
        """Make a topic, and return its name once there is a route."""
        self.broker.create_topic(name, QUEUES)
        wait_until(lambda: self.name_server.view.route(name), f"the route of {name}", 10)
        return name

    def received(self, topic: str, count: int, **options: object) -> list[Seen]:
        """Give what a new consumer sees of a topic from its first message on, once it is so much."""
        name = f"consumer-{topic}"
        self.clients.consumer(name, self.address, f"group-{topic}", topic, **options)
        seen = self.clients.wait_seen(name, count)
        self.clients.end(name)
        return seen


def chosen_by_sql(text: str, properties: Mapping[str, str]) -> bool:
    """Stand for SQL92 in the double, as far as the tests of this file go."""
    if text != SQL:
        raise ValueError(f"Parse error: {text}")
    return int(properties.get("n", "0")) > 0 and properties.get("TAGS") in ("A", "B")


@pytest.fixture(scope="module", params=[*RELEASES, f"{DOUBLE}{V5_5}", f"{DOUBLE}{V4_9}"])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release = request.param.removeprefix(DOUBLE)
    with new_stage(f"kinds-{request.param}") as stage, contextlib.ExitStack() as stack:
        name_server = stage.name_server()
        broker: ApacheBroker | DoubleBroker
        if request.param.startswith(DOUBLE):
            double = DoubleBroker(release, "broker-kinds", name_server.address, chosen_by_sql)
            broker = stack.enter_context(double)
        else:
            settings = BrokerSettings(
                release=release, name="broker-kinds", name_servers=[name_server.address], config=FOR_MESSAGES
            )
            broker = stage.registered_broker(settings)
        clients = stage.message_clients(release)
        clients.producer("producer", name_server.address, "senders")
        clients.producer("transactions", name_server.address, "transactors", kind="transaction")
        yield Place(name_server, broker, clients)


def test_plain_messages_with_everything_on_them(place: Place) -> None:
    topic = place.topic("Plain")
    sent = place.clients.send(
        "producer", topic, "m-é中", tag="TagA", keys="k1 k2", flag=7, properties={"colour": "blue"}, count=5
    )
    place.clients.send("producer", topic, "quiet", oneway=True)
    seen = place.received(topic, 6)
    assert [each.status for each in sent] == ["SEND_OK"] * 5
    numbered = {each.body.decode(): each for each in seen if each.tag}
    assert sorted(numbered) == [f"m-é中{number}" for number in range(5)]
    assert {each.msg_id for each in sent} == {each.msg_id for each in numbered.values()}
    assert {(each.tag, each.keys, each.flag, each.properties["colour"]) for each in numbered.values()} == {
        ("TagA", "k1 k2", 7, "blue")
    }
    places = {each.msg_id: (each.queue, each.queue_offset) for each in sent}
    assert all(places[each.msg_id] == (each.queue, each.queue_offset) for each in numbered.values())
    assert [each.body for each in seen if not each.tag] == [b"quiet"]


def test_a_big_body_is_compressed_on_its_way(place: Place) -> None:
    topic = place.topic("Big")
    place.clients.send("producer", topic, bodyBytes=100_000)
    (seen,) = place.received(topic, 1)
    assert seen.body == b"x" * 100_000


def test_a_batch(place: Place) -> None:
    topic = place.topic("Batch")
    sent = place.clients.send_batch("producer", topic, "b", 10, tag="T")
    seen = place.received(topic, 10)
    assert {each.queue for each in seen} == {sent.queue}
    assert [each.body for each in sorted(seen, key=lambda each: each.queue_offset)] == [b"b%d" % n for n in range(10)]
    stored_ids = [each.msg_id for each in sorted(seen, key=lambda each: each.queue_offset)]
    if place.release == V5_1:  # its broker writes the batch's own id over those of the entries
        assert len(set(stored_ids)) == 1
    else:
        assert stored_ids == sent.msg_id.split(",")


def test_a_delay_level(place: Place) -> None:
    topic = place.topic("Delay")
    place.clients.send("producer", topic, "late", delayLevel=3)
    (seen,) = place.received(topic, 1)
    assert seen.store_ms - seen.born_ms >= 1000
    assert seen.properties["DELAY"] == "3"


def test_a_timer_message(place: Place) -> None:
    topic = place.topic("Timer")
    place.clients.send("producer", topic, "timed", timerMs=2000)
    (seen,) = place.received(topic, 1)
    assert ("TIMER_OUT_MS" in seen.properties) == (place.release in NEW)


def test_tags_and_sql_choose(place: Place) -> None:
    topic = place.topic("Chosen")
    for number, tag in enumerate("ABCA"):
        place.clients.send("producer", topic, f"{tag}{number}", tag=tag, properties={"n": number})
    place.clients.consumer("tags", place.address, "group-tags", topic, tags="A || C")
    place.clients.consumer("sql", place.address, "group-sql", topic, sql=SQL)
    assert {each.body for each in place.clients.wait_seen("tags", 3)} == {b"A0", b"C2", b"A3"}
    assert {each.body for each in place.clients.wait_seen("sql", 2)} == {b"B1", b"A3"}
    for name in ("tags", "sql"):
        place.clients.end(name)


def test_a_wrong_sql_text_is_refused_at_start(place: Place) -> None:
    topic = place.topic("WrongSql")
    with pytest.raises(JavaClientError, match="MQClientException"):
        place.clients.consumer("wrong", place.address, "group-wrong", topic, sql="n >")


def test_one_key_keeps_its_order(place: Place) -> None:
    topic = place.topic("Ordered")
    place.clients.send("producer", topic, "o", orderKey="customer-7", count=20)
    seen = place.received(topic, 20, orderly=True)
    assert [each.body for each in seen] == [b"o%d" % number for number in range(20)]
    assert len({each.queue for each in seen}) == 1


def test_an_orderly_consumer_stays_at_a_refused_message(place: Place) -> None:
    topic = place.topic("Stubborn")
    place.clients.send("producer", topic, "s", queue=1, broker=place.broker.name, count=2)
    seen = place.received(topic, 4, orderly=True, fail=1)
    assert [each.body for each in seen] == [b"s0", b"s0", b"s1", b"s1"]


def test_a_refused_message_comes_again(place: Place) -> None:
    topic = place.topic("Again")
    place.clients.send("producer", topic, "retried")
    seen = place.received(topic, 3, fail=2)
    assert [(each.topic, each.body, each.reconsume_times) for each in seen] == [
        (topic, b"retried", times) for times in range(3)
    ]
    assert len({each.msg_id for each in seen}) == 1


def test_transactions_end_by_decision_or_check(place: Place) -> None:
    topic = place.topic("Transactions")
    place.clients.transact("transactions", topic, "committed", "commit")
    place.clients.transact("transactions", topic, "rolled-back", "rollback")
    place.clients.transact("transactions", topic, "checked", "unknown", ["unknown", "commit"])
    place.clients.transact("transactions", topic, "thrown", "throw", ["rollback"])
    seen = place.received(topic, 2)
    assert {each.body for each in seen} == {b"committed", b"checked"}


def test_a_request_gets_its_reply(place: Place) -> None:
    topic = place.topic("Requests")
    place.clients.consumer("replier", place.address, "group-replier", topic, reply=True)
    place.clients.wait_allocation("replier", topic, QUEUES)
    assert place.clients.request("producer", topic, "question") == b"re:question"
    place.clients.end("replier")


def test_two_members_share_the_queues(place: Place) -> None:
    topic = place.topic("Shared")
    for name in ("first", "second"):
        place.clients.consumer(name, place.address, "group-shared", topic)
    shares = [place.clients.wait_allocation(name, topic, QUEUES // 2) for name in ("first", "second")]
    assert sorted(queue.queue_id for share in shares for queue in share) == list(range(QUEUES))
    place.clients.end("second")
    assert len(place.clients.wait_allocation("first", topic, QUEUES)) == QUEUES
    place.clients.end("first")


def test_broadcasting_reaches_every_member(place: Place) -> None:
    topic = place.topic("Broadcast")
    for name in ("here", "there"):
        place.clients.consumer(name, place.address, "group-broadcast", topic, model="BROADCASTING")
    place.clients.send("producer", topic, "all", count=8)
    for name in ("here", "there"):
        assert {each.body for each in place.clients.wait_seen(name, 8)} == {b"all%d" % number for number in range(8)}
        place.clients.end(name)


@pytest.mark.parametrize("how", ["subscribe", "assign"])
def test_lite_pull(place: Place, how: str) -> None:
    topic = place.topic(f"Lite-{how}")
    place.clients.send("producer", topic, "pulled", count=8)
    options = {"assign": True} if how == "assign" else {}
    place.clients.lite_consumer(how, place.address, f"group-{how}", topic, **options)
    assert {each.body for each in place.clients.wait_seen(how, 8)} == {b"pulled%d" % number for number in range(8)}
    assert len(place.clients.allocation(how)) >= QUEUES
    place.clients.end(how)


def test_pop(place: Place) -> None:
    topic = place.topic("Popped")
    if place.release == V4_9:
        with pytest.raises(JavaClientError, match="NoSuchMethod"):
            place.clients.consumer("popper", place.address, "group-pop", topic, pop=True)
        return
    place.broker.serve_by_pop(topic, "group-pop")
    place.clients.send("producer", topic, "popped", count=8)
    place.clients.consumer("popper", place.address, "group-pop", topic, pop=True)
    assert {each.body for each in place.clients.wait_seen("popper", 8)} == {b"popped%d" % number for number in range(8)}
    place.clients.end("popper")
