"""The public calls of a producer, where the field cases do not come."""

import asyncio
import base64
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.admin_tool import silent_port
from tests.support.builders import eventually
from tests.support.faulty_broker import SENDS, Alter, Delay, FaultyCluster, Refuse, Silence, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.credentials import Credentials
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.sending import Job
from cosmodrome.client.producer.transactions import MAX_CHECKS, TransactionState
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import (
    ClientClosedError,
    ConfigError,
    ConnectError,
    NotPermittedError,
    RefusedError,
    RequestTimeoutError,
    SendError,
    SendTimeoutError,
    UnreadableAnswerError,
)
from cosmodrome.protocol.acl import is_signed
from cosmodrome.protocol.messages.record import StoredMessage

PLAIN = Message(topic="T", body=b"plain")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"T": 4}) as one:
        yield one


@pytest.fixture
async def producer(cluster: FaultyCluster) -> AsyncIterator[Producer]:
    async with Producer("pg", namesrv=cluster.name_server) as one:
        yield one


def test_what_it_says_before_it_is_open() -> None:
    producer = Producer("pg", namesrv="127.0.0.1:1")
    assert (producer.client_id, producer.pending_count, producer.pending_bytes, producer.dropped_traces) == (
        "",
        0,
        0,
        0,
    )
    assert producer.settings.trace_topic is None
    assert Producer("pg", namesrv="127.0.0.1:1", trace="MyTraces").settings.trace_topic == "MyTraces"


@pytest.mark.parametrize(
    "options", [{"group": 5}, {"group": "g", "create_topic": "a b"}, {"group": "g", "trace": "a b"}]
)
def test_names_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Producer(namesrv="127.0.0.1:1", **options)


async def test_a_broker_that_does_not_say_where_it_stored(cluster: FaultyCluster, producer: Producer) -> None:
    cluster.broker.faults.add(Alter(lambda reply: reply._replace(ext={"msgId": "x", "queueId": "no number"})), SENDS)
    with pytest.raises(UnreadableAnswerError, match="does not say where"):
        await producer.send(PLAIN)
    assert cluster.broker.journal.counts[310] == 1, "another try would store it again"


async def test_the_queue_is_the_one_that_the_broker_names(cluster: FaultyCluster, producer: Producer) -> None:
    cluster.broker.faults.add(Alter(lambda reply: reply._replace(ext={**(reply.ext or {}), "queueId": "3"})), SENDS)
    result = await producer.send(PLAIN, queue=MessageQueue("T", "broker-a", 1))
    assert result.queue == MessageQueue("T", "broker-a", 3)


async def test_a_broker_without_a_master(producer: Producer) -> None:
    with pytest.raises(SendError, match="stranger has no master"):
        await producer.send(PLAIN, queue=MessageQueue("T", "stranger", 0))
    with pytest.raises(ConnectError, match="stranger has no master"):
        await producer.send_oneway(PLAIN, queue=MessageQueue("T", "stranger", 0))


async def test_a_name_server_that_is_silent() -> None:
    with silent_port() as address:
        async with Producer("pg", namesrv=address, send_timeout_s=0.2, close_timeout_s=0.2) as producer:
            with pytest.raises(SendTimeoutError, match="no NameServer gave the route of T"):
                await producer.send(PLAIN)
            with pytest.raises(RequestTimeoutError, match="no NameServer gave the route of T"):
                await producer.queues("T", timeout=0.2)
            waiting = asyncio.ensure_future(producer.send(PLAIN, timeout=60))
            await asyncio.sleep(0)
        with pytest.raises(ClientClosedError):
            await waiting


async def test_a_broker_that_takes_no_connection(cluster: FaultyCluster) -> None:
    await cluster.broker.black_hole()
    async with Producer("pg", namesrv=cluster.name_server, send_timeout_s=0.3) as producer:
        with pytest.raises(SendTimeoutError, match="no connection to"):
            await producer.send(PLAIN)
    await cluster.broker.accept_connects()


