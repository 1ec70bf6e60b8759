"""Field cases about transactions, and requests with replies."""

# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.builders import eventually
from tests.support.faulty_broker import (
    SENDS,
    AnswerWith,
    FaultyCluster,
    Refuse,
    Silence,
    faulty_cluster,
)

from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage, SendResult
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.transactions import TransactionState
from cosmodrome.errors import ClientClosedError, MessageError, RefusedError, ReplyTimeoutError
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.record import StoredMessage

COMMIT, ROLLBACK, UNKNOWN = TransactionState.COMMIT, TransactionState.ROLLBACK, TransactionState.UNKNOWN
END: Final = 37
HALF: Final = Message(topic="T", body=b"half")
ENDS: Final = {COMMIT: "8", ROLLBACK: "12", UNKNOWN: "0"}


def never(_: ReceivedMessage) -> TransactionState:
    raise AssertionError("nobody asks")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"T": 4}) as one:
        yield one


async def gives(value: Any) -> Any:
    return value


async def raises(error: BaseException) -> Any:
    raise error


LOCAL: Final[dict[str, tuple[Callable[[], Coroutine[Any, Any, Any]], TransactionState]]] = {
    "commit": (lambda: gives(COMMIT), COMMIT),
    "rollback": (lambda: gives(ROLLBACK), ROLLBACK),
    "unknown": (lambda: gives(UNKNOWN), UNKNOWN),
    "None": (lambda: gives(None), UNKNOWN),
    "a wrong type": (lambda: gives("COMMIT"), UNKNOWN),
    "True": (lambda: gives(True), UNKNOWN),
    "an exception": (lambda: raises(ZeroDivisionError("the user's")), UNKNOWN),
}


@pytest.mark.parametrize("what", LOCAL)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_C014_what_the_local_transaction_gives_decides(cluster: FaultyCluster, what: str, kind: str) -> None:
    local, state = LOCAL[what]

    async def execute(message: Message, result: SendResult) -> Any:
        assert message is HALF
        assert cluster.broker.transactions.open.keys() == {result.msg_id}
        return await local()

    def plain(_: Message, __: SendResult) -> Any:
        return asyncio.run(local())

    async with Producer("tg", namesrv=cluster.name_server, check_transaction=never) as producer:
        result = await producer.send_transaction(HALF, execute if kind == "async" else plain)
        assert result.state is state
        assert isinstance(result.error, ZeroDivisionError) == (what == "an exception")
        (end,) = await cluster.broker.journal.arrived(END)
        assert end.is_oneway
        place = decode_offset_msg_id(result.send_result.offset_msg_id)
        assert place is not None
        assert {
            name: end.ext[name] for name in ("commitOrRollback", "tranStateTableOffset", "commitLogOffset", "msgId")
        } == {
            "commitOrRollback": ENDS[state],
            "tranStateTableOffset": str(result.send_result.queue_offset),
            "commitLogOffset": str(place.commit_log_offset),
            "msgId": result.send_result.msg_id,
        }
        assert end.ext["producerGroup"] == "tg"
        assert "fromTransactionCheck" not in end.ext
        assert ("ZeroDivisionError" in str(end.command.remark)) == (what == "an exception")
        assert len(cluster.broker.store.bodies("T")) == (1 if state is COMMIT else 0)


async def test_C014_a_cancelled_local_transaction_is_left_to_the_check(cluster: FaultyCluster) -> None:
    begun = asyncio.Event()

    async def execute(_: Message, __: SendResult) -> TransactionState:
        begun.set()
        await asyncio.Event().wait()
        return COMMIT

    async with Producer("tg", namesrv=cluster.name_server, check_transaction=lambda _: COMMIT) as producer:
        sending = asyncio.ensure_future(producer.send_transaction(HALF, execute))
        await begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert cluster.broker.journal.counts[END] == 0
        (msg_id,) = cluster.broker.transactions.open
        cluster.broker.check_transaction(msg_id)
        await cluster.broker.journal.arrived(END)
        assert cluster.broker.store.bodies("T") == [b"half"]


@pytest.mark.parametrize("code", [10, 11, 12])
async def test_C014_a_half_message_that_is_not_safe_is_rolled_back(cluster: FaultyCluster, code: int) -> None:
    cluster.broker.faults.add(AnswerWith(code), SENDS)
    ran = []
    async with Producer("tg", namesrv=cluster.name_server, check_transaction=never) as producer:
        result = await producer.send_transaction(HALF, lambda *_: ran.append(1))
        assert result.state is ROLLBACK
        (end,) = await cluster.broker.journal.arrived(END)
        assert end.ext["commitOrRollback"] == "12"
        assert not ran


async def test_C014_a_half_message_that_is_refused_runs_nothing(cluster: FaultyCluster) -> None:
    cluster.broker.faults.add(Refuse(13), SENDS)
    ran = []
    async with Producer("tg", namesrv=cluster.name_server, check_transaction=never) as producer:
        with pytest.raises(RefusedError):
            await producer.send_transaction(HALF, lambda *_: ran.append(1))
        assert not ran
        assert cluster.broker.journal.counts[END] == 0


