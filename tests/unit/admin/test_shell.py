"""`cosmodrome send` and `cosmodrome consume`, against a broker of ours."""

import asyncio
import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.messaging_bench import BROKER, MessagingBench, Terminal

from cosmodrome import MessageQueue
from cosmodrome.admin import shell_consume, shell_send
from cosmodrome.errors import MissingError, NoAnswerError, StorageError, UsageError

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEND: dict[str, Any] = {
    "bodies": (), "file": None, "has_lines": False, "keys": (), "tag": None, "properties": {}, "delay_s": None,
    "delay_level": None, "deliver_at": None, "order_key": None, "group": None, "count": 1, "rate": None,
    "concurrency": 1, "goes_on": False, "is_traced": False,
}  # fmt: skip
CONSUME: dict[str, Any] = {
    "group": None, "peeks": False, "begin": None, "tags": None, "sql": None, "count": None, "for_s": None,
    "idle_s": None, "charset_name": None, "has_details": False,
}  # fmt: skip
PATIENCE_S = 30.0


async def stored(bench: MessagingBench, limit: int = 1000) -> list[bytes]:
    queue = MessageQueue(bench.topic, BROKER, 0)
    return [each.body for each in await bench.admin.messages.from_offset(queue, 0, limit=limit)]


async def test_each_argument_is_a_message(messaging: MessagingBench) -> None:
    ran = await messaging.run(
        shell_send.send,
        **SEND | {"bodies": ["one", "two"], "keys": ("k1", "k2"), "tag": "T", "properties": {"a": "b=c"}},
    )

    assert [line.split()[1] for line in ran.lines] == [f"{BROKER}:0@0", f"{BROKER}:0@1"]
    assert ran.err.startswith("note: sent 2 messages (6 B) in ")
    found = (await messaging.admin.messages.by_key(messaging.topic, "k2")).messages
    assert [(each.body, each.tag, each.properties["a"]) for each in found] == [
        (b"one", "T", "b=c"),
        (b"two", "T", "b=c"),
    ]


async def test_bytes_of_the_command_line_stay_as_they_are(messaging: MessagingBench) -> None:
    await messaging.run(shell_send.send, **SEND | {"bodies": [os.fsdecode(b"\xff\xc3\xa4")]})
    assert await stored(messaging) == [b"\xff\xc3\xa4"]


async def test_a_file_is_one_message_or_its_lines(messaging: MessagingBench, tmp_path: Path) -> None:
    path = tmp_path / "bodies"
    path.write_bytes(b"first\r\n\nsecond\nlast")

    await messaging.run(shell_send.send, **SEND | {"file": str(path)})
    await messaging.run(shell_send.send, **SEND | {"file": str(path), "has_lines": True, "count": 2})

    assert await stored(messaging) == [b"first\r\n\nsecond\nlast", *[b"first", b"second", b"last"] * 2]
    with pytest.raises(StorageError, match="cannot read"):
        await messaging.run(shell_send.send, **SEND | {"file": str(tmp_path / "none")})
    with pytest.raises(StorageError, match="cannot read"):
        await messaging.run(shell_send.send, **SEND | {"file": str(tmp_path / "none"), "has_lines": True})


