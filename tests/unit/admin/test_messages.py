"""Commands that find one message, against a broker of ours."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.messaging_bench import BROKER, MessagingBench

from cosmodrome import Consumer, LitePullConsumer
from cosmodrome.admin import messages
from cosmodrome.errors import MissingError, UsageError

pytestmark = pytest.mark.asyncio(loop_scope="module")

BY_ID: dict[str, Any] = {
    "body_format": None, "body_folder": None, "group": None, "client_id": None, "resends": None,
    "unit_name": None, "cluster": None,
}  # fmt: skip
BY_UNIQUE_KEY: dict[str, Any] = {
    "shows_all": False, "body_folder": None, "group": None, "client_id": None, "begin_ms": None,
    "end_ms": None, "cluster": None,
}  # fmt: skip
BY_KEY: dict[str, Any] = {
    "begin_ms": None, "end_ms": None, "limit": None, "key_type": None, "last_key": None, "cluster": None,
}  # fmt: skip
BY_OFFSET: dict[str, Any] = {
    "broker_name": BROKER, "queue_id": 0, "body_format": None, "body_folder": None, "route_topic": None,
}  # fmt: skip


async def test_a_message_is_found_by_the_id_of_its_broker_and_by_that_of_its_sender(messaging: MessagingBench) -> None:
    sent = await messaging.sent("hello", tag="TagA", keys=["k1", "k2"], properties={"color": "red"})

    by_broker = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[sent.offset_msg_id])
    by_sender = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[sent.msg_id])

    assert by_broker == by_sender
    assert by_broker.code == 0
    shown = dict(line.split(maxsplit=1) for line in by_broker.lines if line.startswith(("OffsetID", "Keys", "Tags")))
    assert shown == {"OffsetID:": sent.offset_msg_id, "Tags:": "[TagA]", "Keys:": "[k1 k2]"}
    assert "Message Body:        hello" in by_broker.lines
    assert "Body Path" not in by_broker.out
    assert by_broker.lines[-3:] == ["", "", "WARN: No Consumer"]


async def test_the_body_is_written_to_a_file_only_when_a_folder_is_named(
    messaging: MessagingBench, tmp_path: Path
) -> None:
    sent = await messaging.sent(b"\x00\xff bytes")

    ran = await messaging.run(
        messages.query_msg_by_id, **BY_ID | {"body_folder": str(tmp_path / "new")}, msg_ids=[sent.msg_id]
    )

    path = tmp_path / "new" / sent.msg_id
    assert f"Message Body Path:   {path}" in ran.lines
    assert "Message Body: " not in ran.out
    assert path.read_bytes() == b"\x00\xff bytes"


async def test_an_id_that_a_sender_made_up_names_no_file_elsewhere(messaging: MessagingBench, tmp_path: Path) -> None:
    await messaging.sent("x", msg_id="../../up")
    outside = tmp_path / "kept"
    outside.write_text("old", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "%2E%2E%2F%2E%2E%2Fup").symlink_to(outside)

    with pytest.raises(Exception, match="cannot write the body"):
        await messaging.run(
            messages.query_msg_by_unique_key, **BY_UNIQUE_KEY | {"body_folder": str(folder)}, msg_id="../../up"
        )
    (folder / "%2E%2E%2F%2E%2E%2Fup").unlink()
    await messaging.run(
        messages.query_msg_by_unique_key, **BY_UNIQUE_KEY | {"body_folder": str(folder)}, msg_id="../../up"
    )

    assert outside.read_text(encoding="utf-8") == "old"
    assert [each.name for each in folder.iterdir()] == ["%2E%2E%2F%2E%2E%2Fup"]


async def test_what_would_move_the_cursor_stays_on_its_line(messaging: MessagingBench) -> None:
    sent = await messaging.sent("a\nb\x1b[2J\xe9", keys=["k\x7f"])

    ran = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[sent.msg_id])

    assert "Message Body:        a\\nb\\x1b[2J\xe9" in ran.lines
    assert "Keys:                [k\\x7f]" in ran.lines


async def test_a_charset_makes_text_of_other_bodies(messaging: MessagingBench) -> None:
    sent = await messaging.sent("\u4f60\u597d".encode("gbk"))

    as_gbk = await messaging.run(
        messages.query_msg_by_id, **BY_ID | {"body_format": "gbk"}, msg_ids=[sent.msg_id], form="json"
    )
    as_utf8 = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[sent.msg_id], form="json")

    assert [as_gbk.json["messages"][0][name] for name in ("body", "body_base64")] == ["\u4f60\u597d", None]
    assert [as_utf8.json["messages"][0][name] for name in ("body", "body_base64")] == [None, "xOO6ww=="]


async def test_of_several_ids_the_ones_that_are_there_are_shown(messaging: MessagingBench) -> None:
    sent = await messaging.sent("there")
    gone = sent.msg_id[:-4] + "FFFF"

    ran = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[gone, sent.msg_id])

    assert ran.code == 1
    assert "Message Body:        there" in ran.lines
    assert f"error[NS-NOT-FOUND]: there is no message {gone}." in ran.err
    with pytest.raises(MissingError, match=gone):
        await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[gone])


async def test_a_message_is_sent_again_under_its_id(messaging: MessagingBench) -> None:
    sent = await messaging.sent("again", tag="TagA", keys=["k"], properties={"a": "b"})

    ran = await messaging.run(messages.query_msg_by_id, **BY_ID | {"resends": True}, msg_ids=[sent.msg_id])
    all_of_it = await messaging.run(
        messages.query_msg_by_unique_key, **BY_UNIQUE_KEY | {"shows_all": True}, msg_id=sent.msg_id, form="json"
    )

    assert ran.out.startswith(f"prepare resend msg. originalMsgId={sent.msg_id}SendResult [sendStatus=SEND_OK, ")
    first, second = all_of_it.json["messages"]
    assert (first["queue_offset"], second["queue_offset"]) == (0, 1)
    for name in ("msg_id", "body", "tag", "keys"):
        assert first[name] == second[name]
    assert second["properties"]["a"] == "b"


async def test_a_message_that_is_not_to_be_sent_again_is_not(messaging: MessagingBench) -> None:
    sent = await messaging.sent("once")

    ran = await messaging.run(messages.query_msg_by_id, **BY_ID | {"resends": False}, msg_ids=[sent.msg_id])

    assert (ran.code, ran.out) == (0, "")


async def test_only_the_first_of_one_id_is_shown_without_show_all(messaging: MessagingBench) -> None:
    for body in ("one", "two"):
        await messaging.sent(body, msg_id="twice")

    ran = await messaging.run(messages.query_msg_by_unique_key, **BY_UNIQUE_KEY, msg_id="twice", form="json")

    assert [each["body"] for each in ran.json["messages"]] == ["one"]


async def test_a_key_finds_places(messaging: MessagingBench) -> None:
    sent = [await messaging.sent(f"m{number}", keys=["k", f"own{number}"], tag="T1") for number in range(3)]

    ran = await messaging.run(messages.query_msg_by_key, **BY_KEY, key="k")
    one = await messaging.run(messages.query_msg_by_key, **BY_KEY, key="own1", form="ndjson")

    assert ran.lines[0].split() == ["#Message", "ID", "#QID", "#Offset", "#IndexKey"]
    assert [line.split()[:3] for line in ran.lines[1:]] == [
        [each.msg_id, "0", str(number)] for number, each in enumerate(sent)
    ]
    assert {len(line) for line in ran.lines} == {297}
    assert one.json["msg_id"] == sent[1].msg_id
    assert "body" not in one.json
    with pytest.raises(MissingError, match="no message with the key 'no'"):
        await messaging.run(messages.query_msg_by_key, **BY_KEY, key="no")


async def test_an_offset_finds_a_message_and_says_where_the_queue_ends(messaging: MessagingBench) -> None:
    await messaging.sent("first")
    sent = await messaging.sent("second")

    ran = await messaging.run(messages.query_msg_by_offset, **BY_OFFSET, offset=1)

    assert f"OffsetID:            {sent.offset_msg_id}" in ran.lines
    assert "MIN_OFFSET=0" in ran.out
    assert "MAX_OFFSET=2" in ran.out
    with pytest.raises(MissingError, match="no message at 7") as missing:
        await messaging.run(messages.query_msg_by_offset, **BY_OFFSET, offset=7)
    assert missing.value.why == "it has those from 0 to 1."


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"queue_id": 5}, "has no queue 5"),
        ({"broker_name": "broker-x"}, "not read at a broker 'broker-x'"),
        ({"topic": "Nowhere"}, "has no route"),
    ],
)
async def test_a_place_that_is_none_is_named(messaging: MessagingBench, changed: dict[str, Any], text: str) -> None:
    with pytest.raises(MissingError, match=text) as missing:
        await messaging.run(messages.query_msg_by_offset, **BY_OFFSET | changed, offset=0)
    assert missing.value.exit_code == 66


async def test_who_consumed_a_message_is_said(messaging: MessagingBench) -> None:
    consumed = await messaging.sent("consumed", tag="TagA")
    async with Consumer(
        messaging.group, namesrv=messaging.name_server, subscriptions={messaging.topic: "TagA"}, consume_from="first"
    ) as member:
        await (await anext(member)).ack()
        filtered = await messaging.sent("filtered", tag="TagB")
        last = await messaging.sent("not yet", tag="TagA")
        await anext(member)
    async with Consumer(messaging.group, namesrv=messaging.name_server, subscriptions={messaging.topic: "TagA"}):
        tracks = [
            (await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[each.msg_id], form="json")).json
            for each in (consumed, filtered, last)
        ]
    offline = await messaging.run(messages.query_msg_by_id, **BY_ID, msg_ids=[consumed.msg_id])

    found = [each["messages"][0]["tracks"][0]["track_type"] for each in tracks]
    assert found[0] == "CONSUMED"
    assert found[1] in {"CONSUMED_BUT_FILTERED", "NOT_CONSUME_YET"}
    assert found[2] == "NOT_CONSUME_YET"
    assert offline.lines[-1] == (
        f"MessageTrack [consumerGroup={messaging.group}, trackType=NOT_ONLINE, exceptionDesc=CODE:206 DESC:the consumer group[{messaging.group}] not online]"
    )


async def test_a_member_consumes_a_message_again(messaging: MessagingBench) -> None:
    seen: list[bytes] = []
    sent = await messaging.sent("direct")
    options: dict[str, Any] = {
        "namesrv": messaging.name_server,
        "subscriptions": {messaging.topic: None},
        "consume_from": "first",
    }

    async def handler(message: Any) -> None:
        seen.append(message.body)

    async with Consumer(messaging.group, handler=handler, **options) as member:
        client_id = next(iter((await messaging.admin.clients.consumers(messaging.group)).members))
        asked = BY_ID | {"group": messaging.group, "client_id": client_id}
        ran = await messaging.run(messages.query_msg_by_id, **asked, msg_ids=[sent.msg_id])
        assert member.status()
        with pytest.raises(MissingError, match="no member 'nobody'") as missing:
            await messaging.run(messages.query_msg_by_id, **asked | {"client_id": "nobody"}, msg_ids=[sent.msg_id])

    assert ran.out.startswith("ConsumeMessageDirectlyResult [order=false, autoCommit=true, consumeResult=CR_SUCCESS")
    assert b"direct" in seen
    assert client_id in str(missing.value.why)


async def test_who_pulls_cannot_be_told_to_consume(messaging: MessagingBench) -> None:
    sent = await messaging.sent("x")
    async with LitePullConsumer(messaging.group, namesrv=messaging.name_server, subscriptions={messaging.topic: None}):
        client_id = next(iter((await messaging.admin.clients.consumers(messaging.group)).members))
        with pytest.raises(UsageError, match="pulls"):
            await messaging.run(
                messages.query_msg_by_unique_key,
                **BY_UNIQUE_KEY | {"group": messaging.group, "client_id": client_id},
                msg_id=sent.msg_id,
            )
