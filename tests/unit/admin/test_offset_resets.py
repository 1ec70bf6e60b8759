"""Commands that move groups, against a broker of ours."""

from typing import Any

import pytest
import pytest_asyncio
from tests.support.messaging_bench import BROKER, MessagingBench

from cosmodrome import MessageQueue
from cosmodrome.admin import offset_resets
from cosmodrome.errors import MissingError, OperatorError, UsageError

pytestmark = pytest.mark.asyncio(loop_scope="module")

RESET: dict[str, Any] = {
    "is_forced": None, "broker": None, "queue_id": None, "offset": None, "cluster": None,
}  # fmt: skip
SKIP: dict[str, Any] = {"is_forced": None, "cluster": None}


@pytest_asyncio.fixture(loop_scope="module")
async def moved(messaging: MessagingBench) -> MessagingBench:
    """A group, and five messages in a queue."""
    await messaging.admin.groups.create(messaging.group)
    await messaging.filled(5, lambda _: "TagA")
    return messaging


async def offset(bench: MessagingBench) -> int | None:
    return await bench.admin.offsets.committed(bench.group, MessageQueue(bench.topic, BROKER, 0))


def flags_of(bench: MessagingBench, *more: dict[str, Any]) -> dict[str, Any]:
    found = RESET | {"group": bench.group}
    for each in more:
        found |= each
    return found


async def test_a_group_goes_behind_the_newest_message_and_back(moved: MessagingBench) -> None:
    ahead = await moved.run(offset_resets.reset_offset_by_time, **flags_of(moved), when="now")
    assert await offset(moved) == 5
    back = await moved.run(offset_resets.reset_offset_by_time, **flags_of(moved), when="2001-02-03#04:05:06:007")

    assert await offset(moved) == 0
    assert ahead.lines[0].startswith(
        f"start reset consumer offset by specified, group[{moved.group}], topic[{moved.topic}], force[true], "
        "timestamp(string)[now], timestamp(long)["
    )
    assert ahead.lines[1].split() == ["#brokerName", "#queueId", "#offset"]
    assert ahead.lines[2].split() == [BROKER, "0", "5"]
    assert back.lines[2].split() == [BROKER, "0", "0"]


async def test_accumulated_messages_are_skipped(moved: MessagingBench) -> None:
    text = await moved.run(offset_resets.skip_accumulated_message, **SKIP, group=moved.group)
    rows = await moved.run(offset_resets.skip_accumulated_message, **SKIP, group=moved.group, form="json")

    assert await offset(moved) == 5
    assert text.lines[0].split() == ["#brokerName", "#queueId", "#offset"]
    assert rows.json == {
        "consumer_group": moved.group,
        "topic": moved.topic,
        "queues": [{"topic": moved.topic, "broker_name": BROKER, "queue_id": 0, "offset": 5}],
    }


@pytest.mark.parametrize("named", ["by address", "by name"])
async def test_one_queue_goes_to_an_offset(moved: MessagingBench, named: str) -> None:
    address = (await moved.admin.brokers.list())[0].address
    broker = address if named == "by address" else BROKER
    one = flags_of(moved, {"broker": broker, "queue_id": 0})

    ran = await moved.run(offset_resets.reset_offset_by_time, **one | {"offset": 3}, when="0")

    assert await offset(moved) == 3
    facts = f"broker[{broker}], timestamp(string)[0], timestamp(long)[0]"
    assert ran.lines == [
        f"start reset consumer offset by specified, group[{moved.group}], topic[{moved.topic}], queueId[0], {facts}",
        "reset consumer offset to 3",
    ]
    now = await moved.run(offset_resets.reset_offset_by_time, **one, when="now")
    assert now.lines[-1] == "reset consumer offset to 5"
    first = await moved.run(offset_resets.reset_offset_by_time, **one, when="0")
    assert first.lines[-1] == "reset consumer offset to 0"


@pytest.mark.parametrize(
    ("flags", "when", "error", "text"),
    [
        ({}, "yesterday", UsageError, "no moment"),
        ({"queue_id": 0}, "now", UsageError, "go with -b"),
        ({"offset": 2}, "now", UsageError, "go with -b"),
        ({"broker": BROKER, "queue_id": 0, "offset": 9}, "0", UsageError, "outside"),
        ({"broker": BROKER, "queue_id": 9}, "0", MissingError, "no queue 9"),
        ({"broker": "127.0.0.1:1", "queue_id": 0}, "0", MissingError, "no broker at 127.0.0.1:1"),
        ({"topic": "Nowhere"}, "0", MissingError, "no route"),
        ({"group": "Nobody"}, "0", MissingError, "no such consumer group"),
        ({"cluster": "Nowhere"}, "0", MissingError, "cluster Nowhere"),
    ],
)
async def test_what_cannot_be_done_is_said_and_moves_nobody(
    moved: MessagingBench, flags: dict[str, Any], when: str, error: type[OperatorError], text: str
) -> None:
    await moved.admin.offsets.commit(moved.group, MessageQueue(moved.topic, BROKER, 0), 2)

    with pytest.raises(error, match=text):
        await moved.run(offset_resets.reset_offset_by_time, **flags_of(moved, flags), when=when)

    assert await offset(moved) == 2
