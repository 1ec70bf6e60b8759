"""queryMsgTraceById and DecodeMessageId."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from tests.support.messaging_bench import MessagingBench

from cosmodrome import Consumer, Message, MessageQueue, Producer
from cosmodrome.admin import message_traces
from cosmodrome.admin.message_traces import trace_views
from cosmodrome.client.message import MessageView
from cosmodrome.errors import MissingError, NotFoundError, UsageError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.ids import UniqueIds
from cosmodrome.protocol.messages.record import StoredMessage

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKED: dict[str, Any] = {"begin_ms": None, "end_ms": None, "limit": None}


def traced(*records: list[str]) -> MessageView:
    """A message of a trace topic with these records."""
    text = "".join("\x01".join(record) + "\x02" for record in records)
    stored = StoredMessage(
        topic="Traces", body=text.encode(), properties_bytes=b"", queue_id=0, queue_offset=0, commit_log_offset=0,
        born_timestamp_ms=7, born_host_bytes=encode_host("10.0.0.9", 5), store_timestamp_ms=8,
        store_host_bytes=encode_host("10.0.0.1", 6), body_crc=0,
    )  # fmt: skip
    return MessageView(stored, MessageQueue("Traces", "b", 0))


PUB = ["Pub", "1000", "region", "senders", "T", "ID", "tag", "keys", "store", "9", "42", "0", "OFFSET", "true"]
BEFORE = ["SubBefore", "1000", "region", "G", "REQ", "ID", "0", "keys"]
AFTER = ["SubAfter", "REQ", "ID", "17", "true", "keys", "0", "2000", "G"]


async def test_traces_of_a_send_and_of_its_handling_are_read() -> None:
    sent, handled = trace_views(traced(PUB, BEFORE, AFTER), "ID")

    assert sent == ("Pub", "senders", "10.0.0.9", 1000, 42, True)
    assert handled == ("SubAfter", "G", "10.0.0.9", 2000, 17, True)


@pytest.mark.parametrize(
    ("record", "status"),
    [
        ([*PUB[:12], "true"], "success"),
        ([*PUB[:12], "false"], "failed"),
        ([*PUB, "host"], "success"),
        ([*PUB[:13], "false"], "failed"),
    ],
)
async def test_each_release_s_form_of_a_send_is_read(record: list[str], status: str) -> None:
    assert [view.line().split()[-1] for view in trace_views(traced(record), "ID")] == [status]


async def test_clients_that_write_no_time_and_group_have_the_message_s_time() -> None:
    (view,) = trace_views(traced(AFTER[:6]), "ID")
    assert (view.time_ms, view.group, view.cost_ms) == (7, "", 17)


@pytest.mark.parametrize("record", [PUB[:11], ["Pub"], [""], AFTER[:4], ["Else", "ID"], [*PUB[:5], "OTHER", *PUB[6:]]])
async def test_what_is_no_trace_of_the_message_is_left_out(record: list[str]) -> None:
    assert list(trace_views(traced(record), "ID")) == []


async def test_numbers_that_are_none_count_as_nothing() -> None:
    (view,) = trace_views(traced([PUB[0], "x", *PUB[2:10], "-", *PUB[11:]]), "ID")
    assert (view.time_ms, view.cost_ms) == (0, 0)


async def test_the_way_of_a_message_is_printed(messaging: MessagingBench) -> None:
    traces = f"Traces-{messaging.topic}"
    await messaging.admin.topics.create(traces, queues=1)
    async with Producer("traced-senders", namesrv=messaging.name_server, trace=traces) as producer:
        sent = await producer.send(Message(topic=messaging.topic, body=b"traced", keys=["k"]))
    handled = asyncio.Event()

    async def handler(_: Any) -> None:
        handled.set()

    options: dict[str, Any] = {"namesrv": messaging.name_server, "consume_from": "first", "trace": traces}
    async with Consumer(messaging.group, subscriptions={messaging.topic: None}, handler=handler, **options):
        await asyncio.wait_for(handled.wait(), 30)

    text = await messaging.run_bare(
        message_traces.query_msg_trace_by_id, **ASKED, trace_topic=traces, msg_id=sent.msg_id
    )
    rows = await messaging.run_bare(
        message_traces.query_msg_trace_by_id, **ASKED, trace_topic=traces, msg_id=sent.msg_id, form="json"
    )

    assert [line.split()[:2] for line in text.lines] == [
        ["#Type", "#ProducerGroup"], ["Pub", "traced-senders"], [], ["#Type", "#ConsumerGroup"],
        ["Sub", messaging.group], [],
    ]  # fmt: skip
    assert [(each["type"], each["is_success"]) for each in rows.json["traces"]] == [("pub", True), ("sub", True)]
    with pytest.raises(MissingError, match="no trace of message nobody"):
        await messaging.run_bare(message_traces.query_msg_trace_by_id, **ASKED, trace_topic=traces, msg_id="nobody")
    with pytest.raises((MissingError, NotFoundError), match="no route"):
        await messaging.run_bare(message_traces.query_msg_trace_by_id, **ASKED, trace_topic="No", msg_id="nobody")


async def test_an_id_says_where_and_when_it_was_made(messaging: MessagingBench) -> None:
    month = datetime.now().astimezone().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    month_ms = int(month.timestamp() * 1000)
    msg_id = UniqueIds("10.1.2.3", 77, 5).next(month_ms, month_ms)

    text = await messaging.run_bare(message_traces.decode_message_id, msg_id=msg_id)
    row = await messaging.run_bare(message_traces.decode_message_id, msg_id=msg_id, form="json")

    assert text.lines == ["ip=10.1.2.3", f"date={month:%Y-%m-%d %H:%M:%S}"]
    assert (row.json["ip"], row.json["pid"]) == ("10.1.2.3", 77)
    with pytest.raises(UsageError, match="'x' is no id"):
        await messaging.run_bare(message_traces.decode_message_id, msg_id="x")
