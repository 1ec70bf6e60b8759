"""POP mode of a broker (B019, B035, B037), and what 5.5.0 was seen to do in it."""

import asyncio
import json
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller, send_fields
from tests.support.builders import eventually
from tests.support.popping import Popped, Popper

from cosmodrome import Broker, NameServer
from cosmodrome.protocol.messages.batch import BatchEntry, encode_batch

REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"


@asynccontextmanager
async def at_broker(store: Path | None = None, **settings: Any) -> AsyncIterator[Caller]:
    async with Broker(store=store, **settings) as broker, Caller(broker.address) as caller:
        yield caller


async def make_topic(caller: Caller, topic: str = "T", queues: int = 1) -> None:
    fields: dict[str, str | None] = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues),
        "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    await caller.ok(17, fields)


async def send_many(caller: Caller, count: int, tag: str, topic: str = "T") -> None:
    """Send messages of one tag, a thousand in a batch."""
    for first in range(0, count, 1000):
        entries = [
            BatchEntry(body=b"%d" % number, properties=f"TAGS\x01{tag}\x02".encode())
            for number in range(first, min(count, first + 1000))
        ]
        answer = await caller.ask(310, send_fields(topic, m="true"), encode_batch(entries))
        assert answer.code == 0, answer


def bodies(all_popped: list[Popped]) -> list[bytes]:
    return [each.body for each in all_popped]


def killed(store: Path, target: Path) -> Path:
    """Give a store as it would be if its broker were killed now; it may be writing a table."""
    return Path(shutil.copytree(store, target, ignore=shutil.ignore_patterns("*.tmp")))


async def revive_log(caller: Caller) -> list[tuple[str | None, dict[str, Any]]]:
    """Give the records of the revive topic: their tags and what they say."""
    records = [each for queue_id in range(8) for each in await caller.messages(REVIVE_TOPIC, queue_id)]
    return [(each.tag, json.loads(each.body)) for each in records]


async def committed(caller: Caller, topic: str, group: str, queue_id: int = 0) -> int:
    fields: dict[str, str | None] = {"topic": topic, "consumerGroup": group, "queueId": str(queue_id)}
    return int(((await caller.ok(14, fields)).ext_fields or {})["offset"] or "")


async def end_of(caller: Caller, topic: str, queue_id: int = 0) -> int:
    answer = await caller.ok(30, {"topic": topic, "queueId": str(queue_id)})
    return int((answer.ext_fields or {})["offset"] or "")


async def test_what_is_not_acknowledged_comes_again_and_what_is_does_not() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        for number in range(4):
            await caller.send("T", b"%d" % number, TAGS="A", KEYS=f"k{number}")
        popper = Popper(caller)
        first = await popper.pop(invisible_time=1000)
        assert bodies(first) == [b"0", b"1", b"2", b"3"]
        assert await popper.pop() == []
        assert (await popper.ack(first[0])).code == 0
        assert (await popper.ack_all(first[1:3])).code == 0
        again = await popper.wait(1)
        assert bodies(again) == [b"3"]
        message = again[0].message
        assert (message.topic, message.reconsume_times, message.tag) == ("T", 1, "A")
        assert message.properties["ORIGIN_GROUP"] == "g"
        assert message.properties["1ST_POP_TIME"] == first[0].receipt.split(" ")[1]
        assert message.properties["KEYS"] == "k3"
        assert again[0].topic == "%RETRY%g_T"
        assert (await popper.ack(again[0])).code == 0
        assert [tag for tag, _ in await revive_log(caller)] == ["ck", "ack", "bAck", "ack", "ck", "ack"]


async def test_a_message_that_nobody_handles_ends_among_the_dead_letters() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        await caller.ok(200, {}, json.dumps({"groupName": "g", "retryMaxTimes": 2}).encode())
        await caller.send("T", b"poison")
        popper = Popper(caller)
        seen = [(await popper.wait(1, invisible_time=100))[0].message.reconsume_times for _ in range(3)]
        assert seen == [0, 1, 2]
        dead = await caller.until("%DLQ%g", 1)
        assert (dead[0].body, dead[0].reconsume_times, dead[0].properties["RETRY_TOPIC"]) == (
            b"poison",
            3,
            "%RETRY%g_T",
        )
        assert await popper.pop(poll_time=300) == []


