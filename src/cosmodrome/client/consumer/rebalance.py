"""Which queues are this member's, now.

Owns: asking for members and queues, the strategy's answer, what changes by it, and how often.
Must not know: how a queue is taken over or given back.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final

import msgspec

from cosmodrome.client.consumer.allocation import AllocationStrategy
from cosmodrome.client.consumer.assigned_queue import AssignedQueue, OrderlyQueue
from cosmodrome.client.consumer.handover import Handover
from cosmodrome.client.consumer.process_queue import HoldingLimits
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import AnswerError, AuthenticationError, NoRouteError, RefusedError, RemotingError

logger = logging.getLogger(__name__)

PERIOD_S: Final = 20.0
AT_LEAST_APART_S: Final = 1.0
_LOOKS_FOR_RETRY_TOPIC: Final = 5
_AT_ONCE: Final = 16
"""Queues that are taken over at the same time."""


class RebalanceParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebalance needs.

    Attributes:
        strategy: None when every member reads all queues.
        limits: Gives the limits of each of so many queues of a topic.
        announce: Tells all brokers this member's subscriptions, now.
    """

    own_id: str
    strategy: AllocationStrategy | None
    limits: Callable[[int], HoldingLimits]
    routes: TopicRoutes
    requests: ConsumerRequests
    subscriptions: Subscriptions
    handover: Handover
    announce: Callable[[], Awaitable[object]]


