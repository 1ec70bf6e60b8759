"""SQL filters of a broker, and timer messages of a whole one (C063, C064, B023, B027, B037)."""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller

from cosmodrome import Broker, LitePullConsumer, Message, NameServer, Producer, Sql
from cosmodrome.errors import RefusedError
from cosmodrome.protocol.messages.record import decode_records
from cosmodrome.protocol.messages.tag_hash import java_hash
from cosmodrome.protocol.subscription import SQL92

SQL: dict[str, Any] = {"enable_property_filter": True}
WRONG = ["a >", "a = NULL", "a = 'x' AND", "Tag=test AND x=", "a | b", "", "*", " a || b ", "(" * 100 + "a"]


def sql(text: str, **more: str) -> dict[str, Any]:
    return {"subscription": text, "expressionType": SQL92, **more}


def checked(text: str, kind: str = SQL92) -> bytes:
    subscription = {"topic": "T", "subString": text, "subVersion": 1, "expressionType": kind}
    return json.dumps({"clientId": "c", "group": "g", "subscriptionData": subscription}).encode()


@pytest.mark.parametrize("text", WRONG)
async def test_c063_a_broken_expression_is_answered_23_and_never_all_messages(text: str) -> None:
    async with Broker(**SQL) as broker, Caller(broker.address) as caller:
        await caller.send("T", b"m", A="x")
        pulled = await caller.pull("T", **sql(text))
        assert (pulled.code, pulled.remark, pulled.body) == (23, "parse the consumer's subscription failed", b"")
        answer = await caller.ask(46, {}, checked(text))
        assert answer.code == 23
        assert answer.remark


async def test_c063_with_the_switch_off_sql_is_refused_in_words() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T", b"m", A="x")
        for answer in (await caller.pull("T", **sql("A = 'x'")), await caller.ask(46, {}, checked("a = 'x'"))):
            assert (answer.code, answer.remark) == (
                1,
                "The broker does not support consumer to filter message by SQL92",
            )


async def test_c063_a_consumer_of_ours_is_told_at_its_start() -> None:
    async with NameServer(port=0) as servers, Broker(namesrv=servers.address, **SQL) as broker:
        async with Caller(broker.address) as caller:
            await caller.send("T", b"m")
        with pytest.raises(RefusedError, match="Encountered the end at line 1, column 4"):
            await LitePullConsumer(group="g", namesrv=servers.address, subscriptions={"T": Sql("a >")}).start()


