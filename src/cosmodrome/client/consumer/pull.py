"""The loop that pulls one queue.

Owns: when a pull may be sent, what it asks, what each answer means for the queue, and how long to wait after it.
Must not know: whose turn it is to handle messages; how queues are assigned.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from cosmodrome.client.consumer import backoff
from cosmodrome.client.consumer.assigned_queue import AssignedQueue
from cosmodrome.client.consumer.process_queue import KIB
from cosmodrome.client.consumer.requests import ConsumerRequests, PullAnswer
from cosmodrome.client.consumer.room import SharedRoom
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import AnswerError, MalformedBodyError, RemotingError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.headers.pull import (
    PULL_LITE,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    PullMessageRequestHeader,
)
from cosmodrome.protocol.messages.record import StoredMessage, decode_records

logger = logging.getLogger(__name__)

ANSWER_MARGIN_S: Final = 15.0
"""How much longer than the broker may hold a pull we wait for its answer; its sweep comes every 5 s."""
_OFFSET_RESET: Final = "OFFSET_RESET"
_MASTER_ID: Final = 0


class PullSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a consumer pulls.

    Attributes:
        suspend_s: How long a broker may hold a pull that finds nothing.
        is_lite: Whether the consumer polls by itself.
    """

    group: str
    batch_messages: int = 32
    batch_bytes: int = 256 * KIB
    suspend_s: float = 15.0
    is_lite: bool = False


class PullParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the loops of one consumer share.

    Attributes:
        rejoin: Sends a heartbeat to all brokers, now.
        on_moved: Called when a broker put a queue to another offset, which is worth saving.
    """

    settings: PullSettings
    requests: ConsumerRequests
    routes: TopicRoutes
    subscriptions: Subscriptions
    room: SharedRoom
    rejoin: Callable[[], None]
    on_moved: Callable[[AssignedQueue], None]


class PullLoop:
    """Pulls one queue until it is dropped. `run` is a task of its own.

    With `not_before_ms`, messages at the beginning that were stored before that time are passed over: brokers before
    5.x give the nearest offset for a time, not the first one after it.
    """

    def __init__(self, assigned: AssignedQueue, parts: PullParts, not_before_ms: int | None = None) -> None:
        self._assigned = assigned
        self._parts = parts
        self._not_before_ms = not_before_ms
        self._takes: Final[Mapping[int, Callable[[PullAnswer, float], float]]] = {
            ResponseCode.SUCCESS: self._take_found,
            ResponseCode.PULL_NOT_FOUND: self._take_nothing,
            ResponseCode.PULL_RETRY_IMMEDIATELY: self._take_nothing,
            ResponseCode.PULL_OFFSET_MOVED: self._take_moved,
        }
        self._broker_id = _MASTER_ID
        self._batch_messages = parts.settings.batch_messages
        self._empty_in_a_row = 0
        self._moved_at_s: float | None = None
        self._rejoined_at_s: float | None = None

    async def run(self) -> None:
        """Pull, one request at a time."""
        assigned = self._assigned
        while not assigned.is_dropped:
            while not assigned.may_pull and not assigned.is_dropped:
                await assigned.change()
            is_let_in = await self._parts.room.enter()
            try:
                pause_s = 0.0 if assigned.is_dropped else await self._pull(may_be_held=not is_let_in)
            except Exception as error:  # noqa: BLE001 -- told, and tried again: one answer must not end a queue
                pause_s = self._failed(f"the client failed: {error!r}", is_fault=True)
            finally:
                if is_let_in:
                    self._parts.room.pass_on()
            if pause_s > 0:
                await asyncio.sleep(pause_s)

    async def _pull(self, *, may_be_held: bool) -> float:
        """Pull once and give the pause before the next time."""
        assigned, parts = self._assigned, self._parts
        queue, loop = assigned.queue, asyncio.get_running_loop()
        address = parts.routes.address_for_read(queue.broker_name, self._broker_id)
        if address is None:
            if parts.routes.is_hurry_due(queue.topic, loop.time()):
                await parts.routes.refresh(queue.topic)
            return self._failed(f"no route to broker {queue.broker_name}")
        header = self._header(may_be_held=may_be_held)
        begun_s = loop.time()
        assigned.last_pull_ms = time.time_ns() // 1_000_000
        timeout_s = parts.settings.suspend_s + ANSWER_MARGIN_S
        asked_of = assigned.held
        try:
            answer = await parts.requests.pull(address, header, timeout_s)
        except (RemotingError, AnswerError) as error:
            self._broker_id = _MASTER_ID
            return self._failed(str(error))
        if assigned.is_dropped or assigned.held is not asked_of:
            return 0.0
        take = self._takes.get(answer.code, self._take_refusal)
        return take(answer, loop.time() - begun_s)

    def _header(self, *, may_be_held: bool) -> PullMessageRequestHeader:
        """Give what is asked. It carries no offset to commit: a broker may work on it after the last commit of a close."""
        assigned, settings = self._assigned, self._parts.settings
        data = self._parts.subscriptions.of(assigned.queue.topic)
        flags = PULL_SUSPEND if may_be_held else 0
        if settings.is_lite:
            flags |= PULL_LITE | PULL_SUBSCRIPTION
        return PullMessageRequestHeader(
            consumer_group=settings.group,
            topic=assigned.queue.topic,
            queue_id=assigned.queue.queue_id,
            queue_offset=assigned.held.next_offset,
            max_msg_nums=self._batch_messages,
            sys_flag=flags,
            commit_offset=0,
            suspend_timeout_millis=int(settings.suspend_s * 1000),
            sub_version=0 if settings.is_lite and data.is_by_tag else data.sub_version,
            subscription=data.sub_string if settings.is_lite else None,
            expression_type=data.expression_type,
            max_msg_bytes=settings.batch_bytes,
            bname=assigned.queue.broker_name,
        )

    def _take_found(self, answer: PullAnswer, _: float) -> float:
        assigned = self._assigned
        self._broker_id = answer.suggested_broker_id
        try:
            records = decode_records(answer.body)
        except MalformedBodyError as error:
            return self._take_unreadable(answer, error)
        self._batch_messages = self._parts.settings.batch_messages
        before = assigned.held.next_offset
        new = assigned.held.take(self._wanted(records), answer.next_begin_offset)
        self._works()
        assigned.offer(new)
        if assigned.held.next_offset == before and self._parts.room.total.has_room:
            return self._failed("the broker answers with messages from before the offset that was asked for")
        return 0.0

    def _wanted(self, records: list[StoredMessage]) -> list[StoredMessage]:
        not_before_ms = self._not_before_ms
        if not_before_ms is not None:
            late = next((at for at, each in enumerate(records) if each.store_timestamp_ms >= not_before_ms), None)
            if late is None:
                return []
            self._not_before_ms = None
            records = records[late:]
        is_wanted = self._parts.subscriptions.acceptance(self._assigned.queue.topic)
        return records if is_wanted is None else [each for each in records if is_wanted(each)]

    def _take_unreadable(self, answer: PullAnswer, error: MalformedBodyError) -> float:
        """Find the message that cannot be read by asking for one at a time, and pass over it alone."""
        held = self._assigned.held
        if self._batch_messages > 1:
            self._batch_messages = 1
            return self._failed(f"cannot read what the broker sent: {error}")
        logger.error("%s: what is at offset %d cannot be read and is passed over: %s",
                     self._assigned.queue, held.next_offset, error)  # fmt: skip
        held.skip_to(max(answer.next_begin_offset, held.next_offset + 1))
        self._batch_messages = self._parts.settings.batch_messages
        return 0.0

    def _take_nothing(self, answer: PullAnswer, took_s: float) -> float:
        """Nothing at this offset, or nothing that matches before another: go on there, at once if the broker waited."""
        held = self._assigned.held
        self._broker_id = answer.suggested_broker_id
        has_moved = answer.next_begin_offset > held.next_offset
        held.skip_to(answer.next_begin_offset)
        self._works()
        if has_moved or took_s > backoff.QUICK_ANSWER_S:
            self._empty_in_a_row = 0
            return 0.0
        self._empty_in_a_row += 1
        return backoff.pause_after_quick_answers_s(self._empty_in_a_row)

    def _take_moved(self, answer: PullAnswer, _: float) -> float:
        """The offset is outside the queue: go on where the broker says, but at most once a second.

        Going on, what is held was really there and is kept. Going back, or when somebody reset the group's offset,
        it is not.
        """
        assigned, now_s = self._assigned, asyncio.get_running_loop().time()
        logger.warning(
            "%s: offset %d is outside the queue (%s), going on at %d", assigned.queue, assigned.held.next_offset,
            answer.remark or "no reason given", answer.next_begin_offset,
        )  # fmt: skip
        is_back = 0 <= answer.next_begin_offset < assigned.held.next_offset
        if is_back or answer.remark == _OFFSET_RESET:
            assigned.move_to(max(0, answer.next_begin_offset))
        else:
            assigned.held.skip_to(answer.next_begin_offset)
        self._parts.on_moved(assigned)
        last_s, self._moved_at_s = self._moved_at_s, now_s
        if last_s is None or now_s - last_s > 2 * backoff.PULL_FAILED_S:
            return 0.0
        return self._failed("the broker answers again and again that the offset is outside the queue")

    def _take_refusal(self, answer: PullAnswer, _: float) -> float:
        is_late = answer.code == ResponseCode.SUBSCRIPTION_NOT_LATEST
        pause_s = backoff.pause_after_refusal_s(answer.code)
        self._failed(f"code {answer.code}: {answer.remark}", logging.DEBUG if is_late else logging.WARNING)
        if not backoff.asks_for_heartbeat(answer.code):
            return pause_s
        now_s = asyncio.get_running_loop().time()
        last_s, self._rejoined_at_s = self._rejoined_at_s, now_s
        self._parts.rejoin()
        return backoff.FIRST_REJOIN_S if last_s is None or now_s - last_s > 2 * backoff.REJOIN_S else backoff.REJOIN_S

    def _failed(self, reason: str, level: int = logging.WARNING, *, is_fault: bool = False) -> float:
        if self._assigned.trouble is not None:
            level = logging.DEBUG
        logger.log(level, "%s: pulling failed, trying again: %s", self._assigned.queue, reason, exc_info=is_fault)
        self._assigned.trouble = reason
        return backoff.PULL_FAILED_S

    def _works(self) -> None:
        if self._assigned.trouble is not None:
            logger.info("%s: pulling works again", self._assigned.queue)
            self._assigned.trouble = None
