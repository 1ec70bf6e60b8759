"""`cosmodrome consume`: messages to the shell.

Owns: where it begins and ends, whether messages count as consumed; what is printed of them.
Must not know: how queues are read (client/consumer); the words of the command line.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from cosmodrome.admin.cluster_access import client_options, explained, queues_of, routed
from cosmodrome.admin.message_rows import UTF_8, body_of, body_text, message_row
from cosmodrome.admin.moments import local_ms
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.admin.progress import Rates
from cosmodrome.admin.queue_reading import SUSPEND_S, QueueReading
from cosmodrome.admin.stopping import Stopping
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.pulls import TOOLS_GROUP, Wanted
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.filters import Expression, Sql, subscription
from cosmodrome.client.message import MessageQueue, MessageView, ReceivedMessage
from cosmodrome.errors import NoAnswerError, UsageError
from cosmodrome.shown_text import shown

_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `cosmodrome consume`.

    Attributes:
        group: None: no group is joined, nothing counts as consumed.
        peeks: Nothing counts as consumed; a group's members go on as if this were not there.
        begin: Where to begin. None: where the group is, and without a group (or if it has read nothing yet) behind
            the newest message.
        count: End after so many messages.
        for_s: End after this time.
        idle_s: End when no message came for this time.
        has_details: Print where a message is, and more, before its body.
    """

    topic: str
    group: str | None
    peeks: bool
    begin: Literal["first", "last"] | datetime | None
    tags: str | None
    sql: str | None
    count: int | None
    for_s: float | None
    idle_s: float | None
    charset_name: str | None
    has_details: bool


class _Source(Protocol):
    """Where messages come from."""

    next: Callable[[], Coroutine[Any, Any, Sequence[MessageView]]]
    """Waits for some. Cancelling loses nothing."""

    async def done(self, message: MessageView) -> None:
        """Say that one was printed."""


async def consume(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print messages as they come, and at the end how many there were."""
    asked = Asked(**flags)
    expression = _expression(asked)
    found = await routed(servers, asked.topic)
    options = client_options(servers, found.name_server)
    async with explained(servers):
        with Stopping() as stopping, output.rates("received") as rates:
            place = (queues_of(found.route, asked.topic), output)
            opened = _member(asked, expression, options) if _acks(asked) else _reader(asked, expression, options, place)
            async with opened as source:
                await _printed(asked, source, output, rates, stopping)
    return _concluded(asked, output, rates, stopping)


async def _printed(asked: Asked, source: _Source, output: Output, rates: Rates, stopping: Stopping) -> None:
    loop = asyncio.get_running_loop()
    end_s = None if asked.for_s is None else loop.time() + asked.for_s
    while output.has_reader and (asked.count is None or rates.done < asked.count):
        limits = [each for each in (asked.idle_s, None if end_s is None else end_s - loop.time()) if each is not None]
        if limits and min(limits) <= 0:
            return
        messages = await stopping.unless(source.next(), min(limits) if limits else None)
        if messages is None:
            return
        for message in messages[: None if asked.count is None else asked.count - rates.done]:
            _tell(asked, output, message)
            rates.count(len(message.stored.body))
            await source.done(message)
        output.flush()


def _concluded(asked: Asked, output: Output, rates: Rates, stopping: Stopping) -> int:
    output.end(
        "messages",
        topic=asked.topic,
        consumer_group=asked.group,
        received=rates.done,
        seconds=round(rates.elapsed_s, 3),
        is_interrupted=stopping.is_asked,
    )
    output.note(rates.line())
    if asked.count is None or rates.done >= asked.count or not output.has_reader:
        return 0
    if stopping.is_asked:
        return _INTERRUPTED
    raise NoAnswerError(
        f"{rates.done} of {asked.count} messages came in time.",
        remedy="wait longer (--for, --idle), or begin earlier (--from first)",
    )


def _tell(asked: Asked, output: Output, message: MessageView) -> None:
    charset = asked.charset_name or UTF_8
    if not output.is_text:
        output.row(message_row(message, charset))
        return
    body = body_text(body_of(message), charset)
    if not asked.has_details:
        output.text(body)
        return
    queue = message.queue
    place = f"{queue.broker_name}:{queue.queue_id}@{message.queue_offset}"
    facts = [local_ms(message.stored.store_timestamp_ms), place, message.msg_id]
    facts += [f"tag={message.tag}"] if message.tag else []
    facts += [f"keys={' '.join(message.keys)}"] if message.keys else []
    facts += [f"retry={message.reconsume_times}"] if message.reconsume_times else []
    output.text(f"{shown('  '.join(facts))}  {body}")


class _Group:
    """A member of a group: what was printed counts as consumed."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.next = self._next

    async def _next(self) -> Sequence[MessageView]:
        return [await anext(self._consumer)]

    async def done(self, message: MessageView) -> None:
        """Settle it."""
        if isinstance(message, ReceivedMessage):
            await message.ack()


class _Reader:
    """Somebody who reads all queues and leaves no trace."""

    def __init__(self, reading: QueueReading) -> None:
        self.next = reading.next

    async def done(self, message: MessageView) -> None:
        """Do nothing: nothing counts as consumed."""


@asynccontextmanager
async def _member(asked: Asked, expression: Expression, options: dict[str, Any]) -> AsyncIterator[_Source]:
    begin = asked.begin or "last"
    group = asked.group or TOOLS_GROUP
    async with Consumer(group, subscriptions={asked.topic: expression}, consume_from=begin, **options) as consumer:
        yield _Group(consumer)


@asynccontextmanager
async def _reader(
    asked: Asked, expression: Expression, options: dict[str, Any], place: tuple[Sequence[MessageQueue], Output]
) -> AsyncIterator[_Source]:
    queues, output = place
    async with AdminClient(**options) as admin:
        starts = await asyncio.gather(*(_start(admin, asked, queue) for queue in queues))
        reading = QueueReading(admin, Wanted(expression=expression, suspend_s=SUSPEND_S), output.note)
        async with reading.reading(dict(zip(queues, starts, strict=True))):
            yield _Reader(reading)


async def _start(admin: AdminClient, asked: Asked, queue: MessageQueue) -> int:
    """Give the offset at which the reading of a queue begins."""
    if isinstance(asked.begin, datetime):
        return await admin.offsets.at_time(queue, asked.begin)
    if asked.begin is None and asked.group is not None:
        committed = await admin.offsets.committed(asked.group, queue)
        if committed is not None:
            return committed
    bounds = await admin.offsets.bounds(queue)
    return bounds.min_offset if asked.begin == "first" else bounds.max_offset


def _acks(asked: Asked) -> bool:
    return asked.group is not None and not asked.peeks


def _expression(asked: Asked) -> Expression:
    if asked.tags is not None and asked.sql is not None:
        raise UsageError("--tag and --sql do not go together.")
    try:
        expression: Expression = asked.tags if asked.sql is None else Sql(asked.sql)
        subscription(asked.topic, expression, 0)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    return expression
