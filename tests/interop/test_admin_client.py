"""Our AdminClient and Apache's brokers, beside what Apache's mqadmin says of the same."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import NameServer

from cosmodrome import (
    AdminClient,
    BrokersFailedError,
    Consumer,
    Message,
    MessageQueue,
    MessageView,
    NoRouteError,
    Producer,
    ReceivedMessage,
    RefusedError,
    SendResult,
    sync,
)
from cosmodrome.client.admin.clients import ConsumerMembers, ProducerMembers
from cosmodrome.errors import NotFoundError
from cosmodrome.protocol.bodies.consumer_running_info import ConsumeResult
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig
from cosmodrome.protocol.messages.ids import offset_msg_id

WITHIN_S = 40.0
TOPIC = "admin-orders"
QUEUES = 4


@dataclass(frozen=True)
class Place:
    """Two masters and a NameServer, messages in a topic, and mqadmin of the same release."""

    release: str
    name_server: NameServer
    brokers: tuple[ApacheBroker, ...]
    mqadmin: MqAdmin
    sent: tuple[SendResult, ...]

    @property
    def is_5(self) -> bool:
        return self.release != V4_9

    def told(self, command: str, *arguments: str) -> str:
        """Give what mqadmin prints."""
        return self.mqadmin.run(command, "-n", self.name_server.address, *arguments)


@pytest.fixture(scope="module", params=[V5_5, pytest.param(V4_9, marks=pytest.mark.full)])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release = request.param
    with new_stage(f"admin-{release}") as stage:
        name_server = stage.name_server()
        brokers = [
            stage.broker(BrokerSettings(release=release, name=name, name_servers=[name_server.address]))
            for name in ("broker-a", "broker-b")
        ]
        for broker in brokers:
            broker.process.start()
        for broker in brokers:
            broker.wait_registered()
        sent = asyncio.run(filled(name_server.address))
        yield Place(release, name_server, tuple(brokers), stage.mqadmin(release), tuple(sent))


async def filled(name_server: str) -> list[SendResult]:
    """Make the topic with our client, and send one message to each queue of each broker."""
    async with AdminClient(namesrv=name_server) as admin, Producer("admin-pg", namesrv=name_server) as producer:
        made = await admin.topics.create(TOPIC, queues=QUEUES)
        assert sorted(made.values) == ["broker-a", "broker-b"]
        queues = await until_queues(producer, 2 * QUEUES)
        return [
            await producer.send(Message(topic=TOPIC, body=b"%d" % n, tag="t", keys=[f"k{n}", "all"]), queue=queue)
            for n, queue in enumerate(queues)
        ]


async def until_queues(producer: Producer, count: int) -> tuple[MessageQueue, ...]:
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                queues = await producer.queues(TOPIC)
            except NoRouteError:
                queues = ()
            if len(queues) == count:
                return queues
            await asyncio.sleep(0.2)


@pytest.fixture
async def admin(place: Place) -> AsyncIterator[AdminClient]:
    async with AdminClient(namesrv=place.name_server.address) as client:
        yield client


def ids_in(text: str) -> set[str]:
    """Give the ids of messages that mqadmin prints."""
    return set(re.findall(r"\b[0-9A-F]{32}\b", text))


def numbers_of_queues(text: str) -> dict[tuple[str, int], list[int]]:
    """Read a table whose lines begin with broker name and queue, after a topic if there is one."""
    found = {}
    for line in text.splitlines():
        match = re.match(rf"(?:{TOPIC}\s+)?(broker-[ab])\s+(\d+)\s+(\d+)\s+(\d+)", line)
        if match is not None:
            found[match[1], int(match[2])] = [int(match[3]), int(match[4])]
    return found


async def test_topics_are_as_the_tool_says(place: Place, admin: AdminClient) -> None:
    assert TOPIC in await admin.topics.names()
    assert await admin.topics.clusters_of(TOPIC) == (CLUSTER,)
    stats = (await admin.topics.stats(TOPIC)).whole()
    ours = {
        (queue.broker_name, queue.queue_id): [each.min_offset, each.max_offset] for queue, each in stats.queues.items()
    }
    assert ours == numbers_of_queues(place.told("topicStatus", "-t", TOPIC))
    assert stats.message_count == len(place.sent)
    configs = (await admin.topics.config(TOPIC)).whole()
    assert {name: each and each.read_queue_nums for name, each in configs.values.items()} == {
        "broker-a": QUEUES,
        "broker-b": QUEUES,
    }
    assert (await admin.topics.config("nowhere")).whole().values == {"broker-a": None, "broker-b": None}


async def test_a_topic_is_made_changed_and_deleted(place: Place, admin: AdminClient) -> None:
    await admin.topics.create("admin-short-lived", queues=2, broker="broker-a", attributes={"message.type": "FIFO"})
    config = (await admin.topics.config("admin-short-lived", broker="broker-a")).one()
    assert config is not None
    assert (config.read_queue_nums, config.perm) == (2, 6)
    if place.is_5:
        assert dict(config.attributes or {}) == {"message.type": "FIFO"}
    changed = await admin.topics.set_perm("admin-short-lived", 4)
    assert list(changed.values) == ["broker-a"]
    config = (await admin.topics.config("admin-short-lived", broker="broker-a")).one()
    assert config is not None
    assert (config.read_queue_nums, config.perm) == (2, 4)
    if place.is_5:
        assert dict(config.attributes or {}) == {"message.type": "FIFO"}
    await admin.topics.delete("admin-short-lived")
    assert (await admin.topics.config("admin-short-lived")).whole().values == {"broker-a": None, "broker-b": None}
    with pytest.raises(NoRouteError, match="admin-short-lived"):
        await admin.topics.stats("admin-short-lived")


async def test_a_refused_topic_names_the_broker_and_the_code(place: Place, admin: AdminClient) -> None:
    with pytest.raises(RefusedError) as error:
        await admin.topics.create("SCHEDULE_TOPIC_XXXX", broker=place.brokers[0].address)
    assert error.value.address == place.brokers[0].address
    assert "conflict with system topic" in error.value.remark


async def test_groups_are_made_changed_and_deleted(place: Place, admin: AdminClient) -> None:
    await admin.groups.create("admin-group", retry_max_times=3)
    configs = (await admin.groups.config("admin-group")).whole()
    assert [each and each.retry_max_times for each in configs.values.values()] == [3, 3]
    assert "admin-group" in (await admin.groups.names()).whole().names
    if place.is_5:
        shown = place.told("getConsumerConfig", "-g", "admin-group")
        assert re.search(r"retryMaxTimes\s*=\s*3", shown), shown
    await admin.groups.create(
        SubscriptionGroupConfig(group_name="admin-group", consume_enable=False), broker="broker-a"
    )
    both = (await admin.groups.config("admin-group")).whole().values
    assert [each and each.consume_enable for each in both.values()] == [False, True]
    await admin.groups.delete("admin-group")
    gone = (await admin.groups.config("admin-group")).whole()
    assert gone.values == {"broker-a": None, "broker-b": None}


def ids(messages: tuple[MessageView, ...]) -> set[str]:
    return {each.msg_id for each in messages}


async def test_messages_are_found_as_by_the_tool_c065(place: Place, admin: AdminClient) -> None:
    for sent in place.sent[:1] + place.sent[-1:]:
        message = await admin.messages.by_offset_id(sent.offset_msg_id, topic=TOPIC)
        assert (message.msg_id, message.queue, message.queue_offset) == (sent.msg_id, sent.queue, sent.queue_offset)
        for found in (
            await admin.messages.by_id(sent.offset_msg_id, topic=TOPIC),
            await admin.messages.by_id(sent.msg_id, topic=TOPIC),
            await admin.messages.by_unique_key(TOPIC, sent.msg_id),
        ):
            assert ids(found.whole().messages) == {sent.msg_id}
        assert (await admin.messages.at(sent.queue, sent.queue_offset)).body == message.body
        shown = place.told("queryMsgById", "-i", sent.offset_msg_id, *(("-t", TOPIC) if place.is_5 else ()))
        told = dict(re.findall(r"^([A-Z][\w ]+):\s+(.*?)\s*$", shown, re.MULTILINE))
        assert "Queue ID" in told, shown
        assert (told["Queue ID"], told["Queue Offset"]) == (str(message.queue.queue_id), str(message.queue_offset))
        assert (told["Tags"], told["Keys"]) == ("[t]", f"[{' '.join(message.keys)}]")


async def test_keys_are_found_on_every_broker_as_by_the_tool_c065(place: Place, admin: AdminClient) -> None:
    found = (await admin.messages.by_key(TOPIC, "all")).whole()
    assert ids(found.messages) == {each.msg_id for each in place.sent}
    assert {each.queue.broker_name for each in found.messages} == {"broker-a", "broker-b"}
    assert ids(found.messages) == ids_in(place.told("queryMsgByKey", "-t", TOPIC, "-k", "all"))
    one = (await admin.messages.by_key(TOPIC, "k3")).whole()
    assert [each.body for each in one.messages] == [b"3"]
    assert (await admin.messages.by_key(TOPIC, "nobody")).whole().messages == ()
    early = found.messages[0].stored_at - timedelta(days=1)
    assert (await admin.messages.by_key(TOPIC, "all", since=early - timedelta(days=1), until=early)).messages == ()


async def test_places_and_times(place: Place, admin: AdminClient) -> None:
    sent = place.sent[2]
    bounds = await admin.offsets.bounds(sent.queue)
    assert (bounds.min_offset, bounds.max_offset) == (0, 1)
    message = await admin.messages.at(sent.queue, 0)
    assert await admin.offsets.at_time(sent.queue, message.stored_at) == 0
    found = await admin.messages.from_time(sent.queue, message.stored_at - timedelta(seconds=5))
    assert ids(found) == {sent.msg_id}
    assert await admin.messages.from_time(sent.queue, datetime.now(UTC) + timedelta(hours=1)) == ()
    assert ids(await admin.messages.from_offset(sent.queue, 0)) == {sent.msg_id}
    with pytest.raises(NotFoundError, match="no message at 77"):
        await admin.messages.at(sent.queue, 77)
    with pytest.raises(NotFoundError):
        await admin.messages.by_offset_id(
            offset_msg_id("127.0.0.1", int(place.brokers[0].address.rpartition(":")[2]), 5)
        )


async def test_progress_is_as_the_tool_says_and_can_be_moved(place: Place, admin: AdminClient) -> None:
    group = "admin-progress"
    await admin.groups.create(group)
    queue = place.sent[0].queue
    await admin.offsets.commit(group, queue, 1)
    assert await admin.offsets.committed(group, queue) == 1
    progress = (await admin.offsets.progress(group, TOPIC)).whole()
    assert progress.lag_of(queue) == 0
    assert progress.lag == len(place.sent) - 1
    assert len(progress.queues) == 2 * QUEUES

    moved = await admin.offsets.reset(group, TOPIC, "last")
    assert set(moved.values()) == {1}
    assert (await admin.offsets.progress(group, TOPIC)).whole().lag == 0
    moved = await admin.offsets.reset(group, TOPIC, datetime.now(UTC) - timedelta(days=2))
    assert len(moved) == 2 * QUEUES
    assert (await admin.offsets.progress(group, TOPIC)).whole().lag == len(place.sent)

    await admin.offsets.reset_queue(group, queue, 1)
    assert await admin.offsets.committed(group, queue) == 1
    with pytest.raises(ValueError, match="0 to 1"):
        await admin.offsets.reset_queue(group, queue, 99)
    shown = numbers_of_queues(place.told("consumerProgress", "-g", group))
    ours = (await admin.offsets.progress(group)).whole()
    assert {
        (each.broker_name, each.queue_id): [found.broker_offset, found.consumer_offset]
        for each, found in ours.queues.items()
        if each.topic == TOPIC
    }.items() >= shown.items()

    await admin.groups.create("admin-copy")
    copied = await admin.offsets.clone(group, "admin-copy", TOPIC)
    assert copied[queue] == 1
    there = (await admin.offsets.progress("admin-copy", TOPIC)).whole()
    assert {each: found.consumer_offset for each, found in there.queues.items()} == copied


async def until_members(ask: Callable[[], Awaitable[ConsumerMembers | ProducerMembers]], brokers: int) -> None:
    """Wait until a group has members at so many brokers at least; for 0, until it has none."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = len((await ask()).connections)
            if found >= brokers > 0 or found == brokers:
                return
            await asyncio.sleep(0.2)


