"""Delayed, failed and half messages of a broker (B022, B023, B027, B029, B030, B032, B033)."""

import asyncio
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller

from cosmodrome import Broker
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.record import decode_record

FAST = " ".join(["1s"] * 18)
DEAD = "%DLQ%g"


async def wait_for_levels(caller: Caller, count: int) -> None:
    async with asyncio.timeout(30):
        while sum([len(await caller.messages("T", queue)) for queue in range(4)]) < count:
            await caller.pull("T", 10**6, sysFlag="4")


@pytest.mark.parametrize("offset", [99, -7, 0])
async def test_b022_a_wrong_delay_offset_silences_nobody(tmp_path: Path, offset: int) -> None:
    async with Broker(store=tmp_path, message_delay_level="1s 1h") as broker, Caller(broker.address) as caller:
        await caller.send("T", b"before", DELAY=1)
        await caller.until("T", 1)
    path = tmp_path / "config" / "delayOffset.json"
    path.write_text(json.dumps({"offsetTable": {"1": offset, "77": 3}}), encoding="utf-8")
    async with Broker(store=tmp_path, message_delay_level="1s 1h") as broker, Caller(broker.address) as caller:
        await caller.send("T", b"after", DELAY=1)
        found = await caller.until("T", 3 if offset <= 0 else 2)
    assert found[-1].body == b"after"


async def test_b023_a_clean_stop_in_the_middle_of_delivery_delivers_nothing_twice(tmp_path: Path) -> None:
    """3,000 instead of 100,000; in full in tests/soak."""
    await stopped_among_delayed(tmp_path, 3000)


async def stopped_among_delayed(store: Path, count: int) -> None:
    """Have so many messages wait for one level, stop the broker when the first of them is there, and start it again."""
    settings: dict[str, Any] = {"store": store, "message_delay_level": "1s"}
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        for first in range(0, count, 3000):
            some = range(first, min(first + 3000, count))
            await asyncio.gather(*(caller.send("T", b"%d" % each, each % 4, DELAY=1) for each in some))
        await wait_for_levels(caller, 1)
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        await wait_for_levels(caller, count)
        bodies = Counter([each.body for queue in range(4) for each in await caller.messages("T", queue)])
    assert bodies == {b"%d" % number: 1 for number in range(count)}


async def test_messages_are_delivered_after_their_level_and_in_order() -> None:
    async with Broker(message_delay_level="1s 2s") as broker, Caller(broker.address) as caller:
        await caller.send("T", b"late", DELAY=2)
        for number in range(3):
            await caller.send("T", b"%d" % number, DELAY=1)
        found = await caller.until("T", 4)
    assert [each.body for each in found] == [b"0", b"1", b"2", b"late"]
    assert all(each.store_timestamp_ms - each.born_timestamp_ms >= 1000 for each in found)


async def stored_at(caller: Caller, **more: Any) -> str:
    answer = await caller.send("T", b"fails", UNIQ_KEY="U", **more)
    found = decode_offset_msg_id((answer.ext_fields or {})["msgId"] or "")
    assert found is not None
    return str(found.commit_log_offset)


async def test_b027_a_message_that_is_given_up_is_not_delayed() -> None:
    """By its level, by the group's limit, and by the count of a consumer that sends it itself."""
    async with Broker() as broker, Caller(broker.address) as caller:
        back = {"group": "g", "delayLevel": "18", "offset": await stored_at(caller)}
        await caller.ok(36, back | {"delayLevel": "-1"})
        await caller.ok(36, back | {"maxReconsumeTimes": "0"})
        answer = await caller.send("%RETRY%g", b"fails", j=17, l=16, DELAY=18, RETRY_TOPIC="T")
        assert answer.code == 0
        dead = await caller.until(DEAD, 3)
    assert [each.properties["DELAY"] for each in dead] == ["0", "0", "-1"]
    assert [each.reconsume_times for each in dead] == [1, 1, 17]


async def test_a_failed_message_comes_again_and_is_given_up_in_the_end() -> None:
    async with Broker(message_delay_level=FAST) as broker, Caller(broker.address) as caller:
        offset = await stored_at(caller)
        for times in range(1, 4):
            back = {"group": "g", "delayLevel": "0", "offset": offset, "maxReconsumeTimes": "2"}
            await caller.ok(36, back)
            topic = DEAD if times == 3 else "%RETRY%g"
            record = (await caller.until(topic, 1 if times == 3 else times))[-1]
            offset = str(record.commit_log_offset)
            assert (record.reconsume_times, record.properties["RETRY_TOPIC"], record.msg_id) == (times, "T", "U")


async def half(caller: Caller, body: bytes = b"half", sys_flag: int = 4, **more: Any) -> dict[str, str | None]:
    """Store a half message, and give the fields of its end."""
    answer = await caller.send("T", body, f=sys_flag, TRAN_MSG="true", PGROUP="pg", UNIQ_KEY="U", **more)
    fields = answer.ext_fields or {}
    found = decode_offset_msg_id(fields["msgId"] or "")
    assert answer.code == 0
    assert found is not None
    return {
        "producerGroup": "pg", "tranStateTableOffset": fields["queueOffset"], "msgId": "U",
        "commitLogOffset": str(found.commit_log_offset),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "delivered"),
    [(("8", "8"), 1), (("8", "12"), 1), (("12", "8"), 0), (("12", "12"), 0), (("8", "8", "8"), 1)],
)
async def test_b033_the_first_decision_stands(tmp_path: Path, ends: tuple[str, ...], delivered: int) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        end = await half(caller)
        await asyncio.gather(*(caller.ok(37, end | {"commitOrRollback": each}) for each in ends))
        assert len(await caller.messages("T")) == delivered
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.ok(37, end | {"commitOrRollback": "8"})
        assert len(await caller.messages("T")) == delivered


