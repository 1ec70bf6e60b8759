"""What old messages and a full disk mean for who sends and who reads (B018, B038, B039, B040)."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller
from tests.support.full_disk import FullDisk, full_disk

from cosmodrome import Broker
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.errors import ConfigError

WITHIN_S = 20.0
SMALL: dict[str, Any] = {"mapped_file_size_commit_log": 16_384, "mapped_file_size_consume_queue": 400}
CLEANED: dict[str, Any] = {**SMALL, "file_reserved_time": 0, "delete_when": ""}
"""With these, who asks for old messages to be deleted has all but the last file deleted."""


@pytest.fixture
def disk() -> Iterator[FullDisk]:
    with full_disk() as disk:
        yield disk


async def until_answered(caller: Caller, code: int) -> None:
    """Send until that is answered with a code."""
    async with asyncio.timeout(WITHIN_S):
        while (await caller.send("T")).code != code:
            assert not await caller.messages("none")


async def fill(caller: Caller, count: int, topic: str = "T", size: int = 1000) -> None:
    for _ in range(count):
        assert (await caller.send(topic, b"x" * size)).code == 0


async def least(caller: Caller, topic: str = "T") -> int:
    return int(((await caller.ok(31, {"topic": topic, "queueId": "0"})).ext_fields or {})["offset"] or 0)


async def test_b038_a_full_disk_is_noticed_while_old_files_are_being_deleted_slowly(disk: FullDisk) -> None:
    """A removal that takes for ever: sends are refused, reading goes on, and when there is room again sends do too."""
    disk.is_slow = True
    async with Broker(**CLEANED) as broker, Caller(broker.address) as caller, Caller(broker.address) as asker:
        await fill(caller, 60)
        asked = asyncio.create_task(asker.ok(329))
        await asyncio.to_thread(disk.waiting.wait, WITHIN_S)
        low = await least(caller)
        assert low > 0, "what is being deleted is out of sight"
        for percent in range(74, 92, 2):
            disk.used = percent / 100
        disk.used = 0.93
        await until_answered(caller, 14)
        refusal = await caller.send("T")
        assert (await caller.pull("T", low)).code == 0
        assert (await caller.pull("T", 0)).code == 21
        assert not asked.done(), "the cleaner is still at it"
        disk.used = 0.5
        await until_answered(caller, 0)
        disk.go.set()
        await asked
        assert await least(caller) > low
    assert "the broker's disk is full [CL:  0.93 CQ:  0.93 INDEX:  0.93]" in (refusal.remark or "")


async def test_b039_a_refusal_names_the_path_the_use_the_limit_and_the_setting(
    disk: FullDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Broker(store=tmp_path, disk_space_warning_level_ratio=88) as broker, Caller(broker.address) as caller:
        disk.used = 0.89
        await until_answered(caller, 14)
        remark = (await caller.send("T")).remark or ""
    for text in (str(tmp_path / "commitlog"), "89%", "88%", "diskSpaceWarningLevelRatio"):
        assert text in remark
        assert text in caplog.text


@pytest.mark.parametrize("ratio", [0, -1, 150])
def test_b039_a_ratio_that_is_none_is_refused_at_the_start(ratio: int) -> None:
    with pytest.raises(ConfigError, match="diskMaxUsedSpaceRatio"):
        BrokerConfig(disk_max_used_space_ratio=ratio)


def test_b039_a_ratio_is_a_number_of_percent() -> None:
    assert BrokerConfig.of_java({"diskMaxUsedSpaceRatio": "75"}).disk_max_used_space_ratio == 75
    with pytest.raises(ConfigError, match=r"diskMaxUsedSpaceRatio '0\.75' is not a number"):
        BrokerConfig.of_java({"diskMaxUsedSpaceRatio": "0.75"})
    with pytest.raises(ConfigError, match="do not ascend"):
        BrokerConfig(disk_max_used_space_ratio=99)


async def test_b039_status_shows_when_the_next_deletion_is_due_and_why_not_now(disk: FullDisk) -> None:
    async def outlook(caller: Caller) -> str:
        return str(json.loads((await caller.ok(28)).body)["table"]["messageDeletion"])

    async with Broker(**SMALL) as broker, Caller(broker.address) as caller:
        assert await outlook(caller) == "never while the log has one file"
        await fill(caller, 40)
        waiting = await outlook(caller)
        disk.used = 0.86
        due = await outlook(caller)
    for text in ("kept until", "fileReservedTime", "hour 04", "75%", "now 10%", "diskSpaceCleanForciblyRatio"):
        assert text in waiting
    assert due.startswith("at the next look")


async def test_b039_with_one_file_nothing_is_deleted_however_full_the_disk_is(disk: FullDisk) -> None:
    disk.used = 0.89
    async with Broker(**CLEANED) as broker, Caller(broker.address) as caller:
        await fill(caller, 5)
        await caller.ok(329)
        assert await least(caller) == 0
        assert len(await caller.messages("T")) == 5


async def test_b039_a_path_that_is_missing_is_made(tmp_path: Path) -> None:
    async with Broker(store=tmp_path / "deep" / "store") as broker, Caller(broker.address) as caller:
        assert (await caller.send("T")).code == 0


async def test_b040_a_group_whose_messages_were_deleted_is_named_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A group that is far behind, and one that is not."""
    caplog.set_level(logging.WARNING)
    async with Broker(**CLEANED) as broker, Caller(broker.address) as caller:
        await fill(caller, 100)
        for group, offset in (("slow", 3), ("quick", 100)):
            await caller.heartbeat(group)
            await caller.ok(15, {"consumerGroup": group, "topic": "T", "queueId": "0", "commitOffset": str(offset)})
        await caller.ok(329)
        low = await least(caller)
        lost = {"statsName": "GROUP_LOST_NUMS"}
        counted = json.loads((await caller.ok(315, lost | {"statsKey": "T@slow"})).body)
        assert (await caller.ask(315, lost | {"statsKey": "T@quick"})).code == 1
        answer = await caller.pull("T", 3, consumerGroup="slow")
        assert (answer.code, (answer.ext_fields or {})["nextBeginOffset"]) == (21, str(low))
        assert (await caller.pull("T", low, consumerGroup="slow")).code == 0
    assert low > 3
    assert counted["statsDay"]["sum"] == low - 3
    lines = [each.message for each in caplog.records if "has lost" in each.message]
    told = [int(line.split("has lost ")[1].split()[0]) for line in lines]
    assert sum(told) == low - 3
    assert all(line.startswith("group slow has lost") and "topic T, queue 0" in line for line in lines)