class Rebalance:
    """Makes this member's queues what the strategy says, again and again.

    Attributes:
        queues: Those that this member reads.
        trouble: Why the last round could not be finished, in words for people; None when it was.
        failure: The error behind it, if it was one.
    """

    def __init__(self, parts: RebalanceParts) -> None:
        self._parts = parts
        self.queues: dict[MessageQueue, AssignedQueue] = {}
        self.trouble: str | None = None
        self.failure: RemotingError | AnswerError | None = None
        self._wanted = asyncio.Event()
        self._turn = asyncio.Lock()
        self._found: str | None = None
        self._told: set[str] = set()
        self._looks_for_retry_topic = 0

    def soon(self) -> None:
        """Have a round as soon as one may be had. Any number of calls make one round."""
        self._wanted.set()

    async def run(self) -> None:
        """Have rounds for ever: every 20 s, when asked, and every second while something is left to do."""
        while True:
            self._wanted.clear()
            try:
                is_settled = await self.round()
            except Exception as error:  # noqa: BLE001 -- told, and tried again: a strategy may be the program's own
                is_settled = False
                self._report(f"a round ended by {error!r}", is_fault=True)
                self.trouble = self._found
            await asyncio.sleep(AT_LEAST_APART_S)
            if not is_settled:
                continue
            try:
                async with asyncio.timeout(PERIOD_S - AT_LEAST_APART_S):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def round(self) -> bool:
        """Compare and change once; False when something has to be tried again soon.

        Whatever is left to do, by one that was cancelled or raises too, is made good by `run`.
        """
        is_settled = False
        async with self._turn:
            try:
                is_settled = await self._round()
            finally:
                if not is_settled:
                    self.soon()
        return is_settled

    async def _round(self) -> bool:
        self._found = self.failure = None
        is_settled = await self._drop_lost_loops()
        topics = self._parts.subscriptions.topics()
        for topic in topics:
            is_settled &= await self._round_of(topic)
        given_up = [each for each in self.queues.values() if each.queue.topic not in topics]
        is_settled &= await self._give_back(given_up)
        self.trouble = self._found
        if self._found is None:
            self._told.clear()
        return is_settled

    async def assign(self, queues: Collection[MessageQueue]) -> bool:
        """Make this member's queues these, instead of having rounds; False when some could not be taken over."""
        async with self._turn:
            self._found = None
            await self._give_back([each for each in self.queues.values() if each.queue not in queues])
            is_complete = await self._take_over([queue for queue in sorted(queues) if queue not in self.queues])
            for topic in {queue.topic for queue in self.queues}:
                self._share_limits(topic)
            self.trouble = self._found
            return is_complete

    async def close(self) -> None:
        """Give all queues back. No round may run at the same time, nor afterwards."""
        assigned = list(self.queues.values())
        self.queues.clear()
        await self._parts.handover.give_back_all(assigned)

    async def _round_of(self, topic: str) -> bool:
        parts = self._parts
        try:
            wanted = await self._wanted_of(topic)
        except NoRouteError as error:
            if topic != parts.subscriptions.retry_topic:
                self._report(f"topic {topic} is not there (yet): {error}")
                return True
            # The first heartbeat of a group makes it; sooner found, sooner are the first failed messages back.
            self._looks_for_retry_topic += 1
            return self._looks_for_retry_topic > _LOOKS_FOR_RETRY_TOPIC
        except (RemotingError, AnswerError) as error:
            self._report(f"topic {topic}: {error}")
            self.failure = error
            return False
        held = {queue for queue in self.queues if queue.topic == topic}
        for queue in held & set(wanted):
            if isinstance(assigned := self.queues[queue], OrderlyQueue) and assigned.is_leaving:
                assigned.stay()
        is_settled = await self._give_back([self.queues[queue] for queue in held - set(wanted)])
        added = [queue for queue in wanted if queue not in held]
        is_settled &= await self._take_over(added)
        if held != {queue for queue in self.queues if queue.topic == topic}:
            self._share_limits(topic)
        return is_settled

    async def _wanted_of(self, topic: str) -> Sequence[MessageQueue]:
        parts = self._parts
        route = await parts.routes.route(topic)
        queues = sorted(route.subscribe_queues)
        if parts.strategy is None or not queues:
            return queues
        members = await self._members({queue.broker_name for queue in queues})
        # A broker names a member once for each of its connections, of which it may not have noticed the end.
        return parts.strategy.allocate(parts.own_id, sorted(set(members)), queues)

    async def _members(self, broker_names: Collection[str]) -> Sequence[str]:
        """Ask any broker of the topic; every member is connected to all of them."""
        failure: RemotingError | AnswerError | None = None
        for broker_name in random.sample(sorted(broker_names), len(broker_names)):
            address = self._parts.routes.address_for_read(broker_name)
            if address is None:
                continue
            try:
                return await self._members_at(address)
            except AuthenticationError:
                raise
            except (RemotingError, AnswerError) as error:
                failure = error
        raise failure or RemotingError(f"no broker of {', '.join(sorted(broker_names))} has an address")

    async def _members_at(self, address: str) -> Sequence[str]:
        """Ask one broker; if it does not name this member, tell it and ask again: it may have been restarted.

        Raises:
            RemotingError: It still does not, so its list says nothing about what is whose.
        """
        try:
            members = await self._parts.requests.members(address)
        except AuthenticationError:
            raise
        except RefusedError:
            members = ()
        if self._parts.own_id in members:
            return members
        await self._parts.announce()
        members = await self._parts.requests.members(address)
        if self._parts.own_id not in members:
            raise RemotingError(f"{address} does not name this client among the members")
        return members

    async def _take_over(self, queues: Sequence[MessageQueue]) -> bool:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def take(queue: MessageQueue) -> None:
            async with gate:
                assigned = await self._parts.handover.take_over(queue)
            if assigned is not None:
                self.queues[queue] = assigned

        async with asyncio.TaskGroup() as group:
            for queue in queues:
                group.create_task(take(queue))
        missing = [queue for queue in queues if queue not in self.queues]
        if missing:
            self._found = self._found or f"{len(missing)} queues could not be taken over yet, {missing[0]} among them"
        return not missing

    async def _give_back(self, assigned: Iterable[AssignedQueue]) -> bool:
        leaving = list(assigned)
        have_left = await asyncio.gather(*(self._parts.handover.give_back(each) for each in leaving))
        for each, has_left in zip(leaving, have_left, strict=True):
            if has_left:
                self.queues.pop(each.queue, None)
        return all(have_left)

    async def _drop_lost_loops(self) -> bool:
        lost = [each for each in self.queues.values() if not self._parts.handover.is_pulled(each)]
        return await self._give_back(lost) and not lost

    def _share_limits(self, topic: str) -> None:
        mine = [each for each in self.queues.values() if each.queue.topic == topic]
        limits = self._parts.limits(len(mine))
        for each in mine:
            each.limits = limits
            each.changed()

    def _report(self, reason: str, *, is_fault: bool = False) -> None:
        level = logging.DEBUG if reason in self._told else logging.WARNING
        logger.log(level, "rebalance: %s", reason, exc_info=is_fault)
        self._told.add(reason)
        self._found = reason
