"""Timer messages of our broker: a store goes to Apache's 5.5.0 and back while they wait, and clients of both time and recall them."""

import asyncio
import struct
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.stage import Stage
from tests.interop.test_broker_handover import SIZES, java
from tests.support.broker_calls import Caller
from tests.support.waiting import wait_until

from cosmodrome import Broker
from cosmodrome.protocol.messages.record import StoredMessage

FILES: Final = ("timerwheel", "timerlog", "config/timercheck")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def apache_on(stage: Stage, store: Path, name_server: str) -> ApacheBroker:
    settings = {java(name): str(value) for name, value in SIZES.items()}
    settings |= {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    settings |= {"recallMessageEnable": "true"}
    return stage.broker(BrokerSettings(release=V5_5, name="broker-a", name_servers=[name_server], config=settings))


async def timed(caller: Caller, name: str, due_ms: int, **more: Any) -> str:
    """Send a timer message, and give its recall handle."""
    answer = await caller.send("T", name.encode(), TIMER_DELIVER_MS=due_ms, UNIQ_KEY=name.replace(" ", "-"), **more)
    assert answer.code == 0, answer
    return (answer.ext_fields or {}).get("recallHandle") or ""


async def recalled(caller: Caller, handle: str) -> None:
    answer = await caller.ok(370, {"producerGroup": "pg", "topic": "T", "recallHandle": handle})
    assert (answer.ext_fields or {})["MSG_REGION"] == "DefaultRegion"


def names(found: list[StoredMessage]) -> Counter[str]:
    return Counter(each.body.decode() for each in found)


def lateness_ms(found: list[StoredMessage]) -> dict[str, int]:
    return {each.body.decode(): each.store_timestamp_ms - int(each.properties["TIMER_DELIVER_MS"]) for each in found}


@pytest.mark.full
@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
async def test_timers_go_to_apache_and_back(new_stage: StageMaker, tmp_path: Path, is_killed: bool) -> None:  # noqa: FBT001
    """Some are delivered here, some there, some here again; one of each is recalled; a kill may repeat what was not saved."""
    store = tmp_path / "store"
    ours: dict[str, Any] = {"store": store, "broker_cluster_name": CLUSTER, "recall_message_enable": True, **SIZES}
    with new_stage(f"timers-{is_killed}") as stage:
        name_server = await asyncio.to_thread(stage.name_server)
        begin_ms = now_ms()
        async with Broker(**ours) as broker, Caller(broker.address) as caller:
            for number in range(20):
                await timed(caller, f"here {number}", begin_ms + 4000)
                await timed(caller, f"there {number}", begin_ms + 25_000 + number * 100)
                await timed(caller, f"back {number}", begin_ms + 70_000)
            await recalled(caller, await timed(caller, "recalled here", begin_ms + 26_000))
            await timed(caller, "far", begin_ms + 3 * 86_400_000 - 60_000)
            found = await caller.until("T", 20)
            assert names(found) == {f"here {number}": 1 for number in range(20)}
        apache = apache_on(stage, store, name_server.address)
        await asyncio.to_thread(apache.start)
        async with Caller(apache.address) as caller:
            assert names((await caller.messages("T"))[:20]) == {f"here {number}": 1 for number in range(20)}
            handle = await timed(caller, "recalled there", begin_ms + 70_000)
            await timed(caller, "new", begin_ms + 70_000)
            found = await caller.until("T", 40, within_s=60)
            await recalled(caller, handle)
            for number in range(5):
                await timed(caller, f"soon {number}", now_ms() + 1500)
            found = await caller.until("T", 45, within_s=60)
            assert names(found[20:40]) == {f"there {number}": 1 for number in range(20)}
        if is_killed:
            await asyncio.to_thread(apache.kill)
        else:
            await asyncio.to_thread(apache.stop)
        async with Broker(**ours) as broker, Caller(broker.address) as caller:
            found = await caller.until("T", 66, within_s=90)
            counts = names(found)
            expected = {f"{kind} {number}": 1 for kind in ("here", "there", "back") for number in range(20)}
            expected |= {f"soon {number}": 1 for number in range(5)} | {"new": 1}
            assert set(counts) == set(expected), "nothing is lost, and nothing that was recalled is delivered"
            repeated = {name for name, count in counts.items() if count > 1}
            assert not repeated if not is_killed else repeated <= {f"soon {number}" for number in range(5)}
            assert all(0 <= late <= 60_000 for late in lateness_ms(found).values())
            assert max(late for name, late in lateness_ms(found).items() if name.startswith("back")) < 5000


@pytest.mark.full
async def test_apache_goes_on_where_our_killed_broker_was(new_stage: StageMaker, tmp_path: Path) -> None:
    """What waits is delivered by Apache's broker, what was delivered more than a second before the kill is not."""
    store, copy = tmp_path / "store", tmp_path / "copy"
    ours: dict[str, Any] = {
        "store": store,
        "broker_cluster_name": CLUSTER,
        "mapped_file_size_timer_log": 52_016,
        **SIZES,
    }
    with new_stage("timers-kill") as stage:
        name_server = await asyncio.to_thread(stage.name_server)
        async with Broker(**ours) as broker, Caller(broker.address) as caller:
            begin_ms = now_ms()
            for number in range(20):
                await timed(caller, f"here {number}", begin_ms + 4000)
                await timed(caller, f"there {number}", begin_ms + 45_000)
            await caller.until("T", 20)
            check = store / "config" / "timercheck"
            await asyncio.to_thread(
                wait_until, lambda: struct.unpack(">3q", check.read_bytes()[:24])[0] > begin_ms + 4000, "a save", 30
            )
            await asyncio.to_thread(_copied, store, copy)
        settings = {java(name): str(value) for name, value in {**SIZES, "mapped_file_size_timer_log": 52_016}.items()}
        settings |= {"storePathRootDir": str(copy), "storePathCommitLog": str(copy / "commitlog")}
        apache = stage.broker(
            BrokerSettings(release=V5_5, name="broker-a", name_servers=[name_server.address], config=settings)
        )
        await asyncio.to_thread(apache.start)
        async with Caller(apache.address) as caller:
            found = await caller.until("T", 40, within_s=90)
            assert set(names(found)) == {f"{kind} {number}" for kind in ("here", "there") for number in range(20)}
            assert len(found) == 40


def _copied(store: Path, copy: Path) -> None:
    """Take the files as a kill would leave them."""
    for path in sorted(store.rglob("*")):
        target = copy / path.relative_to(store)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif path.name != "lock":
            target.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as source, target.open("wb") as to:
                while piece := source.read(1 << 20):
                    if piece.strip(b"\0"):
                        to.write(piece)
                    else:
                        to.seek(len(piece), 1)
                to.truncate(path.stat().st_size)
