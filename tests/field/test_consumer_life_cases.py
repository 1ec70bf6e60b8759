"""Starting, closing, cancelling, and what brokers ask meanwhile (C020, C021, C022, C027, C028, C033, C066)."""

import asyncio
import gc
import json
import socket
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import FAST, GROUP, TOPIC, Seen, committed, consumer, fill, named, undisturbed, until
from tests.support.faulty_broker import (
    CloseBefore,
    Delay,
    FaultyBroker,
    Refuse,
    Silence,
    faulty_cluster,
    queue_table,
)

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.handlers import Later
from cosmodrome.client.consumer.lite_pull import LitePullConsumer
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ClientClosedError, ConfigError, MessageError, RemotingError


def client_id(reader: Consumer) -> str:
    return reader.status().client_id


async def test_c022_the_group_can_be_joined_again_and_again(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        for number in range(20):
            seen = Seen()
            async with consumer(cluster, seen):
                fill(cluster.broker, 1, number % 2, first=number)
                await seen.came(1)
            assert len(seen.messages) == 1
        await cluster.broker.journal.until(lambda: not cluster.broker.lines or len(cluster.broker.lines) <= 1, "closes")


async def test_c021_starting_and_closing_leaves_nothing_with_traffic_without_and_polling(tmp_path: Path) -> None:
    """`undisturbed` counts the tasks; sockets that are left fail the test by their warning."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        before = len(asyncio.all_tasks())
        for _ in range(30):
            async with consumer(cluster, Seen()):
                pass
            async with consumer(cluster):
                pass
            async with LitePullConsumer(GROUP, namesrv=cluster.name_server, subscriptions={TOPIC: None}, **FAST):
                pass
        assert len(asyncio.all_tasks()) <= before + 2


@pytest.mark.parametrize("when", ["before start", "while starting", "twice", "from two tasks", "after a failed start"])
async def test_c020_close_ends_everything_whenever_it_comes(tmp_path: Path, when: str) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        reader = consumer(cluster, Seen())
        if when == "while starting":
            cluster.broker.faults.add(Silence(), 34, times=None)
            starting = asyncio.create_task(reader.start())
            await cluster.broker.journal.arrived(34)
            starting.cancel()
            await asyncio.wait({starting})
            assert starting.cancelled()
        elif when == "after a failed start":
            cluster.broker.faults.add(Refuse(16, "check signature failed."), times=None)
            with pytest.raises(Exception, match="check signature"):
                await reader.start()
        elif when != "before start":
            await reader.start()
        await asyncio.gather(reader.close(), reader.close())
        await reader.close()
        with pytest.raises(ClientClosedError, match="make a new one"):
            await reader.start()


@pytest.mark.parametrize("kind", [Consumer, LitePullConsumer])
@pytest.mark.parametrize("silent", [105, 34, 38, 14])
async def test_c020_closing_from_elsewhere_ends_a_start_and_all_that_it_began(
    tmp_path: Path, kind: Any, silent: int
) -> None:
    """The session is shared and stays open: nothing else would end what is left."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster, FaultyBroker() as name_server:
        cluster.broker.faults.add(Silence(), silent, times=None)
        name_server.mute()
        address = name_server.address if silent == 105 else cluster.name_server
        async with ClientSession(ClientConfig(namesrv=address, persist_interval_s=0.1)) as session:
            before = asyncio.all_tasks()
            options: dict[str, Any] = {"handler": Seen()} if kind is Consumer else {}
            reader = kind(GROUP, subscriptions={TOPIC: None}, session=session, consume_from="first", **options)
            starting = asyncio.create_task(reader.start())
            if silent == 105:
                await until(lambda: name_server.journal.connects, "the question for a route")
            else:
                await cluster.broker.journal.arrived(silent)
            await reader.close()
            with pytest.raises(ClientClosedError, match="was closed while it started"):
                await starting
            cluster.broker.faults.clear()
            await until(lambda: not any("pull" in each.get_name() for each in asyncio.all_tasks()), "no pull")
            left = {each for each in asyncio.all_tasks() - before if "rebalance" in each.get_name()}
            assert left == set()


async def test_c020_cancelling_who_closes_does_not_cancel_the_closing(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        seen = Seen()
        reader = consumer(cluster, seen, persist_interval_s=1000.0)
        await reader.start()
        fill(cluster.broker, 3)
        await seen.came(3)
        cluster.broker.faults.add(Delay(0.1), 15, times=None)
        closing = asyncio.create_task(reader.close())
        await cluster.broker.journal.arrived(15)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()
        await reader.close()
        assert cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] == 3
        assert cluster.broker.groups.groups[GROUP].members == {}


async def test_c020_a_consumer_that_is_dropped_without_close_warns_once(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        reader = consumer(cluster)
        await reader.start()
        session = reader._session
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            member = reader._member
            del reader
            gc.collect()
        told = [str(each.message) for each in caught if issubclass(each.category, ResourceWarning)]
        assert told == [f"the consumer of group {GROUP} was not closed"]
        assert member is not None
        await member.leave()
        await session.release()


async def test_c020_iterating_ends_when_the_consumer_is_closed(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        reader = consumer(cluster)
        bodies: list[bytes] = []

        async def read() -> None:
            async for message in reader:
                bodies.append(message.body)
                await message.ack()

        fill(cluster.broker, 3)
        await reader.start()
        tasks = [asyncio.create_task(read()) for _ in range(3)]
        await committed(cluster.broker, 3)
        await reader.close()
        await asyncio.gather(*tasks)
        assert sorted(bodies) == [b"0.0", b"0.1", b"0.2"]


async def test_c020_cancelling_one_who_waits_for_a_message_loses_none(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        async with consumer(cluster) as reader:
            seen: list[bytes] = []
            for number in range(10):
                waiting = asyncio.ensure_future(anext(reader))
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.wait({waiting})
                fill(cluster.broker, 1, first=number)
                message = await anext(reader)
                seen.append(message.body)
                await message.ack()
            await committed(cluster.broker, 10)
        assert seen == [b"0.%d" % number for number in range(10)]


async def test_c028_a_dead_name_server_makes_the_start_raise() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        async with undisturbed():
            with pytest.raises(RemotingError, match=address):
                await Consumer(GROUP, namesrv=address, subscriptions={TOPIC: None}, **FAST).start()


async def test_c028_a_silent_name_server_makes_the_start_raise_in_its_time() -> None:
    async with undisturbed(), FaultyBroker() as silent:
        silent.mute()
        options: dict[str, Any] = FAST | {"start_timeout_s": 0.3}
        with pytest.raises(RemotingError, match=r"could not be started in 0\.3 s"):
            await Consumer(GROUP, namesrv=silent.address, subscriptions={TOPIC: None}, **options).start()


async def test_c028_a_silent_broker_does_not_keep_the_start_for_ever_and_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        seen = Seen()
        cluster.broker.faults.add(Silence(), times=None)
        async with consumer(cluster, seen, request_timeout_s=0.1) as reader:
            assert TOPIC in str(reader.status().trouble)
            assert cluster.broker.address in caplog.text
            cluster.broker.faults.clear()
            fill(cluster.broker, 1)
            await seen.came(1)


async def test_c028_many_topics(tmp_path: Path) -> None:
    topics = {f"T{number}": 1 for number in range(200)}
    async with undisturbed(), faulty_cluster(tmp_path, topics=topics) as cluster:
        seen = Seen()
        async with consumer(cluster, seen, subscriptions=dict.fromkeys(topics)) as reader:
            assert len([each for each in reader.status().queues if each.queue.topic in topics]) == 200
            for topic in topics:
                cluster.broker.put(topic, topic.encode())
            await seen.came(200)


async def test_options_of_a_session_are_not_given_twice(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path) as cluster:
        session = consumer(cluster)._session
        with pytest.raises(TypeError, match="namesrv: these belong to the session"):
            Consumer(GROUP, namesrv=cluster.name_server, subscriptions={TOPIC: None}, session=session)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group": ""}, MessageError),
        ({"group": "no spaces"}, MessageError),
        ({"subscriptions": {"no spaces": None}}, MessageError),
        ({"subscriptions": TOPIC}, TypeError),
        ({"subscriptions": {TOPIC: 3}}, TypeError),
        ({"subscriptions": {TOPIC: "a > 3"}}, ValueError),
        ({"consume_from": "earliest"}, ValueError),
        ({"handler": 3}, TypeError),
        ({"suspend_s": 0}, ConfigError),
        ({"suspend_s": 119.0}, ConfigError),
        ({"concurrency": 0}, ConfigError),
        ({"max_reconsume_times": -2}, ConfigError),
        ({"namesrv": ""}, ConfigError),
        ({"concurency": 3}, TypeError),
    ],
    ids=str,
)
def test_c032_c057_what_cannot_be_used_is_refused_at_once(options: Any, error: type[Exception]) -> None:
    settings: dict[str, Any] = {"group": GROUP, "namesrv": "127.0.0.1:9876", "subscriptions": {TOPIC: None}} | options
    with pytest.raises(error):
        Consumer(settings.pop("group"), **settings)


async def test_c033_a_plain_handler_may_block(tmp_path: Path) -> None:
    may_go = threading.Event()
    bodies: list[bytes] = []

    def blocking(message: Any) -> None:
        may_go.wait(20)
        bodies.append(message.body)

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 30)
        async with consumer(cluster, blocking, heartbeat_interval_s=0.05, concurrency=3):
            heartbeats = len(cluster.broker.journal.requests(34))
            await cluster.broker.journal.arrived(34, heartbeats + 3)
            assert bodies == []
            may_go.set()
            await committed(cluster.broker, 30)
        assert len(bodies) == 30


async def test_c020_a_handler_that_never_ends_does_not_keep_close(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 3)
        seen = Seen(lambda message: asyncio.Event().wait() if message.queue_offset == 1 else None)
        async with consumer(cluster, seen, close_timeout_s=0.3):
            await seen.came(3)
        assert "handlers did not end" in caplog.text
        assert cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] == 1


