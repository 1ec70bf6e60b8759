"""Commands that send messages, against a broker of ours."""

from typing import Any

import pytest
from tests.support.messaging_bench import BROKER, CLUSTER, MessagingBench

from cosmodrome import MessageQueue
from cosmodrome.admin import sending
from cosmodrome.errors import AdminError, MissingError, OperatorError, UsageError

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONE: dict[str, Any] = {
    "body": "hello", "keys": None, "tag": None, "broker_name": None, "queue_id": None, "is_traced": None,
}  # fmt: skip
ROUNDS: dict[str, Any] = {
    "amount": 3, "size": 10, "cluster": CLUSTER, "as_log": None, "machine_room": None, "interval_s": 0.01, "rounds": 2,
}  # fmt: skip


async def test_a_message_is_sent_and_its_place_printed(messaging: MessagingBench) -> None:
    ran = await messaging.run(sending.send_message, **ONE | {"keys": "k1 k2", "tag": "TagA", "body": " blanks stay "})
    head, line = ran.lines
    found = await messaging.admin.messages.by_unique_key(messaging.topic, line.split()[3])

    assert head.split() == ["#Broker", "Name", "#QID", "#Send", "Result", "#MsgId"]
    assert line.split()[:3] == [BROKER, "0", "SEND_OK"]
    stored = found.messages[0]
    assert (stored.body, stored.tag, stored.keys) == (b" blanks stay ", "TagA", ("k1", "k2"))


async def test_a_queue_and_a_broker_can_be_named(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=4)
    queue = await messaging.run(sending.send_message, **ONE | {"broker_name": BROKER, "queue_id": 2}, form="json")
    broker = await messaging.run(sending.send_message, **ONE | {"broker_name": BROKER}, form="json")

    assert (queue.json["broker_name"], queue.json["queue_id"], queue.json["status"]) == (BROKER, 2, "SEND_OK")
    assert broker.json["broker_name"] == BROKER


@pytest.mark.parametrize(
    ("flags", "error", "text"),
    [
        ({"queue_id": 1}, UsageError, "-i without -b"),
        ({"body": ""}, UsageError, "no body"),
        ({"tag": "a\x01b"}, UsageError, "tag"),
        ({"broker_name": "broker-x"}, MissingError, "not written at a broker 'broker-x'"),
        ({"broker_name": BROKER, "queue_id": 99}, AdminError, "refused"),
        ({"topic": "bad topic!"}, UsageError, "illegal"),
    ],
)
async def test_what_cannot_be_sent_is_said(
    messaging: MessagingBench, flags: dict[str, Any], error: type[OperatorError], text: str
) -> None:
    with pytest.raises(error, match=text):
        await messaging.run(sending.send_message, **ONE | flags)


async def test_response_times_are_measured_queue_by_queue(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=2)
    text = await messaging.run(sending.check_msg_send_rt, amount=3, size=5)
    rows = await messaging.run(sending.check_msg_send_rt, amount=1, size=None, form="json")

    assert [line.split()[:3] for line in text.lines[1:4]] == [
        [BROKER, "0", "true"], [BROKER, "1", "true"], [BROKER, "0", "true"],
    ]  # fmt: skip
    assert text.lines[4].startswith("Avg RT: ")
    assert (rows.json["average_ms"], rows.json["failed"], len(rows.json["sends"])) == (None, 0, 1)
    queue = MessageQueue(messaging.topic, BROKER, 0)
    assert [len(each.body) for each in await messaging.admin.messages.from_offset(queue, 0)] == [5, 5, 128]


async def test_a_broker_is_sent_messages_of_its_name(messaging: MessagingBench) -> None:
    ran = await messaging.run_bare(sending.send_msg_status, broker_name=BROKER, size=12, count=2)

    assert [line.partition("ms, ")[2].partition(", msgId")[0] for line in ran.lines] == [
        "SendResult=SendResult [sendStatus=SEND_OK"
    ] * 2
    assert all(f"messageQueue=MessageQueue [topic={BROKER}, brokerName={BROKER}, " in line for line in ran.lines)


async def test_all_brokers_of_a_cluster_are_measured_round_by_round(messaging: MessagingBench) -> None:
    table = await messaging.run_bare(sending.cluster_rt, **ROUNDS)
    log = await messaging.run_bare(sending.cluster_rt, **ROUNDS | {"as_log": True, "machine_room": "here", "rounds": 1})

    assert [line.split()[:2] for line in table.lines[1:]] == [[CLUSTER, BROKER]] * 2
    assert [line.split()[3:] for line in table.lines[1:]] == [["3", "0"]] * 2
    assert log.out.split("|")[1:4] == ["here", CLUSTER, BROKER]


async def test_a_cluster_that_is_not_there_is_named(messaging: MessagingBench) -> None:
    with pytest.raises(MissingError, match="no cluster 'Nowhere'"):
        await messaging.run_bare(sending.cluster_rt, **ROUNDS | {"cluster": "Nowhere"})
