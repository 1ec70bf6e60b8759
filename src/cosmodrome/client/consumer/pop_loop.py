"""Popping one broker's part of a topic.

Owns: the pops, how much is popped and not settled, what becomes of popped messages that are done or failed.
Must not know: which brokers are popped; who handles messages.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from cosmodrome.client.consumer import backoff
from cosmodrome.client.consumer import popped as popped_messages
from cosmodrome.client.consumer.pop_acks import Acknowledgements
from cosmodrome.client.consumer.pop_handle import delay_s, order_counts, receipt_of
from cosmodrome.client.consumer.popped import OrderlyRun, PopParts, PoppedMessage
from cosmodrome.client.consumer.requests import Popped
from cosmodrome.client.consumer.start_offset import StartPoint
from cosmodrome.client.message import MessageQueue
from cosmodrome.errors import AnswerError, MalformedBodyError, RemotingError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.headers.pop import PopMessageRequestHeader
from cosmodrome.protocol.messages.record import StoredMessage, decode_records

logger = logging.getLogger(__name__)

BATCH_MESSAGES: Final = 32
UNFINISHED_MESSAGES: Final = 96
"""Of one broker and topic that are popped and not settled, before popping pauses."""
LAST_ANSWER_S: Final = 0.5
"""How long the answer of an orderly pop is waited for at the end: a queue of which it holds messages stands still."""
_ANSWER_MARGIN_S: Final = 15.0
_NOTHING: Final = (ResponseCode.PULL_NOT_FOUND, ResponseCode.POLLING_FULL, ResponseCode.POLLING_TIMEOUT)


class PopLoop:
    """Pops one broker's part of a topic, and acknowledges."""

    def __init__(self, queue: MessageQueue, parts: PopParts) -> None:
        self._queue = queue
        self._parts = parts
        self._unfinished = 0
        self._has_room = asyncio.Event()
        self._acks = Acknowledgements(parts.requests, parts.group, queue.broker_name, self._address)
        self._runs: set[OrderlyRun] = set()
        self._attempt_id: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_stopped = False
        self.held_bytes = 0
        self.trouble: str | None = None

    def start(self) -> None:
        """Begin."""
        spawn = self._parts.session.spawn
        self._tasks = [
            spawn(self._pop_for_ever(), f"pop {self._queue}"),
            spawn(self._acks.run(), f"acknowledge {self._queue}"),
        ]

    async def stop(self) -> None:
        """End, with all acknowledgements sent."""
        self.is_stopped = True
        popping, acknowledging = self._tasks
        try:
            if self._parts.settings.orderly:
                await asyncio.wait((popping,), timeout=LAST_ANSWER_S)
            popping.cancel()
            await asyncio.wait((popping,))
            await asyncio.gather(*(run.leave() for run in self._runs))
            await self._acks.all_sent()
        finally:
            acknowledging.cancel()
        await asyncio.wait((acknowledging,))

    def finished(self, message: PoppedMessage) -> None:
        """Acknowledge a message."""
        self.settled(message)
        self._acks.add(message.receipt)

    def settled(self, message: PoppedMessage) -> None:
        """A message is no concern of this client any more."""
        self._unfinished -= 1
        self.held_bytes -= len(message.stored.body)
        self._has_room.set()

    async def hide(self, message: PoppedMessage, delay_level: int | None) -> None:
        """Have a failed message come again later; with level -1 it goes to the dead letters."""
        stored, receipt = message.stored, message.receipt
        if delay_level == backoff.TO_DEAD_LETTERS:
            if await self._parts.send_back.send_copy(self._queue, stored, backoff.TO_DEAD_LETTERS):
                self._acks.add(receipt)
            return
        await self.hide_for(message, delay_s(stored.reconsume_times, delay_level) * 1000)

    async def hide_for(self, message: PoppedMessage, invisible_ms: int) -> bool:
        """Have a message come again when so much time is over; whether the broker took it."""
        address = self._address()
        try:
            if address is not None:
                await self._parts.requests.change_invisible_time(address, message.receipt, invisible_ms)
        except (RemotingError, AnswerError) as error:
            logger.warning("message %s comes again only when its first time is over: %s", message.stored.msg_id, error)
            return False
        return address is not None

    def offer(self, message: PoppedMessage) -> None:
        """Let a message be handled."""
        self._parts.deliveries.put(message, (message.stored,))

    def over(self, run: "OrderlyRun") -> None:
        """Nothing of a run is open any more."""
        self._runs.discard(run)

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
        member, loop = self._parts, asyncio.get_running_loop()
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
        self._attempt_id = None
        for message in messages:
            self._unfinished += 1
            self.held_bytes += len(message.stored.body)
        self._begin(messages)
        is_quick = loop.time() - begun_s < backoff.QUICK_ANSWER_S
        return backoff.PULL_FAILED_S if not messages and is_quick else 0.0

    def _begin(self, messages: Sequence[PoppedMessage]) -> None:
        if not self._parts.settings.orderly:
            for message in messages:
                self.offer(message)
            return
        queues: dict[int, list[PoppedMessage]] = {}
        for message in messages:
            queues.setdefault(message.stored.queue_id, []).append(message)
        for run in [OrderlyRun(each, self, self._parts) for each in queues.values()]:
            self._runs.add(run)
            run.begin()

    def _messages(self, popped: Popped) -> list[PoppedMessage]:
        if popped.code != ResponseCode.SUCCESS:
            return []
        is_wanted = self._parts.subscriptions.acceptance(self._queue.topic)
        # Brokers count how often they gave a message: those behind the first one of a queue were not begun.
        counts, begun = order_counts(popped.header.order_count_info), set[int]()
        messages = []
        for stored in decode_records(popped.body):
            receipt = receipt_of(stored, popped.header, self._queue.broker_name, self._parts.group)
            if is_wanted is not None and not is_wanted(stored):
                self._acks.add(receipt)
            else:
                is_head = stored.queue_id not in begun
                begun.add(stored.queue_id)
                counted = _counted(stored, counts) if is_head else stored
                messages.append(PoppedMessage(counted, receipt, self, self._parts.session.config))
        return messages

    def _header(self) -> PopMessageRequestHeader:
        member, data = self._parts, self._parts.subscriptions.of(self._queue.topic)
        if member.settings.orderly and self._attempt_id is None:
            # By it a broker knows the same try again, whose answer was lost: its own messages do not stand in its way.
            self._attempt_id = secrets.token_hex(16)
        return PopMessageRequestHeader(
            consumer_group=member.group,
            topic=self._queue.topic,
            queue_id=self._queue.queue_id,
            max_msg_nums=min(BATCH_MESSAGES, member.settings.batch_messages),
            invisible_time=int(popped_messages.INVISIBLE_S * 1000),
            poll_time=int(member.settings.suspend_s * 1000),
            born_time=_wall_ms(),
            init_mode=0 if member.settings.start_rule.point is StartPoint.FIRST else 1,
            exp_type=data.expression_type,
            exp=data.sub_string,
            order=member.settings.orderly,
            attempt_id=self._attempt_id,
            bname=self._queue.broker_name,
        )

    def _address(self) -> str | None:
        return self._parts.session.routes.master_address(self._queue.broker_name)

    def _failed(self, reason: str) -> float:
        level = logging.WARNING if self.trouble is None else logging.DEBUG
        logger.log(level, "%s: popping failed, trying again: %s", self._queue, reason)
        self.trouble = reason
        return backoff.PULL_FAILED_S


def _counted(stored: StoredMessage, counts: Mapping[tuple[int, int | None], int]) -> StoredMessage:
    """Give a message of an orderly pop its number of failures: the record is the same each time."""
    queue, offset = stored.queue_id, stored.queue_offset
    times = counts.get((queue, offset), counts.get((queue, None), 0))
    return msgspec.structs.replace(stored, reconsume_times=times) if times else stored


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