async def test_cancelled_while_it_waits_for_room(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server, max_pending_sends=1) as producer:
        await producer.send(PLAIN)
        cluster.broker.faults.add(Delay(0.1), SENDS)
        first = asyncio.ensure_future(producer.send(PLAIN))
        others = [
            asyncio.ensure_future(work)
            for work in (producer.send(PLAIN), producer.send_batch([PLAIN]), producer.send(PLAIN))
        ]
        await asyncio.sleep(0)
        for other in others[:2]:
            other.cancel()
        assert (await first).status is (await others[2]).status is SendStatus.OK
        assert [other.cancelled() for other in others] == [True, True, False]
        assert producer.pending_count == 0


async def test_it_is_not_closed_by_a_close_that_is_cancelled(cluster: FaultyCluster) -> None:
    producer = Producer("pg", namesrv=cluster.name_server)
    await producer.start()
    cluster.broker.faults.add(Delay(0.1), SENDS)
    sending = asyncio.ensure_future(producer.send(PLAIN))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(producer.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await producer.close()
    assert (await sending).status is SendStatus.OK
    assert not producer._session.is_open


async def test_a_try_is_not_made_once_it_is_closed(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server, close_timeout_s=0.01))
    async with session:
        producer = Producer("pg", session=session)
        await producer.start()
        await producer.send(PLAIN)
        cluster.broker.faults.add(Refuse(2, "busy"), SENDS, times=None)
        sending = asyncio.ensure_future(producer.send(PLAIN))
        await cluster.broker.journal.arrived(310, 2)
        await producer.close()
        with pytest.raises((ClientClosedError, SendError)):
            await sending


async def test_of_producers_that_share_a_client_the_one_that_can_tell_is_asked(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server))
    async with (
        Producer("pg", session=session) as plain,
        Producer("pg", session=session, check_transaction=lambda _: TransactionState.COMMIT) as checking,
        Producer("pg", session=session),
    ):
        outcome = await checking.send_transaction(PLAIN, lambda *_: None)
        await cluster.broker.journal.arrived(37)
        cluster.broker.check_transaction(outcome.send_result.msg_id, client_id=plain.client_id)
        await cluster.broker.journal.arrived(37, 2)
        assert cluster.broker.store.bodies("T") == [b"plain"]


async def test_sends_that_fail_leave_nothing_in_memory(cluster: FaultyCluster, producer: Producer) -> None:
    """An error and what it is about refer to each other; neither must keep the other."""

    async def fail(code: int) -> None:
        cluster.broker.faults.add(Refuse(code, "no"), SENDS, times=3)
        with pytest.raises((RefusedError, SendError)):
            await producer.send(PLAIN)
        cluster.broker.faults.clear()

    await producer.send(PLAIN)
    gc.collect()
    gc.disable()
    try:
        for code in (2, 13):
            await fail(code)
        cluster.broker.faults.add(Refuse(2, "once"), SENDS)
        assert (await producer.send(PLAIN)).attempts == 2
        gc.collect()
        assert [each for each in gc.get_objects() if isinstance(each, Job)] == []
    finally:
        gc.enable()


async def test_what_is_recalled(cluster: FaultyCluster, producer: Producer) -> None:
    result = await producer.send(Message(topic="T", body=b"x", delay=60))
    assert result.recall_handle is not None
    assert await producer.recall("T", result.recall_handle) == result.msg_id
    cluster.broker.sends.settings.is_recall_enabled = False
    with pytest.raises(NotPermittedError):
        await producer.recall("T", result.recall_handle)


@pytest.mark.parametrize("handle", ["", "???", "bm8=", base64.urlsafe_b64encode(b"v2 T broker-a 1 ID").decode(), "é"])
async def test_what_is_no_handle(producer: Producer, handle: str) -> None:
    with pytest.raises(ValueError, match="recall handle"):
        await producer.recall("T", handle)


async def test_a_handle_of_a_broker_that_is_not_there(producer: Producer) -> None:
    handle = base64.urlsafe_b64encode(b"v1 T stranger 1 ID").decode()
    with pytest.raises(ConnectError, match="stranger"):
        await producer.recall("T", handle)


