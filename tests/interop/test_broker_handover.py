"""A store goes from our broker to Apache's and back, with topics, groups, offsets and what is delayed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.support.broker_calls import Caller

from cosmodrome import Broker

QUEUE: dict[str, str | None] = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
SIZES: dict[str, Any] = {
    "mapped_file_size_commit_log": 4_194_304,
    "mapped_file_size_consume_queue": 60_000,
    "max_hash_slot_num": 5000,
    "max_index_num": 20_000,
    "max_message_size": 1_000_000,
}


def java(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


async def committed(caller: Caller) -> str | None:
    return ((await caller.ok(14, QUEUE)).ext_fields or {})["offset"]


async def half_end(caller: Caller) -> dict[str, str | None]:
    """Store a half message, and give the fields of its commit."""
    answer = await caller.send("T", b"half", f=4, TRAN_MSG="true", PGROUP="pg", UNIQ_KEY="U")
    fields = answer.ext_fields or {}
    assert answer.code == 0
    return {
        "producerGroup": "pg", "tranStateTableOffset": fields["queueOffset"], "msgId": "U", "commitOrRollback": "8",
        "commitLogOffset": str(int((fields["msgId"] or "")[16:], 16)),
    }  # fmt: skip


@pytest.mark.parametrize("release", [V5_5, V4_9])
async def test_there_and_back(new_stage: StageMaker, tmp_path: Path, release: str) -> None:
    store = tmp_path / "store"
    ours: dict[str, Any] = {"store": store, "broker_cluster_name": CLUSTER, **SIZES}
    with new_stage(f"handover-{release}") as stage:
        name_server = await asyncio.to_thread(stage.name_server)
        async with Broker(**ours) as broker, Caller(broker.address) as caller:
            for number in range(5):
                assert (await caller.send("T", b"%d" % number)).code == 0
            await caller.heartbeat("g")
            await caller.ok(15, QUEUE | {"commitOffset": "3"})
            await caller.send("T", b"delayed", DELAY=3)
            end = await half_end(caller)
        settings = {java(name): str(value) for name, value in SIZES.items()}
        settings |= {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
        apache = stage.broker(
            BrokerSettings(release=release, name="broker-a", name_servers=[name_server.address], config=settings)
        )
        await asyncio.to_thread(apache.start)
        async with Caller(apache.address) as caller:
            assert [each.body for each in await caller.messages("T")][:5] == [b"%d" % number for number in range(5)]
            assert await committed(caller) == "3"
            await caller.ok(37, end)
            found = await caller.until("T", 7, within_s=40)
            assert sorted(each.body for each in found[5:]) == [b"delayed", b"half"]
            assert (await caller.send("T", b"from Apache")).code == 0
            await caller.ok(15, QUEUE | {"commitOffset": "8"})
            await caller.until("T", 8)
        await asyncio.to_thread(apache.stop)
        async with Broker(**ours) as broker, Caller(broker.address) as caller:
            found = await caller.messages("T")
            assert [each.body for each in found[:5]] == [b"%d" % number for number in range(5)]
            assert found[-1].body == b"from Apache"
            assert len(found) == 8, "nothing is delivered a second time"
            assert await committed(caller) == "8"
            await caller.ok(37, end)
            await caller.send("T", b"and on", DELAY=1)
            await caller.until("T", 9)
            assert [each.body for each in await caller.messages("T")][8:] == [b"and on"]