async def test_clients_are_seen_and_asked(place: Place, admin: AdminClient) -> None:
    group, address = "admin-online", place.name_server.address
    bodies: asyncio.Queue[bytes] = asyncio.Queue()

    async def handle(message: ReceivedMessage) -> None:
        await bodies.put(message.body)

    async with (
        Producer("admin-pg-online", namesrv=address) as producer,
        Consumer(group, namesrv=address, subscriptions={TOPIC: "t"}, handler=handle, consume_from="first"),
    ):
        await producer.send(Message(topic=TOPIC, body=b"online", tag="t"))
        async with asyncio.timeout(WITHIN_S):
            while await bodies.get() != b"online":
                pass
        await until_members(lambda: admin.clients.consumers(group), 2)
        await until_members(lambda: admin.clients.producers("admin-pg-online"), 1)
        members = (await admin.clients.consumers(group)).whole()
        assert len(members.members) == 1
        client_id = next(iter(members.members))
        assert members.subscriptions[TOPIC].sub_string == "t"
        assert client_id in place.told("consumerConnection", "-g", group)
        assert group in (await admin.topics.groups(TOPIC)).whole().names
        everywhere = (await admin.clients.all_producers()).whole()
        assert any("admin-pg-online" in each.data for each in everywhere.values.values())
        info = await admin.clients.running_info(group, client_id)
        assert {queue.topic for queue in info.mq_table} >= {TOPIC}
        held = (await admin.clients.held_offsets(group, TOPIC)).whole()
        assert all(client_id in each for each in held.values.values())
        message = await admin.messages.at(place.sent[0].queue, 0)
        result = await admin.messages.consume_directly(group, client_id, message)
        assert result.consume_result is ConsumeResult.CR_SUCCESS
        async with asyncio.timeout(WITHIN_S):
            while await bodies.get() != message.body:
                pass
        with pytest.raises(NotFoundError, match="no member somebody"):
            await admin.clients.running_info(group, "somebody")
    await until_members(lambda: admin.clients.consumers(group), 0)


