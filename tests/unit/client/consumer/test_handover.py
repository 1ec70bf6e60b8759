"""The order in which a queue is taken over and given back."""

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, cast

import pytest
from tests.unit.client.consumer.stored import stored
from tests.unit.client.consumer.test_assigned_queue import Failed

from cosmodrome.client.consumer import backoff, handover
from cosmodrome.client.consumer.assigned_queue import AssignedQueue, OrderlyQueue, QueueParts
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.handover import Handover, HandoverParts
from cosmodrome.client.consumer.offset_store import OffsetStore
from cosmodrome.client.consumer.process_queue import HoldingLimits, Total
from cosmodrome.client.consumer.pull import PullParts, PullSettings
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.room import SharedRoom
from cosmodrome.client.consumer.start_offset import StartPoint, StartRule
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import ConnectError, RefusedError

QUEUE = MessageQueue("T", "broker-a", 0)
OTHER = MessageQueue("T", "broker-a", 1)
FIRST, LAST = StartRule(StartPoint.FIRST), StartRule(StartPoint.LAST)


class World:
    """A broker that notes what it is asked, in order; it never answers a pull."""

    def __init__(self, *, rule: StartRule = FIRST, is_orderly: bool = False) -> None:
        self.said: list[Any] = []
        self.stored = -1
        self.load_failure: Exception | None = None
        self.pull_failure: BaseException | None = None
        self.is_granting = True
        self.has_master = True
        self.deliveries = Deliveries()
        self.tasks: list[asyncio.Task[None]] = []
        room = SharedRoom(Total(2**30))
        requests, routes = cast("ConsumerRequests", self), cast("TopicRoutes", self)
        pulls = PullParts(
            settings=PullSettings(group="G"),
            requests=requests,
            routes=routes,
            subscriptions=Subscriptions("G", has_retries=False),
            room=room,
            rejoin=lambda: None,
            on_moved=lambda _: None,
        )
        self.handover = Handover(
            HandoverParts(
                is_orderly=is_orderly,
                has_locks=is_orderly,
                start_rule=rule,
                limits=HoldingLimits(),
                store=cast("OffsetStore", self),
                requests=requests,
                routes=routes,
                queues=QueueParts(self.deliveries, room, Failed(), 0.0, str),
                pulls=pulls,
                spawn=self.spawn,
                loop_ended=self.loop_ended,
            )
        )

    def loop_ended(self) -> None:
        self.said.append("loop ended")

    def spawn(self, work: Coroutine[Any, Any, None], _: str) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    def master_address(self, _: str) -> str | None:
        return "a:1" if self.has_master else None

    def address_for_read(self, _: str, __: int = 0) -> str | None:
        return "a:1"

    async def pull(self, *_: Any) -> Any:
        self.said.append("pull")
        if self.pull_failure is not None:
            raise self.pull_failure
        await asyncio.Event().wait()

    async def lock(self, _: str, queues: Collection[MessageQueue]) -> frozenset[MessageQueue]:
        self.said.append("lock")
        return frozenset(queues) if self.is_granting else frozenset()

    async def unlock(self, _: str, queues: Collection[MessageQueue], *, is_confirmed: bool) -> None:
        self.said.append(("unlock", sorted(queues), is_confirmed))

    async def load(self, _: MessageQueue, *, is_exact: bool) -> int:
        self.said.append("load exactly" if is_exact else "load")
        if self.load_failure is not None:
            raise self.load_failure
        return self.stored

    async def save(self, offsets: Mapping[MessageQueue, int], *, is_confirmed: bool) -> None:
        self.said.append(("save", dict(offsets), is_confirmed))

    async def max_offset(self, _: str, __: MessageQueue) -> int:
        return 77

    async def offset_by_time(self, _: str, __: MessageQueue, time_ms: int) -> int:
        self.said.append(("time", time_ms))
        return 33

    async def taken(self, queue: MessageQueue = QUEUE) -> AssignedQueue:
        assigned = await self.handover.take_over(queue)
        assert assigned is not None
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return assigned

    async def end(self, *assigned: AssignedQueue) -> None:
        await self.handover.give_back_all(assigned)
        assert all(task.done() for task in self.tasks)


async def test_the_offset_is_known_before_the_first_pull() -> None:
    world = World()
    world.stored = 5
    assigned = await world.taken()

    assert (assigned.committable, world.said) == (5, ["load", "pull"])
    await world.end(assigned)


@pytest.mark.parametrize(
    ("rule", "expected", "asked"),
    [(FIRST, 0, []), (LAST, 77, []), (StartRule(StartPoint.BY_TIME, 1000), 33, [("time", 999)])],
)
async def test_without_a_stored_offset_the_start_rule_counts(rule: StartRule, expected: int, asked: list[Any]) -> None:
    world = World(rule=rule)
    assigned = await world.taken()

    assert assigned.committable == expected
    assert [each for each in world.said if isinstance(each, tuple)] == asked
    await world.end(assigned)