async def test_a_message_comes_again_at_the_time_that_was_asked_for_last() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        for number in range(2):
            await caller.send("T", b"%d" % number)
        popper = Popper(caller)
        first, second = await popper.pop()
        sooner = await popper.hide(first, 200)
        suspended = await popper.hide(second, 400, suspend="true")
        again = await popper.wait(1)
        assert (again[0].body, again[0].message.reconsume_times) == (b"0", 1)
        last = await popper.wait(1)
        assert (last[0].body, last[0].message.reconsume_times) == (b"1", 0), "it was not a failure"
        for old in (first, sooner, second, suspended):
            assert (await popper.ack(old)).code == 0, "an old receipt changes nothing"
            await popper.hide(old, 100)
        assert await popper.pop(poll_time=500) == []
        assert len([tag for tag, _ in await revive_log(caller) if tag == "ck"]) == 1 + 2 + 2


@pytest.mark.parametrize("end", ["killed", "stopped"])
async def test_receipts_outlive_a_restart(tmp_path: Path, end: str) -> None:
    """Nothing that was popped is popped a second time from its queue, whatever of the offsets was kept."""
    is_killed = end == "killed"
    settings: dict[str, Any] = {"flush_consumer_offset_interval": 600_000} if is_killed else {}
    settings |= {"mapped_file_size_commit_log": 1_048_576, "max_hash_slot_num": 500, "max_index_num": 2000}
    store = tmp_path / "first"
    async with at_broker(store, **settings) as caller:
        await make_topic(caller)
        for number in range(6):
            await caller.send("T", b"%d" % number)
        popper = Popper(caller)
        popped = await popper.pop(max_msg_nums=5, invisible_time=5000)
        assert (await popper.ack(popped[0])).code == 0
        later = await popper.hide(popped[1], 5000)
        if is_killed:
            killed(store, tmp_path / "second")
    async with at_broker(tmp_path / "second" if is_killed else store, **settings) as caller:
        popper = Popper(caller)
        assert bodies(await popper.pop()) == [b"5"]
        assert (await popper.ack(popped[2])).code == 0
        assert (await popper.ack(later)).code == 0
        again = await popper.wait(2)
        assert sorted(bodies(again)) == [b"3", b"4"]
        assert await popper.pop(poll_time=1000) == []


async def test_a_clean_stop_leaves_the_revive_topic_in_the_order_of_time(tmp_path: Path) -> None:
    """So an Apache broker, which reads it from the offset of its group on, finds every check point when it is due."""
    async with at_broker(tmp_path) as caller:
        await make_topic(caller)
        popper = Popper(caller)
        for number in range(16):
            await caller.send("T", b"%d" % number)
            (popped,) = await popper.pop(invisible_time=3_600_000 if number < 8 else 60_000 + number)
            if number % 2:
                await popper.ack(popped)
            else:
                await popper.hide(popped, 600_000 - 1000 * number)
    offsets = json.loads(
        (tmp_path / "config" / "consumerOffset.json").read_text().replace("\t", "").replace("\n", "")
        .replace("{0:", '{"0":').replace(",1:", ',"1":').replace(",2:", ',"2":').replace(",3:", ',"3":')
        .replace(",4:", ',"4":').replace(",5:", ',"5":').replace(",6:", ',"6":').replace(",7:", ',"7":')
    )  # fmt: skip
    done = offsets["offsetTable"][f"{REVIVE_TOPIC}@{REVIVE_GROUP}"]
    async with at_broker(tmp_path) as caller:
        for queue_id in range(8):
            records = await caller.messages(REVIVE_TOPIC, queue_id)
            left = [(each.tag, json.loads(each.body)) for each in records[done.get(str(queue_id), -1) + 1 :]]
            times = [point["reviveTime"] for tag, point in left if tag == "ck"]
            assert times == sorted(times)
            assert all(tag == "ck" for tag, _ in left), "what is acknowledged needs no record any more"