async def test_a_namespace(cluster: FaultyCluster) -> None:
    await cluster.broker.set_topic("NS%T", 2)
    async with Producer("pg", namesrv=cluster.name_server, namespace="NS", trace=True) as producer:
        assert await producer.queues("T") == (MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1))
        assert (await producer.send(PLAIN)).queue.topic == "T"
        assert (await producer.send_batch([PLAIN, PLAIN])).queue.topic == "T"
        await cluster.broker.journal.arrived(34)
        assert "NS%pg" in cluster.broker.groups.producers
    assert len(cluster.broker.store.bodies("NS%T")) == 3


async def test_a_large_transaction_message_is_compressed_beside_the_loop(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server, check_transaction=lambda _: None) as producer:
        result = await producer.send_transaction(
            Message(topic="T", body=bytes(1_000_000)), lambda *_: TransactionState.COMMIT
        )
        await cluster.broker.journal.arrived(37)
        (record,) = cluster.broker.store.messages("T")
        assert (record.unique_key, record.sys_flag & 1) == (result.send_result.msg_id, 1)


async def test_a_local_transaction_that_exits_ends_nothing_but_itself(cluster: FaultyCluster) -> None:
    def leave(*_: object) -> TransactionState:
        raise SystemExit(3)

    async def later() -> TransactionState:
        return TransactionState.COMMIT

    async with Producer("pg", namesrv=cluster.name_server, check_transaction=leave) as producer:
        outcome = await producer.send_transaction(PLAIN, leave)
        assert outcome.state is TransactionState.UNKNOWN
        assert "SystemExit(3)" in str(outcome.error)
        assert (await producer.send_transaction(PLAIN, lambda *_: later())).state is TransactionState.COMMIT


async def test_an_end_that_cannot_be_told_is_left_to_the_check(cluster: FaultyCluster) -> None:
    async def lose(_: Message, __: SendResult) -> TransactionState:
        await cluster.broker.die()
        return TransactionState.COMMIT

    async with Producer("pg", namesrv=cluster.name_server, check_transaction=lambda _: None) as producer:
        outcome = await producer.send_transaction(PLAIN, lose)
        assert outcome.state is TransactionState.COMMIT
        await cluster.broker.accept_connects()


async def test_more_checks_than_can_run_are_left_to_be_asked_again(cluster: FaultyCluster) -> None:
    go = asyncio.Event()
    running = 0

    async def check(_: ReceivedMessage) -> TransactionState:
        nonlocal running
        running += 1
        await go.wait()
        return TransactionState.COMMIT

    async with Producer("pg", namesrv=cluster.name_server, check_transaction=check) as producer:
        cluster.broker.faults.add(Silence(), 37, times=MAX_CHECKS + 1)
        outcomes = [await producer.send_transaction(PLAIN, lambda *_: None) for _ in range(MAX_CHECKS + 1)]
        await cluster.broker.journal.arrived(37, MAX_CHECKS + 1)
        for outcome in outcomes:
            cluster.broker.check_transaction(outcome.send_result.msg_id)
        await eventually(lambda: running == MAX_CHECKS, "all checkers")
        go.set()
        await cluster.broker.journal.arrived(37, 2 * MAX_CHECKS + 1)
        assert len(cluster.broker.store.bodies("T")) == MAX_CHECKS


async def test_a_check_without_a_checker_is_not_answered(cluster: FaultyCluster) -> None:
    async with (
        Producer("pg", namesrv=cluster.name_server, check_transaction=lambda _: None) as checking,
        Producer("pg", namesrv=cluster.name_server) as plain,
    ):
        outcome = await checking.send_transaction(PLAIN, lambda *_: None)
        await cluster.broker.journal.arrived(37)
        await plain.send(PLAIN)
        await cluster.broker.journal.until(lambda: len(cluster.broker.groups.producers["pg"]) == 2, "both")
        cluster.broker.check_transaction(outcome.send_result.msg_id, client_id=plain.client_id)
        await plain.send(PLAIN)
        assert cluster.broker.journal.counts[37] == 1


