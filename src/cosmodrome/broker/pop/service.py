"""POP mode of one broker: its parts put together, and their timer.

Owns: which part is told of what; starting and stopping them in order; what a deleted topic or group takes with it.
Must not know: requests; how a message is popped.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.pop.acknowledging import Acknowledging
from cosmodrome.broker.pop.handing_out import HandingOut, HandingOutParts
from cosmodrome.broker.pop.in_flight import Popped
from cosmodrome.broker.pop.names import REVIVE_GROUP, normal_topic, topics_of
from cosmodrome.broker.pop.revival import AFTER_FAILURE_MS, Revival, RevivalParts
from cosmodrome.broker.pop.revive_log import ReviveLog
from cosmodrome.broker.pop.state import PopState
from cosmodrome.broker.pop.taking import Taking, TakingParts
from cosmodrome.broker.pop.timer_leftovers import leftovers
from cosmodrome.broker.statistics import DLQ_PUT_NUMS, Statistics
from cosmodrome.broker.topics import REVIVE_QUEUES, Topics, revive_topic
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.protocol.bodies.pop_records import PopAck, PopCheckPoint, bits_of
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

MOST_BEHIND: Final = 20_000
"""Records of a revive queue that the next start reads at most, but for what is in flight: older check points are written anew."""
_ANEW_AT_ONCE: Final = 256
_LOOK_S: Final = 1.0
"""The clock may be set: look again in time."""
QueueKey = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopParts:
    """What the parts are made of."""

    state: PopState
    topics: Topics
    groups: Groups
    offsets: Offsets
    statistics: Statistics
    reader: Reader
    turn: Turn
    outbox: Outbox
    cluster: str
    broker_name: str
    store_host: bytes
    disk_timeout_ms: int | None
    remove_queues: Callable[[str], int]


class PopService:
    """Runs from `start` to `stop`. `due` answers who has waited long enough, `arrived` serves who waits for queues."""

    def __init__(self, parts: PopParts, clock: Clock) -> None:
        """Put the parts together; nothing is read yet."""
        self._parts = parts
        self._clock = clock
        state, host = parts.state, parts.store_host
        names = (revive_topic(parts.cluster), parts.broker_name)
        self._log = ReviveLog(parts.reader, parts.turn, clock, state.in_flight, names)
        draw: Callable[[int], int] = random.randrange
        taking = TakingParts(
            topics=parts.topics, offsets=parts.offsets, orders=state.orders, reader=parts.reader
        )  # fmt: skip
        self.taking = Taking(taking, clock, draw)
        self.handing_out = HandingOut(
            HandingOutParts(
                log=self._log, in_flight=state.in_flight, offsets=parts.offsets, outbox=parts.outbox,
                statistics=parts.statistics, store_host=host, cluster=parts.cluster,
            )
        )  # fmt: skip
        self.acknowledging = Acknowledging(state.in_flight, self._log, clock, host, parts.disk_timeout_ms)
        self._revival = Revival(
            RevivalParts(
                topics=parts.topics, groups=parts.groups, offsets=parts.offsets, in_flight=state.in_flight,
                log=self._log, reader=parts.reader, turn=parts.turn,
            ),
            clock, host,
        )  # fmt: skip
        self._revival.on_put_back = self._again
        self._revival.on_dead = lambda topic, group: parts.statistics.count(DLQ_PUT_NUMS, f"{topic}@{group}")
        self.due: Callable[[], None] = lambda: None
        self.arrived: Callable[[Iterable[QueueKey]], None] = lambda _: None
        self.revived: Callable[[], None] = lambda: None
        """Called after something was delivered again: there may be a new topic."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = 0.0
        self._revival_ms: int | None = None
        self._is_running = False

    def load(self, kept_ms: int, last_store_ms: int, *, is_from_elsewhere: bool) -> None:
        """Read what is in flight.

        Args:
            kept_ms: When the table of offsets was kept: what was popped later is taken into account.
            last_store_ms: Store time of the newest record.
            is_from_elsewhere: Whether an Apache broker may have used the store last.
        """
        self._read(kept_ms, is_complete=not is_from_elsewhere)
        if not is_from_elsewhere:
            return
        found = leftovers(self._parts.reader, self._log.topic, last_store_ms, self._log.is_known)
        for queue_id, record in found:
            if 0 <= queue_id < REVIVE_QUEUES:
                self._log.adopt(record, queue_id)
        if found:
            logger.info("%d records about popped messages are taken over from the timer", len(found))
            self._parts.turn.end()
            self._read(kept_ms, is_complete=False)

    def _read(self, kept_ms: int, *, is_complete: bool) -> None:
        offsets = self._parts.offsets
        read = {queue_id: self._parts.state.in_flight.end_of(queue_id) for queue_id in range(REVIVE_QUEUES)}

        def first(queue_id: int) -> int:
            done = offsets.committed(self._log.topic, REVIVE_GROUP, queue_id)
            return max(read.get(queue_id, 0), 0 if done is None else done + 1)

        for point in self._log.load(first, is_complete=is_complete):
            if point.pop_time >= kept_ms:
                self._move_behind(point)

    def _move_behind(self, point: PopCheckPoint) -> None:
        """A group is behind what it has popped, also when a kill came before that was kept."""
        offsets, behind = self._parts.offsets, point.offsets[-1] + 1
        committed = offsets.committed(point.topic, point.group, point.queue_id)
        if point.topic in self._parts.topics and (committed is None or committed < behind):
            offsets.commit(point.topic, point.group, point.queue_id, behind)

    def start(self) -> None:
        """Begin to deliver again."""
        self._is_running = True
        self._revive()

    def written(self, queues: set[QueueKey]) -> None:
        """Look at queues that have new messages."""
        revived = [queue_id for topic, queue_id in queues if topic == self._log.topic]
        if revived:
            for queue_id in revived:
                self._log.arrived(queue_id)
            self._revival_ms = self._parts.state.in_flight.next_due_ms()
        self.arrived(queues)
        self.arm()

    def arm(self) -> None:
        """Have the timer go when something is to be done next."""
        if not self._is_running:
            return
        waits_s = []
        next_ms = self._parts.state.waiting.next_ms()
        if next_ms is not None:
            waits_s.append((next_ms - self._clock.steady_ms()) / 1000)
        if self._revival_ms is not None:
            waits_s.append(min((self._revival_ms - self._clock.wall_ms()) / 1000, _LOOK_S))
        if not waits_s:
            return
        loop = asyncio.get_running_loop()
        at_s = loop.time() + max(0.0, min(waits_s))
        if self._timer is None or at_s < self._timer_s:
            self._cancel()
            self._timer_s = at_s
            self._timer = loop.call_at(at_s, self._timed)

    def _timed(self) -> None:
        self._timer = None
        if self._revival_ms is not None and self._revival_ms <= self._clock.wall_ms():
            self._revive()
        self.due()
        self.arm()

    def _revive(self) -> None:
        self._revival_ms = self._revival.run()
        self.revived()
        self.arm()

    def _again(self) -> None:
        self._revival_ms = self._clock.wall_ms() + AFTER_FAILURE_MS
        self.arm()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def note_done(self) -> None:
        """Note how far the revive topic is done with, where Apache's brokers look for it."""
        offsets, flight = self._parts.offsets, self._parts.state.in_flight
        for queue_id, needed in flight.done_to().items():
            if flight.end_of(queue_id) - needed > MOST_BEHIND:
                self._write_anew(flight.oldest(queue_id, _ANEW_AT_ONCE), queue_id)
            done = needed - 1
            if done >= 0 and offsets.committed(self._log.topic, REVIVE_GROUP, queue_id) != done:
                offsets.commit(self._log.topic, REVIVE_GROUP, queue_id, done)

    def _write_anew(self, all_popped: Iterable[Popped], queue_id: int) -> None:
        """Write check points again at the end, with what is acknowledged of them."""
        for popped in all_popped:
            point = popped.point
            anew = PopCheckPoint(
                topic=point.topic, group=point.group, queue_id=point.queue_id, start_offset=point.start_offset,
                pop_time=point.pop_time, invisible_time=point.invisible_time, count=point.count,
                bit_map=bits_of(popped.done), offset_diffs=point.offset_diffs, broker_name=point.broker_name,
                stored_again=point.stored_again, is_suspended=point.is_suspended,
            )  # fmt: skip
            try:
                self._log.put_check_point(anew, queue_id, self._parts.store_host, _ignore)
            except (StoreUnavailableError, MessageError) as error:
                logger.warning("check points are not written anew: %s", error)
                return

    def stop(self) -> None:
        """Deliver nothing any more, and leave the revive topic as Apache's brokers need it: in the order of time.

        Its records are written; that they are on disk is for the caller to see to.
        """
        self._is_running = False
        self._cancel()
        flight = self._parts.state.in_flight
        for queue_id in flight.done_to():
            left = flight.oldest(queue_id, len(flight))
            self._write_anew(sorted(left, key=lambda popped: popped.point.revive_time), queue_id)
        self._parts.turn.end()
        self.note_done()

    def topic_removed(self, topic: str) -> None:
        """Forget what is in flight of a topic, and what comes again of it: a new one of its name has other messages."""
        parts = self._parts
        self._forget(parts.state.in_flight.of(lambda key: topic in (key.topic, normal_topic(key.topic, key.group))))
        parts.state.orders.forget(topic=topic)
        for group in parts.groups.table().subscription_group_table:
            for retry, _ in topics_of(topic, group)[1:]:
                if parts.topics.remove(retry, self._clock.wall_ms()):
                    parts.offsets.forget_topic(retry)
                    parts.remove_queues(retry)

    def group_removed(self, group: str, *, is_clean: bool) -> None:
        """Forget what is in flight of a group; with its offsets it also leaves behind what came to it again."""
        parts = self._parts
        self._forget(parts.state.in_flight.of(lambda key: key.group == group))
        parts.state.orders.forget(group=group)
        prefixes = tuple(topic for topic, _ in topics_of("", group)[1:])
        for name in parts.topics.table().topic_config_table if is_clean else ():
            if name.startswith(prefixes):
                parts.offsets.commit(name, group, 0, parts.reader.max_offset(name, 0))

    def _forget(self, all_popped: list[Popped]) -> None:
        for popped in all_popped:
            ack = PopAck(popped.key, popped.open_offsets)
            try:
                self._log.put_ack(ack, popped.place.queue_id, self._parts.store_host, _ignore)
            except (StoreUnavailableError, MessageError) as error:
                logger.warning("receipts of a deleted topic or group stay until their time is over: %s", error)
                self._parts.state.in_flight.acknowledge(popped, popped.open_offsets)


def _ignore(_: Stored) -> None:
    """Nobody wants to know."""