async def until_another_millisecond() -> None:
    """Receipts of one queue are told apart by the time of their pop."""
    begun_ms = time.time_ns() // 1_000_000
    await eventually(lambda: time.time_ns() // 1_000_000 > begun_ms, "the next millisecond")


async def test_messages_in_order_block_their_queue_until_they_are_done() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        for number in range(4):
            await caller.send("T", b"%d" % number)
        popper = Popper(caller)
        first = await popper.ask(order="true", max_msg_nums=2, attempt_id="a", invisible_time=60_000)
        fields = first.ext_fields or {}
        assert (fields["reviveQid"], fields["msgOffsetInfo"], fields["orderCountInfo"]) == ("999", "0 0 0,1", "0 0 0")
        assert await popper.pop(order="true", max_msg_nums=2) == []
        same = popper.ask(order="true", max_msg_nums=2, attempt_id="a", invisible_time=60_000)
        assert ((await same).ext_fields or {})["orderCountInfo"] == "0 0 0", "the same attempt gets the same messages"
        waiting = asyncio.create_task(popper.pop(order="true", max_msg_nums=2, poll_time=15_000))
        popped = await popper.pop(order="true", max_msg_nums=2, attempt_id="a")
        await until_another_millisecond()
        assert (await popper.ack(popped[1])).code == 0
        assert await committed(caller, "T", "g") == 0
        assert (await popper.ack(popped[0])).code == 0
        assert bodies(await waiting) == [b"2", b"3"]
        assert await committed(caller, "T", "g") == 2
        refused = await popper.ack(popped[0]._replace(offset=4, receipt=popped[0].receipt))
        assert refused.code == 0, "an old receipt changes nothing"


async def test_messages_in_order_come_again_in_order_and_say_how_often(tmp_path: Path) -> None:
    async with at_broker(tmp_path) as caller:
        await make_topic(caller)
        for number in range(2):
            await caller.send("T", b"%d" % number)
        popper = Popper(caller)
        popped = await popper.pop(order="true")
        await popper.hide(popped[0], 200)
        await popper.hide(popped[1], 100)
        again = await popper.ask(order="true", poll_time=15_000, invisible_time=60_000)
        assert (again.ext_fields or {})["orderCountInfo"] == "0 qo0%0 1;0 qo0%1 1;0 0 1"
    async with at_broker(tmp_path) as caller:
        assert await Popper(caller).pop(order="true") == [], "who has them has them still"


async def test_a_waiting_pop_is_woken_by_one_message_each() -> None:
    async with at_broker() as caller:
        await make_topic(caller, queues=4)
        popper = Popper(caller)
        waiting = [asyncio.create_task(popper.pop(poll_time=15_000)) for _ in range(3)]
        other = asyncio.create_task(Popper(caller, "other").pop(poll_time=15_000))
        held = {"consumerGroup": "g", "topic": "T", "queueId": "-1"}
        async with asyncio.timeout(10):
            count = None
            while count != "3":
                count = ((await caller.ok(200_055, held)).ext_fields or {})["pollingNum"]
        asking = held | {"consumerGroup": "third", "pollTime": "15000", "bornTime": "0"}
        notified = asyncio.create_task(caller.ok(200_054, asking))
        for number in range(3):
            await caller.send("T", b"%d" % number, number)
        assert sorted([body for each in waiting for body in bodies(await each)]) == [b"0", b"1", b"2"]
        assert len(await other) == 1
        assert ((await notified).ext_fields or {})["hasMsg"] == "true"
        assert ((await caller.ok(200_055, held)).ext_fields or {})["pollingNum"] == "0"


async def test_no_more_pops_wait_than_are_allowed() -> None:
    async with at_broker(pop_polling_size=1) as caller:
        await make_topic(caller)
        popper = Popper(caller)
        held = [asyncio.create_task(popper.ask(poll_time=300)) for _ in range(4)]
        codes = Counter([(await each).code for each in held])
        assert codes == {210: 2, 209: 2}, "Java holds one more than the setting says"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"max_msg_nums": 33}, 29), ({"topic": "nope"}, 17), ({"queue_id": 9}, 29), ({"born_time": 1, "poll_time": 5}, 210),
        ({"exp_type": "SQL92", "exp": "a >"}, 23), ({"exp_type": "XX", "exp": "a"}, 23), ({"exp": "||"}, 23),
        ({"invisible_time": 3 * 86_400_000 + 1}, 29), ({"consumer_group": "no good"}, 26), ({"init_mode": "x"}, 1),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused(change: dict[str, Any], code: int) -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        answer = await Popper(caller).ask(**change)
        assert answer.code == code, answer
        assert code == 1 or (answer.ext_fields or {})["popTime"] == "0"