async def test_c027_handlers_end_and_offsets_are_saved_at_close(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 5)
        seen = Seen(lambda _: asyncio.sleep(0.05))
        async with consumer(cluster, seen, concurrency=5, persist_interval_s=1000.0):
            await seen.came(5)
        assert cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] == 5
        assert cluster.broker.groups.groups[GROUP].members == {}


async def test_brokers_that_go_silent_do_not_keep_close(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 8}) as cluster:
        reader = consumer(cluster, Seen(), request_timeout_s=30.0, close_timeout_s=0.3, orderly=True)
        await reader.start()
        await cluster.broker.journal.arrived(11)
        cluster.broker.mute()
        async with asyncio.timeout(10):
            await reader.close()


@pytest.mark.parametrize("fault", [Refuse(1), Refuse(26), CloseBefore()], ids=named)
async def test_c041_a_heartbeat_that_fails_at_the_start_is_made_good(tmp_path: Path, fault: Any) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.faults.add(fault, 34, times=2)
        seen = Seen()
        async with consumer(cluster, seen):
            fill(cluster.broker, 1)
            await seen.came(1)


async def test_c066_ipv6_brokers_and_name_servers(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, host="::1") as cluster:
        cluster.broker.sends.settings.level_s = 0.01
        fill(cluster.broker, 2)
        seen = Seen(lambda message: 1 / 0 if message.reconsume_times == 0 and message.queue_offset == 0 else None)
        async with consumer(cluster, seen):
            await seen.came(3)
            await committed(cluster.broker, 2)
        assert {len(message.offset_msg_id) for message in seen.messages} == {56}


