"""The sending of traces."""

import asyncio

import pytest

from cosmodrome.client.message import Message, MessageQueue, SendResult, SendStatus
from cosmodrome.client.traces import (
    MAX_BODY_BYTES,
    MAX_KEYS_BYTES,
    MAX_WAITING_BYTES,
    Trace,
    Tracer,
    trace_topic,
)
from cosmodrome.errors import ConnectError

RESULT = SendResult(SendStatus.OK, "ID", "0A00000900002A9F0000000000001000", MessageQueue("T", "a", 0), 5)


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


@pytest.mark.parametrize(("setting", "topic"), [(False, None), (True, "RMQ_SYS_TRACE_TOPIC"), ("own", "own")])
def test_a_setting_means_a_topic(setting: bool | str, topic: str | None) -> None:  # noqa: FBT001 -- a setting
    assert trace_topic(setting) == topic


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