@pytest.mark.parametrize(
    ("receipt", "queue_id", "offset", "code"),
    [
        ("x y", 0, 0, 1), ("0 1 2 3 0 broker-a 0 0", 7, 0, 13), ("0 1 2 3 0 broker-a 0 0", 0, 5, 208),
        ("0 99999999999999999999 2 3 0 broker-a 0 0", 0, 0, 1), ("0 1 2 3 0  0 0", 0, 0, 1), ("0 1 2 77 0 broker-a 0 0", 0, 0, 0),
    ],
)  # fmt: skip
async def test_a_receipt_is_believed_nothing(receipt: str, queue_id: int, offset: int, code: int) -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        await caller.send("T")
        fields: dict[str, str | None] = {
            "consumerGroup": "g", "topic": "T", "queueId": str(queue_id), "extraInfo": receipt, "offset": str(offset),
        }  # fmt: skip
        assert (await caller.ask(200_051, fields)).code == code
        assert await revive_log(caller) == []


@pytest.mark.parametrize("code", [200_050, 200_054, 200_055])
async def test_what_may_not_be_read_is_not_popped(code: int) -> None:
    fields: dict[str, str | None] = {
        "consumerGroup": "g", "topic": "T", "queueId": "-1", "maxMsgNums": "1", "invisibleTime": "1", "pollTime": "0",
        "bornTime": "0", "initMode": "0",
    }  # fmt: skip
    async with at_broker(broker_permission=2) as caller:
        await make_topic(caller)
        assert (await caller.ask(code, fields)).code == 16
    async with at_broker() as caller:
        topic: dict[str, str | None] = {"readQueueNums": "1", "writeQueueNums": "1", "perm": "2", "topic": "W"}
        await caller.ok(17, topic)
        assert (await caller.ask(code, fields | {"topic": "W"})).code == 16
        await make_topic(caller)
        await caller.ok(200, {}, json.dumps({"groupName": "g", "consumeEnable": False}).encode())
        assert (await caller.ask(code, fields)).code == 16
        assert (await caller.ask(code, fields | {"queueId": "7"})).code == 29
    async with at_broker(auto_create_subscription_group=False) as caller:
        await make_topic(caller)
        assert (await caller.ask(code, fields)).code == 26


async def test_who_waits_is_told_that_its_group_may_read_no_more() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        popper = Popper(caller)
        waiting = asyncio.create_task(popper.ask(poll_time=15_000))
        count = None
        while count != "1":
            asked = {"consumerGroup": "g", "topic": "T", "queueId": "-1"}
            count = ((await caller.ok(200_055, asked)).ext_fields or {})["pollingNum"]
        await caller.ok(200, {}, json.dumps({"groupName": "g", "consumeEnable": False}).encode())
        await caller.send("T")
        assert (await waiting).code == 16


async def test_several_messages_in_order_are_acknowledged_at_once() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        for number in range(3):
            await caller.send("T", b"%d" % number)
        popper = Popper(caller)
        popped = await popper.pop(order="true", max_msg_nums=2)
        assert (await popper.ack_all(popped)).code == 0
        assert await committed(caller, "T", "g") == 2
        third = await popper.pop(order="true")
        assert bodies(third) == [b"2"]
        await caller.send("T", b"3")
        wrong = third[0]._replace(offset=3)
        assert (await popper.ack(wrong)).code == 13
        late = popped[0]._replace(receipt=third[0].receipt)
        answer = await caller.ok(200_053, change_of(late, "5"))
        assert (answer.ext_fields or {})["popTime"] == "0", "it is done"


def change_of(popped: Popped, invisible_ms: str) -> dict[str, str | None]:
    return {
        "consumerGroup": "g", "topic": popped.topic, "queueId": str(popped.queue_id), "offset": str(popped.offset),
        "extraInfo": popped.receipt, "invisibleTime": invisible_ms,
    }  # fmt: skip


async def test_a_change_of_what_cannot_be_is_refused() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        await caller.send("T")
        (popped,) = await Popper(caller).pop()
        for wrong, code in (
            ({"queueId": "9"}, 13),
            ({"topic": "nope"}, 17),
            ({"offset": "1"}, 208),
            ({"extraInfo": "x"}, 1),
        ):
            assert (await caller.ask(200_053, change_of(popped, "5") | wrong)).code == code
        assert (await caller.ask(200_053, change_of(popped, str(3 * 86_400_000 + 1)))).code == 29