ROUNDS = 4


async def test_b018_topics_come_and_go_while_others_write_read_and_clean(tmp_path: Path) -> None:
    """Some rounds instead of ten minutes; in full in tests/soak."""
    await come_and_gone(tmp_path, ROUNDS)


async def come_and_gone(store: Path, rounds: int) -> None:
    """Make, fill and delete topics in a loop, with senders and readers on them and on others."""
    async with (
        Broker(store=store, **CLEANED) as broker,
        Caller(broker.address) as caller,
        Caller(broker.address) as sender,
        Caller(broker.address) as reader,
    ):
        is_over = asyncio.Event()
        sent = 0

        async def send() -> None:
            nonlocal sent
            while not is_over.is_set():
                assert (await sender.send("Lasting", b"%d" % sent)).code == 0
                sent += 1
                assert (await sender.send("Passing", b"x" * 500)).code in (0, 17)

        async def read() -> None:
            while not is_over.is_set():
                for topic in ("Passing", "Lasting"):
                    answer = await reader.pull(topic, 0)
                    assert answer.code in (0, 17, 19, 20, 21), answer

        tasks = [asyncio.create_task(send()), asyncio.create_task(read())]
        for _ in range(rounds):
            await fill(caller, 30, "Passing", 500)
            answers = [await caller.pull("Passing", number) for number in range(0, 30, 7)]
            await caller.ok(329)
            await caller.ok(215, {"topic": "Passing"})
            assert all(each.code in (0, 17, 19, 21) for each in answers)
        is_over.set()
        await asyncio.gather(*tasks)
        await caller.ok(215, {"topic": "Passing"})
        assert not (store / "consumequeue" / "Passing").exists()
        low = await least(caller, "Lasting")
        found, offset = [], low
        while (answer := await caller.pull("Lasting", offset)).code == 0:
            found += [each.body for each in caller.records(answer)]
            offset = int((answer.ext_fields or {})["nextBeginOffset"] or 0)
    assert found == [b"%d" % number for number in range(low, sent)]
    left = sorted(path.name for path in (store / "commitlog").iterdir())
    assert len(left) < 5, "nothing is left behind"
