"""POP mode (5.x): brokers share messages out by themselves, and remember which are not acknowledged.

Owns: popping, acknowledging, and hiding failed messages longer; which brokers are popped.
Must not know: who handles messages.
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
from cosmodrome.client.consumer.pop_handle import Receipt, delay_s, receipt_of
from cosmodrome.client.consumer.requests import ConsumerRequests, Popped
from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.start_offset import StartPoint
from cosmodrome.client.consumer.status import ConsumerStatus
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import AnswerError, AuthenticationError, MalformedBodyError, NoRouteError, RemotingError
from cosmodrome.protocol.bodies.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, MessageModel
from cosmodrome.protocol.bodies.pop import MessageRequestMode
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.headers.pop import PopMessageRequestHeader
from cosmodrome.protocol.messages.record import StoredMessage, decode_records

logger = logging.getLogger(__name__)

BATCH_MESSAGES: Final = 32
INVISIBLE_S: Final = 60.0
UNFINISHED_MESSAGES: Final = 96
"""Of one broker and topic that are popped and not acknowledged, before popping pauses."""
LATE_S: Final = 1.0
"""So long before others may have a message it is not begun any more."""
_ANSWER_MARGIN_S: Final = 15.0
_PERIOD_S: Final = 20.0
_ANY_QUEUE: Final = -1


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
        most = backoff.max_reconsume_times(settings.max_reconsume_times, is_orderly=False)
        self.send_back = SendBack(self.requests, session.routes, group, most)
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
                loop = self._loops[queue] = PopLoop(queue, self)
                loop.start()


class PopLoop:
    """Pops one broker's part of a topic, and acknowledges."""

    def __init__(self, queue: MessageQueue, member: PopMember) -> None:
        self._queue = queue
        self._member = member
        self._unfinished = 0
        self._has_room = asyncio.Event()
        self._acks: asyncio.Queue[Receipt] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self.is_stopped = False
        self.held_bytes = 0
        self.trouble: str | None = None

    def start(self) -> None:
        """Begin."""
        spawn = self._member.session.spawn
        self._tasks = [
            spawn(self._pop_for_ever(), f"pop {self._queue}"),
            spawn(self._acknowledge_for_ever(), f"acknowledge {self._queue}"),
        ]

    async def stop(self) -> None:
        """End, with all acknowledgements sent."""
        self.is_stopped = True
        popping, acknowledging = self._tasks
        popping.cancel()
        try:
            await asyncio.wait((popping,))
            await self._acks.join()
        finally:
            acknowledging.cancel()
        await asyncio.wait((acknowledging,))

    def finished(self, message: "PoppedMessage") -> None:
        """Acknowledge a message."""
        self.settled(message)
        self._acks.put_nowait(message.receipt)

    def settled(self, message: "PoppedMessage") -> None:
        """A message is no concern of this client any more."""
        self._unfinished -= 1
        self.held_bytes -= len(message.stored.body)
        self._has_room.set()

    async def hide(self, message: "PoppedMessage", delay_level: int | None) -> None:
        """Have a failed message come again later; with level -1 it goes to the dead letters."""
        stored, receipt = message.stored, message.receipt
        if delay_level == backoff.TO_DEAD_LETTERS:
            if await self._member.send_back.send_copy(self._queue, stored, backoff.TO_DEAD_LETTERS):
                self._acks.put_nowait(receipt)
            return
        address = self._member.session.routes.master_address(self._queue.broker_name)
        hidden_s = delay_s(stored.reconsume_times, delay_level)
        try:
            if address is not None:
                await self._member.requests.change_invisible_time(address, receipt, hidden_s * 1000)
        except (RemotingError, AnswerError) as error:
            logger.warning("message %s failed and comes again when its time is over: %s", stored.msg_id, error)

    async def _pop_for_ever(self) -> None:
        while not self.is_stopped:
            while self._unfinished >= UNFINISHED_MESSAGES:
                self._has_room.clear()
                await self._has_room.wait()
            try:
                pause_s = await self._pop()
            except Exception:
                logger.exception("%s: popping failed, trying again", self._queue)
                pause_s = self._failed("the client failed; the log has the error")
            if pause_s > 0:
                await asyncio.sleep(pause_s)

    async def _pop(self) -> float:
        member, loop = self._member, asyncio.get_running_loop()
        address = member.session.routes.master_address(self._queue.broker_name)
        if address is None:
            return self._failed(f"no route to a master of broker {self._queue.broker_name}")
        begun_s = loop.time()
        try:
            popped = await member.requests.pop(address, self._header(), member.settings.suspend_s + _ANSWER_MARGIN_S)
            messages = self._messages(popped)
        except (RemotingError, AnswerError, MalformedBodyError) as error:
            return self._failed(str(error))
        if popped.code not in (ResponseCode.SUCCESS, *_NOTHING):
            return self._failed(f"code {popped.code}: {popped.remark}")
        self.trouble = None
        for message in messages:
            self._unfinished += 1
            self.held_bytes += len(message.stored.body)
            member.deliveries.put(message, (message.stored,))
        is_quick = loop.time() - begun_s < backoff.QUICK_ANSWER_S
        return backoff.PULL_FAILED_S if not messages and is_quick else 0.0

    def _messages(self, popped: Popped) -> list["PoppedMessage"]:
        if popped.code != ResponseCode.SUCCESS:
            return []
        is_wanted = self._member.subscriptions.acceptance(self._queue.topic)
        messages = []
        for stored in decode_records(popped.body):
            receipt = receipt_of(stored, popped.header, self._queue.broker_name, self._member.group)
            if is_wanted is not None and not is_wanted(stored):
                self._acks.put_nowait(receipt)
            else:
                messages.append(PoppedMessage(stored, receipt, self, self._member))
        return messages

    def _header(self) -> PopMessageRequestHeader:
        member, data = self._member, self._member.subscriptions.of(self._queue.topic)
        return PopMessageRequestHeader(
            consumer_group=member.group,
            topic=self._queue.topic,
            queue_id=self._queue.queue_id,
            max_msg_nums=min(BATCH_MESSAGES, member.settings.batch_messages),
            invisible_time=int(INVISIBLE_S * 1000),
            poll_time=int(member.settings.suspend_s * 1000),
            born_time=_wall_ms(),
            init_mode=0 if member.settings.start_rule.point is StartPoint.FIRST else 1,
            exp_type=data.expression_type,
            exp=data.sub_string,
            order=False,
            bname=self._queue.broker_name,
        )

    async def _acknowledge_for_ever(self) -> None:
        while True:
            receipt = await self._acks.get()
            try:
                address = self._member.session.routes.master_address(self._queue.broker_name)
                if address is not None:
                    await self._member.requests.acknowledge(address, receipt)
            except (RemotingError, AnswerError) as error:
                logger.warning("%s: offset %d was not acknowledged and comes again: %s",
                               self._queue, receipt.offset, error)  # fmt: skip
            except Exception:
                logger.exception("%s: offset %d was not acknowledged and comes again", self._queue, receipt.offset)
            finally:
                self._acks.task_done()

    def _failed(self, reason: str) -> float:
        level = logging.WARNING if self.trouble is None else logging.DEBUG
        logger.log(level, "%s: popping failed, trying again: %s", self._queue, reason)
        self.trouble = reason
        return backoff.PULL_FAILED_S