async def test_C014_a_lost_end_is_made_up_by_the_check(cluster: FaultyCluster) -> None:
    seen = []

    def check(message: ReceivedMessage) -> TransactionState:
        seen.append((message.topic, message.body, message.msg_id))
        return COMMIT

    cluster.broker.faults.add(Silence(), END)
    async with Producer("tg", namesrv=cluster.name_server, check_transaction=check) as producer:
        result = await producer.send_transaction(HALF, lambda *_: COMMIT)
        await cluster.broker.journal.arrived(END)
        assert cluster.broker.store.bodies("T") == []
        copy = cluster.broker.check_transaction(result.send_result.msg_id)
        end = (await cluster.broker.journal.arrived(END, 2))[1]
        assert seen == [("T", b"half", result.send_result.msg_id)]
        assert end.ext["fromTransactionCheck"] == "true"
        assert end.ext["commitLogOffset"] == str(copy.offset)
        assert end.ext["tranStateTableOffset"] == str(copy.queue_offset)
        assert cluster.broker.store.bodies("T") == [b"half"]


async def test_C014_a_check_for_a_group_that_is_not_here_is_not_answered(cluster: FaultyCluster) -> None:
    cluster.broker.faults.add(Silence(), END)
    async with Producer("tg", namesrv=cluster.name_server, check_transaction=never) as producer:
        result = await producer.send_transaction(HALF, lambda *_: COMMIT)
        await cluster.broker.journal.arrived(END)
        cluster.broker.check_transaction(result.send_result.msg_id, group="stranger")
        await producer.send(Message(topic="T", body=b"next"))
        assert cluster.broker.journal.counts[END] == 1


async def test_C014_a_slow_checker_blocks_nothing_and_answers_the_newest_question_once(cluster: FaultyCluster) -> None:
    go = threading.Event()
    runs = []

    def check(_: ReceivedMessage) -> TransactionState:
        runs.append(1)
        assert go.wait(20)
        return COMMIT

    async with Producer("tg", namesrv=cluster.name_server, check_transaction=check) as producer:
        result = await producer.send_transaction(HALF, lambda *_: None)
        await cluster.broker.journal.arrived(END)
        cluster.broker.check_transaction(result.send_result.msg_id)
        newest = cluster.broker.check_transaction(result.send_result.msg_id)
        await eventually(lambda: runs, "the checker")
        for _ in range(10):
            await producer.send(Message(topic="T", body=b"meanwhile"))
        go.set()
        ends = await cluster.broker.journal.arrived(END, 2)
        assert ends[1].ext["commitLogOffset"] == str(newest.offset)
        assert runs == [1]
        await producer.send(Message(topic="T", body=b"after"))
        assert cluster.broker.journal.counts[END] == 2


async def test_C014_transactions_need_a_checker_before_the_group_is_announced(cluster: FaultyCluster) -> None:
    async with Producer("tg", namesrv=cluster.name_server) as producer:
        with pytest.raises(ValueError, match="check_transaction"):
            await producer.send_transaction(HALF, lambda *_: COMMIT)
        assert cluster.broker.journal.counts[310] == 0


async def test_a_transaction_message_is_not_delayed(cluster: FaultyCluster) -> None:
    async with Producer("tg", namesrv=cluster.name_server, check_transaction=never) as producer:
        with pytest.raises(MessageError, match="delayed"):
            await producer.send_transaction(HALF.replaced(delay_level=1), lambda *_: COMMIT)
        assert cluster.broker.journal.counts[310] == 0


async def requested(cluster: FaultyCluster) -> ReceivedMessage:
    """Wait for a request, and give it as a consumer gets it."""
    found = await eventually(
        lambda: [each for each in cluster.broker.store.messages("T") if "CORRELATION_ID" in each.named], "the request"
    )
    record = found[-1]
    stored = StoredMessage(
        record.topic, record.body, record.properties, record.queue_id, 0, 0, 0, bytes(8), 0, bytes(8), 0
    )
    return ReceivedMessage(stored, MessageQueue("T", "broker-a", record.queue_id))


async def test_a_request_gets_its_reply(cluster: FaultyCluster) -> None:
    async with (
        Producer("asking", namesrv=cluster.name_server) as asking,
        Producer("replying", namesrv=cluster.name_server) as replying,
    ):
        asked = asyncio.ensure_future(asking.request(Message(topic="T", body=b"question"), timeout=10))
        request = await requested(cluster)
        await replying.reply(request, b"answer")
        reply = await asked
        assert (reply.body, reply.topic) == (b"answer", "DefaultCluster_REPLY_TOPIC")
        assert reply.properties["CORRELATION_ID"] == request.properties["CORRELATION_ID"]


async def test_a_request_without_a_reply_ends_in_time(cluster: FaultyCluster) -> None:
    async with Producer("asking", namesrv=cluster.name_server) as asking:
        with pytest.raises(ReplyTimeoutError):
            await asking.request(Message(topic="T", body=b"question"), timeout=0.3)
        assert cluster.broker.journal.counts[310] == 1


async def test_a_reply_to_what_is_no_request_is_refused(cluster: FaultyCluster) -> None:
    async with Producer("replying", namesrv=cluster.name_server) as replying:
        stored = StoredMessage("T", b"x", b"", 0, 0, 0, 0, bytes(8), 0, bytes(8), 0)
        with pytest.raises(MessageError, match="CORRELATION_ID"):
            await replying.reply(ReceivedMessage(stored, MessageQueue("T", "broker-a", 0)), b"answer")


async def test_closing_ends_a_request_that_waits(cluster: FaultyCluster) -> None:
    asking = Producer("asking", namesrv=cluster.name_server)
    await asking.start()
    asked = asyncio.ensure_future(asking.request(Message(topic="T", body=b"question"), timeout=30))
    await requested(cluster)
    await asking.close()
    with pytest.raises(ClientClosedError):
        await asked
