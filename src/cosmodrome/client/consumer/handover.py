"""How a queue becomes this member's, and how it is given back.

Owns: the order of both: lock, stored offset, pulling; and stop, last offset, unlock. The locks that are held.
Must not know: which queues are whose.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

import msgspec

from cosmodrome.client.consumer.assigned_queue import AssignedQueue, OrderlyQueue, QueueParts
from cosmodrome.client.consumer.offset_store import OffsetStore
from cosmodrome.client.consumer.process_queue import HoldingLimits
from cosmodrome.client.consumer.pull import PullLoop, PullParts
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.start_offset import (
    NOT_STORED,
    Question,
    StartPoint,
    StartRule,
    start_without_stored,
)
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import AnswerError, ConnectError, RemotingError

logger = logging.getLogger(__name__)

LOCK_RENEWAL_S: Final = 20.0
LOST_LOCK_RETRY_S: Final = 3.0
LOCK_LIFE_S: Final = 30.0
"""How long a lock that was granted is believed in; the broker keeps it for 60 s."""
LEAVE_S: Final = 0.5
_FOR_EVER: Final = float("inf")

Spawn = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]


class HandoverParts(msgspec.Struct, frozen=True, kw_only=True):
    """What taking over and giving back need.

    Attributes:
        has_locks: Whether brokers lock queues for this member: in order, and not broadcasting.
        spawn: Starts a task that ends with the session at the latest.
        loop_ended: Called when a queue is not pulled any more though nobody stopped that.
    """

    is_orderly: bool
    has_locks: bool
    start_rule: StartRule
    limits: HoldingLimits
    store: OffsetStore
    requests: ConsumerRequests
    routes: TopicRoutes
    queues: QueueParts
    pulls: PullParts
    spawn: Spawn
    loop_ended: Callable[[], None]


class Handover:
    """Takes queues over and gives them back; the caller knows which."""

    def __init__(self, parts: HandoverParts) -> None:
        self._parts = parts
        self._loops: dict[MessageQueue, asyncio.Task[None]] = {}
        # Also those that were asked for and not yet granted: an end may come between.
        self._locks: set[MessageQueue] = set()
        self._is_over = False
        self._told: dict[MessageQueue, str] = {}

    async def take_over(self, queue: MessageQueue) -> AssignedQueue | None:
        """Begin to read a queue; None when that is not possible now, with a line in the log that says why."""
        parts = self._parts
        try:
            if parts.has_locks and not await self._lock(queue):
                return None
            offset, not_before_ms = await self._start(queue)
        except (RemotingError, AnswerError) as error:
            self._report(queue, str(error))
            return None
        if self._is_over:
            return None
        kind = OrderlyQueue if parts.is_orderly else AssignedQueue
        assigned = kind(queue, offset, parts.limits, parts.queues)
        if isinstance(assigned, OrderlyQueue):
            assigned.locked(LOCK_LIFE_S if parts.has_locks else _FOR_EVER)
        self.begin(assigned, not_before_ms)
        self._told.pop(queue, None)
        logger.info("%s: reading from offset %d", queue, offset)
        return assigned

    def _report(self, queue: MessageQueue, reason: str) -> None:
        """Say why a queue is not read, once: it is tried every second, and a broker may be away for hours."""
        level = logging.DEBUG if self._told.get(queue) == reason else logging.WARNING
        logger.log(level, "%s is not read yet: %s", queue, reason)
        self._told[queue] = reason

    def begin(self, assigned: AssignedQueue, not_before_ms: int | None = None) -> None:
        """Start to pull a queue."""
        loop = PullLoop(assigned, self._parts.pulls, not_before_ms)
        task = self._loops[assigned.queue] = self._parts.spawn(loop.run(), f"pull {assigned.queue}")
        task.add_done_callback(lambda _: self._has_ended(assigned, task))

    def _has_ended(self, assigned: AssignedQueue, task: "asyncio.Task[None]") -> None:
        if self._loops.get(assigned.queue) is task and not assigned.is_dropped:
            self._parts.loop_ended()

    async def pull_anew(self, assigned: AssignedQueue) -> None:
        """Give up the pull that is under way, and pull from where the queue is now."""
        await self._stop_pulling((assigned.queue,))
        if not assigned.is_dropped:
            self.begin(assigned)

    def is_pulled(self, assigned: AssignedQueue) -> bool:
        """Whether the loop of a queue still runs; one that ended by itself is a fault that the log has."""
        task = self._loops.get(assigned.queue)
        return task is not None and not task.done() and not assigned.is_dropped

    async def give_back(self, assigned: AssignedQueue) -> bool:
        """Let go of a queue: what was finished is saved, then its lock is given back.

        What is being handled has a moment to end, so that it is not handled again by the next member. False: a message
        is still being handled in order; the queue stays locked until the next try. May be called again, also when it
        was cancelled.
        """
        if isinstance(assigned, OrderlyQueue):
            if not await assigned.leave(LEAVE_S):
                return False
        else:
            assigned.pause()
            try:
                await assigned.quiet(LEAVE_S)
            except asyncio.CancelledError:
                assigned.drop()  # it may not stay paused for ever: what is left to do is done by the next call
                raise
        queue, offset = assigned.queue, assigned.committable
        assigned.drop()
        await self._stop_pulling((queue,))
        await self._parts.store.save({queue: offset}, is_confirmed=False)
        if queue in self._locks:
            await self._unlock((queue,), is_confirmed=False)
        logger.info("%s: given back at offset %d", queue, offset)
        return True

    async def give_back_all(self, all_assigned: Iterable[AssignedQueue]) -> None:
        """Let go of all queues at the end: offsets first, then the locks, each with the brokers' confirmation."""
        self._is_over = True
        assigned = list(all_assigned)
        offsets = {each.queue: each.committable for each in assigned}
        for each in assigned:
            each.drop()
        await self._stop_pulling(list(self._loops))
        await self._parts.store.save(offsets, is_confirmed=True)
        await self._unlock(list(self._locks), is_confirmed=True)

    async def keep_locks(self, assigned: Callable[[], Iterable[AssignedQueue]]) -> None:
        """Renew the locks for ever; one that was lost is asked for sooner, and its queue waits."""
        while True:
            queues = [each for each in assigned() if isinstance(each, OrderlyQueue)]
            is_complete = all(each.is_locked for each in queues)
            await asyncio.sleep(LOCK_RENEWAL_S if is_complete else LOST_LOCK_RETRY_S)
            queues = [each for each in assigned() if isinstance(each, OrderlyQueue) and not each.is_dropped]
            for broker_name in {each.queue.broker_name for each in queues}:
                await self._renew([each for each in queues if each.queue.broker_name == broker_name])

    async def _renew(self, queues: list[OrderlyQueue]) -> None:
        broker_name = queues[0].queue.broker_name
        address = self._parts.routes.master_address(broker_name)
        if address is None:
            return
        try:
            granted = await self._parts.requests.lock(address, [each.queue for each in queues])
        except (RemotingError, AnswerError) as error:
            logger.warning("locks at broker %s were not renewed: %s", broker_name, error)
            return
        for each in queues:
            if each.is_dropped:
                continue
            if each.queue in granted:
                each.locked(LOCK_LIFE_S)
            else:
                if each.is_locked:
                    logger.warning("%s: the lock was lost, waiting for it", each.queue)
                each.unlocked()

    async def _lock(self, queue: MessageQueue) -> bool:
        address = self._parts.routes.master_address(queue.broker_name)
        if address is None:
            raise ConnectError(f"no route to a master of broker {queue.broker_name}")
        self._locks.add(queue)
        is_granted = queue in await self._parts.requests.lock(address, (queue,))
        if not is_granted:
            self._locks.discard(queue)
            logger.info("%s is still locked by another member", queue)
        return is_granted

    async def _unlock(self, queues: Iterable[MessageQueue], *, is_confirmed: bool) -> None:
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            by_broker.setdefault(queue.broker_name, []).append(queue)
            self._locks.discard(queue)
        for broker_name, theirs in by_broker.items():
            address = self._parts.routes.master_address(broker_name)
            if address is None:
                continue
            try:
                await self._parts.requests.unlock(address, theirs, is_confirmed=is_confirmed)
            except (RemotingError, AnswerError) as error:
                logger.warning("locks at broker %s were not given back: %s", broker_name, error)

    async def _start(self, queue: MessageQueue) -> tuple[int, int | None]:
        """Give the first offset to read, and before which store time its first messages are to be passed over."""
        parts, rule = self._parts, self._parts.start_rule
        is_by_time = rule.point is StartPoint.BY_TIME
        stored = await parts.store.load(queue, is_exact=is_by_time)
        if stored > NOT_STORED:
            if is_by_time:
                logger.info("%s: the group's stored offset %d counts, the start time does not", queue, stored)
            return stored, None
        start = start_without_stored(rule, queue.topic)
        if isinstance(start, int):
            return start, None
        address = parts.routes.address_for_read(queue.broker_name)
        if address is None:
            raise ConnectError(f"no route to broker {queue.broker_name}")
        if start is Question.MAX_OFFSET:
            return max(0, await parts.requests.max_offset(address, queue)), None
        time_ms = rule.time_ms or 0
        # One before, since brokers before 5.x may give any of several messages that were stored at the same time.
        return max(0, await parts.requests.offset_by_time(address, queue, time_ms - 1)), time_ms

    async def _stop_pulling(self, queues: Iterable[MessageQueue]) -> None:
        tasks = [task for queue in queues if (task := self._loops.pop(queue, None)) is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