async def test_brokers_tell_of_themselves_and_take_settings(place: Place, admin: AdminClient) -> None:
    assert [(each.cluster, each.name, each.id, each.address) for each in await admin.brokers.list()] == [
        (CLUSTER, broker.name, 0, broker.address) for broker in place.brokers
    ]
    info = (await admin.brokers.runtime_info()).whole()
    assert all("brokerVersionDesc" in each for each in info.values.values())
    address = place.brokers[0].address
    config = (await admin.brokers.config(broker=address)).one()
    assert config["brokerName"] == "broker-a"
    await admin.brokers.update_config({"fileReservedTime": "71"}, broker="broker-a")
    configs = (await admin.brokers.config()).whole()
    assert [each["fileReservedTime"] for each in configs.values.values()] == ["71", config["fileReservedTime"]]
    assert re.search(r"fileReservedTime\s*=\s*71", place.told("getBrokerConfig", "-b", address))
    counted = (await admin.brokers.counter("TOPIC_PUT_NUMS", TOPIC)).whole()
    assert None not in counted.values.values()
    assert (await admin.brokers.counter("TOPIC_PUT_NUMS", "nowhere")).whole().values["broker-a"] is None
    stats = (await admin.brokers.consume_stats()).whole()
    assert len(stats.values) == 2


