"""What traces of a consumer say."""

import asyncio
import threading

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.traces import ConsumeTraces, after, before
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
from cosmodrome.client.observing import ObservedProcess
from cosmodrome.client.traces import Tracer

QUEUE = MessageQueue("T", "broker-a", 0)


def received(**properties: str) -> ReceivedMessage:
    return ReceivedMessage(stored(7, properties={"UNIQ_KEY": "ID", **properties}, reconsume_times=2), QUEUE)


def process(message: ReceivedMessage, *, is_done: bool = True, error: Exception | None = None) -> ObservedProcess:
    return ObservedProcess(by="handler", group="G", client_id="c", message=message, is_done=is_done, error=error)


def test_that_a_message_is_being_handled() -> None:
    trace = before("G", "REQUEST", received(KEYS="k1 k2", MSG_REGION="hz"), 1700)
    assert trace.keys == ("ID", "k1", "k2")
    assert trace.text.split("\x01") == ["SubBefore", "1700", "hz", "G", "REQUEST", "ID", "2", "k1 k2\x02"]


def test_java_reads_no_empty_text_at_the_end_of_a_record() -> None:
    assert before("G", "REQUEST", received(), 1700).text.endswith("\x01null\x02")


@pytest.mark.parametrize(
    ("is_done", "error", "success", "code"),
    [(True, None, "true", "0"), (False, ValueError("no"), "false", "2"), (False, None, "false", "4")],
)
def test_how_that_ended(*, is_done: bool, error: Exception | None, success: str, code: str) -> None:
    trace = after(process(received(KEYS="k1"), is_done=is_done, error=error), "REQUEST", 12, 1800)
    assert trace.keys == ("ID", "k1")
    assert trace.text.split("\x01") == ["SubAfter", "REQUEST", "ID", "12", success, "k1", code, "1800", "G\x02"]


class Sent:
    """Takes what a tracer sends."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def __call__(self, message: Message) -> SendResult:
        self.texts += [each for each in message.body.decode().split("\x02") if each]
        return SendResult(SendStatus.OK, "", "", QUEUE, 0)


async def test_both_have_one_request_id_and_come_from_any_thread() -> None:
    sent = Sent()
    tracer = Tracer(sent, "TRACES")
    traces = ConsumeTraces(tracer)

    def handle() -> None:
        ended = traces.processing(process(received()))
        assert ended is not None
        ended()

    handle()
    thread = threading.Thread(target=handle)
    thread.start()
    await asyncio.to_thread(thread.join)
    await asyncio.sleep(0)
    await tracer.flush()
    fields = [text.split("\x01") for text in sent.texts]
    assert [each[0] for each in fields] == ["SubBefore", "SubAfter"] * 2
    assert fields[0][4] == fields[1][1] != fields[2][4] == fields[3][1]


async def test_a_broker_that_wants_no_traces_gets_none() -> None:
    sent = Sent()
    tracer = Tracer(sent, "TRACES")
    assert ConsumeTraces(tracer).processing(process(received(TRACE_ON="false"))) is None
    await tracer.flush()
    assert sent.texts == []


def test_a_thread_that_ends_after_the_loop_harms_nothing() -> None:
    async def made() -> ConsumeTraces:
        return ConsumeTraces(Tracer(Sent(), "TRACES"))

    traces = asyncio.run(made())
    thread = threading.Thread(target=lambda: traces.processing(process(received())))
    thread.start()
    thread.join()