async def test_a_batch_of_acknowledgements_is_believed_nothing() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        await caller.send("T")
        assert (await caller.ask(200_151, {})).code == 208
        assert (await caller.ask(200_151, {}, b'{"acks":[]}')).code == 208
        ack: dict[str, Any] = {"c": "g", "t": "T", "r": "0", "so": 0, "q": 0, "rq": 0, "pt": 1, "it": 1, "b": "AQ=="}
        for change, code in (
            ({}, 0),
            ({"b": "!"}, 1),
            ({"so": 5}, 0),
            ({"t": "nope"}, 0),
            ({"q": "x"}, 1),
            ({"b": ""}, 0),
        ):
            body = json.dumps({"brokerName": "broker-a", "acks": [ack | change]}).encode()
            assert (await caller.ask(200_151, {}, body)).code == code, change
        assert await revive_log(caller) == []


async def test_pops_work_while_messages_wait_for_the_disk(tmp_path: Path) -> None:
    async with at_broker(tmp_path, flush_disk_type="SYNC_FLUSH") as caller:
        await make_topic(caller)
        await caller.send("T", b"safe")
        popper = Popper(caller)
        (popped,) = await popper.wait(1, invisible_time=300)
        (again,) = await popper.wait(1)
        assert (await popper.ack(popped)).code == (await popper.ack(again)).code == 0
    async with at_broker(tmp_path, flush_disk_type="SYNC_FLUSH") as caller:
        assert await Popper(caller).pop(poll_time=500) == []


async def test_b019_old_receipts_do_nothing_to_a_group_that_is_made_anew(tmp_path: Path) -> None:
    for is_clean in (True, False):
        async with at_broker(tmp_path) as caller:
            topic = f"T{is_clean}"
            await make_topic(caller, topic)
            for number in range(20):
                await caller.send(topic, b"%d" % number)
            popper = Popper(caller, topic=topic)
            old = await popper.pop(invisible_time=500)
            waiting = asyncio.create_task(popper.ask(poll_time=15_000))
            await caller.ok(200_055, {"consumerGroup": "g", "topic": topic, "queueId": "-1"})
            flag = {"cleanOffset": "true"} if is_clean else {}
            await caller.ok(207, {"groupName": "g"} | flag)
            await caller.ok(200, {}, json.dumps({"groupName": "g"}).encode())
            for number in range(10):
                await caller.send(topic, b"new%d" % number)
            waited = await waiting
            found = await popper.wait(10 if is_clean else 0) if waited.code != 0 else popper.messages(waited)
            while len(found) < 30 and (more := await popper.pop(poll_time=1200)):
                found += more
            counts = Counter(bodies(found))
            assert set(counts.values()) == {1}
            assert {b"new%d" % number for number in range(10)} <= set(counts)
            assert (b"0" in counts) == is_clean, "without the flag the offset holds, and old receipts do nothing"
            assert (await popper.ack(old[0])).code == 0


async def test_b019_b035_old_receipts_do_nothing_to_a_topic_that_is_made_anew(tmp_path: Path) -> None:
    async with at_broker(tmp_path) as caller:
        await make_topic(caller)
        popper = Popper(caller)
        for number in range(3):
            await caller.send("T", b"%d" % number)
        failed = await popper.pop(max_msg_nums=1, invisible_time=100)
        assert bodies(await popper.wait(3, invisible_time=100)) != []
        old = await popper.wait(1, invisible_time=300)
        waiting = asyncio.create_task(popper.ask(poll_time=15_000, topic="T"))
        await caller.ok(200_055, {"consumerGroup": "g", "topic": "T", "queueId": "-1"})
        await caller.ok(215, {"topic": "T"})
        assert (await waiting).code in (0, 17)
        await make_topic(caller)
        for number in range(10):
            await caller.send("T", b"new%d" % number)
        found = await popper.wait(10)
        assert sorted(bodies(found)) == sorted(b"new%d" % number for number in range(10))
        for each in (*failed, *old):
            assert (await popper.ack(each._replace(topic="T"))).code == 0
        assert await popper.pop(poll_time=700) == []
    async with at_broker(tmp_path) as caller:
        assert await Popper(caller).pop(poll_time=500) == [], "nor after a restart"