async def test_sql_chooses_by_properties_tags_and_keys_in_every_pull() -> None:
    async with Broker(**SQL) as broker, Caller(broker.address) as caller:
        for number in range(10):
            await caller.send("T", b"%d" % number, N=number, TAGS="even" if number % 2 == 0 else "odd")
        for code in (11, 361):
            fields = {"consumerGroup": "g", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32"}
            fields |= {"sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0"}
            answer = await caller.ok(code, fields | sql("N BETWEEN 3 AND 8 AND TAGS = 'even' AND UNIQ_KEY IS NOT NULL"))
            assert [each.body for each in decode_records(answer.body)] == [b"4", b"6", b"8"]


@pytest.mark.parametrize("how", [sql("N = 1"), {"subscription": "wanted", "expressionType": "TAG"}])
async def test_b037_a_filtered_reader_goes_through_a_backlog_without_a_pause(how: dict[str, Any]) -> None:
    """2,000 messages instead of 100,000, of which four match; in full in tests/soak."""
    await gone_through(how, 2000)


async def gone_through(how: dict[str, Any], count: int) -> None:
    """Store so many messages, of which each 500th matches, and read those."""
    async with Broker(**SQL) as broker, Caller(broker.address) as caller:
        for at in range(0, count, 500):
            more: Iterator[dict[str, Any]] = (
                {"N": 1, "TAGS": "wanted"} if number == 0 else {"N": 2, "TAGS": "other"} for number in range(500)
            )
            await asyncio.gather(*(caller.send("T", b"%d" % (at + i), **each) for i, each in enumerate(more)))
        found: list[bytes] = []
        offset, answers = 0, 0
        while len(found) < count // 500:
            answer = await caller.pull("T", offset, sysFlag="6", suspendTimeoutMillis="15000", **how)
            assert answer.code in (0, 20), "it is not held while there is something to read"
            found += [each.body for each in decode_records(answer.body)] if answer.code == 0 else []
            offset = int((answer.ext_fields or {})["nextBeginOffset"] or 0)
            answers += 1
        assert answers <= count / 800 + len(found) + 1


async def test_b037_a_reader_that_waits_is_woken_by_what_it_wants_only() -> None:
    async with Broker(**SQL) as broker, Caller(broker.address) as caller:
        await caller.send("T", b"before", N=0)
        held = asyncio.create_task(caller.pull("T", 1, sysFlag="6", suspendTimeoutMillis="15000", **sql("N > 5")))
        for number in range(20):
            await caller.send("T", b"no", N=number % 5)
        await caller.ask(30, {"topic": "T", "queueId": "0"})
        assert not held.done()
        await caller.send("T", b"yes", N=6)
        answer = await held
        assert (answer.code, [each.body for each in decode_records(answer.body)]) == (0, [b"yes"])


async def test_a_heartbeat_may_bring_the_expression() -> None:
    subscription = {"topic": "T", "subString": "N = 1", "subVersion": 1, "expressionType": SQL92}
    consumer = {
        "groupName": "h", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [subscription],
    }  # fmt: skip
    data = {"clientID": "c@1", "producerDataSet": [], "consumerDataSet": [consumer]}
    async with Broker(**SQL) as broker, Caller(broker.address) as caller:
        for number in range(3):
            await caller.send("T", b"%d" % number, N=number)
        await caller.ok(34, {}, json.dumps(data).encode())
        answer = await caller.pull("T", consumerGroup="h", sysFlag="0", subVersion="1")
        assert [each.body for each in decode_records(answer.body)] == [b"1"]
        subscription |= {"subString": "N =", "subVersion": 2}
        await caller.ok(34, {}, json.dumps(data).encode())
        answer = await caller.pull("T", consumerGroup="h", sysFlag="0", subVersion="2")
        assert (answer.code, answer.body) == (27, b"")


async def test_our_producer_times_and_recalls_and_our_consumer_chooses_by_sql() -> None:
    settings = {**SQL, "recall_message_enable": True, "timer_precision_ms": 100}
    found: list[bytes] = []
    async with (
        NameServer(port=0) as servers,
        Broker(namesrv=servers.address, **settings),
        Producer(group="p", namesrv=servers.address) as producer,
    ):
        for number in range(4):
            await producer.send(Message(topic="T", body=b"%d" % number, properties={"n": str(number)}, delay=0.3))
        result = await producer.send(Message(topic="T", body=b"back", properties={"n": "2"}, delay=2.0))
        assert await producer.recall("T", result.recall_handle or "") == result.msg_id
        await producer.send(Message(topic="T", body=b"last", properties={"n": "2"}, delay=2.2))
        wanted = {"T": Sql("n > 1")}
        async with LitePullConsumer(group="g", namesrv=servers.address, subscriptions=wanted) as consumer:
            async with asyncio.timeout(30):
                while b"last" not in found:
                    found += [each.body for each in await consumer.poll(1)]
    assert sorted(found) == [b"2", b"3", b"last"]


@pytest.mark.parametrize("wanted", ["Aa", "BB", "AaAa", "BBBB", "\u4e2d\u6587", "\U0001f600", "Aa || \U0001f600"])
async def test_c064_tags_of_one_hash_are_told_apart(wanted: str) -> None:
    """Aa and BB have one hash in Java, as have AaAa and BBBB; the broker's own pulls go by the hash, the client by the text."""
    tags = ("Aa", "BB", "AaAa", "BBBB", "\u4e2d\u6587", "\U0001f600")
    chosen = [tag.strip() for tag in wanted.split("||")]
    found: list[str | None] = []
    async with (
        NameServer(port=0) as servers,
        Broker(namesrv=servers.address) as broker,
        Caller(broker.address) as caller,
    ):
        for tag in tags * 2:
            await caller.send("T", tag.encode(), TAGS=tag)
        passed = await caller.pull("T", subscription=wanted)
        hashes = {java_hash(tag) for tag in chosen}
        assert [each.tag for each in decode_records(passed.body)] == [
            tag for tag in tags * 2 if java_hash(tag) in hashes
        ]
        async with LitePullConsumer(group="g", namesrv=servers.address, subscriptions={"T": wanted}) as consumer:
            async with asyncio.timeout(20):
                while len(found) < 2 * len(chosen):
                    found += [each.tag for each in await consumer.poll(1)]
            found += [each.tag for each in await consumer.poll(0.2)]
    assert sorted(map(str, found)) == sorted(chosen * 2)


async def all_of(caller: Caller) -> Counter[bytes]:
    return Counter([each.body for queue in range(4) for each in await caller.messages("T", queue)])


async def test_b023_a_broker_that_stops_among_timers_delivers_nothing_twice(tmp_path: Path) -> None:
    """1,200 instead of 100,000 are due at once; in full in tests/soak."""
    await stopped_among_timers(tmp_path, 1200, in_s=3)


async def stopped_among_timers(store: Path, count: int, in_s: int) -> None:
    """Have so many messages due in one moment, stop the broker when the first of them is there, and start it again."""
    settings: dict[str, Any] = {"store": store, "timer_precision_ms": 100, "mapped_file_size_commit_log": 8_388_608}
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        due_ms = time.time_ns() // 1_000_000 + in_s * 1000
        for first in range(0, count, 2000):
            some = range(first, min(first + 2000, count))
            await asyncio.gather(*(caller.send("T", b"%d" % each, each % 4, TIMER_DELIVER_MS=due_ms) for each in some))
        async with asyncio.timeout(30 + in_s):
            while not await ends(caller):
                await caller.ask(31, {"topic": "T", "queueId": "0"})
    async with Broker(**settings) as broker, Caller(broker.address) as caller:
        async with asyncio.timeout(30 + count / 500):
            while await ends(caller) < count:
                await caller.ask(31, {"topic": "T", "queueId": "0"})
        bodies = await all_of(caller)
    assert bodies == {b"%d" % number: 1 for number in range(count)}


async def ends(caller: Caller) -> int:
    """Give how many messages the queues of the topic have."""
    answers = [await caller.ok(30, {"topic": "T", "queueId": str(each)}) for each in range(4)]
    return sum(int((each.ext_fields or {})["offset"] or 0) for each in answers)


ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if set del msg, "
    "the delay time should be bigger than the current time"
)