@pytest.mark.parametrize("failure", [ConnectError("gone"), RefusedError("a:1", 1, "not now")])
async def test_c052_a_failed_question_takes_nothing_over(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.load_failure = failure

    assert await world.handover.take_over(QUEUE) is None
    assert (world.said, world.tasks) == (["load"], [])
    assert str(failure) in caplog.text
    assert await world.handover.take_over(QUEUE) is None
    assert [each.levelname for each in caplog.records].count("WARNING") == 1


async def test_c060_the_lock_comes_first_and_its_offset_after_it() -> None:
    world = World(is_orderly=True)
    assigned = await world.taken()

    assert isinstance(assigned, OrderlyQueue)
    assert assigned.is_locked
    assert world.said == ["lock", "load", "pull"]
    await world.end(assigned)


async def test_a_queue_that_is_not_granted_or_has_no_master_is_not_read() -> None:
    world = World(is_orderly=True)
    world.is_granting = False
    assert await world.handover.take_over(QUEUE) is None
    world.has_master = False
    assert await world.handover.take_over(QUEUE) is None
    assert world.said == ["lock"]

    await world.end()
    assert [each for each in world.said if isinstance(each, tuple)] == [("save", {}, True)]


async def test_c059_giving_back_saves_the_offset_before_the_lock_goes() -> None:
    world = World(is_orderly=True)
    assigned = await world.taken()
    world.said.clear()

    assert await world.handover.give_back(assigned)

    assert world.said == [("save", {QUEUE: 0}, False), ("unlock", [QUEUE], False)]
    assert assigned.is_dropped
    assert all(task.done() for task in world.tasks)


async def test_c059_at_the_end_all_offsets_are_saved_before_all_locks_go() -> None:
    world = World(is_orderly=True)
    both = [await world.taken(QUEUE), await world.taken(OTHER)]
    world.said.clear()

    await world.end(*both)

    assert world.said == [("save", {QUEUE: 0, OTHER: 0}, True), ("unlock", [QUEUE, OTHER], True)]


async def test_c059_a_lock_that_was_granted_to_a_queue_never_read_is_given_back_too() -> None:
    world = World(is_orderly=True)
    world.load_failure = ConnectError("gone")
    assert await world.handover.take_over(QUEUE) is None

    await world.end()

    assert world.said[-1] == ("unlock", [QUEUE], True)


async def test_a_message_that_is_handled_has_a_moment_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    assigned = await world.taken()
    assigned.offer(assigned.held.take([stored(0), stored(1)], 2))
    found = world.deliveries.take()
    assert found is not None

    giving = asyncio.create_task(world.handover.give_back(assigned))
    await asyncio.sleep(0)
    assert world.deliveries.take() is None
    await found[1].ack()

    assert await giving
    assert world.said[-1] == ("save", {QUEUE: 1}, False)
    monkeypatch.setattr(handover, "LEAVE_S", 0.01)
    late = await world.taken(OTHER)
    late.offer(late.held.take([stored(0, queue_id=1)], 1))
    assert world.deliveries.take() is not None
    assert await world.handover.give_back(late)
    assert world.said[-1] == ("save", {OTHER: 0}, False)


async def test_in_order_a_message_that_is_handled_keeps_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "LEAVE_S", 0.01)
    world = World(is_orderly=True)
    assigned = await world.taken()
    assigned.offer(assigned.held.take([stored(0), stored(1)], 2))
    found = world.deliveries.take()
    assert found is not None

    assert not await world.handover.give_back(assigned)
    assert not assigned.is_dropped
    await found[1].ack()
    assert await world.handover.give_back(assigned)
    assert world.said[-2:] == [("save", {QUEUE: 1}, False), ("unlock", [QUEUE], False)]


async def test_pulling_anew_gives_up_the_pull_that_is_under_way() -> None:
    world = World()
    assigned = await world.taken()

    assigned.move_to(9)
    await world.handover.pull_anew(assigned)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert world.said == ["load", "pull", "pull"]
    assert world.handover.is_pulled(assigned)
    await world.end(assigned)
    assert not world.handover.is_pulled(assigned)


async def test_nothing_unfinished_counts_once_the_queue_is_let_go_of() -> None:
    world = World()
    assigned = await world.taken()
    assigned.offer(assigned.held.take([stored(0), stored(1), stored(2)], 3))
    found = world.deliveries.take()
    assert found is not None
    await found[1].ack()

    assert await world.handover.give_back(assigned)
    assert assigned.committable == 1
    assert await world.handover.give_back(assigned)
    assert [each for each in world.said if isinstance(each, tuple)] == 2 * [("save", {QUEUE: 1}, False)]


async def test_giving_back_that_was_cancelled_is_done_by_the_next_call() -> None:
    world = World()
    assigned = await world.taken()
    assigned.offer(assigned.held.take([stored(0), stored(1)], 2))
    assert world.deliveries.take() is not None

    giving = asyncio.create_task(world.handover.give_back(assigned))
    await asyncio.sleep(0)
    giving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving
    assert not world.handover.is_pulled(assigned)

    assert await world.handover.give_back(assigned)
    assert world.said[-1] == ("save", {QUEUE: 0}, False)
    assert all(task.done() for task in world.tasks)
    again = await world.taken()
    assert not again.is_paused
    await world.end(again)


async def test_a_loop_that_ends_by_itself_is_told_of_and_one_that_is_stopped_is_not() -> None:
    world = World()
    world.pull_failure = asyncio.CancelledError()
    assigned = await world.taken()
    await asyncio.sleep(0)

    assert world.said.count("loop ended") == 1
    assert not world.handover.is_pulled(assigned)
    assert await world.handover.give_back(assigned)
    world.pull_failure = None
    assert await world.handover.give_back(await world.taken())
    await asyncio.sleep(0)
    assert world.said.count("loop ended") == 1


async def test_a_fault_of_ours_in_one_pull_ends_no_queue(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backoff, "PULL_FAILED_S", 60.0)
    world = World()
    world.pull_failure = ZeroDivisionError("ours")
    assigned = await world.taken()

    assert world.handover.is_pulled(assigned)
    assert "ours" in str(assigned.trouble)
    assert [bool(each.exc_info) for each in caplog.records if each.levelname == "WARNING"] == [True]
    await world.end(assigned)


async def test_nothing_is_taken_over_after_the_end() -> None:
    world = World(is_orderly=True)
    taking = asyncio.create_task(world.handover.take_over(QUEUE))
    await world.handover.give_back_all(())

    assert await taking is None
    assert world.tasks == []
