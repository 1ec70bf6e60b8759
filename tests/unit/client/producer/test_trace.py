"""Traces of messages."""

import asyncio

import pytest

from cosmodrome.client.message import Message, MessageQueue, SendResult, SendStatus
from cosmodrome.client.producer.trace import (
    DELAYED,
    MAX_BODY_BYTES,
    MAX_KEYS_BYTES,
    MAX_WAITING_BYTES,
    NORMAL,
    Sent,
    Trace,
    Tracer,
    ended_trace,
    sent_traces,
)
from cosmodrome.client.producer.transactions import Ended, TransactionState
from cosmodrome.errors import ConnectError

RESULT = SendResult(
    SendStatus.OK, "ID", "0A00000900002A9F0000000000001000", MessageQueue("T", "a", 0), 5, region="DefaultRegion"
)
MESSAGE = Message(topic="T", body=b"12345", tag="tag", keys=["k1", "k2"])


class Sends:
    """Takes what a tracer sends, or fails."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.is_failing = False

    async def __call__(self, message: Message) -> SendResult:
        if self.is_failing:
            raise ConnectError("down")
        self.messages.append(message)
        return RESULT


def test_a_send_that_was_accepted() -> None:
    (trace,) = sent_traces("g", Sent((MESSAGE,), "ID", RESULT, NORMAL, 1700, 12))
    assert trace.keys == ("ID", "k1", "k2")
    assert trace.text.split("\x01") == [
        "Pub", "1700", "DefaultRegion", "g", "T", "ID", "tag", "k1 k2", "10.0.0.9:10911", "5", "12", "0",
        "0A00000900002A9F0000000000001000", "true\x02",
    ]  # fmt: skip


def test_a_send_that_failed() -> None:
    (trace,) = sent_traces("g", Sent((MESSAGE,), "ID", None, DELAYED, 1700, 12))
    fields = trace.text.split("\x01")
    assert (fields[5], fields[8], fields[11], fields[12], fields[13]) == ("ID", "", "3", "", "false\x02")


@pytest.mark.parametrize(("offset_msg_id", "places"), [("A,B", ["A", "B"]), ("A", ["", ""])])
def test_a_batch_has_a_trace_of_each_message(offset_msg_id: str, places: list[str]) -> None:
    result = SendResult(SendStatus.OK, "ID1,ID2", offset_msg_id, MessageQueue("T", "a", 0), 5)
    traces = list(sent_traces("g", Sent((MESSAGE, MESSAGE), "ID1,ID2", result, NORMAL, 1700, 12)))
    assert [trace.text.split("\x01")[5] for trace in traces] == ["ID1", "ID2"]
    assert [trace.text.split("\x01")[12] for trace in traces] == places


def test_an_end_of_a_transaction() -> None:
    ended = Ended("b:1", "T", "ID", "TID", TransactionState.COMMIT, is_checked=True, tag="tag", keys=("k",))
    trace = ended_trace("g", ended, 1700)
    assert trace.keys == ("ID", "k")
    assert trace.text.split("\x01") == [
        "EndTransaction", "1700", "", "g", "T", "ID", "tag", "k", "b:1", "2", "TID", "COMMIT_MESSAGE", "true\x02",
    ]  # fmt: skip


async def test_what_waits_goes_in_few_messages_below_the_limits() -> None:
    sends = Sends()
    tracer = Tracer(sends, "TRACES")
    for number in range(1000):
        tracer.add(Trace("x" * 1000, (f"id-{number}", "k" * 50)))
    await tracer.flush()
    assert len(sends.messages) == 8
    for message in sends.messages:
        assert message.topic == "TRACES"
        assert len(message.body) <= MAX_BODY_BYTES
        assert sum(len(key) + 1 for key in message.keys) <= MAX_KEYS_BYTES
    assert sum(len(message.body) for message in sends.messages) == 1_000_000
    assert tracer.dropped == 0


async def test_keys_of_one_trace_beyond_the_limit_are_left_out() -> None:
    sends = Sends()
    tracer = Tracer(sends, "TRACES")
    tracer.add(Trace("x", ("id", *(f"{'k' * 1000}{number}" for number in range(30)))))
    await tracer.flush()
    assert sends.messages[0].keys[0] == "id"
    assert len(sends.messages[0].keys) == 16


async def test_what_cannot_be_sent_or_kept_is_counted() -> None:
    sends = Sends()
    sends.is_failing = True
    tracer = Tracer(sends, "TRACES")
    for _ in range(3):
        tracer.add(Trace("x", ("id",)))
    await tracer.flush()
    assert tracer.dropped == 3
    tracer.add(Trace("x" * MAX_WAITING_BYTES, ("id",)))
    tracer.add(Trace("x", ("id",)))
    assert tracer.dropped == 4
    tracer.give_up()
    assert tracer.dropped == 5


async def test_running_ends_when_all_is_sent() -> None:
    sends = Sends()
    tracer = Tracer(sends, "TRACES")
    running = asyncio.ensure_future(tracer.run())
    tracer.add(Trace("x", ("id",)))
    tracer.finish()
    await asyncio.wait_for(running, 10)
    assert len(sends.messages) == 1


async def test_cancelling_counts_what_was_under_way() -> None:
    begun = asyncio.Event()

    async def never(_: Message) -> SendResult:
        begun.set()
        await asyncio.Event().wait()
        return RESULT

    tracer = Tracer(never, "TRACES")
    tracer.add(Trace("x", ("id",)))
    flushing = asyncio.ensure_future(tracer.flush())
    await begun.wait()
    flushing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flushing
    assert tracer.dropped == 1
