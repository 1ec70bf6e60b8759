"""LitePullConsumer: messages when the program asks for them, from queues that it has or chooses.

Owns: polling, positions, and which messages a commit covers.
Must not know: how queues are pulled.
"""

import asyncio
import datetime as dt
import logging
import warnings
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Final, Self, Unpack

from cosmodrome.client.consumer.assigned_queue import AssignedQueue
from cosmodrome.client.consumer.deliveries import Source
from cosmodrome.client.consumer.filters import Expression
from cosmodrome.client.consumer.member import Member
from cosmodrome.client.consumer.settings import ConsumerOptions, check_names, split_options
from cosmodrome.client.consumer.start_offset import NOT_STORED, start_rule
from cosmodrome.client.consumer.starting import start_or_close
from cosmodrome.client.consumer.status import ConsumerStatus
from cosmodrome.client.consumer.watching import Watch
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.client.observing import Processing
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ClientClosedError, ConnectError

logger = logging.getLogger(__name__)

POLL_S: Final = 5.0
BATCH_MESSAGES: Final = 10


class LitePullConsumer:
    """Polls. With `subscriptions` the queues are shared with the group's other members; without, `assign` chooses them.

    What one `poll` gave is done when the next one is called, or `commit`; with `auto_commit` offsets of what is done
    are saved every `persist_interval_s`, and at the end. `async with` starts and closes it.

    Args:
        group: The group under whose name offsets are stored.
        subscriptions: Topic to expression; None for a consumer that assigns queues to itself.
        auto_commit: False saves offsets with `commit` only.
        session: A session to share with other clients of this process; None makes one of its own.
        options: See ConsumerSettings and ClientConfig; `namesrv` first of all.
    """

    def __init__(
        self,
        group: str,
        *,
        subscriptions: Mapping[str, Expression] | None = None,
        auto_commit: bool = True,
        session: ClientSession | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        check_names(group, subscriptions or {})
        given = {"batch_messages": BATCH_MESSAGES, "suspend_s": 20.0, **options}
        self._settings, self._session = split_options(given, session)
        self._group = group
        self._topics = dict(subscriptions or {})
        self._auto_commit = auto_commit
        self._member: Member | None = None
        self._saving: asyncio.Task[None] | None = None
        self._watch: Watch | None = None
        self._polled: list[tuple[Source, int]] = []
        self._processed: list[tuple[Source, Processing]] = []
        self._has_session = False
        self._starting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start, and join the group if there are subscriptions. A second call is of no effect.

        Raises:
            RequestTimeoutError: `start_timeout_s` went by; nothing is left running.
            RemotingError: No NameServer answers.
            AuthenticationError: The credentials are wrong, or missing.
            RefusedError: A broker cannot filter by an SQL expression.
            ClientClosedError: It was closed before: make a new one.
        """
        if self._closing is not None:
            raise ClientClosedError(f"the consumer of group {self._group} is closed; make a new one")
        if self._member is not None:
            return
        self._starting = asyncio.create_task(self._start(), name=f"cosmodrome-start {self._group}")
        limit_s = self._settings.start_timeout_s
        await start_or_close(self._starting, limit_s, self.close, self._group)

    async def close(self) -> None:
        """Save what is done (with auto_commit), give queues back, leave. May be called again, and from several tasks.

        Cancelling who waits does not cancel it.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"cosmodrome-close {self._group}")
        await asyncio.shield(self._closing)

    async def poll(self, timeout_s: float = POLL_S, max_messages: int = BATCH_MESSAGES) -> list[ReceivedMessage]:
        """Give up to so many messages, as soon as there is one; none after the time-out. Not from two tasks at once.

        What the last poll gave is done now. Cancelling loses nothing.

        Raises:
            ClientClosedError: It is not running, or was closed while this waited.
        """
        member = self._running_member()
        if self._auto_commit:
            self._finish_polled()
        watch = self._watch
        if watch is None or not watch.observers:
            return [message for _, message in await self._poll(member, timeout_s, max_messages)]
        with watch.observers.receiving("poll") as receive:
            found = await self._poll(member, timeout_s, max_messages)
            receive.messages = tuple(message for _, message in found)
        self._processed += ((source, watch.observers.processing("poll", message)) for source, message in found)
        return [message for _, message in found]

    async def _poll(self, member: Member, timeout_s: float, max_messages: int) -> list[tuple[Source, ReceivedMessage]]:
        try:
            async with asyncio.timeout(timeout_s):
                found = await member.deliveries.next()
        except TimeoutError:
            return []
        if found is None:
            raise ClientClosedError(f"the consumer of group {self._group} is closed")
        polled = []
        while found is not None:
            polled.append(found)
            found = member.deliveries.take() if len(polled) < max_messages else None
        self._polled += ((source, message.queue_offset) for source, message in polled)
        return polled

    async def commit(self) -> tuple[MessageQueue, ...]:
        """Save that all that was polled is done; give the queues of it that are not this member's any more.

        No offset of those is touched: whoever has them decides.

        Raises:
            ClientClosedError: It is not running.
        """
        member = self._running_member()
        polled = {source.queue for source, _ in self._polled if isinstance(source, AssignedQueue)}
        self._finish_polled()
        mine = {queue: each.committable for queue, each in member.queues.items() if queue in polled}
        await member.store.save(mine, is_confirmed=True)
        return tuple(sorted(polled - mine.keys()))

    async def queues_of(self, topic: str) -> tuple[MessageQueue, ...]:
        """Give the queues of a topic, for `assign`.

        Raises:
            NoRouteError: There is no such topic.
            RemotingError: No NameServer answers.
        """
        session = self._running_member().session
        return (await session.routes.route(session.config.wrap(topic), is_fresh=True)).subscribe_queues

    async def assign(self, queues: Iterable[MessageQueue], expression: Expression = None) -> None:
        """Read exactly these queues, each from the group's stored offset, else by `consume_from`.

        Raises:
            ValueError: This consumer shares queues by subscription.
            ConnectError: A queue could not be taken over; the others were.
        """
        member = self._running_member()
        if self._topics:
            raise ValueError("a consumer with subscriptions cannot assign queues to itself")
        await member.assign(tuple(queues), expression)

    def assignment(self) -> tuple[MessageQueue, ...]:
        """Give the queues that are read now."""
        return tuple(sorted(self._running_member().queues))

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at an offset. What was pulled of the queue and not polled is forgotten, a commit of it has no effect.

        Raises:
            ValueError: The queue is not read here, or the offset is negative.
        """
        assigned = self._assigned(queue)
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        self._polled = [entry for entry in self._polled if entry[0] is not assigned]
        for source, processing in self._processed:
            if source is assigned:
                processing.end(is_done=False)
        assigned.move_to(offset)
        await self._running_member().handover.pull_anew(assigned)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on at the oldest message."""
        member = self._running_member()
        await self.seek(queue, await member.requests.min_offset(self._address(queue), queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on behind the newest message."""
        member = self._running_member()
        await self.seek(queue, await member.requests.max_offset(self._address(queue), queue))

    async def offset_for_time(self, queue: MessageQueue, moment: dt.datetime) -> int:
        """Give the offset of a moment: of the first message stored at or after it (before 5.x: of a neighbour).

        Raises:
            ValueError: The moment has no time zone.
        """
        time_ms = start_rule(moment).time_ms
        return await self._running_member().requests.offset_by_time(self._address(queue), queue, time_ms or 0)

    async def committed(self, queue: MessageQueue) -> int | None:
        """Give the group's stored offset of a queue, or None."""
        offset = await self._running_member().store.load(queue, is_exact=True)
        return None if offset <= NOT_STORED else offset

    def position(self, queue: MessageQueue) -> int:
        """Give the offset that a commit would save for a queue now.

        Raises:
            ValueError: The queue is not read here.
        """
        return self._assigned(queue).committable

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Pull nothing and give nothing of these queues until `resume`."""
        for queue in queues:
            self._assigned(queue).pause()

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Read queues again that were paused."""
        for queue in queues:
            self._assigned(queue).resume()

    def status(self) -> ConsumerStatus:
        """Give a snapshot."""
        return self._running_member().status()

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room or no broker."""
        return 0 if self._watch is None else self._watch.dropped_traces

    async def __aenter__(self) -> Self:
        """Start it."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it. Leaving in peace counts what was polled as done, leaving by an exception does not."""
        if kind is None and self._auto_commit:
            self._finish_polled()
        await self.close()

    def __del__(self) -> None:
        """Warn of a consumer that was never closed."""
        if getattr(self, "_member", None) is not None and self._closing is None:
            warnings.warn(f"the consumer of group {self._group} was not closed", ResourceWarning, stacklevel=1)

    async def _start(self) -> None:
        await self._session.acquire()
        self._has_session = True
        config = self._session.config
        self._member = member = Member(config.wrap(self._group), self._settings, self._session, is_lite=True)
        member.is_saving = self._auto_commit
        self._watch = Watch(self._group, self._settings, self._session)
        if self._topics:
            await member.join({config.wrap(topic): expression for topic, expression in self._topics.items()})
            return
        await member.store.open()
        self._saving = self._session.spawn(self._save_for_ever(member), f"offsets of {self._group}")

    async def _close(self) -> None:
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        try:
            if self._member is not None:
                await self._leave(self._member)
            if self._watch is not None:
                await self._watch.close(self._session.config.close_timeout_s)
        finally:
            if self._has_session:
                await self._session.release()

    async def _leave(self, member: Member) -> None:
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.wait((self._saving,))
        limit_s = self._session.config.close_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                await member.leave()
        except TimeoutError:
            logger.warning("group %s: leaving took more than %g s", self._group, limit_s)

    async def _save_for_ever(self, member: Member) -> None:
        while True:
            await asyncio.sleep(self._session.config.persist_interval_s)
            await member.persist_offsets()

    def _finish_polled(self) -> None:
        for source, offset in self._polled:
            source.finish(offset)
        self._polled.clear()
        for _, processing in self._processed:
            processing.end(is_done=True)
        self._processed.clear()

    def _assigned(self, queue: MessageQueue) -> AssignedQueue:
        assigned = self._running_member().queues.get(queue)
        if assigned is None:
            raise ValueError(f"{queue} is not read by this consumer")
        return assigned

    def _address(self, queue: MessageQueue) -> str:
        address = self._running_member().session.routes.address_for_read(queue.broker_name)
        if address is None:
            raise ConnectError(f"no route to broker {queue.broker_name}")
        return address

    def _running_member(self) -> Member:
        if self._member is None or self._closing is not None:
            state = "not started" if self._closing is None else "closed"
            raise ClientClosedError(f"the consumer of group {self._group} is {state}")
        return self._member