async def test_b035_acknowledging_everything_three_times_leaves_nothing(tmp_path: Path) -> None:
    async with at_broker(tmp_path, flush_consumer_offset_interval=50) as caller:
        await make_topic(caller)
        await send_many(caller, 1000, "A")
        popper = Popper(caller)
        popped = await popper.wait(1000)
        for _ in range(3):
            answers = await asyncio.gather(*(popper.ack(each) for each in popped))
            assert {each.code for each in answers} == {0}
        log = await revive_log(caller)
        assert Counter([tag for tag, _ in log]) == {"ck": len(log) - 1000, "ack": 1000}
        await all_done(caller)


async def all_done(caller: Caller) -> None:
    """Wait until the revive topic is done with to its end, queue by queue."""
    async with asyncio.timeout(60):
        for queue_id in range(8):
            end = await end_of(caller, REVIVE_TOPIC, queue_id)
            while end and await committed(caller, REVIVE_TOPIC, REVIVE_GROUP, queue_id) != end - 1:
                end = await end_of(caller, REVIVE_TOPIC, queue_id)


async def test_b035_very_many_changes_to_one_moment_delay_no_other_group() -> None:
    async with at_broker(flush_consumer_offset_interval=50) as caller:
        await make_topic(caller)
        await send_many(caller, 400, "A")
        popper, other = Popper(caller), Popper(caller, "other")
        popped = await popper.wait(400)
        hidden = await asyncio.gather(*(popper.hide(each, 600) for each in popped))
        assert len({each.receipt for each in hidden}) == 400
        again = asyncio.create_task(popper.wait(400))
        assert len(await other.wait(400)) == 400
        assert Counter(bodies(await again)) == Counter(bodies(popped))


@pytest.mark.parametrize(("kind", "expression"), [("TAG", "B"), ("SQL92", "TAGS = 'B'")])
async def test_b037_a_pop_goes_through_a_backlog_that_it_does_not_want(kind: str, expression: str) -> None:
    """One pop finds the one message that matches, behind very many that do not, with nobody to wake it."""
    async with at_broker() as caller:
        await make_topic(caller)
        await send_many(caller, 17_000, "A")
        await caller.send("T", b"wanted", TAGS="B")
        popper = Popper(caller)
        (popped,) = await popper.wait(1, exp=expression, exp_type=kind)
        assert popped.body == b"wanted"
        assert await committed(caller, "T", "g") == 17_001


async def test_b037_a_pop_is_not_woken_in_vain() -> None:
    async with at_broker() as caller:
        await make_topic(caller)
        popper = Popper(caller)
        waiting = asyncio.create_task(popper.ask(poll_time=15_000, exp="B"))
        await send_many(caller, 3000, "A")
        await caller.send("T", b"wanted", TAGS="B")
        answer = await waiting
        assert (answer.code, (answer.ext_fields or {})["msgOffsetInfo"]) == (0, "0 0 3000")


async def test_modes_and_assignments_outlive_a_restart_and_name_all_brokers(tmp_path: Path) -> None:
    async with NameServer(port=0) as name_server:
        settings: dict[str, Any] = {"namesrv": name_server.address}
        async with at_broker(broker_name="broker-b", **settings) as second:
            await make_topic(second, queues=2)
            async with at_broker(tmp_path, **settings) as caller:
                await make_topic(caller, queues=1)
                await caller.ok(401, {}, json.dumps({"topic": "T", "consumerGroup": "g", "mode": "POP"}).encode())
                assert (await caller.ask(401, {}, b'{"topic":"%RETRY%g","consumerGroup":"g"}')).code == 16
                assert (await caller.ask(401, {}, b'{"topic":"nope","consumerGroup":"g"}')).code == 17
            async with at_broker(tmp_path, **settings) as caller:
                assert await assignment(caller) is None, "nobody of the group is here"
                await caller.heartbeat("g")
                assert await assignment(caller) == [("broker-a", -1, "POP"), ("broker-b", -1, "POP")]
                assert await assignment(caller, group="other") is None
                await caller.heartbeat("other", client_id="c@2")
                assert await assignment(caller, group="other", client="c@2") == [
                    ("broker-a", 0, "PULL"), ("broker-b", 0, "PULL"), ("broker-b", 1, "PULL"),
                ]  # fmt: skip
                assert await assignment(caller, strategy="XX") is None
                assert await assignment(caller, topic="nope") is None


