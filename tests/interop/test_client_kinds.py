"""Every kind of message and of consuming, from ours to Java's clients, from Java's to ours, and among ours.

A broker of each release is started once; each test has a topic and a group of its own. What is special about a kind is
tested in test_producer.py and test_consumer.py; here it is that nothing is lost or changed on any way.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import FOR_MESSAGES, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.message_clients import MessageClients
from tests.interop.rig.name_servers import NameServer
from tests.support.consuming import Seen
from tests.support.waiting import wait_until

from cosmodrome import Consumer, LitePullConsumer, Message, Producer, ReceivedMessage, Sql, TransactionState

WITHIN_S: Final = 60.0
QUEUES: Final = 4
SQL: Final = "n > 0 AND TAGS IN ('A','B')"
CHECKS: Final = {"checked": TransactionState.COMMIT}
DIRECTIONS: Final = ("ours-to-java", "java-to-ours", "ours-to-ours")
KINDS: Final = (
    "plain", "oneway", "big", "batch", "delay", "timer", "transaction", "tags", "sql", "orderly", "broadcasting", "lite",
    "assign", "pop",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A NameServer, a broker and Java clients of one release."""

    name_server: NameServer
    broker: ApacheBroker
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


@pytest.fixture(
    scope="module",
    params=[V5_5, pytest.param(V4_9, marks=pytest.mark.full), pytest.param(V5_1, marks=pytest.mark.full)],
)
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release = request.param
    with new_stage(f"client-kinds-{release}") as stage:
        name_server = stage.name_server()
        settings = BrokerSettings(
            release=release, name="broker-kinds", name_servers=[name_server.address], config=FOR_MESSAGES
        )
        broker = stage.registered_broker(settings)
        clients = stage.message_clients(release)
        clients.producer("producer", name_server.address, "senders")
        clients.producer("transactions", name_server.address, "transactors", kind="transaction")
        yield Place(name_server, broker, clients)


@dataclass(slots=True)
class Got:
    """What a consumer of either kind saw of a message."""

    body: bytes
    tag: str | None
    keys: str
    colour: str | None
    queue_id: int
    offset: int


@dataclass(slots=True)
class Wanted:
    """Bodies that must come; those of `order` in that order."""

    bodies: set[bytes]
    order: list[bytes] = field(default_factory=list)


async def send_ours(place: Place, topic: str, kind: str) -> Wanted:
    """Send what the kind is about, by our producer."""
    group = f"ours-{topic}"
    async with Producer(group, namesrv=place.address, check_transaction=_check, send_timeout_s=20) as producer:

        async def send(body: bytes, **options: Any) -> None:
            await producer.send(Message(topic=topic, body=body, **options))

        if kind == "oneway":
            await producer.send_oneway(Message(topic=topic, body=b"m0", tag="A", keys=["k1", "k2"]))
            return Wanted({b"m0"})
        if kind == "big":
            await send(b"x" * 100_000)
            return Wanted({b"x" * 100_000})
        if kind == "batch":
            await producer.send_batch([Message(topic=topic, body=b"m%d" % each, tag="A") for each in range(10)])
            return Wanted({b"m%d" % each for each in range(10)})
        if kind == "transaction":
            for name, state in (
                ("kept", TransactionState.COMMIT),
                ("gone", TransactionState.ROLLBACK),
                ("checked", None),
            ):
                outcome = await producer.send_transaction(
                    Message(topic=topic, body=name.encode()), lambda *_, state=state: state
                )
                assert outcome.error is None
            await asyncio.sleep(6)  # as long as this producer is there to be asked
            return Wanted({b"kept", b"checked"})
        timed: Any = {"delay": {"delay_level": 2}, "timer": {"delay": 1.0}}.get(kind, {})
        bodies = [b"m%d" % each for each in range(8)]
        for number, body in enumerate(bodies):
            await send(
                body, tag="ABCA"[number % 4], keys=["k1", "k2"], properties={"colour": "blue", "n": str(number)},
                sharding_key="one" if kind == "orderly" else None, **timed,
            )  # fmt: skip
        return _wanted(kind, bodies)