def request_with(**properties: str) -> ReceivedMessage:
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items()).encode()
    stored = StoredMessage("T", b"x", text, 0, 0, 0, 0, bytes(8), 0, bytes(8), 0)
    return ReceivedMessage(stored, MessageQueue("T", "broker-a", 0))


async def test_a_reply_is_signed_and_its_refusal_raised(cluster: FaultyCluster) -> None:
    credentials = Credentials("K", "S")
    async with Producer("pg", namesrv=cluster.name_server, credentials=credentials, retries=0) as producer:
        request = request_with(CLUSTER="DefaultCluster", CORRELATION_ID="C", REPLY_TO_CLIENT="gone", TTL="3000")
        with pytest.raises(RefusedError, match="gone"):
            await producer.reply(request, b"answer")
    (sent,) = cluster.broker.journal.requests(325)
    assert is_signed({name: str(text) for name, text in (sent.command.ext or {}).items()}, sent.body, "S")
    assert sent.ext["topic"] == "DefaultCluster_REPLY_TOPIC"


async def test_a_requester_is_known_to_all_brokers_of_the_cluster(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, "broker-a", "broker-b", topics={"T": 4}) as cluster,
        Producer("asking", namesrv=cluster.name_server) as asking,
        Producer("replying", namesrv=cluster.name_server) as replying,
    ):
        a, b = cluster.brokers
        b.store.topics.pop("T")
        await b.withdraw()
        for broker in (a, b):
            await broker.set_topic("DefaultCluster_REPLY_TOPIC", 2)
        asked = asyncio.ensure_future(asking.request(PLAIN, timeout=10))
        (record,) = await eventually(lambda: a.store.messages("T"), "the request")
        request = request_with(**record.named)
        await replying.queues("DefaultCluster_REPLY_TOPIC")
        a.faults.add(Refuse(2, "busy"), 325, times=None)
        await replying.reply(request, b"by another broker")
        assert (await asked).body == b"by another broker"
        with pytest.raises(SendError, match="still failed"):
            await replying.reply(request_with(**{**record.named, "REPLY_TO_CLIENT": "gone"}), b"x")


async def test_replies_with_odd_hosts_and_for_nobody(cluster: FaultyCluster, producer: Producer) -> None:
    await producer.send(PLAIN)
    await cluster.broker.journal.arrived(34)
    asked = asyncio.ensure_future(producer.request(PLAIN, timeout=10))
    found = await eventually(
        lambda: [each for each in cluster.broker.store.messages("T") if "CORRELATION_ID" in each.named], "the request"
    )
    correlation_id = found[0].named["CORRELATION_ID"]
    waited_for = f"CORRELATION_ID\x01{correlation_id}\x02"
    asks = (
        {"properties": "CORRELATION_ID\x01another\x02"},
        {"topic": "R", "properties": waited_for, "bornHost": "no host", "storeHost": "/h:1"},
        {"properties": waited_for},
    )
    replies = [await cluster.broker.ask_client(producer.client_id, 326, ext, b"reply") for ext in asks]
    reply = await asked
    assert [each.code for each in replies] == [0, 0, 0]
    assert (reply.body, reply.topic) == (b"reply", "R")
    assert str(reply.stored.born_host) == "0.0.0.0:0"


async def test_closing_while_it_starts_leaves_nothing_open(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path, topics={"T": 1}) as cluster:
        session = ClientSession(ClientConfig(namesrv=cluster.name_server))
        await session.acquire()
        ending = asyncio.create_task(session.release())
        await asyncio.sleep(0)
        producer = Producer("pg", session=session)
        starting = asyncio.create_task(producer.start())  # it waits for the end of the session
        await asyncio.sleep(0)
        await producer.close()
        await ending

        with pytest.raises(ClientClosedError):
            await starting
        assert not session.is_open