async def assignment(
    caller: Caller, topic: str = "T", group: str = "g", client: str = "c@1", strategy: str = "AVG"
) -> list[tuple[str, int, str]] | None:
    body = {
        "topic": topic, "consumerGroup": group, "clientId": client, "strategyName": strategy,
        "messageModel": "CLUSTERING",
    }  # fmt: skip
    answer = json.loads((await caller.ok(400, {}, json.dumps(body).encode())).body)
    found = answer.get("messageQueueAssignments")
    if found is None:
        return None
    queues = [(each["messageQueue"], each["mode"]) for each in found]
    return sorted((queue["brokerName"], queue["queueId"], mode) for queue, mode in queues)


async def offsets_are_saved(caller: Caller, store: Path) -> None:
    """Wait until the offsets of the group are on disk as they are: a kill repeats what was popped after the last save."""
    queues = [("T", 0), ("T", 1), ("%RETRY%g_T", 0)]
    now = {
        queue: await caller.ask(14, {"topic": queue[0], "consumerGroup": "g", "queueId": str(queue[1])})
        for queue in queues
    }
    wanted = {queue: (each.ext_fields or {})["offset"] for queue, each in now.items() if each.code == 0}

    def saved() -> dict[tuple[str, int], str | None]:
        file = store / "config" / "consumerOffset.json"
        text = re.sub(r"\s", "", file.read_text()) if file.exists() else ""
        found = {}
        for topic, queue_id in wanted:
            table = re.search(rf'"{re.escape(topic)}@g":\{{([^}}]*)\}}', text)
            offset = re.search(rf"(?:^|,){queue_id}:(\d+)", table[1]) if table else None
            found[topic, queue_id] = offset[1] if offset else None
        return found

    await eventually(lambda: saved() == wanted, "saved offsets")


class Life:
    """A group that pops, acknowledges, hides and forgets at random, while its broker is stopped and killed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.sent = 0
        self.done: Counter[bytes] = Counter()

    async def live(self, caller: Caller, steps: int) -> None:
        popper = Popper(caller)
        for _ in range(steps):
            step = self.random.choice(("send", "send", "forget", "handle", "handle"))
            if step == "send":
                await caller.send("T", b"%d" % self.sent, self.random.randrange(2))
                self.sent += 1
            elif step == "forget":
                await popper.pop(invisible_time=self.random.randrange(150), max_msg_nums=3)
            else:
                for popped in await popper.pop(max_msg_nums=self.random.randrange(1, 6)):
                    await self.handle(popper, popped)

    async def handle(self, popper: Popper, popped: Popped) -> None:
        """Acknowledge a message, at once or after it was hidden for another long time, or have it come again soon."""
        if self.random.random() < 0.3:
            await popper.hide(popped, self.random.randrange(150))
            return
        if self.random.random() < 0.3:
            popped = await popper.hide(popped, 50_000)
        assert (await popper.ack(popped)).code == 0
        self.done[popped.body] += 1

    async def end(self, caller: Caller) -> None:
        popper = Popper(caller)
        while len(self.done) < self.sent:
            for popped in await popper.pop(poll_time=15_000):
                assert (await popper.ack(popped)).code == 0
                self.done[popped.body] += 1
        assert await popper.pop(poll_time=500) == []


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_message_is_acknowledged_once_whatever_happens(tmp_path: Path, seed: int) -> None:
    """Through clean stops and kills, with receipts that are used, hidden and lost: nothing is lost, nothing done comes again."""
    settings: dict[str, Any] = {
        "mapped_file_size_commit_log": 1_048_576, "max_hash_slot_num": 500, "max_index_num": 2000,
        "flush_consumer_offset_interval": 30,
    }  # fmt: skip
    life = Life(seed, tmp_path)
    store = tmp_path / "0"
    for number in range(4):
        async with at_broker(store, **settings) as caller:
            if not number:
                await make_topic(caller, queues=2)
            await life.live(caller, 40)
            if life.random.random() < 0.5:
                await offsets_are_saved(caller, store)
                store = killed(store, tmp_path / str(number + 1))
    async with at_broker(store, **settings) as caller:
        await life.end(caller)
    assert life.done == {b"%d" % number: 1 for number in range(life.sent)}
