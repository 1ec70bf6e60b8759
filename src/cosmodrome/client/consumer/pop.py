"""POP mode (5.x): brokers share messages out by themselves, and remember which are not acknowledged.

Owns: the life of a member in POP mode; which brokers are popped.
Must not know: how messages are popped and settled; who handles them.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Final

from cosmodrome.client.consumer import backoff, peer_requests
from cosmodrome.client.consumer.assigned_queue import AssignedQueue
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.failed_messages import SendBack
from cosmodrome.client.consumer.filters import Expression
from cosmodrome.client.consumer.handlers import Runner
from cosmodrome.client.consumer.pop_loop import PopLoop
from cosmodrome.client.consumer.popped import PopParts
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.status import ConsumerStatus
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import AnswerError, AuthenticationError, NoRouteError, RemotingError
from cosmodrome.protocol.bodies.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, MessageModel
from cosmodrome.protocol.bodies.pop import MessageRequestMode
from cosmodrome.protocol.command import RemotingCommand

logger = logging.getLogger(__name__)

_PERIOD_S: Final = 20.0


class PopMember:
    """A member whose messages the brokers choose. It has no offsets of its own, and no queues to hand over.

    The group must be in POP mode for a topic (SET_MESSAGE_REQUEST_MODE, 401); until it is, nothing of it is read and
    the status says so.
    """

    is_lite = False
    queues: Mapping[MessageQueue, AssignedQueue] = {}

    def __init__(self, group: str, settings: ConsumerSettings, session: ClientSession) -> None:
        self.group = group
        self.settings = settings
        self.session = session
        self.deliveries = Deliveries()
        self.subscriptions = Subscriptions(group, has_retries=False)
        self.requests = ConsumerRequests(session.requests, group, session.client_id)
        self.runner: Runner | None = None
        self.started_ms = _wall_ms()
        self.trouble: str | None = None
        self._told: str | None = None
        most = backoff.max_reconsume_times(settings.max_reconsume_times, is_orderly=settings.orderly)
        self._parts = PopParts(
            settings=settings,
            session=session,
            group=group,
            deliveries=self.deliveries,
            subscriptions=self.subscriptions,
            requests=self.requests,
            send_back=SendBack(self.requests, session.routes, group, most),
            max_reconsume_times=most,
        )
        self._loops: dict[MessageQueue, PopLoop] = {}
        self._wanted = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    async def join(self, topics: Mapping[str, Expression]) -> None:
        """Subscribe, announce this member, and pop what the brokers let it.

        Raises:
            RemotingError: No NameServer answers.
            AuthenticationError: The credentials are wrong, or missing.
        """
        for topic, expression in topics.items():
            self.subscriptions.add(topic, expression, _wall_ms())
            try:
                await self.session.routes.route(topic)
            except NoRouteError as error:
                logger.warning("topic %s is not there yet and is read when it is: %s", topic, error)
        self.session.add_consumer(self)
        for failure in (await self.session.heartbeat()).values():
            if isinstance(failure, AuthenticationError):
                raise failure
        await self._look()
        self._looking = self.session.spawn(self._look_for_ever(), f"pop assignments {self.group}")

    async def subscribe(self, topic: str, expression: Expression) -> None:
        """Read another topic, or something else of one."""
        self.subscriptions.add(topic, expression, _wall_ms())
        await self.session.routes.route(topic)
        await self.session.heartbeat()
        await self._look()

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        if self.subscriptions.remove(topic):
            await self._look()
            self.session.heartbeat_soon()

    async def leave(self) -> None:
        """Stop popping, let acknowledgements out, leave the group. What is not acknowledged comes to others."""
        self.deliveries.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        await self._keep({})
        await self.session.remove_consumer(self)

    def consumer_data(self) -> ConsumerData:
        """Give what heartbeats say of this member."""
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere(self.settings.start_rule.point.value),
            subscription_data_set=self.subscriptions.all(),
        )

    def on_members_changed(self) -> None:
        """A broker says that the group has other members or topics."""
        self._wanted.set()

    async def on_request(self, address: str, command: RemotingCommand) -> RemotingCommand | None:
        """Answer a broker, or the tool behind it."""
        return await peer_requests.answer(self, address, command)

    async def persist_offsets(self) -> None:
        """Brokers keep the offsets."""

    async def reset(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Brokers keep the offsets."""

    def status(self) -> ConsumerStatus:
        """Give a snapshot; no queue is this member's alone."""
        troubles = [loop.trouble for loop in self._loops.values() if loop.trouble is not None]
        return ConsumerStatus(
            client_id=self.session.client_id,
            group=self.group,
            queues=(),
            held_bytes=sum(loop.held_bytes for loop in self._loops.values()),
            trouble=self.trouble or (troubles[0] if troubles else None),
        )

    async def _look_for_ever(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            try:
                async with asyncio.timeout(_PERIOD_S):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            try:
                await self._look()
            except Exception:
                logger.exception("group %s: looking for what may be popped failed, trying again", self.group)

    async def _look(self) -> None:
        """Ask what may be popped, and pop that. A topic about which nobody answers stays as it is."""
        self.trouble = None
        wanted: dict[MessageQueue, None] = {}
        for topic in self.subscriptions.topics():
            try:
                wanted.update(dict.fromkeys(await self._assigned(topic)))
            except (RemotingError, AnswerError, NoRouteError) as error:
                self._report(f"topic {topic}: what may be popped is not known: {error}")
                wanted.update(dict.fromkeys(queue for queue in self._loops if queue.topic == topic))
        await self._keep(wanted)

    async def _assigned(self, topic: str) -> list[MessageQueue]:
        route = await self.session.routes.route(topic)
        for broker_name in sorted({queue.broker_name for queue in route.subscribe_queues}):
            address = self.session.routes.master_address(broker_name)
            if address is None:
                continue
            assignments = await self.requests.assignments(address, topic)
            popped = [each.message_queue for each in assignments if each.mode is MessageRequestMode.POP]
            if not popped:
                self._report(f"topic {topic} is not in POP mode: switch the group with SET_MESSAGE_REQUEST_MODE")
            return popped
        raise NoRouteError(topic, "no broker of it has a master")

    def _report(self, reason: str) -> None:
        logger.log(logging.DEBUG if reason == self._told else logging.WARNING, "group %s: %s", self.group, reason)
        self.trouble = self._told = reason

    async def _keep(self, wanted: Mapping[MessageQueue, None]) -> None:
        unwanted = [self._loops.pop(queue) for queue in list(self._loops) if queue not in wanted]
        await asyncio.gather(*(loop.stop() for loop in unwanted))
        for queue in wanted:
            if queue not in self._loops and not self.deliveries.is_closed:
                loop = self._loops[queue] = PopLoop(queue, self._parts)
                loop.start()


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