_NOTHING: Final = (ResponseCode.PULL_NOT_FOUND, ResponseCode.POLLING_FULL, ResponseCode.POLLING_TIMEOUT)


class PoppedMessage:
    """One popped message, as deliveries hand it out and handlers settle it."""

    is_paused = False

    def __init__(self, stored: StoredMessage, receipt: Receipt, loop: PopLoop, member: PopMember) -> None:
        self.stored = stored
        self.receipt = receipt
        self._loop = loop
        self._member = member
        self._is_settled = False
        self._visible_at_s = asyncio.get_running_loop().time() + INVISIBLE_S

    @property
    def is_dropped(self) -> bool:
        """Whether nothing of it is begun any more."""
        return self._loop.is_stopped

    def hand_out(self, stored: StoredMessage) -> ReceivedMessage | None:
        """Give it, unless others may have it soon: it comes again."""
        if asyncio.get_running_loop().time() > self._visible_at_s - LATE_S:
            self._is_settled = True
            self._loop.settled(self)
            return None
        queue = MessageQueue(stored.topic, self.receipt.handle.split(" ")[5], stored.queue_id)
        return ReceivedMessage(stored, queue, self, topic=self._member.session.config.unwrap(stored.topic))

    async def ack(self, message: ReceivedMessage) -> None:
        """Settle it as handled."""
        self.finish(message.queue_offset)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:  # noqa: ARG002 -- this one
        """Settle it as failed.

        Raises:
            ValueError: No such delay level.
        """
        backoff.checked_delay_level(delay_level)
        if not self._is_settled:
            self._is_settled = True
            await self._loop.hide(self, delay_level)
            self._loop.settled(self)

    def put_back(self, offset: int) -> None:
        """Nothing to do: it comes to others when its time is over."""

    def finish(self, offset: int) -> None:  # noqa: ARG002 -- this one
        """Settle it as handled."""
        if not self._is_settled:
            self._is_settled = True
            self._loop.finished(self)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
