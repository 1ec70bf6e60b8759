"""Commands that print the messages of queues: consumeMessage, printMsg, printMsgByQueue.

Owns: their layouts; which part of a queue is printed.
Must not know: how a queue is pulled.
"""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from cosmodrome.admin.cluster_access import administered, queue_of, queues_of, routed
from cosmodrome.admin.java_text import message_text, queue_text
from cosmodrome.admin.message_rows import UTF_8, body_of, body_text, message_row
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.pulls import TOOLS_GROUP, Pulled, PullStatus, Wanted
from cosmodrome.client.consumer.filters import Expression, subscription
from cosmodrome.client.message import MessageQueue, MessageView
from cosmodrome.errors import UsageError
from cosmodrome.protocol.messages.properties import MAX_OFFSET, MIN_OFFSET
from cosmodrome.shown_text import shown

DEFAULT_COUNT: Final = 128
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RULE: Final = "-" * 56
_NO_BODY: Final = "NOT PRINT BODY"


class Span(NamedTuple):
    """Offsets of a queue: the first, and the one behind the last."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """The options of consumeMessage."""

    topic: str
    broker_name: str | None
    queue_id: int | None
    offset: int | None
    group: str | None
    begin_ms: int | None
    end_ms: int | None
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The options of printMsg."""

    topic: str
    charset_name: str | None
    expression: str | None
    begin_ms: int | None
    end_ms: int | None
    with_body: bool | None
    parent_topic: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfQueue:
    """The options of printMsgByQueue."""

    topic: str
    broker_name: str
    queue_id: int
    charset_name: str | None
    expression: str | None
    begin_ms: int | None
    end_ms: int | None
    with_messages: bool | None
    with_body: bool | None
    counts_tags: bool | None


