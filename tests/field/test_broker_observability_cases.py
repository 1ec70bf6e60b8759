"""Field cases: what is seen of a broker that lives long."""

import gc
import json
from pathlib import Path
from typing import Final

from tests.support.broker_plane import broker_plane
from tests.support.full_disk import full_disk

ROUNDS: Final = 60
"""Of each kind; the case's 50,000 differ in nothing but their number."""
LAST: Final = 5
TOPIC: Final = {
    "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6", "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": "0", "order": "false",
}  # fmt: skip


async def test_b021_topics_and_groups_that_come_and_go_leave_no_series() -> None:
    async with broker_plane(audit_log="off") as seen:
        caller = seen.caller
        await caller.send("stays")

        async def one(number: int) -> None:
            topic, group = f"T{number}", f"g{number}"
            queue = {"consumerGroup": group, "topic": topic, "queueId": "0"}
            await caller.ok(17, TOPIC | {"topic": topic})
            await caller.ok(200, {}, json.dumps({"groupName": group}).encode())
            await caller.send(topic)
            await caller.pull(topic, consumerGroup=group)
            await caller.ok(15, queue | {"commitOffset": "1"})
            await caller.ok(207, {"groupName": group, "cleanOffset": "true"})
            await caller.ok(215, {"topic": topic})

        for number in range(LAST):
            await one(number)
        before = await seen.metrics()
        statistics = seen.broker.running_state.statistics
        counters, arrivals = len(statistics), len(statistics.arrivals)
        for number in range(LAST, ROUNDS):
            await one(number)
        gc.collect()
        after = await seen.metrics()

        assert before.keys() == after.keys()
        assert (len(statistics), len(statistics.arrivals)) == (counters, arrivals)
        assert after["rocketmq_messages_in_total{is_system=false,message_type=normal,topic=stays}"] == 1
        answer = await caller.ask(315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": f"T{ROUNDS - 1}"})
        assert answer.code != 0


async def test_b039_a_full_disk_is_told_to_whoever_sends_people_here(tmp_path: Path) -> None:
    with full_disk() as disk:
        async with broker_plane(store=tmp_path) as seen:
            assert await seen.ready() == (200, "ok\n")
            disk.used = 0.95
            found = await seen.until_ready_says(503)
            for text in ("messages are refused", str(tmp_path / "commitlog"), "95%", "diskSpaceWarningLevelRatio"):
                assert text in found
            assert (await seen.metrics())["rocketmq_broker_ready{}"] == 0
            disk.used = 0.5
            await seen.until_ready_says(200)
