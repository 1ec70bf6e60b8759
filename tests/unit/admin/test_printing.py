"""Commands that print queues, against a broker of ours."""

from typing import Any

import pytest
import pytest_asyncio
from tests.support.messaging_bench import BROKER, MessagingBench

from cosmodrome import Message, MessageQueue
from cosmodrome.admin import printing
from cosmodrome.errors import MissingError, UsageError

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONSUMED: dict[str, Any] = {
    "broker_name": None, "queue_id": None, "offset": None, "group": None, "begin_ms": None,
    "end_ms": None, "count": None,
}  # fmt: skip
PRINTED: dict[str, Any] = {
    "charset_name": None, "expression": None, "begin_ms": None, "end_ms": None, "with_body": None,
    "parent_topic": None,
}  # fmt: skip
OF_QUEUE: dict[str, Any] = {
    "broker_name": BROKER, "queue_id": 0, "charset_name": None, "expression": None, "begin_ms": None,
    "end_ms": None, "with_messages": None, "with_body": None, "counts_tags": None,
}  # fmt: skip
RULE = "-" * 56


def queue_text(bench: MessagingBench) -> str:
    return f"MessageQueue [topic={bench.topic}, brokerName={BROKER}, queueId=0]"


@pytest_asyncio.fixture(loop_scope="module")
async def filled(messaging: MessagingBench) -> MessagingBench:
    await messaging.filled(70, lambda number: "TagA" if number % 7 else "TagB")
    return messaging


def bodies(out: str) -> list[str]:
    return [line.rpartition(" BODY: ")[2] for line in out.splitlines() if line.startswith("MSGID: ")]


async def test_all_of_a_queue_is_printed_pull_by_pull(filled: MessagingBench) -> None:
    ran = await filled.run(printing.print_msg, **PRINTED)

    assert ran.lines[0] == f"minOffset=0, maxOffset=70, {queue_text(filled)}"
    assert bodies(ran.out) == [f"body{number}" for number in range(70)]
    assert ran.lines[-1] == RULE


async def test_bodies_can_be_left_out(filled: MessagingBench) -> None:
    text = await filled.run(printing.print_msg, **PRINTED | {"with_body": False})
    rows = await filled.run(printing.print_msg, **PRINTED | {"with_body": False}, form="json")

    assert set(bodies(text.out)) == {"NOT PRINT BODY"}
    assert not {"body", "body_base64"} & set(rows.json["messages"][0])


async def test_tags_choose(filled: MessagingBench) -> None:
    ran = await filled.run(printing.print_msg, **PRINTED | {"expression": "TagB || TagC"}, form="json")

    assert [each["queue_offset"] for each in ran.json["messages"]] == list(range(0, 70, 7))


async def test_an_expression_that_is_none_is_refused(messaging: MessagingBench) -> None:
    with pytest.raises(UsageError, match="no tag"):
        await messaging.run(printing.print_msg, **PRINTED | {"expression": "a > 3"})


async def test_times_choose(messaging: MessagingBench) -> None:
    await messaging.sent("early")
    sent = await messaging.sent("late")
    stored = await messaging.admin.messages.by_offset_id(sent.offset_msg_id)
    at_ms = stored.stored.store_timestamp_ms

    before = await messaging.run(printing.print_msg, **PRINTED | {"end_ms": 1000}, form="json")
    after = await messaging.run(printing.print_msg, **PRINTED | {"begin_ms": at_ms + 3_600_000}, form="json")
    whole = await messaging.run(printing.print_msg, **PRINTED | {"begin_ms": 1000}, form="json")

    assert (before.json["messages"], after.json["messages"]) == ([], [])
    assert [each["body"] for each in whole.json["messages"]] == ["early", "late"]


async def test_one_queue_is_printed_when_asked_for(filled: MessagingBench) -> None:
    silent = await filled.run(printing.print_msg_by_queue, **OF_QUEUE)
    printed = await filled.run(printing.print_msg_by_queue, **OF_QUEUE | {"with_messages": True, "with_body": True})
    without = await filled.run(printing.print_msg_by_queue, **OF_QUEUE | {"with_messages": True})

    assert silent.out == ""
    assert bodies(printed.out) == [f"body{number}" for number in range(70)]
    assert set(bodies(without.out)) == {"NOT PRINT BODY"}