async def test_a_half_message_survives_a_restart_and_is_committed_then(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        end = await half(caller)
        assert await caller.messages("T") == []
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.ok(37, end | {"commitOrRollback": "8"})
        (record,) = await caller.messages("T")
    assert (record.body, record.sys_flag & 12) == (b"half", 8)


CHECKING: dict[str, Any] = {"transaction_time_out": 10, "transaction_check_interval": 50}


async def test_b030_a_compressed_half_message_stays_as_it_was_sent() -> None:
    plain = b"compress me " * 1000
    body = zlib.compress(plain)
    async with Broker(**CHECKING) as broker, Caller(broker.address) as caller:
        await caller.heartbeat("g", producer="pg")
        await half(caller, body, sys_flag=4 | 1)
        checks = await caller.next_heard(39, 4)
        for check in checks:
            shown, _ = decode_record(check.body)
            assert (shown.topic, shown.sys_flag, zlib.decompress(shown.body), shown.is_intact) == ("T", 1, plain, True)
        assert [decode_record(each.body)[0].properties["TRANSACTION_CHECK_TIMES"] for each in checks[:4]] == list(
            "1234"
        )
        await caller.ok(37, commit_of(checks[-1].ext_fields or {}))
        (record,) = await caller.messages("T")
    assert (record.body, record.is_intact) == (body, True)


def commit_of(check: object) -> dict[str, str | None]:
    """Give the fields of the commit that answers a check."""
    assert isinstance(check, dict)
    return {
        "producerGroup": "pg", "commitOrRollback": "8", "fromTransactionCheck": "true", "msgId": check["msgId"],
        "tranStateTableOffset": check["tranStateTableOffset"], "commitLogOffset": check["commitLogOffset"],
    }  # fmt: skip


async def test_b032_one_that_has_ended_is_not_asked_about(tmp_path: Path) -> None:
    async with Broker(store=tmp_path, **CHECKING) as broker, Caller(broker.address) as caller:
        for number in range(20):
            end = await half(caller, b"%d" % number)
            await caller.ok(37, end | {"commitOrRollback": "8" if number % 2 else "12"})
        await caller.heartbeat("g", producer="pg")
        await half(caller, b"open")
        (check, *_) = await caller.next_heard(39)
        assert decode_record(check.body)[0].body == b"open"
        await caller.ok(37, commit_of(check.ext_fields or {}))
        assert {decode_record(each.body)[0].body for each in caller.heard if each.code == 39} == {b"open"}
    kept = json.loads(quoted((tmp_path / "config" / "consumerOffset.json").read_text(encoding="utf-8")))["offsetTable"]
    half_end = kept["RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS"]["0"]
    assert half_end >= 21


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize(("decision", "delivered"), [("8", 1), ("12", 0)])
async def test_b032_an_end_that_comes_after_the_check_counts(
    tmp_path: Path, decision: str, delivered: int, *, is_restarted: bool
) -> None:
    """It names the half message as it was before it was asked about. Nobody is asked afterwards, and it comes once."""
    settings: dict[str, Any] = {"store": tmp_path, "transaction_time_out": 10, "transaction_check_interval": 200}
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        await caller.heartbeat("g", producer="pg")
        end = await half(caller, b"late")
        await caller.next_heard(39, 2)
        if not is_restarted:
            await caller.ok(37, end | {"commitOrRollback": decision})
            asked = len([each for each in caller.heard if each.code == 39])
            await half(caller, b"open")
            while decode_record((await caller.next_heard(39, asked + 1))[-1].body)[0].body != b"open":
                asked += 1
            assert len(await caller.messages("T")) == delivered
    if is_restarted:
        async with Broker(**settings) as broker, Caller(broker.address) as caller:
            await caller.ok(37, end | {"commitOrRollback": decision})
            assert len(await caller.messages("T")) == delivered
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        await caller.ok(37, end | {"commitOrRollback": "8"})
        assert len(await caller.messages("T")) == delivered


def quoted(text: str) -> str:
    """Put quotes around bare keys."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(
        f'"{line.partition(":")[0]}":{line.partition(":")[2]}' if line[:1].isdigit() else line for line in lines
    )


async def test_b029_a_half_message_that_cannot_be_asked_about_does_not_stop_the_others() -> None:
    async with Broker(**CHECKING, transaction_check_max=2) as broker, Caller(broker.address) as caller:
        await caller.heartbeat("g", producer="pg")
        await caller.send("T", b"poison", f=4, TRAN_MSG="true", UNIQ_KEY="P", PGROUP="x" * 30_000)
        await caller.send("T", b"nobody", f=4, TRAN_MSG="true", UNIQ_KEY="N", PGROUP="never there")
        await half(caller, b"good")
        (check, *_) = await caller.next_heard(39)
        assert decode_record(check.body)[0].body == b"good"
        given_up = await caller.until("TRANS_CHECK_MAX_TIME_TOPIC", 3)
    assert {each.body for each in given_up} == {b"poison", b"nobody", b"good"}
