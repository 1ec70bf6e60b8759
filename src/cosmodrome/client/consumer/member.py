"""One member of a consumer group: all parts of it, put together.

Owns: the life of a member from joining to leaving, and what the session asks of it meanwhile.
Must not know: who handles messages.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping

from cosmodrome.client.consumer import backoff, peer_requests
from cosmodrome.client.consumer.assigned_queue import AssignedQueue, FailedMessages, QueueParts
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.failed_messages import DropWithWord, SendBack, TryAgainInOrder
from cosmodrome.client.consumer.filters import Expression
from cosmodrome.client.consumer.handlers import Runner
from cosmodrome.client.consumer.handover import Handover, HandoverParts
from cosmodrome.client.consumer.loop_watch import watch_loop
from cosmodrome.client.consumer.offset_store import LocalOffsets, OffsetStore, RemoteOffsets
from cosmodrome.client.consumer.process_queue import Total
from cosmodrome.client.consumer.pull import PullParts, PullSettings
from cosmodrome.client.consumer.rebalance import Rebalance, RebalanceParts
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.room import SharedRoom
from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.status import ConsumerStatus, SlowMessages, queue_status
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoute
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import AuthenticationError, ClientError, ConnectError, NoRouteError, NotSupportedError
from cosmodrome.protocol.bodies.heartbeat import (
    CheckClientRequestBody,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
)
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.command import RemotingCommand

logger = logging.getLogger(__name__)

_STUCK_LEVEL = backoff.FIRST_RETRY_LEVEL


class Member:
    """Reads the queues that are this member's, and hands what it reads to `deliveries`.

    The session must be running. `group` and topics are as brokers know them, with a namespace if there is one.

    Attributes:
        is_saving: Whether offsets are saved without being asked.
    """

    def __init__(
        self, group: str, settings: ConsumerSettings, session: ClientSession, *, is_lite: bool = False
    ) -> None:
        self.group = group
        self.settings = settings
        self.session = session
        self.is_lite = is_lite
        self.is_saving = True
        self._is_member = False
        self.started_ms = _wall_ms()
        self.runner: Runner | None = None
        self.deliveries = Deliveries()
        has_retries = not settings.broadcasting and not is_lite
        self.subscriptions = Subscriptions(group, has_retries=has_retries)
        self.requests = ConsumerRequests(session.requests, group, session.client_id)
        self.store: OffsetStore = (
            LocalOffsets(settings.offset_folder, session.config.instance_name, group)
            if settings.broadcasting
            else RemoteOffsets(self.requests, session.routes)
        )
        self.total = Total(settings.limits.total_bytes)
        self.handover = self._handover()
        self.rebalance = self._rebalance()
        self._slow = SlowMessages()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def queues(self) -> Mapping[MessageQueue, AssignedQueue]:
        """The queues that are this member's now."""
        return self.rebalance.queues

    async def join(self, topics: Mapping[str, Expression]) -> None:
        """Subscribe, announce this member, and take its queues over, as far as that is possible now.

        Topics that do not exist are logged and taken when they do.

        Raises:
            RemotingError: No NameServer answers.
            AuthenticationError: The credentials are wrong, or missing.
            RefusedError: A broker cannot filter by an SQL expression.
            ClientError: With `check_group`, the group's members subscribe to something else.
        """
        for topic, expression in topics.items():
            self.subscriptions.add(topic, expression, _wall_ms())
        await self.store.open()
        self.session.routes.on_change.append(self._route_changed)
        for topic in self.subscriptions.topics():
            await self._look_up(topic)
        if self.settings.check_group:
            await self._check_group()
        self.session.add_consumer(self)
        self._is_member = True
        failures = await self.session.heartbeat()
        await self.rebalance.round()
        for failure in (*failures.values(), self.rebalance.failure):
            if isinstance(failure, AuthenticationError):
                raise failure
        self._spawn_loops()

    async def subscribe(self, topic: str, expression: Expression) -> None:
        """Read another topic, or something else of one.

        Raises:
            RefusedError: A broker cannot filter by an SQL expression.
        """
        self.subscriptions.add(topic, expression, _wall_ms())
        await self._look_up(topic)
        await self.session.heartbeat()
        await self.rebalance.round()

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more; its queues are given back before this returns, retries of others still come."""
        if self.subscriptions.remove(topic):
            await self.rebalance.round()
            self.session.heartbeat_soon()

    async def assign(self, queues: Collection[MessageQueue], expression: Expression) -> None:
        """Read exactly these queues, without the group's other members.

        Raises:
            ConnectError: Not all of them can be read now.
        """
        for topic in {queue.topic for queue in queues}:
            self.subscriptions.add(topic, expression, _wall_ms())
            await self._look_up(topic)
        if not await self.rebalance.assign(queues):
            raise ConnectError(self.rebalance.trouble or "not all queues can be read now")

    async def leave(self) -> None:
        """Give everything back and leave the group. May be called at any time after the member was made."""
        self.deliveries.close()
        if self._route_changed in self.session.routes.on_change:
            self.session.routes.on_change.remove(self._route_changed)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.rebalance.close()
        if self._is_member:
            await self.session.remove_consumer(self)

    def consumer_data(self) -> ConsumerData:
        """Give what heartbeats say of this member."""
        settings = self.settings
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_ACTIVELY if self.is_lite else ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.BROADCASTING if settings.broadcasting else MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere(settings.start_rule.point.value),
            subscription_data_set=self.subscriptions.all(),
        )

    def on_members_changed(self) -> None:
        """A broker says that the group has other members or topics."""
        self.rebalance.soon()

    async def on_request(self, address: str, command: RemotingCommand) -> RemotingCommand | None:
        """Answer a broker, or the tool behind it."""
        return await peer_requests.answer(self, address, command)

    async def persist_offsets(self) -> None:
        """Save how far each queue is, and look for messages that hold one up."""
        if self.is_saving:
            offsets = {each.queue: each.committable for each in self.queues.values() if not each.is_dropped}
            await self.store.save(offsets, is_confirmed=False)
        await self.send_stuck_back()

    async def send_stuck_back(self) -> None:
        """Send messages back that are handled for too long, so that the offsets of their queues move on."""
        now_s = asyncio.get_running_loop().time()
        self._slow.look(self.queues.values(), now_s)
        if self.settings.orderly or self.settings.broadcasting or self.is_lite:
            return
        for assigned in list(self.queues.values()):
            stored = self._slow.overdue(assigned, now_s, self.settings.consume_timeout_s)
            if stored is not None:
                logger.warning(
                    "%s: message %s at offset %d is handled for more than %g s and is sent back",
                    assigned.queue, stored.msg_id, stored.queue_offset, self.settings.consume_timeout_s,
                )  # fmt: skip
                await assigned.fail(stored, _STUCK_LEVEL)

    async def reset(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on at other offsets in those queues that are this member's; what was pulled of them is forgotten."""
        for queue, offset in offsets.items():
            assigned = self.queues.get(queue)
            if assigned is not None and offset >= 0:
                logger.info("%s: moved from offset %d to %d on request", queue, assigned.committable, offset)
                assigned.move_to(offset)
                await self.handover.pull_anew(assigned)
        kept = [self.queues[queue] for queue in offsets if queue in self.queues]
        mine = {each.queue: each.committable for each in kept if not each.is_dropped}
        await self.store.save(mine, is_confirmed=False)

    def status(self) -> ConsumerStatus:
        """Give a snapshot."""
        now_s = asyncio.get_running_loop().time()
        return ConsumerStatus(
            client_id=self.session.client_id,
            group=self.group,
            queues=tuple(
                queue_status(each, self._slow.waits_for(each, now_s))
                for _, each in sorted(self.queues.items(), key=lambda item: item[0])
            ),
            held_bytes=self.total.size_bytes,
            trouble=self.rebalance.trouble,
        )

    async def _look_up(self, topic: str) -> None:
        try:
            await self.session.routes.route(topic)
        except NoRouteError as error:
            if topic != self.subscriptions.retry_topic:
                logger.warning("topic %s is not there yet and is read when it is: %s", topic, error)
            return
        if not self.subscriptions.of(topic).is_by_tag:
            await self._check_sql(topic)

    async def _check_group(self) -> None:
        """Brokers keep one subscription for a group, the last that they were told: it must be the same for all."""
        mine = {data.topic: (data.sub_string.strip(), data.expression_type) for data in self.subscriptions.all()}
        for addresses in self.session.routes.brokers().values():
            address = addresses.get(MASTER_ID)
            if address is None:
                continue
            found = await self.requests.subscriptions(address)
            theirs = {topic: (data.sub_string.strip(), data.expression_type) for topic, data in found.items()}
            if theirs and theirs != mine:
                raise ClientError(
                    f"the members of group {self.group} at {address} subscribe to {_shown(theirs)}, and this one to "
                    f"{_shown(mine)}; all members of a group must subscribe to the same"
                )

    async def _check_sql(self, topic: str) -> None:
        check = CheckClientRequestBody(
            client_id=self.session.client_id, group=self.group, subscription_data=self.subscriptions.of(topic)
        )
        route = await self.session.routes.route(topic)
        for broker_name in sorted({queue.broker_name for queue in route.subscribe_queues}):
            address = self.session.routes.address_for_read(broker_name)
            if address is not None:
                try:
                    await self.requests.check_subscription(address, check)
                except NotSupportedError:
                    logger.info("%s cannot say whether it filters by SQL", address)

    def _spawn_loops(self) -> None:
        self._tasks.append(self.session.spawn(self.rebalance.run(), f"rebalance {self.group}"))
        self._tasks.append(self.session.spawn(watch_loop(f"group {self.group}"), f"loop watch {self.group}"))
        if self._has_locks:
            locks = self.handover.keep_locks(lambda: list(self.queues.values()))
            self._tasks.append(self.session.spawn(locks, f"locks {self.group}"))

    @property
    def _has_locks(self) -> bool:
        return self.settings.orderly and not self.settings.broadcasting

    def _handover(self) -> Handover:
        settings, session = self.settings, self.session
        room = SharedRoom(self.total)
        pulls = PullParts(
            settings=PullSettings(
                group=self.group,
                batch_messages=settings.batch_messages,
                batch_bytes=settings.batch_bytes,
                suspend_s=settings.suspend_s,
                is_lite=self.is_lite,
            ),
            requests=self.requests,
            routes=session.routes,
            subscriptions=self.subscriptions,
            room=room,
            rejoin=session.heartbeat_soon,
            on_moved=self._save_soon,
        )
        again_after_s = settings.orderly_pause_s if settings.orderly else backoff.CONSUME_AGAIN_LOCALLY_S
        return Handover(
            HandoverParts(
                is_orderly=settings.orderly,
                has_locks=self._has_locks,
                start_rule=settings.start_rule,
                limits=settings.limits_of(1),
                store=self.store,
                requests=self.requests,
                routes=session.routes,
                queues=QueueParts(self.deliveries, room, self._failed_messages(), again_after_s, session.config.unwrap),
                pulls=pulls,
                spawn=session.spawn,
                loop_ended=self._loop_ended,
            )
        )

    def _rebalance(self) -> Rebalance:
        settings, session = self.settings, self.session
        return Rebalance(
            RebalanceParts(
                own_id=session.client_id,
                strategy=None if settings.broadcasting else settings.allocation,
                limits=settings.limits_of,
                routes=session.routes,
                requests=self.requests,
                subscriptions=self.subscriptions,
                handover=self.handover,
                announce=session.heartbeat,
            )
        )

    def _failed_messages(self) -> FailedMessages:
        settings = self.settings
        if self.is_lite:
            return TryAgainInOrder(None, backoff.UNLIMITED)
        most = backoff.max_reconsume_times(settings.max_reconsume_times, is_orderly=settings.orderly)
        send_back = SendBack(self.requests, self.session.routes, self.group, most)
        if settings.orderly:
            return TryAgainInOrder(None if settings.broadcasting else send_back, most)
        return DropWithWord() if settings.broadcasting else send_back

    def _route_changed(self, topic: str, _: TopicRoute) -> None:
        if topic in self.subscriptions:
            self.rebalance.soon()

    def _loop_ended(self) -> None:
        self.rebalance.soon()

    def _save_soon(self, assigned: AssignedQueue) -> None:
        offsets = {assigned.queue: assigned.committable}
        self.session.spawn(self.store.save(offsets, is_confirmed=False), f"save {assigned.queue}")


def _shown(subscriptions: Mapping[str, tuple[str, str]]) -> str:
    return ", ".join(f"{topic} ({text})" for topic, (text, _) in sorted(subscriptions.items()))


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