def _check(message: ReceivedMessage) -> TransactionState:
    return CHECKS.get(message.body.decode(), TransactionState.ROLLBACK)


def send_java(place: Place, topic: str, kind: str) -> Wanted:
    """Send the same by Java's producer."""
    clients = place.clients
    if kind == "oneway":
        clients.send("producer", topic, "m0", oneway=True, tag="A", keys="k1 k2")
        return Wanted({b"m0"})
    if kind == "big":
        clients.send("producer", topic, bodyBytes=100_000)
        return Wanted({b"x" * 100_000})
    if kind == "batch":
        clients.send_batch("producer", topic, "m", 10, tag="A")
        return Wanted({b"m%d" % each for each in range(10)})
    if kind == "transaction":
        clients.transact("transactions", topic, "kept", "commit")
        clients.transact("transactions", topic, "gone", "rollback")
        clients.transact("transactions", topic, "checked", "unknown", ["unknown", "commit"])
        return Wanted({b"kept", b"checked"})
    timed: Any = {"delay": {"delayLevel": 2}, "timer": {"timerMs": 1000}}.get(kind, {})
    bodies = [b"m%d" % each for each in range(8)]
    for number, body in enumerate(bodies):
        clients.send(
            "producer", topic, body.decode(), tag="ABCA"[number % 4], keys="k1 k2",
            properties={"colour": "blue", "n": number}, orderKey="one" if kind == "orderly" else None, **timed,
        )  # fmt: skip
    return _wanted(kind, bodies)


def _wanted(kind: str, bodies: list[bytes]) -> Wanted:
    tags = {body: "ABCA"[number % 4] for number, body in enumerate(bodies)}
    if kind == "tags":
        return Wanted({body for body in bodies if tags[body] in "AC"})
    if kind == "sql":
        return Wanted({body for body in bodies[1:] if tags[body] in "AB"})
    return Wanted(set(bodies), bodies if kind == "orderly" else [])


async def receive_ours(place: Place, topic: str, kind: str, wanted: set[bytes], folder: Path) -> list[list[Got]]:
    """Give what our consumer sees, or both of two broadcasting members."""
    what = {"tags": "A || C", "sql": Sql(SQL)}.get(kind)
    options: dict[str, Any] = {"namesrv": place.address, "consume_from": "first"}
    group, count = f"G-{topic}", len(wanted)
    if kind in ("lite", "assign"):
        subscriptions = {topic: None} if kind == "lite" else None
        async with LitePullConsumer(group, subscriptions=subscriptions, **options) as lite:
            if kind == "assign":
                await lite.assign(await lite.queues_of(topic))
            polled: list[ReceivedMessage] = []
            async with asyncio.timeout(WITHIN_S):
                while len(polled) < count:
                    polled += await lite.poll(5)
            return [[_got(each) for each in polled]]
    options["subscriptions"] = {topic: what}
    if kind == "broadcasting":
        members = [Seen(), Seen()]
        both: list[dict[str, Any]] = [
            {"instance_name": f"{topic}-{each}", "broadcasting": True, "offset_folder": folder} for each in range(2)
        ]
        async with (
            Consumer(group, handler=members[0], **options, **both[0]),
            Consumer(group, handler=members[1], **options, **both[1]),
        ):
            for each in members:
                await each.came(count, WITHIN_S)
        return [[_got(message) for message in each.messages] for each in members]
    seen = Seen()
    async with Consumer(group, handler=seen, orderly=kind == "orderly", pop=kind == "pop", **options):
        await seen.until(lambda: set(seen.counts) >= wanted, WITHIN_S)
    return [[_got(message) for message in seen.messages]]


def _got(message: ReceivedMessage) -> Got:
    colour = message.properties.get("colour")
    return Got(message.body, message.tag, " ".join(message.keys), colour, message.queue.queue_id, message.queue_offset)


