"""What the producers and consumers of one client share."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.builders import eventually
from tests.support.faulty_broker import FaultyCluster, Refuse, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.requests import command
from cosmodrome.client.session import ClientSession, local_ip
from cosmodrome.errors import ClientClosedError, ConnectError, MalformedBodyError
from cosmodrome.protocol.bodies.heartbeat import ConsumerData
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.headers.transactions import CheckTransactionStateRequestHeader
from cosmodrome.protocol.messages.record import StoredMessage


class Member:
    """A producer and a consumer that keep what they are told."""

    def __init__(self, group: str = "cg") -> None:
        self.group = group
        self.told: list[Any] = []
        self.failing: Exception | None = None

    def on_check(self, address: str, header: CheckTransactionStateRequestHeader, message: StoredMessage) -> bool:
        self.told.append(("check", address, header.transaction_id, message.body))
        return True

    def on_reply(self, header: ReplyMessageRequestHeader, body: bytes) -> bool:
        self.told.append(("reply", header.topic, body))
        return True

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(group_name=self.group)

    def on_members_changed(self) -> None:
        self.told.append("members")

    async def on_request(self, address: str, command: RemotingCommand) -> RemotingCommand | None:
        self.told.append(("request", command.code))
        if self.failing is not None:
            raise self.failing
        return RemotingCommand(0, body=b"status")

    async def persist_offsets(self) -> None:
        self.told.append("persist")
        if self.failing is not None:
            raise self.failing


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"T": 4}) as one:
        yield one


@pytest.fixture
async def session(cluster: FaultyCluster) -> AsyncIterator[ClientSession]:
    async with ClientSession(ClientConfig(namesrv=cluster.name_server, persist_interval_s=0.05)) as one:
        await one.routes.route("T")
        yield one


def test_the_own_address() -> None:
    assert local_ip("127.0.0.1") == "127.0.0.1"
    assert local_ip("::1") == "::1"
    assert local_ip("a.name.that.is.not.looked.up")
    assert local_ip("256.256.256.256")


async def test_ids_are_drawn_at_the_start(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server, unit_name="unit"))
    with pytest.raises(ClientClosedError):
        session.check_loop()
    ids = []
    for _ in range(2):
        async with session:
            ids.append(session.client_id)
            assert session.is_open
        assert not session.is_open
    assert ids[0] != ids[1]
    assert ids[0].startswith("127.0.0.1@")
    assert ids[0].endswith("@unit")
    named = ClientSession(ClientConfig(namesrv=cluster.name_server, instance_name="mine", client_ip="10.9.8.7"))
    async with named:
        assert named.client_id == "10.9.8.7@mine"


async def test_it_ends_with_its_last_user(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server))
    await session.release()
    await session.acquire()
    await session.acquire()
    await session.routes.route("T")
    await session.release()
    assert session.is_open
    ending = asyncio.ensure_future(session.release())
    await asyncio.sleep(0)
    await session.acquire()
    await ending
    assert (await session.routes.route("T")).publish_queues
    await session.release()
    assert not session.is_open


async def test_cancelling_who_waits_for_its_end_does_not_cancel_that(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server))
    await session.acquire()
    await session.routes.route("T")
    assert await session.heartbeat() == {}
    remoting = session.remoting
    ending = asyncio.create_task(session.release())
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.wait({ending})

    assert ending.cancelled()
    await eventually(lambda: remoting.addresses() == (), "no connection")
    async with session:
        assert (await session.routes.route("T")).publish_queues


async def test_groups_are_told_at_once_and_when_a_connection_opens(
    session: ClientSession, cluster: FaultyCluster
) -> None:
    session.add_producer("pg", Member())
    session.add_consumer(Member("cg"))
    with pytest.raises(ValueError, match="a consumer of group cg"):
        session.add_consumer(Member("cg"))
    (beat, *_) = await cluster.broker.journal.arrived(34)
    data = beat.json()
    assert data["clientID"] == session.client_id
    assert [each["groupName"] for each in data["producerDataSet"]] == ["pg"]
    assert [each["groupName"] for each in data["consumerDataSet"]] == ["cg"]
    cluster.broker.journal.clear()
    await cluster.broker.restart()
    await session.requests.ask(cluster.broker.address, 34, None, beat.body)
    await cluster.broker.journal.arrived(34, 2)


async def test_failed_heartbeats_are_given_and_do_not_end_it(session: ClientSession, cluster: FaultyCluster) -> None:
    session.add_producer("pg", Member())
    await cluster.broker.journal.arrived(34)
    cluster.broker.faults.add(Refuse(1, "no"), 34, times=None)
    assert set(await session.heartbeat()) == {cluster.broker.address}
    await cluster.broker.die()
    assert isinstance((await session.heartbeat())[cluster.broker.address], ConnectError)
    cluster.broker.faults.clear()
    await cluster.broker.accept_connects()
    assert await session.heartbeat() == {}


async def test_leaving_names_the_group_and_the_last_member_does_it(
    session: ClientSession, cluster: FaultyCluster
) -> None:
    one, two, consumer = Member(), Member(), Member("cg")
    session.add_producer("pg", one)
    session.add_producer("pg", two)
    session.add_consumer(consumer)
    await cluster.broker.journal.arrived(34)
    await session.remove_producer("pg", one)
    assert cluster.broker.journal.counts[35] == 0
    await session.remove_producer("pg", two)
    await session.remove_consumer(consumer)
    await session.remove_consumer(consumer)
    left = [arrival.ext for arrival in cluster.broker.journal.requests(35)]
    assert [(ext.get("producerGroup"), ext.get("consumerGroup")) for ext in left] == [("pg", None), (None, "cg")]


async def test_requests_of_a_broker_reach_whom_they_concern(session: ClientSession, cluster: FaultyCluster) -> None:
    producer, consumer = Member(), Member("cg")
    session.add_producer("pg", producer)
    session.add_consumer(consumer)
    await cluster.broker.journal.arrived(34)
    broker, client = cluster.broker, session.client_id
    await eventually(lambda: "members" in consumer.told, "the notice")
    answer = await broker.ask_client(client, 307, {"consumerGroup": "cg", "clientId": client})
    assert (answer.code, answer.body) == (0, b"status")
    answer = await broker.ask_client(client, 221, {"group": "stranger", "topic": "T"})
    assert answer.code == 1
    answer = await broker.ask_client(client, 4711)
    assert answer.code == 3
    consumer.failing = MalformedBodyError("cannot be read")
    answer = await broker.ask_client(client, 309, {"consumerGroup": "cg"})
    assert (answer.code, answer.remark) == (1, "cannot be read")
    answer = await broker.ask_client(client, 326, {"topic": "R", "properties": ""}, b"reply")
    assert (answer.code, producer.told[-1]) == (0, ("reply", "R", b"reply"))
    for code, ext in ((40, {"consumerGroup": "stranger"}), (39, {"msgId": "x"})):
        broker.tell_client(client, code, ext, b"no record")
    answer = await broker.ask_client(client, 326, {"topic": "R"}, b"after")
    assert answer.code == 0


async def test_a_fault_of_ours_in_a_request_of_a_broker_keeps_the_connection(
    session: ClientSession, cluster: FaultyCluster, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Member):
        def on_reply(self, header: ReplyMessageRequestHeader, body: bytes) -> bool:
            raise ZeroDivisionError(body)

    session.add_producer("pg", Faulty())
    await session.routes.route("T")
    await session.heartbeat()
    connects = cluster.broker.journal.connects
    answer = await cluster.broker.ask_client(session.client_id, 326, {"topic": "R"}, b"reply")

    assert (answer.code, answer.remark) == (1, "the client failed: ZeroDivisionError")
    assert cluster.broker.journal.connects == connects
    assert "request 326" in caplog.text


async def test_offsets_are_saved_all_the_time(session: ClientSession) -> None:
    consumer = Member("cg")
    session.add_consumer(consumer)
    await eventually(lambda: consumer.told.count("persist") >= 2, "two saves")
    for failure in (MalformedBodyError("x"), ZeroDivisionError()):
        consumer.failing = failure
        consumer.told.clear()
        await eventually(lambda: consumer.told.count("persist") >= 2, "saves that go on")


async def test_background_work_that_fails_is_logged(session: ClientSession, caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    assert await session.spawn(fail(), "my work") is None
    assert "background work my work ended by an error" in caplog.text


def test_another_event_loop_is_refused(tmp_path: Path) -> None:
    session = ClientSession(ClientConfig(namesrv="127.0.0.1:1"))
    first = asyncio.Runner()
    first.run(session.acquire())

    async def use() -> None:
        with pytest.raises(RuntimeError, match="another event loop"):
            await session.acquire()

    asyncio.run(use())
    first.run(session.release())
    first.close()


def test_commands_are_ours() -> None:
    assert command(34).ext_fields is None
    assert command(34, {"a": "b"}).ext_fields == {"a": "b"}
    assert command(34, is_oneway=True).is_oneway