async def test_blocking_clients_do_the_same_from_threads(place: Place) -> None:
    def work() -> set[bytes]:
        address = place.name_server.address
        with (
            sync.AdminClient(namesrv=address) as admin,
            sync.Producer("admin-sync-pg", namesrv=address) as producer,
            sync.LitePullConsumer("admin-sync-group", namesrv=address, consume_from="first") as consumer,
        ):
            result = producer.send(Message(topic=TOPIC, body=b"blocking", keys=["blocking"]))
            consumer.assign([result.queue])
            consumer.seek(result.queue, result.queue_offset)
            polled = {message.body for message in consumer.poll(timeout_s=WITHIN_S)}
            assert admin.messages.at(result.queue, result.queue_offset).body == b"blocking"
            assert admin.offsets.bounds(result.queue).max_offset == result.queue_offset + 1
            return polled

    assert await asyncio.to_thread(work) == {b"blocking"}


async def test_write_permission_and_entries_at_name_servers(place: Place, admin: AdminClient) -> None:
    wiped = await admin.name_servers.wipe_write_perm("broker-b")
    assert all(count > 0 for count in wiped.values.values())
    await admin.name_servers.add_write_perm("broker-b")
    await admin.name_servers.kv_put("ADMIN", "key", "value")
    assert await admin.name_servers.kv_get("ADMIN", "key") == "value"
    await admin.name_servers.kv_delete("ADMIN", "key")
    with pytest.raises(NotFoundError):
        await admin.name_servers.kv_get("ADMIN", "key")


async def test_a_broker_that_is_down_is_named_and_nothing_is_passed_over_c065(place: Place, admin: AdminClient) -> None:
    """The last test of the file: a broker hangs, and is still registered."""
    place.brokers[1].process.suspend()
    found = await admin.messages.by_key(TOPIC, "all")
    assert found.is_partial
    assert set(found.failures) == {"broker-b"}
    assert {each.queue.broker_name for each in found.messages} == {"broker-a"}
    progress, stats = await asyncio.gather(admin.offsets.progress("admin-progress", TOPIC), admin.topics.stats(TOPIC))
    assert set(progress.failures) == set(stats.failures) == {"broker-b"}
    assert {each.broker_name for each in progress.queues} == {each.broker_name for each in stats.queues} == {"broker-a"}
    with pytest.raises(BrokersFailedError, match="broker-b") as error:
        await admin.groups.create("admin-late")
    assert error.value.done == ("broker-a",)
