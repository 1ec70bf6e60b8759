"""How far groups are behind."""

import asyncio
from pathlib import Path

import pytest
from tests.support.broker_calls import Caller
from tests.support.broker_plane import BrokerPlane, broker_plane
from tests.support.popping import Popper

from cosmodrome.broker.metrics import lag as lag_module
from cosmodrome.store.cold import NotInMemoryError

OF_T = "{consumer_group=g,is_retry=false,is_system=false,topic=T}"


@pytest.fixture(autouse=True)
def looking_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_module, "FRESH_S", 0.0)
    monkeypatch.setattr(lag_module, "_REST", 0)


async def commit(caller: Caller, offset: int, topic: str = "T", group: str = "g", queue_id: int = 0) -> None:
    fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id), "commitOffset": str(offset)}
    await caller.ok(15, fields)


async def of(seen: BrokerPlane, labels: str = OF_T) -> tuple[float, float, float]:
    """Give lag, in flight and ready."""
    metrics = await seen.metrics()
    return tuple(metrics[f"rocketmq_consumer_{name}_messages{labels}"] for name in ("lag", "inflight", "ready"))  # type: ignore[return-value]  # three names


async def test_a_group_that_pulls() -> None:
    async with broker_plane() as seen:
        caller = seen.caller
        for queue_id in (0, 0, 0, 0, 1, 1):
            await caller.send("T", queue_id=queue_id)
        await caller.heartbeat("g")
        assert await of(seen) == (0, 0, 0), "a group that never was there lacks nothing, as at Apache's broker"
        await caller.pull("T", maxMsgNums="3")
        await commit(caller, 1)
        await commit(caller, 0, queue_id=1)
        assert await of(seen) == (5, 2, 3)
        await commit(caller, 3)
        assert await of(seen) == (3, 0, 3)


async def test_nobody_of_a_group_is_connected_and_it_is_told_all_the_same() -> None:
    async with broker_plane() as seen:
        async with Caller(seen.broker.address) as other:
            await other.send("T")
            await other.send("T")
            await other.heartbeat("g")
            await commit(other, 1)
        assert (await of(seen))[0] == 1


async def test_what_failed_is_told_apart() -> None:
    async with broker_plane(message_delay_level="1s") as seen:
        caller = seen.caller
        answer = await caller.send("T")
        await caller.heartbeat("g", "%RETRY%g")
        await commit(caller, 0, "%RETRY%g")
        place = int(((answer.ext_fields or {})["msgId"] or "")[-16:], 16)
        await caller.ok(36, {"group": "g", "offset": str(place), "delayLevel": "1", "originTopic": "T"})
        await caller.until("%RETRY%g", 1)

        assert (await of(seen, "{consumer_group=g,is_retry=true,is_system=false,topic=%RETRY%g}"))[0] == 1


async def test_a_group_that_pops() -> None:
    async with broker_plane() as seen:
        popper = Popper(seen.caller)
        for _ in range(4):
            await seen.caller.send("T", queue_id=0)
        await seen.caller.heartbeat("g")
        popped = await popper.pop(max_msg_nums=3, queue_id=0)
        assert await of(seen) == (4, 3, 1)
        await popper.ack(popped[0])
        assert await of(seen) == (3, 2, 1)
        assert (await seen.metrics())["rocketmq_pop_checkpoint_buffer_size{}"] == 1


async def test_how_long_ago_is_the_time_of_the_first_message_that_is_not_done() -> None:
    async with broker_plane() as seen:
        await seen.caller.send("T")
        await seen.caller.send("T")
        await seen.caller.heartbeat("g")
        await commit(seen.caller, 1)
        latency = f"rocketmq_consumer_lag_latency_milliseconds{OF_T}"
        first = (await seen.metrics())[latency]
        await asyncio.sleep(0.01)
        later = (await seen.metrics())[latency]
        await commit(seen.caller, 2)
        assert 0 <= first < later
        assert (await seen.metrics())[latency] == 0


async def test_a_look_is_told_again_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_module, "FRESH_S", 3600.0)
    async with broker_plane() as seen:
        await seen.caller.send("T")
        await seen.caller.heartbeat("g")
        await commit(seen.caller, 0)
        assert (await of(seen))[0] == 1
        await commit(seen.caller, 1)
        assert (await of(seen))[0] == 1
        await seen.caller.ok(215, {"topic": "T"})
        assert f"rocketmq_consumer_lag_messages{OF_T}" not in await seen.metrics(), "but not of what is gone"


async def test_many_groups_hold_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look yields after each piece of work, however many groups there are."""
    monkeypatch.setattr(lag_module, "_PIECE_S", 0.0)
    async with broker_plane() as seen:
        await seen.caller.send("T")
        state = seen.broker.running_state
        for number in range(300):
            state.groups.find(f"g{number}", 0)
            state.offsets.commit("T", f"g{number}", 0, 0)
        view = seen.broker._watch._view
        assert view.seen is not None
        watch = lag_module.LagWatch(state, view.seen.store.reader, view.clock)
        looking = asyncio.ensure_future(watch.current())
        turns = 0
        while not looking.done():
            await asyncio.sleep(0)
            turns += 1

        assert len(looking.result()) == 300
        assert turns >= 300


async def test_old_messages_are_read_by_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []

    class ColdError(NotInMemoryError):
        def __init__(self) -> None:
            """Be of nothing."""

        def fetch(self) -> None:
            fetched.append(1)

    async with broker_plane(store=tmp_path) as seen:
        await seen.caller.send("T")
        await seen.caller.heartbeat("g")
        await commit(seen.caller, 0)
        view = seen.broker._watch._view
        assert view.seen is not None
        reader = view.seen.store.reader

        def cold(*_: object) -> None:
            raise ColdError

        monkeypatch.setattr(reader, "read", cold)
        watch = lag_module.LagWatch(view.seen.state, reader, view.clock)
        assert [each.lag for each in await watch.current()] == [1]
        await watch.current()

        assert len(fetched) == 1, "lag and queueing are of one message, whose time is known from then on"