async def test_tags_are_counted(filled: MessagingBench) -> None:
    text = await filled.run(printing.print_msg_by_queue, **OF_QUEUE | {"counts_tags": True})
    rows = await filled.run(printing.print_msg_by_queue, **OF_QUEUE | {"counts_tags": True}, form="json")

    assert text.lines == [f"Tag: {'TagA':<30} Count: 60", f"Tag: {'TagB':<30} Count: 10"]
    assert rows.json == {"topic": filled.topic, "tags": {"TagA": 60, "TagB": 10}, "messages": []}


async def test_a_queue_that_is_not_there_is_named(messaging: MessagingBench) -> None:
    with pytest.raises(MissingError, match="no queue 3"):
        await messaging.run(printing.print_msg_by_queue, **OF_QUEUE | {"queue_id": 3})


async def test_consuming_ends_behind_the_newest_message(filled: MessagingBench) -> None:
    ran = await filled.run(printing.consume_message, **CONSUMED)

    assert bodies(ran.out) == [f"body{number}" for number in range(70)]
    assert ran.lines[0] == "Consume ok"
    assert ran.lines[-1] == f"{queue_text(filled)} print msg finished. status=NO_NEW_MSG, offset=70"


async def test_consuming_takes_the_oldest_when_there_are_more(filled: MessagingBench) -> None:
    topic = await filled.run(printing.consume_message, **CONSUMED | {"count": 40})
    queue = await filled.run(printing.consume_message, **CONSUMED | {"count": 2, "broker_name": BROKER, "queue_id": 0})

    assert topic.lines[0] == "The older 40 message of the 0 queue will be provided"
    assert len(bodies(topic.out)) == 40
    assert queue.lines[:2] == ["The oldler 2 message will be provided", "Consume ok"]
    assert bodies(queue.out) == ["body0", "body1"]


async def test_consuming_begins_at_an_offset(filled: MessagingBench) -> None:
    place = {"broker_name": BROKER, "queue_id": 0}
    found = await filled.run(printing.consume_message, **CONSUMED | place | {"offset": 68})
    beyond = await filled.run(printing.consume_message, **CONSUMED | place | {"offset": 71})

    assert bodies(found.out) == ["body68", "body69"]
    assert beyond.lines == [f"{queue_text(filled)} no matched msg, offset=71"]


async def test_nothing_counts_as_consumed(filled: MessagingBench) -> None:
    await filled.run(printing.consume_message, **CONSUMED)
    again = await filled.run(printing.consume_message, **CONSUMED)

    assert len(bodies(again.out)) == 70


async def test_queues_are_taken_one_after_the_other_up_to_the_number(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=3)
    for number in range(9):
        queue = MessageQueue(messaging.topic, BROKER, number % 3)
        await messaging.producer.send(Message(topic=messaging.topic, body=b"x"), queue=queue)

    ran = await messaging.run(printing.consume_message, **CONSUMED | {"count": 4}, form="json")

    found = [(each["queue_id"], each["queue_offset"]) for each in ran.json["messages"]]
    assert found == [(0, 0), (0, 1), (0, 2), (1, 0)]


@pytest.mark.parametrize("flags", [{"queue_id": 0}, {"offset": 1}, {"broker_name": BROKER, "offset": 1}])
async def test_a_place_is_named_from_its_broker_on(messaging: MessagingBench, flags: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="without"):
        await messaging.run(printing.consume_message, **CONSUMED | flags)


async def test_a_message_is_written_as_java_writes_it(messaging: MessagingBench) -> None:
    sent = await messaging.sent(b"h\xff", tag="TagA", keys=["k"], flag=3)

    ran = await messaging.run(printing.print_msg_by_queue, **OF_QUEUE | {"with_messages": True, "with_body": True})

    line = ran.lines[0]
    assert line.startswith(f"MSGID: {sent.msg_id} MessageExt [brokerName={BROKER}, queueId=0, storeSize=")
    assert f"msgId={sent.offset_msg_id}, commitLogOffset=" in line
    assert (
        f"toString()=Message{{topic='{messaging.topic}', flag=3, properties={{MSG_REGION=DefaultRegion, UNIQ_KEY="
        in line
    )
    assert "MIN_OFFSET=0, TAGS=TagA, KEYS=k, WAIT=true, TRACE_ON=true, MAX_OFFSET=1}, body=[104, -1], " in line
    assert line.endswith("transactionId='null'}] BODY: h\\xff")
