"""The command queryMsgTraceById: what traces say about a message; and DecodeMessageId: what its id says.

Owns: both layouts; how records of traces are read.
Must not know: how traces are sent (client/traces.py).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from cosmodrome.admin.cluster_access import administered, routed
from cosmodrome.admin.message_rows import body_of
from cosmodrome.admin.moments import local_second, rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.client.admin.messages import IndexQuery
from cosmodrome.client.message import MessageView
from cosmodrome.client.traces import FIELD_END, RECORD_END, TRACE_TOPIC
from cosmodrome.errors import MissingError, UsageError
from cosmodrome.protocol.messages.ids import decode_unique_id
from cosmodrome.shown_text import shown

DEFAULT_FOUND: Final = 64
_LAST_MS: Final = 2**63 - 1
_SENT: Final = "Pub"
_HANDLED: Final = "SubAfter"
_SENT_FIELDS: Final = 12
_HANDLED_FIELDS: Final = 6
_TIME_AND_GROUP: Final = 9
"""Fields of what was handled, of clients that write the time and the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of queryMsgTraceById."""

    msg_id: str
    trace_topic: str | None
    begin_ms: int | None
    end_ms: int | None
    limit: int | None


class TraceView(NamedTuple):
    """What one trace says."""

    kind: str
    group: str
    client_host: str
    time_ms: int
    cost_ms: int
    is_success: bool

    def line(self) -> str:
        """Give it as mqadmin prints it."""
        name = "Pub" if self.kind == _SENT else "Sub"
        status = "success" if self.is_success else "failed"
        cost = f"{self.cost_ms}ms"
        return (
            f"{name:<10} {shown(self.group):<20} {shown(self.client_host):<20} {local_second(self.time_ms):<20} "
            f"{cost:<10} {status:<10}"
        )


async def query_msg_trace_by_id(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print who sent a message and who handled it, as far as it was traced."""
    asked = Asked(**flags)
    topic = asked.trace_topic or TRACE_TOPIC
    end_ms = _LAST_MS if asked.end_ms is None else asked.end_ms
    query = IndexQuery(topic, asked.msg_id, asked.limit or DEFAULT_FOUND, asked.begin_ms or 0, end_ms)
    async with administered(servers, (await routed(servers, topic)).name_server) as admin:
        found = await admin.messages.by_index(query)
    views = [view for message in found.messages for view in trace_views(message, asked.msg_id)]
    if not views:
        raise MissingError(
            f"there is no trace of message {asked.msg_id} in {topic}.",
            why="it was not traced (msgTraceEnable of the producer, trace of the consumer), or its traces are gone.",
            remedy="another topic of traces is named with -t",
        )
    for view in (each for each in views if each.kind == _SENT):
        output.text(_head("#ProducerGroup", "#SendTime"), view.line(), "")
    for group in dict.fromkeys(view.group for view in views if view.kind == _HANDLED):
        lines = [view.line() for view in views if (view.kind, view.group) == (_HANDLED, group)]
        output.text(_head("#ConsumerGroup", "#ConsumerTime"), *lines, "")
    for view in views:
        output.row(
            {
                "type": "pub" if view.kind == _SENT else "sub",
                "group": view.group,
                "client_host": view.client_host,
                "at": rfc3339(view.time_ms),
                "cost_ms": view.cost_ms,
                "is_success": view.is_success,
            }
        )
    output.end("traces", msg_id=asked.msg_id, trace_topic=topic)
    return 0


def trace_views(message: MessageView, msg_id: str) -> Iterator[TraceView]:
    """Give what the records of one message of a trace topic say about a message; those that cannot be read are left out."""
    host = message.stored.born_host.ip
    for text in body_of(message).decode("utf-8", "replace").split(RECORD_END):
        fields = text.split(FIELD_END)
        view = _sent(fields, host, msg_id) or _handled(fields, host, msg_id, message.stored.born_timestamp_ms)
        if view is not None:
            yield view


def _sent(fields: Sequence[str], host: str, msg_id: str) -> TraceView | None:
    if fields[0] != _SENT or len(fields) < _SENT_FIELDS or fields[5] != msg_id:
        return None
    is_success = _is_true(fields[_SENT_FIELDS:])
    return TraceView(_SENT, fields[3], host, _number(fields[1]), _number(fields[10]), is_success)


def _handled(fields: Sequence[str], host: str, msg_id: str, born_ms: int) -> TraceView | None:
    if fields[0] != _HANDLED or len(fields) < _HANDLED_FIELDS or fields[2] != msg_id:
        return None
    has_group = len(fields) >= _TIME_AND_GROUP
    time_ms = _number(fields[7]) if has_group else born_ms
    group = fields[8] if has_group else ""
    return TraceView(_HANDLED, group, host, time_ms, _number(fields[3]), fields[4] == "true")


def _is_true(fields: Sequence[str]) -> bool:
    """Tell whether a send succeeded: the field is the second one, behind the broker's id, or the only one."""
    return bool(fields) and fields[min(1, len(fields) - 1)] == "true"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else 0


def _head(group: str, time_name: str) -> str:
    return f"{'#Type':<10} {group:<20} {'#ClientHost':<20} {time_name:<20} {'#CostTimes':<10} {'#Status':<10}"


async def decode_message_id(servers: NameServers, output: Output, *, msg_id: str) -> int:
    """Print what a sender's id says of its host and time; nobody is asked."""
    del servers
    found = decode_unique_id(msg_id)
    if found is None:
        raise UsageError(
            f"{msg_id!r} is no id of a sender as Java makes it.",
            why="that has 32 hexadecimal digits, or 56 on a host with an IPv6 address.",
        )
    now = datetime.now().astimezone()
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    before = month.replace(year=month.year - (month.month == 1), month=(month.month - 2) % 12 + 1)
    made_ms = found.made_at_ms(time.time_ns() // 1_000_000, _ms(month), _ms(before))
    output.text(f"ip={found.ip}", f"date={local_second(made_ms)}")
    output.document({**found._asdict(), "msg_id": msg_id, "made_at": rfc3339(made_ms)})
    return 0


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
