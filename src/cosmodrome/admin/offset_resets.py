"""Commands that move consumer groups: resetOffsetByTime, skipAccumulatedMessage.

Owns: their layouts; what -s means.
Must not know: how a broker moves a group.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cosmodrome.admin.cluster_access import Routed, administered, queue_of, routed
from cosmodrome.admin.moments import moment_ms
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.client.admin.offsets import Moment
from cosmodrome.client.message import MessageQueue
from cosmodrome.errors import MissingError, UsageError
from cosmodrome.shown_text import shown

NOW: Final = "now"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_402_300_799_000
"""The end of the year 9999: no datetime is later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The options of resetOffsetByTime."""

    group: str
    topic: str
    when: str
    is_forced: bool | None
    broker: str | None
    queue_id: int | None
    offset: int | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The options of skipAccumulatedMessage."""

    group: str
    topic: str
    is_forced: bool | None
    cluster: str | None


async def reset_offset_by_time(servers: NameServers, output: Output, **flags: Any) -> int:
    """Have a group go on at a moment in all queues of a topic; or at a moment or an offset of one queue."""
    asked = Reset(**flags)
    time_ms, moment = _moment(asked.when)
    found = await routed(servers, asked.topic)
    facts = f"timestamp(string)[{asked.when}], timestamp(long)[{time_ms}]"
    head = f"start reset consumer offset by specified, group[{shown(asked.group)}], topic[{shown(asked.topic)}]"
    if asked.broker is not None and asked.queue_id is not None:
        queue = _queue(found, asked.topic, asked.broker, asked.queue_id)
        offset = await _reset_queue(servers, found.name_server, asked, queue, moment)
        output.confirm(f"{head}, queueId[{queue.queue_id}], broker[{shown(asked.broker)}], {facts}")
        output.confirm(f"reset consumer offset to {offset}")
        _tell_rows(output, asked.group, {queue: offset})
        return 0
    if asked.offset is not None or asked.queue_id is not None:
        raise UsageError(
            "-q and -o go with -b.", why="an offset is one of a queue, and a queue one of a broker.", remedy="-b BROKER"
        )
    async with administered(servers, found.name_server) as admin:
        moved = await admin.offsets.reset(asked.group, asked.topic, moment, cluster=asked.cluster)
    output.confirm(f"{head}, force[{str(asked.is_forced is not False).lower()}], {facts}")
    _print(output, asked.group, moved)
    return 0


async def skip_accumulated_message(servers: NameServers, output: Output, **flags: Any) -> int:
    """Have a group go on behind the newest message of each queue."""
    asked = Skip(**flags)
    async with administered(servers, (await routed(servers, asked.topic)).name_server) as admin:
        moved = await admin.offsets.reset(asked.group, asked.topic, "last", cluster=asked.cluster)
    _print(output, asked.group, moved)
    return 0


def _print(output: Output, group: str, moved: Mapping[MessageQueue, int]) -> None:
    output.text(f"{'#brokerName':<40}  {'#queueId':<40}  {'#offset':<40}")
    for queue, offset in moved.items():
        output.text(f"{shown(queue.broker_name):<40}  {queue.queue_id:<40}  {offset:<40}")
    _tell_rows(output, group, moved)


def _tell_rows(output: Output, group: str, moved: Mapping[MessageQueue, int]) -> None:
    topic = next((queue.topic for queue in moved), None)
    for queue, offset in moved.items():
        output.row(
            {"topic": queue.topic, "broker_name": queue.broker_name, "queue_id": queue.queue_id, "offset": offset}
        )
    output.end("queues", consumer_group=group, topic=topic)


async def _reset_queue(
    servers: NameServers, name_server: str, asked: Reset, queue: MessageQueue, moment: Moment
) -> int:
    async with administered(servers, name_server) as admin:
        offset = asked.offset
        bounds = await admin.offsets.bounds(queue)
        if offset is None:
            ends = {"first": bounds.min_offset, "last": bounds.max_offset}
            offset = ends[moment] if isinstance(moment, str) else await admin.offsets.at_time(queue, moment)
        if not bounds.min_offset <= offset <= bounds.max_offset:
            raise UsageError(
                f"-o {offset} is outside the queue.",
                why=f"it has the offsets {bounds.min_offset} to {bounds.max_offset}.",
            )
        await admin.offsets.reset_queue(asked.group, queue, offset)
        return offset


def _queue(found: Routed, topic: str, broker: str, queue_id: int) -> MessageQueue:
    """Give the queue of a broker, which is named by an address, as in mqadmin, or by its name."""
    by_address = {
        address: data.broker_name for data in found.route.broker_datas for address in data.broker_addrs.values()
    }
    if ":" in broker and broker not in by_address:
        known = ", ".join(sorted(by_address)) or "none"
        raise MissingError(f"topic {topic} has no broker at {broker}.", why=f"its brokers are at: {known}.")
    return queue_of(found.route, topic, by_address.get(broker, broker), queue_id)


def _moment(when: str) -> tuple[int, Moment]:
    """Give what -s means: milliseconds as they are printed, and the moment."""
    if when == NOW:
        return time.time_ns() // 1_000_000, "last"
    try:
        time_ms = moment_ms(when)
    except ValueError as error:
        raise UsageError(f"-s: {error}.", remedy="or: now") from None
    if time_ms < 0 or time_ms > _LAST_MS:
        return time_ms, "last"
    return time_ms, _EPOCH + timedelta(milliseconds=time_ms)