async def test_the_lines_of_a_large_file_all_arrive_in_order(messaging: MessagingBench, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    lines = [f"line {number} {'x' * 200}".encode() for number in range(700)]
    path.write_bytes(b"\n".join(lines))

    ran = await messaging.run(shell_send.send, **SEND | {"file": str(path), "has_lines": True}, form="json")

    assert (ran.json["sent"], ran.json["failed"], ran.json["is_interrupted"]) == (700, 0, False)
    assert await stored(messaging) == lines


async def test_it_is_sent_as_often_as_asked_for_and_several_at_a_time(messaging: MessagingBench) -> None:
    ran = await messaging.run(
        shell_send.send, **SEND | {"bodies": ["x"], "count": 50, "concurrency": 10}, form="ndjson"
    )

    assert {json.loads(line)["queue_offset"] for line in ran.lines} == set(range(50))


async def test_a_rate_holds_messages_back(messaging: MessagingBench) -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    await messaging.run(shell_send.send, **SEND | {"bodies": ["x"], "count": 6, "rate": 20.0})
    assert loop.time() - begun_s >= 5 / 20


async def test_messages_of_one_order_key_go_to_one_queue(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=4)
    ran = await messaging.run(shell_send.send, **SEND | {"bodies": list("abcdef"), "order_key": "k"}, form="json")
    assert len({each["queue_id"] for each in ran.json["messages"]}) == 1


async def test_what_cannot_be_sent_ends_it_or_not(messaging: MessagingBench) -> None:
    bodies = ["one", "x" * 5_000_000, "three"]
    stopped = await messaging.run(shell_send.send, **SEND | {"bodies": bodies})
    went_on = await messaging.run(shell_send.send, **SEND | {"bodies": bodies, "goes_on": True})

    assert await stored(messaging) == [b"one", b"one", b"three"]
    assert (stopped.code, went_on.code) == (1, 1)
    assert "1 failed" in went_on.err
    assert "error[NS-USAGE]" in went_on.err
    with pytest.raises(UsageError, match="size"):
        await messaging.run(shell_send.send, **SEND | {"bodies": bodies[1:2]})


async def test_a_topic_that_is_none_is_refused(messaging: MessagingBench) -> None:
    with pytest.raises(UsageError, match="illegal"):
        await messaging.run(shell_send.send, topic="bad topic!", **SEND | {"bodies": ["x"]})


async def test_an_interrupt_ends_sending_with_totals(messaging: MessagingBench) -> None:
    sending = asyncio.create_task(
        messaging.run(shell_send.send, **SEND | {"bodies": ["x"], "count": 1000, "rate": 20.0}, form="json")
    )
    async with asyncio.timeout(PATIENCE_S):
        while not await stored(messaging):  # noqa: ASYNC110 -- what is asked for is a broker's state
            await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    ran = await asyncio.wait_for(sending, PATIENCE_S)

    assert (ran.code, ran.json["is_interrupted"]) == (130, True)
    assert ran.json["sent"] == len(ran.json["messages"])
    assert 0 < ran.json["sent"] < 1000


async def test_without_a_group_all_is_read_and_nothing_counts(messaging: MessagingBench) -> None:
    for body in ("one", "two\n"):
        await messaging.sent(body)
    asked = CONSUME | {"begin": "first", "count": 2, "for_s": PATIENCE_S}

    first = await messaging.run(shell_consume.consume, **asked)
    second = await messaging.run(shell_consume.consume, **asked)

    assert first.lines == second.lines == ["one", "two\\n"]
    assert first.err.startswith("note: received 2 messages (7 B) in ")
    groups = (await messaging.admin.topics.groups(messaging.topic)).names
    assert messaging.group not in groups


async def test_more_is_read_than_a_consumer_may_hold(messaging: MessagingBench) -> None:
    for _ in range(3):
        await messaging.filled(500, lambda _: "TagA")
    asked = CONSUME | {"begin": "first", "count": 1500, "for_s": PATIENCE_S}
    ran = await messaging.run(shell_consume.consume, **asked)
    assert ran.lines == [f"body{number}" for number in range(500)] * 3


async def test_a_group_that_has_read_nothing_is_peeked_at_from_behind_the_newest_message(
    messaging: MessagingBench,
) -> None:
    await messaging.sent("old")
    asked = CONSUME | {"group": messaging.group, "peeks": True, "idle_s": 0.3}
    ran = await messaging.run(shell_consume.consume, **asked)
    assert (ran.code, ran.lines) == (0, [])


async def test_without_a_place_to_begin_it_waits_for_what_comes(messaging: MessagingBench) -> None:
    await messaging.sent("old")
    reading = asyncio.create_task(
        messaging.run(shell_consume.consume, **CONSUME | {"count": 1, "for_s": PATIENCE_S}, form="json")
    )
    while not reading.done():
        await messaging.sent("new")
        await asyncio.sleep(0.02)

    assert [each["body"] for each in (await reading).json["messages"]] == ["new"]


async def test_it_begins_at_a_time(messaging: MessagingBench) -> None:
    await messaging.sent("x")
    asked = CONSUME | {"count": 1, "for_s": PATIENCE_S}
    ran = await messaging.run(shell_consume.consume, **asked | {"begin": datetime.now(UTC) - timedelta(hours=1)})
    assert ran.lines == ["x"]


async def test_a_member_of_a_group_consumes(messaging: MessagingBench) -> None:
    for number in range(4):
        await messaging.sent(str(number))
    asked = CONSUME | {"group": messaging.group, "begin": "first", "for_s": PATIENCE_S}

    two = await messaging.run(shell_consume.consume, **asked | {"count": 2})
    peeked = await messaging.run(shell_consume.consume, **asked | {"count": 1, "peeks": True, "begin": None})
    rest = await messaging.run(shell_consume.consume, **asked | {"count": 2})

    assert two.lines == ["0", "1"]
    assert peeked.lines == ["2"]
    assert rest.lines == ["2", "3"]
    committed = await messaging.admin.offsets.committed(messaging.group, MessageQueue(messaging.topic, BROKER, 0))
    assert committed == 4


async def test_tags_choose(messaging: MessagingBench) -> None:
    for tag in ("A", "B", "C"):
        await messaging.sent(tag, tag=tag)
    asked = CONSUME | {"begin": "first", "tags": "A || C", "count": 2, "for_s": PATIENCE_S}
    assert (await messaging.run(shell_consume.consume, **asked)).lines == ["A", "C"]


async def test_details_say_where_a_message_is(messaging: MessagingBench) -> None:
    sent = await messaging.sent("x", tag="T", keys=["k1", "k2"])
    asked = CONSUME | {"begin": "first", "count": 1, "for_s": PATIENCE_S, "has_details": True}
    ran = await messaging.run(shell_consume.consume, **asked)
    assert ran.lines[0].split("  ")[1:] == [f"{BROKER}:0@0", sent.msg_id, "tag=T", "keys=k1 k2", "x"]


async def test_the_number_that_did_not_come_in_time_is_an_error(messaging: MessagingBench) -> None:
    await messaging.sent("x")
    asked = CONSUME | {"begin": "first", "count": 2, "idle_s": 0.3}
    with pytest.raises(NoAnswerError, match=r"[01] of 2 messages") as late:
        await messaging.run(shell_consume.consume, **asked)
    assert late.value.exit_code == 75
    quiet = await messaging.run(shell_consume.consume, **asked | {"count": None})
    assert (quiet.code, set(quiet.lines) - {"x"}) == (0, set())


async def test_an_interrupt_ends_consuming_with_totals(messaging: MessagingBench) -> None:
    await messaging.sent("x")
    err = Terminal()
    options = CONSUME | {"begin": "first"}
    running = asyncio.create_task(
        messaging.run_bare(shell_consume.consume, err=err, topic=messaging.topic, **options, form="ndjson")
    )
    async with asyncio.timeout(PATIENCE_S):
        while not _handles_interrupts():  # noqa: ASYNC110 -- nothing is signalled
            await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    ran = await asyncio.wait_for(running, PATIENCE_S)

    assert ran.code == 0
    assert "note: received" in ran.err


def _handles_interrupts() -> bool:
    return signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


@pytest.mark.parametrize(
    ("flags", "text"),
    [({"tags": "a > 3"}, "no tag"), ({"tags": "a", "sql": "b"}, "together"), ({"sql": " "}, "blank")],
)
async def test_an_expression_that_is_none_is_refused(
    messaging: MessagingBench, flags: dict[str, Any], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        await messaging.run(shell_consume.consume, **CONSUME | flags)


async def test_a_topic_that_is_not_there_is_not_waited_for(messaging: MessagingBench) -> None:
    with pytest.raises(MissingError, match="no route"):
        await messaging.run(shell_consume.consume, topic="Nowhere", **CONSUME)


async def test_delays_are_passed_on(messaging: MessagingBench) -> None:
    for delayed in ({"delay_level": 18}, {"delay_s": 3600.0}, {"deliver_at": datetime.now(UTC) + timedelta(hours=1)}):
        ran = await messaging.run(shell_send.send, **SEND | {"bodies": ["late"]} | delayed)
        assert ran.code == 0
    assert await stored(messaging) == []