@pytest.mark.parametrize(
    ("properties", "code", "remark"),
    [
        ({"TIMER_DELAY_SEC": "abc"}, 13, ILLEGAL),
        ({"TIMER_DELAY_SEC": 259_201}, 13, ILLEGAL),
        ({"TIMER_DELAY_MS": 10**30}, 13, ILLEGAL),
        ({"TIMER_DELIVER_MS": 10**18}, 13, ILLEGAL),
        ({"TIMER_DELAY_SEC": -1, "TIMER_DEL_UNIQKEY": "x"}, 13, ILLEGAL),
        ({"TIMER_DELAY_SEC": 5, "TRAN_MSG": "true"}, 13, "a transaction message cannot be a timer message"),
    ],
)
async def test_a_timer_message_that_cannot_be_is_refused(properties: dict[str, Any], code: int, remark: str) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        answer = await caller.send("T", b"m", **properties)
        assert (answer.code, answer.remark) == (code, remark)
        assert (answer.ext_fields or {})["MSG_REGION"] == "DefaultRegion"
        assert await caller.messages("rmq_sys_wheel_timer") == []


@pytest.mark.parametrize(
    ("properties", "topic"),
    [
        ({"TIMER_DELAY_SEC": 259_200}, "rmq_sys_wheel_timer"),
        ({"TIMER_DELAY_SEC": "+60"}, "rmq_sys_wheel_timer"),
        ({"TIMER_DELAY_SEC": -5}, "T"),
        ({"TIMER_DELIVER_MS": 1}, "T"),
        ({"TIMER_OUT_MS": 5, "TIMER_DELAY_SEC": 60}, "T"),
        ({"TIMER_DELAY_SEC": 60, "DELAY": 18}, "SCHEDULE_TOPIC_XXXX"),
    ],
)
async def test_a_timer_message_is_stored_where_apache_stores_it(properties: dict[str, Any], topic: str) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        answer = await caller.send("T", b"m", **properties)
        fields = answer.ext_fields or {}
        (record,) = await caller.messages(topic, 17 if topic.startswith("SCHEDULE") else 0)
        assert (answer.code, fields["queueId"], ("recallHandle" in fields)) == (0, "0", topic.startswith("rmq_sys"))
        assert ("TIMER_DELAY_SEC" in record.properties) == (
            "DELAY" not in properties and "TIMER_DELIVER_MS" not in properties
        )