async def consume_message(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the oldest messages of a topic or a queue; nothing counts as consumed."""
    asked = Consumed(**flags)
    if asked.queue_id is not None and asked.broker_name is None:
        raise UsageError("-i without -b: a queue is one of a broker.", remedy="name the broker with -b")
    if asked.offset is not None and asked.queue_id is None:
        raise UsageError("-o without -i: an offset is one of a queue.", remedy="name the queue with -i")
    found = await routed(servers, asked.topic)
    is_one = asked.broker_name is not None and asked.queue_id is not None
    queues = queues_of(found.route, asked.topic, asked.broker_name)
    if asked.broker_name is not None:
        queues = [queue_of(found.route, asked.topic, asked.broker_name, asked.queue_id or 0)] if is_one else queues
    left = asked.count or DEFAULT_COUNT
    async with administered(servers, found.name_server) as admin:
        for queue in queues:
            if left <= 0:
                break
            span = await _span(admin, queue, asked.begin_ms, asked.end_ms)
            if asked.offset is not None and asked.offset > span.end:
                output.text(f"{queue_text(queue)} no matched msg, offset={asked.offset}")
                break
            span = Span(max(span.begin, asked.offset or 0), span.end)
            if span.end - span.begin > left:
                output.text(_cut_text(queue, left, is_one=is_one))
                span = Span(span.begin, span.begin + left)
            left -= await _consumed(output, admin, queue, span, asked.group or TOOLS_GROUP)
    output.end("messages", topic=asked.topic)
    return 0


async def print_msg(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the messages of all queues of a topic."""
    asked = Printed(**flags)
    expression = _expression(asked.topic, asked.expression)
    found = await routed(servers, asked.parent_topic or asked.topic)
    printer = _Printer(output, asked.charset_name or UTF_8, with_body=asked.with_body is not False)
    async with administered(servers, found.name_server) as admin:
        for queue in queues_of(found.route, asked.topic):
            span = await _span(admin, queue, asked.begin_ms, asked.end_ms)
            output.text(shown(f"minOffset={span.begin}, maxOffset={span.end}, {queue_text(queue)}"))
            async for pulled in _pulls(admin, queue, span, Wanted(expression=expression)):
                if pulled.status is PullStatus.FOUND:
                    printer.messages(pulled)
                else:
                    output.text(_status_text(queue, pulled))
            output.text(_RULE)
    output.end("messages", topic=asked.topic)
    return 0


async def print_msg_by_queue(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the messages of one queue, or count them by tag."""
    asked = OfQueue(**flags)
    expression = _expression(asked.topic, asked.expression)
    found = await routed(servers, asked.topic)
    queue = queue_of(found.route, asked.topic, asked.broker_name, asked.queue_id)
    printer = _Printer(output, asked.charset_name or UTF_8, with_body=bool(asked.with_body))
    tags: Counter[str] = Counter()
    async with administered(servers, found.name_server) as admin:
        span = await _span(admin, queue, asked.begin_ms, asked.end_ms)
        async for pulled in _pulls(admin, queue, span, Wanted(expression=expression)):
            tags.update(message.tag for message in pulled.messages if message.tag and message.tag.strip())
            if asked.with_messages:
                printer.messages(pulled)
    counted = tags.most_common() if asked.counts_tags else []
    output.text(*(f"Tag: {shown(tag):<30} Count: {count}" for tag, count in counted))
    output.end("messages", topic=asked.topic, tags=dict(counted))
    return 0


class _Printer:
    """Prints messages as mqadmin does, and a body so that it stays on its line."""

    def __init__(self, output: Output, charset_name: str, *, with_body: bool) -> None:
        self._output = output
        self._charset = charset_name
        self._with_body = with_body
        self._rates = output.rates("printed")

    def messages(self, pulled: Pulled) -> None:
        """Print what a pull brought."""
        bounds = {MIN_OFFSET: str(pulled.min_offset), MAX_OFFSET: str(pulled.max_offset)}
        for message in pulled.messages:
            row = message_row(message, self._charset if self._with_body else None)
            self._output.row(row, *([self._line(message, bounds)] if self._output.is_text else []))
            self._rates.count(len(message.stored.body))

    def _line(self, message: MessageView, bounds: dict[str, str]) -> str:
        body = body_of(message)
        text = body_text(body, self._charset) if self._with_body else _NO_BODY
        whole = message_text(message, {**message.properties, **bounds}, body)
        return f"MSGID: {shown(message.msg_id)} {whole} BODY: {text}"


async def _consumed(output: Output, admin: AdminClient, queue: MessageQueue, span: Span, group: str) -> int:
    """Print a part of a queue, and give how many messages it had."""
    printer = _Printer(output, UTF_8, with_body=True)
    count, last = 0, None
    async for pulled in _pulls(admin, queue, span, Wanted(group=group)):
        last = pulled
        count += len(pulled.messages)
        if pulled.status is PullStatus.FOUND:
            output.text("Consume ok")
            printer.messages(pulled)
        else:
            output.text(_status_text(queue, pulled))
    if last is None or (last.status is PullStatus.FOUND and last.next_offset >= last.max_offset):
        end = span.begin if last is None else last.next_offset
        output.text(shown(f"{queue_text(queue)} print msg finished. status=NO_NEW_MSG, offset={end}"))
    return count


async def _pulls(admin: AdminClient, queue: MessageQueue, span: Span, wanted: Wanted) -> AsyncIterator[Pulled]:
    """Pull a part of a queue, until it is done or a pull says that there is no more; messages behind it are left out."""
    offset = span.begin
    while offset < span.end:
        limit = min(wanted.limit, span.end - offset)
        pulled = await admin.messages.pull(queue, offset, replace(wanted, limit=limit))
        yield pulled
        is_over = pulled.status in (PullStatus.NO_NEW_MSG, PullStatus.OFFSET_ILLEGAL)
        if is_over or pulled.next_offset <= offset:
            return
        offset = pulled.next_offset


async def _span(admin: AdminClient, queue: MessageQueue, begin_ms: int | None, end_ms: int | None) -> Span:
    bounds = await admin.offsets.bounds(queue)
    begin = bounds.min_offset if begin_ms is None else await admin.offsets.at_time(queue, _moment(begin_ms))
    end = bounds.max_offset if end_ms is None else await admin.offsets.at_time(queue, _moment(end_ms))
    return Span(begin, end)


def _moment(time_ms: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        raise UsageError(f"{time_ms} is no moment that a calendar has.") from None


def _expression(topic: str, text: str | None) -> Expression:
    try:
        subscription(topic, text, 0)
    except ValueError as error:
        raise UsageError(f"-s: {error}.") from None
    return text


def _status_text(queue: MessageQueue, pulled: Pulled) -> str:
    what = "no matched msg." if pulled.status is PullStatus.NO_MATCHED_MSG else "print msg finished."
    return shown(f"{queue_text(queue)} {what} status={pulled.status.value}, offset={pulled.next_offset}")


def _cut_text(queue: MessageQueue, count: int, *, is_one: bool) -> str:
    if is_one:
        return f"The oldler {count} message will be provided"  # the spelling is mqadmin's
    return f"The older {count} message of the {queue.queue_id} queue will be provided"