async def test_a_tool_resets_the_offset_of_a_running_consumer(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen()
        bodies = fill(broker, 10)
        async with consumer(cluster, seen) as reader:
            await committed(broker, 10)
            table = queue_table({(TOPIC, broker.broker_name, 0): 7})
            fields = {"topic": TOPIC, "group": GROUP, "timestamp": "0", "isForce": "true"}
            broker.tell_client(client_id(reader), 220, fields, table)
            await seen.came(13)
            await committed(broker, 10)
        assert seen.bodies == bodies + bodies[7:]


async def test_a_tool_asks_a_consumer_for_its_offsets_and_its_state(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen()
        fill(broker, 10)
        async with consumer(cluster, seen) as reader:
            await committed(broker, 10)
            status = await broker.ask_client(client_id(reader), 221, {"topic": TOPIC, "group": GROUP})
            fields = {"consumerGroup": GROUP, "clientId": client_id(reader), "jstackEnable": "true"}
            info = await broker.ask_client(client_id(reader), 307, fields)
        assert status.code == 0
        assert b'"messageQueueTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:10}' in status.body
        assert info.code == 0
        text = info.body.decode()
        assert f'"PROP_NAMESERVER_ADDR":"{cluster.name_server}"' in text
        assert '"commitOffset":10' in text
        assert "thread " in text


@pytest.mark.parametrize(
    ("act", "result"),
    [(None, "CR_SUCCESS"), (lambda _: Later(), "CR_LATER"), (lambda _: 1 / 0, "CR_THROW_EXCEPTION")],
)
async def test_a_tool_has_one_message_consumed_directly(tmp_path: Path, act: Any, result: str) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen(act)
        async with consumer(cluster, seen, consume_from="last") as reader:
            record = broker.put("Elsewhere", b"directly")
            fields = {"consumerGroup": GROUP, "clientId": client_id(reader), "brokerName": broker.broker_name}
            answer = await broker.ask_client(client_id(reader), 309, fields, record.encode())
        assert answer.code == 0
        assert json.loads(answer.body)["consumeResult"] == result
        assert seen.bodies == [b"directly"]


async def test_a_consumer_that_iterates_says_that_it_has_no_handler(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        async with consumer(cluster) as reader:
            fields = {"consumerGroup": GROUP, "clientId": client_id(reader)}
            record = cluster.broker.put(TOPIC, b"directly")
            answer = await cluster.broker.ask_client(client_id(reader), 309, fields, record.encode())
            damaged = await cluster.broker.ask_client(client_id(reader), 309, fields, b"no record")
        assert (answer.code, damaged.code) == (1, 1)
        assert "no handler" in str(answer.remark)


async def test_c031_properties_that_are_no_utf_8_are_delivered(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.put(TOPIC, b"odd", properties=b"good\x01yes\x02bad\x01\xff\xfe\x02")
        seen = Seen()
        async with consumer(cluster, seen, subscriptions={TOPIC: "*"}):
            await seen.came(1)
            await committed(cluster.broker, 1)
        assert seen.messages[0].properties["good"] == "yes"


async def test_a_namespace_is_on_the_wire_and_not_in_the_program(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={f"NS%{TOPIC}": 1}) as cluster:
        broker = cluster.broker
        broker.sends.settings.level_s = 0.01
        broker.put(f"NS%{TOPIC}", b"x")
        seen = Seen(lambda message: 1 / 0 if message.reconsume_times == 0 else None)
        async with consumer(cluster, seen, namespace="NS"):
            await seen.came(2)
        assert {message.topic for message in seen.messages} == {TOPIC}
        assert broker.store.messages(f"%RETRY%NS%{GROUP}")


async def test_c023_two_groups_share_a_session_and_close_one_after_the_other(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        seen, other_seen = Seen(), Seen()
        first = consumer(cluster, seen)
        second = Consumer(
            "G2", subscriptions={TOPIC: None}, handler=other_seen, consume_from="first", session=first._session
        )
        await first.start()
        await second.start()
        fill(broker, 2)
        await seen.came(2)
        await other_seen.came(2)
        await first.close()
        byes = broker.journal.requests(35)
        assert [bye.ext.get("consumerGroup") for bye in byes] == [GROUP]
        fill(broker, 1, first=2)
        await other_seen.came(3)
        await until(lambda: broker.groups.offsets.get(("G2", TOPIC, 0)) == 3, "the second group's offset")
        await second.close()
        assert len(seen.messages) == 2