async def test_b027_a_timer_message_that_is_given_up_is_not_delayed() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        answer = await caller.send("%RETRY%g", b"fails", j=17, l=16, TIMER_DELAY_SEC=3600, RETRY_TOPIC="T")
        assert answer.code == 0
        (dead,) = await caller.messages("%DLQ%g")
    assert (dead.body, dead.properties["DELAY"]) == (b"fails", "-1")


async def test_a_broker_without_timers_refuses_them_and_recalls() -> None:
    async with Broker(timer_wheel_enable=False) as broker, Caller(broker.address) as caller:
        answer = await caller.send("T", b"m", TIMER_DELAY_SEC=1)
        assert (answer.code, answer.remark) == (1, "accurate timer message is not enabled, timerWheelEnable is false")
        answer = await caller.ask(370, {"producerGroup": "pg", "topic": "T", "recallHandle": "x"})
        assert (answer.code, answer.remark) == (16, "recall failed, operation is forbidden")


async def test_a_recall_is_refused_in_apaches_words() -> None:
    async with Broker(recall_message_enable=True, broker_name="b") as broker, Caller(broker.address) as caller:
        handle = ((await caller.send("T", b"m", TIMER_DELAY_SEC=60, UNIQ_KEY="U")).ext_fields or {})[
            "recallHandle"
        ] or ""
        later = str(time.time_ns() // 1_000_000 + 10_000)

        async def asked(handle: str, topic: str = "T") -> tuple[int, str | None]:
            answer = await caller.ask(370, {"producerGroup": "pg", "topic": topic, "recallHandle": handle})
            assert (answer.ext_fields or {})["MSG_REGION"] == "DefaultRegion"
            return answer.code, answer.remark or (answer.ext_fields or {}).get("msgId")

        assert await asked(handle) == await asked(handle.rstrip("=")) == (0, "U")
        for bad in ("", "x", "\u00e9", encoded("v2 T b 5 U"), encoded("v1 T b 5"), encoded("v1 T b 5 U V")):
            assert await asked(bad) == (604, "recall handle is invalid")
        assert await asked(handle, "nothing") == (17, "recall failed, the topic[nothing] not exist")
        assert await asked(handle, "TBW102") == (604, "recall failed, topic not match")
        assert await asked(encoded(f"v1 T other {later} U")) == (604, "recall failed, broker service not available")
        for bad in ("5", "abc", "-5", "9" * 18):
            assert await asked(encoded(f"v1 T b {bad} U")) == (604, "recall failed, timestamp invalid")


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()
