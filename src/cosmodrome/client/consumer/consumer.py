"""Consumer: the messages of a group's topics, one after the other or by a handler.

Owns: the public face of a consumer; starting and closing it in order.
Must not know: how any part of it works.
"""

import asyncio
import logging
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Self, Unpack

from cosmodrome.client.consumer.filters import Expression
from cosmodrome.client.consumer.handlers import Handler, Runner, TaskRunner, ThreadRunner, checked_handler, is_async
from cosmodrome.client.consumer.member import Member
from cosmodrome.client.consumer.pop import PopMember
from cosmodrome.client.consumer.settings import ConsumerOptions, check_names, split_options
from cosmodrome.client.consumer.starting import start_or_close
from cosmodrome.client.consumer.status import ConsumerStatus
from cosmodrome.client.consumer.watching import Watch
from cosmodrome.client.message import ReceivedMessage
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ClientClosedError
from cosmodrome.protocol.messages.checks import check_topic

logger = logging.getLogger(__name__)


class Consumer:
    """One member of a consumer group. `async with` starts and closes it.

    Without a handler, `async for message in consumer` gives messages, and each is settled by `await message.ack()` or
    `await message.retry()`; a message that is not settled holds up its queue's offset, and is delivered again after a
    restart or after `consume_timeout_s`. With a handler, `concurrency` messages are handled at a time: returning
    normally means done, an exception or `Later` means again later. A plain function runs in threads and may block.

    Args:
        group: The group's name.
        subscriptions: What is read: topic to expression, see `Expression`.
        handler: A function of one message.
        session: A session to share with other clients of this process; None makes one of its own.
        options: See ConsumerSettings and ClientConfig; `namesrv` first of all.

    Raises:
        TypeError: An unknown option, or a handler that cannot be called with one message.
        ValueError, ConfigError, MessageError: A value, a name or an expression that cannot be used.
    """

    def __init__(
        self,
        group: str,
        *,
        subscriptions: Mapping[str, Expression],
        handler: Handler | None = None,
        session: ClientSession | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        check_names(group, subscriptions)
        self._settings, self._session = split_options(options, session)
        self._handler = None if handler is None else checked_handler(handler)
        self._group = group
        self._topics = dict(subscriptions)
        self._member: Member | PopMember | None = None
        self._watch: Watch | None = None
        self._running: asyncio.Task[None] | None = None
        self._has_session = False
        self._starting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Join the group and take queues over; `async with` does it. A second call is of no effect.

        Raises:
            RequestTimeoutError: `start_timeout_s` went by; nothing is left running.
            RemotingError: No NameServer answers.
            AuthenticationError: The credentials are wrong, or missing.
            RefusedError: A broker cannot filter by an SQL expression, with its words.
            ClientClosedError: It was closed before: make a new one.
        """
        if self._closing is not None:
            raise ClientClosedError(f"the consumer of group {self._group} is closed; make a new one")
        if self._member is not None:
            return
        self._starting = asyncio.create_task(self._start(), name=f"cosmodrome-start {self._group}")
        limit_s = self._settings.start_timeout_s
        hint = f"; NameServers: {self._session.config.servers_shown}"
        await start_or_close(self._starting, limit_s, self.close, self._group, hint)

    async def close(self) -> None:
        """Let running handlers end, save all offsets, give queues and locks back, and leave the group.

        Takes no longer than `close_timeout_s` for the handlers and as long again for the rest. May be called at any
        time, again, and from several tasks: each returns when it is done. Cancelling who waits does not cancel it.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"cosmodrome-close {self._group}")
        await asyncio.shield(self._closing)

    async def subscribe(self, topic: str, expression: Expression = None) -> None:
        """Read another topic too, or something else of one; its queues are read when this returns.

        Raises:
            ClientClosedError: It is not running.
        """
        check_topic(topic)
        member = self._running_member()
        await member.subscribe(member.session.config.wrap(topic), expression)

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more. Messages of it that failed before still come.

        Raises:
            ClientClosedError: It is not running.
        """
        member = self._running_member()
        await member.unsubscribe(member.session.config.wrap(topic))

    def status(self) -> ConsumerStatus:
        """Give a snapshot: the queues, how far they are, and what is in the way.

        Raises:
            ClientClosedError: It is not running.
        """
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
        """Close it."""
        await self.close()

    def __aiter__(self) -> Self:
        """Give the consumer itself: any number of tasks may iterate, and each message goes to one of them.

        Raises:
            RuntimeError: There is a handler.
        """
        if self._handler is not None:
            raise RuntimeError("messages of a consumer with a handler go to the handler")
        return self

    async def __anext__(self) -> ReceivedMessage:
        """Give the next message; the iteration ends when the consumer is closed."""
        watch = self._watch
        if watch is None or not watch.observers:
            return await self._next()
        with watch.observers.receiving("next") as receive:
            message = watch.handed_over(await self._next())
            receive.messages = (message,)
        return message

    async def _next(self) -> ReceivedMessage:
        found = None if self._closing is not None else await self._running_member().deliveries.next()
        if found is None:
            raise StopAsyncIteration
        return found[1]

    def __del__(self) -> None:
        """Warn of a consumer that was never closed."""
        if getattr(self, "_member", None) is not None and self._closing is None:
            warnings.warn(f"the consumer of group {self._group} was not closed", ResourceWarning, stacklevel=1)

    async def _start(self) -> None:
        await self._session.acquire()
        self._has_session = True
        config = self._session.config
        kind = PopMember if self._settings.pop else Member
        self._member = member = kind(config.wrap(self._group), self._settings, self._session)
        self._watch = watch = Watch(self._group, self._settings, self._session)
        member.runner = self._runner(member, watch)
        await member.join({config.wrap(topic): expression for topic, expression in self._topics.items()})
        if member.runner is not None:
            self._running = self._session.spawn(member.runner.run(), f"handlers of {self._group}")

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

    async def _leave(self, member: Member | PopMember) -> None:
        limit_s = self._session.config.close_timeout_s
        member.deliveries.close()
        if self._running is not None:
            _, late = await asyncio.wait((self._running,), timeout=limit_s)
            if late:
                logger.warning("group %s: handlers did not end in %g s and are left alone", self._group, limit_s)
                self._running.cancel()
                await asyncio.wait((self._running,))
        try:
            async with asyncio.timeout(limit_s):
                await member.leave()
        except TimeoutError:
            logger.warning("group %s: leaving took more than %g s", self._group, limit_s)

    def _runner(self, member: Member | PopMember, watch: Watch) -> Runner | None:
        if self._handler is None:
            return None
        kind = TaskRunner if is_async(self._handler) else ThreadRunner
        return kind(self._handler, member.deliveries, self._settings.concurrency, watch.observers)

    def _running_member(self) -> Member | PopMember:
        if self._member is None or self._closing is not None:
            state = "not started" if self._closing is None else "closed"
            raise ClientClosedError(f"the consumer of group {self._group} is {state}")
        return self._member
