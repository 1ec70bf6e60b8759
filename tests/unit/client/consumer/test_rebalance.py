"""What one round changes, whatever the answers are."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
from tests.support.consuming import until
from tests.unit.client.consumer.test_assigned_queue import Rig

from cosmodrome.client.consumer import rebalance
from cosmodrome.client.consumer.allocation import Averagely
from cosmodrome.client.consumer.assigned_queue import AssignedQueue
from cosmodrome.client.consumer.handover import Handover
from cosmodrome.client.consumer.process_queue import HoldingLimits
from cosmodrome.client.consumer.rebalance import Rebalance, RebalanceParts
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import AuthenticationError, ConnectError, NoRouteError, RefusedError

ME = "b"
QUEUES = tuple(MessageQueue("T", name, number) for name in ("broker-a", "broker-b") for number in range(2))


class World:
    """A topic with four queues at two brokers, and whoever else is there."""

    def __init__(self) -> None:
        self.ids: Sequence[str] = (ME,)
        self.failures: dict[str, list[Exception]] = {}
        self.announced = 0
        self.joins_when_announced = False
        self.is_there = True
        self.cannot_take: set[MessageQueue] = set()
        self.keeps: set[MessageQueue] = set()
        self.given_back: list[MessageQueue] = []
        self.is_pulled_ = True
        self.hold: asyncio.Event | None = None
        self.is_asked = asyncio.Event()
        self.subscriptions = Subscriptions("G", has_retries=False)
        self.subscriptions.add("T", None, 1)
        self.rebalance = Rebalance(
            RebalanceParts(
                own_id=ME,
                strategy=Averagely(),
                limits=lambda count: HoldingLimits(messages=100 // max(count, 1)),
                routes=cast("TopicRoutes", self),
                requests=cast("ConsumerRequests", self),
                subscriptions=self.subscriptions,
                handover=cast("Handover", self),
                announce=self.announce,
            )
        )

    @property
    def mine(self) -> list[MessageQueue]:
        return sorted(self.rebalance.queues)

    async def announce(self) -> None:
        self.announced += 1
        if self.joins_when_announced:
            self.ids = (*self.ids, ME)

    async def route(self, topic: str) -> Any:
        if not self.is_there:
            raise NoRouteError(topic, "not there")

        class Route:
            subscribe_queues = QUEUES

        return Route

    def address_for_read(self, broker_name: str) -> str | None:
        return broker_name

    async def members(self, address: str) -> Sequence[str]:
        if self.hold is not None:
            self.is_asked.set()
            await self.hold.wait()
        failures = self.failures.get(address)
        if failures:
            raise failures.pop(0)
        return self.ids

    async def take_over(self, queue: MessageQueue) -> AssignedQueue | None:
        return None if queue in self.cannot_take else Rig(queue=queue).queue

    async def give_back(self, assigned: AssignedQueue) -> bool:
        if assigned.queue in self.keeps:
            return False
        self.given_back.append(assigned.queue)
        return True

    async def give_back_all(self, assigned: Sequence[AssignedQueue]) -> None:
        self.given_back += [each.queue for each in assigned]

    def is_pulled(self, assigned: AssignedQueue) -> bool:
        return self.is_pulled_


@pytest.fixture
def world() -> World:
    return World()


async def test_takes_what_the_strategy_says_and_gives_back_the_rest(world: World) -> None:
    assert await world.rebalance.round()
    assert world.mine == list(QUEUES)
    assert {each.limits.messages for each in world.rebalance.queues.values()} == {25}

    world.ids = ("a", ME)
    assert await world.rebalance.round()
    assert world.mine == list(QUEUES[2:])
    assert sorted(world.given_back) == list(QUEUES[:2])
    assert {each.limits.messages for each in world.rebalance.queues.values()} == {50}


async def test_without_a_route_nothing_changes(world: World) -> None:
    await world.rebalance.round()
    world.is_there = False

    assert await world.rebalance.round()
    assert world.mine == list(QUEUES)
    assert "not there" in str(world.rebalance.trouble)


async def test_another_broker_is_asked_when_one_fails(world: World) -> None:
    world.failures = {"broker-a": [ConnectError("gone")] * 9}

    assert await world.rebalance.round()
    assert world.mine == list(QUEUES)


async def test_when_none_answers_nothing_changes_and_it_is_tried_again_soon(world: World) -> None:
    await world.rebalance.round()
    world.ids = ("a", ME)
    world.failures = {name: [ConnectError("gone")] for name in ("broker-a", "broker-b")}

    assert not await world.rebalance.round()
    assert world.mine == list(QUEUES)
    assert "gone" in str(world.rebalance.trouble)
    assert await world.rebalance.round()
    assert (world.mine, world.rebalance.trouble) == (list(QUEUES[2:]), None)


@pytest.mark.parametrize("members", [("a",), ()])
async def test_c041_a_broker_that_forgot_this_member_is_told_before_it_is_believed(
    world: World, members: Sequence[str]
) -> None:
    await world.rebalance.round()
    world.ids, world.joins_when_announced = members, True

    assert await world.rebalance.round()
    assert world.announced == 1
    assert world.mine == list(QUEUES[2:] if members else QUEUES)


async def test_a_broker_that_never_names_this_member_is_not_believed_about_queues(world: World) -> None:
    await world.rebalance.round()
    world.ids = ("a",)

    assert not await world.rebalance.round()
    assert (world.mine, world.given_back) == (list(QUEUES), [])
    assert "does not name this client" in str(world.rebalance.trouble)


@pytest.mark.parametrize("ids", [(ME, ME), (ME, ME, ME)])
async def test_a_member_that_is_named_for_two_connections_is_one(world: World, ids: Sequence[str]) -> None:
    world.ids = ids

    assert await world.rebalance.round()
    assert world.mine == list(QUEUES)


@contextlib.asynccontextmanager
async def running(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(rebalance, "AT_LEAST_APART_S", 0.01)
    monkeypatch.setattr(rebalance, "PERIOD_S", 600.0)
    task = asyncio.create_task(world.rebalance.run())
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_fault_in_a_round_ends_no_later_round(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.failures = {name: [ZeroDivisionError("own strategy")] for name in ("broker-a", "broker-b")}

    async with running(world, monkeypatch):
        await until(lambda: world.mine == list(QUEUES), "all queues")
    assert "own strategy" in caplog.text


async def test_a_round_that_is_not_settled_is_followed_by_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(world, monkeypatch):
        await until(lambda: world.mine == list(QUEUES), "all queues")
        world.cannot_take = {QUEUES[0]}
        world.rebalance.queues.clear()
        assert not await world.rebalance.round()
        world.cannot_take = set()
        await until(lambda: world.mine == list(QUEUES), "all queues")


async def test_a_round_that_was_cancelled_is_followed_by_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(world, monkeypatch):
        await until(lambda: world.mine == list(QUEUES), "all queues")
        world.hold = asyncio.Event()
        one = asyncio.create_task(world.rebalance.round())
        await world.is_asked.wait()
        world.subscriptions.remove("T")
        one.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await one
        world.hold = None
        await until(lambda: world.mine == [], "no queue")


async def test_a_group_that_the_broker_does_not_know_is_announced(world: World) -> None:
    unknown = RefusedError("broker-a", 1, "no consumer for this group, G")
    world.failures = {name: [unknown] for name in ("broker-a", "broker-b")}

    assert await world.rebalance.round()
    assert (world.announced, world.mine) == (1, list(QUEUES))


async def test_c017_wrong_credentials_are_not_tried_elsewhere(world: World) -> None:
    wrong = AuthenticationError("broker-a", 16, "check signature failed.")
    world.failures = {name: [wrong] for name in ("broker-a", "broker-b")}

    assert not await world.rebalance.round()
    assert world.rebalance.failure is wrong
    assert sum(len(each) for each in world.failures.values()) == 1


async def test_what_cannot_be_taken_or_given_back_yet_is_tried_again(world: World) -> None:
    world.cannot_take = {QUEUES[0]}
    assert not await world.rebalance.round()
    assert world.mine == list(QUEUES[1:])
    assert str(QUEUES[0]) in str(world.rebalance.trouble)

    world.cannot_take, world.keeps = set(), {QUEUES[1]}
    world.ids = ("a", ME)
    assert not await world.rebalance.round()
    assert world.mine == list(QUEUES[1:])

    world.keeps = set()
    assert await world.rebalance.round()
    assert world.mine == list(QUEUES[2:])


async def test_a_topic_that_was_given_up_is_given_back(world: World) -> None:
    await world.rebalance.round()
    world.subscriptions.remove("T")

    assert await world.rebalance.round()
    assert world.mine == []


async def test_a_queue_whose_loop_ended_is_taken_anew(world: World) -> None:
    await world.rebalance.round()
    world.is_pulled_ = False

    assert not await world.rebalance.round()
    assert sorted(world.given_back) == list(QUEUES)
    assert world.mine == list(QUEUES)


async def test_closing_gives_back_all(world: World) -> None:
    await world.rebalance.round()

    await world.rebalance.close()

    assert (sorted(world.given_back), world.mine) == (list(QUEUES), [])


async def test_assigning_replaces_what_was_assigned(world: World) -> None:
    assert await world.rebalance.assign(QUEUES[:3])
    assert world.mine == list(QUEUES[:3])
    assert await world.rebalance.assign(QUEUES[2:])
    assert world.mine == list(QUEUES[2:])

    world.cannot_take = {QUEUES[0]}
    assert not await world.rebalance.assign(QUEUES[:1])