def receive_java(place: Place, topic: str, kind: str, wanted: set[bytes]) -> list[list[Got]]:
    """Give what Java's consumer sees, or both of two broadcasting members."""
    clients, group = place.clients, f"G-{topic}"
    names = [f"{topic}-{each}" for each in range(2 if kind == "broadcasting" else 1)]
    given: Any = {
        "tags": {"tags": "A || C"}, "sql": {"sql": SQL}, "orderly": {"orderly": True},
        "broadcasting": {"model": "BROADCASTING"}, "pop": {"pop": True}, "assign": {"assign": True},
    }.get(kind, {})  # fmt: skip
    for name in names:
        begin = clients.lite_consumer if kind in ("lite", "assign") else clients.consumer
        begin(name, place.address, group, topic, **given)
    for name in names:
        wait_until(lambda name=name: {each.body for each in clients.seen(name)} >= wanted, f"all at {name}", WITHIN_S)  # type: ignore[misc]  # bound early
    found = [clients.seen(name) for name in names]
    for name in names:
        clients.end(name)
    return [
        [Got(one.body, one.tag, one.keys or "", one.properties.get("colour"), one.queue.queue_id, one.queue_offset)
         for one in each]
        for each in found
    ]  # fmt: skip


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_on_every_way(place: Place, kind: str, direction: str, tmp_path: Path) -> None:
    if kind == "pop" and place.release == V4_9:
        kind = "plain"  # a 4.9 broker has no POP: test_consumer.py shows that ours says so
    sender, _, receiver = direction.partition("-to-")
    topic = place.topic(f"{kind}-{direction}")
    if kind == "pop":
        place.broker.serve_by_pop(topic, f"G-{topic}")
    if kind == "broadcasting" and receiver == "java":
        kind_sent = asyncio.create_task(
            asyncio.to_thread(receive_java, place, topic, kind, {b"m%d" % each for each in range(8)})
        )
        await asyncio.sleep(5)  # its broadcasting members begin at the end of a topic
        wanted = await send_ours(place, topic, kind)
        seen = await kind_sent
    else:
        if sender == "java":
            wanted = await asyncio.to_thread(send_java, place, topic, kind)
        else:
            wanted = await send_ours(place, topic, kind)
        if receiver == "java":
            seen = await asyncio.to_thread(receive_java, place, topic, kind, wanted.bodies)
        else:
            seen = await receive_ours(place, topic, kind, wanted.bodies, tmp_path)
    for one in seen:
        assert {each.body for each in one} == wanted.bodies
        # A broker that asks again before it has seen the answer to its last question commits once for each answer.
        repeated = [each.body for each in one if kind != "transaction" or each.body != b"checked"]
        assert len(repeated) == len(set(repeated))
        if wanted.order:
            assert [each.body for each in one] == wanted.order
            assert len({each.queue_id for each in one}) == 1
        if kind not in ("big", "batch", "transaction", "oneway"):
            assert {(each.keys, each.colour) for each in one} == {("k1 k2", "blue")}
            assert {each.tag for each in one} <= set("ABC")


@pytest.mark.parametrize("direction", DIRECTIONS)
async def test_a_request_gets_its_reply(place: Place, direction: str) -> None:
    sender, _, receiver = direction.partition("-to-")
    topic = place.topic(f"request-{direction}")
    clients, group = place.clients, f"G-{topic}"
    async with Producer(f"ours-{topic}", namesrv=place.address, send_timeout_s=20) as producer:

        async def answer(message: ReceivedMessage) -> None:
            await producer.reply(message, b"re:" + message.body)

        if receiver == "java":
            await asyncio.to_thread(clients.consumer, topic, place.address, group, topic, reply=True)
            await asyncio.to_thread(clients.wait_allocation, topic, topic, QUEUES)
            assert (await producer.request(Message(topic=topic, body=b"question"))).body == b"re:question"
            await asyncio.to_thread(clients.end, topic)
            return
        async with Consumer(
            group, namesrv=place.address, subscriptions={topic: None}, handler=answer, consume_from="first"
        ):
            if sender == "java":
                assert await asyncio.to_thread(clients.request, "producer", topic, "question") == b"re:question"
            else:
                assert (await producer.request(Message(topic=topic, body=b"question"))).body == b"re:question"
