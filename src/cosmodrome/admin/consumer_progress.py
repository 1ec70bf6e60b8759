"""The command consumerProgress: how far one group is in each queue, or all groups at a glance.

Owns: both layouts.
Must not know: how brokers are asked.
"""

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cosmodrome.admin.cluster_access import administered, explained, placed
from cosmodrome.admin.moments import local_second, rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row
from cosmodrome.admin.topics import RETRY_PREFIX
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.clients import ConsumerMembers
from cosmodrome.client.admin.offsets import Progress
from cosmodrome.client.message import MessageQueue
from cosmodrome.errors import AdminError, MissingError, OperatorError, RocketMQError
from cosmodrome.protocol.bodies.heartbeat import ConsumeType
from cosmodrome.protocol.bodies.offsets import OffsetWrapper
from cosmodrome.protocol.versions import version_name
from cosmodrome.shown_text import shown

_AT_ONCE: Final = 16
"""Groups that are asked about at the same time."""
_PARTLY_FAILED: Final = 1
_UNKNOWN: Final = "N/A"


class _Group(NamedTuple):
    name: str
    progress: Progress | None
    members: ConsumerMembers | None
    error: OperatorError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of consumerProgress."""

    group: str | None
    topic: str | None
    shows_ip: bool | None
    cluster: str | None


async def consumer_progress(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the progress of one group, in all topics or one; or that of all groups in a line each."""
    asked = Asked(**flags)
    group, cluster, shows_ip = asked.group, asked.cluster, bool(asked.shows_ip)
    name_server = (await placed(servers, cluster)).name_server
    async with administered(servers, name_server) as admin:
        if group is None:
            return await _all(servers, output, admin, cluster)
        progress = await admin.offsets.progress(group, asked.topic, cluster=cluster)
        if not progress.queues and not progress.is_partial and not await _exists(admin, group):
            raise _no_group(servers, group)
        clients = await _clients(admin, group) if shows_ip or not output.is_text else {}
    _print(output, progress, clients, shows_ip=shows_ip)
    failed = list(progress.failures.values())
    for failure in failed:
        output.error(await _explanation(servers, failure))
    return _PARTLY_FAILED if failed else 0


async def _exists(admin: AdminClient, group: str) -> bool:
    """Tell whether a group that has no offsets is there: with its retry topic, its settings, or members."""
    if RETRY_PREFIX + group in await admin.topics.names():
        return True
    if any(config is not None for config in (await admin.groups.config(group)).values.values()):
        return True
    return bool((await admin.clients.consumers(group)).members)


async def _clients(admin: AdminClient, group: str) -> dict[MessageQueue, str]:
    """Give which member has which queue, as far as members tell."""
    members = await admin.clients.consumers(group)
    found: dict[MessageQueue, str] = {}
    for client_id, connection in members.members.items():
        try:
            running = await admin.clients.running_info(group, client_id)
        except RocketMQError:
            continue
        host = connection.client_addr.rpartition(":")[0]
        found |= dict.fromkeys(running.mq_table, client_id.partition("@")[0] or host)
    return found


def _print(output: Output, progress: Progress, clients: Mapping[MessageQueue, str], *, shows_ip: bool) -> None:
    ip = f"{'#Client IP':<20} " if shows_ip else ""
    output.text(
        f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  {'#Consumer Offset':<20}  "
        f"{ip}{'#Diff':<20} {'#Inflight':<20}#LastTime"
    )
    inflight_total = 0
    for queue, offsets in progress.queues.items():
        inflight = _inflight(offsets)
        inflight_total += inflight
        at = f"{shown(clients.get(queue, _UNKNOWN)):<20} " if shows_ip else ""
        last = _UNKNOWN if offsets.last_timestamp == 0 else local_second(offsets.last_timestamp)
        output.row(
            _queue_row(queue, offsets, clients.get(queue)),
            f"{shown(queue.topic):<64}  {shown(queue.broker_name):<32}  {queue.queue_id:<4}  "
            f"{offsets.broker_offset:<20}  {offsets.consumer_offset:<20}  {at}{progress.lag_of(queue):<20} "
            f"{inflight:<20} {last}",
        )
    output.text("", f"Consume TPS: {progress.tps:.2f}", f"Consume Diff Total: {progress.lag}")
    output.text(f"Consume Inflight Total: {inflight_total}")
    output.end(
        "queues",
        consumer_group=progress.group,
        consume_tps=progress.tps,
        diff_total=progress.lag,
        inflight_total=inflight_total,
        failures={name: " ".join(str(error).split()) for name, error in progress.failures.items()},
    )


def _queue_row(queue: MessageQueue, offsets: OffsetWrapper, client: str | None) -> Row:
    return {
        "topic": queue.topic,
        "broker_name": queue.broker_name,
        "queue_id": queue.queue_id,
        "broker_offset": offsets.broker_offset,
        "consumer_offset": offsets.consumer_offset,
        "diff": offsets.broker_offset - offsets.consumer_offset,
        "inflight": None if offsets.pull_offset is None else _inflight(offsets),
        "client": client,
        "last_consumed_at": rfc3339(offsets.last_timestamp) if offsets.last_timestamp else None,
    }


def _inflight(offsets: OffsetWrapper) -> int:
    """Give how many messages are with consumers; 0 when a broker of 4.x does not say."""
    return 0 if offsets.pull_offset is None else offsets.pull_offset - offsets.consumer_offset


async def _all(servers: NameServers, output: Output, admin: AdminClient, cluster: str | None) -> int:
    names = await admin.topics.names(cluster=cluster)
    groups = [name.removeprefix(RETRY_PREFIX) for name in names if name.startswith(RETRY_PREFIX)]
    output.text(
        f"{'#Group':<64}  {'#Count':<6}  {'#Version':<24} {'#Type':<5}  {'#Model':<14}  {'#TPS':<7}  #Diff Total"
    )
    failed: list[_Group] = []
    with output.progress("groups", len(groups)) as progress:
        for batch in _batches(groups):
            asked = (progress.counting(_group(servers, admin, name, cluster)) for name in batch)
            for found in await asyncio.gather(*asked):
                output.row(_group_row(found), _group_line(found))
                failed += [found] if found.error is not None else []
    output.end("groups")
    for each in failed:
        output.error(each.error or AdminError(each.name))
    return _PARTLY_FAILED if failed else 0


async def _group(servers: NameServers, admin: AdminClient, name: str, cluster: str | None) -> _Group:
    try:
        async with explained(servers):
            progress, members = await asyncio.gather(
                admin.offsets.progress(name, cluster=cluster), admin.clients.consumers(name)
            )
    except OperatorError as error:
        return _Group(name, None, None, error)
    return _Group(name, progress, members)


def _group_row(group: _Group) -> Row:
    members, progress = group.members, group.progress
    is_online = members is not None and bool(members.members)
    return {
        "consumer_group": group.name,
        "count": len(members.members) if members else None,
        "version": _version(members) if members and is_online else None,
        "type": _kind(members) if members and is_online else None,
        "model": members.message_model.value if members and is_online and members.message_model else None,
        "consume_tps": progress.tps if progress else None,
        "diff_total": progress.lag if progress else None,
        "error": group.error.what if group.error else None,
    }


def _group_line(group: _Group) -> str:
    members, progress = group.members, group.progress
    count = len(members.members) if members else 0
    version = _version(members) if members and count else "OFFLINE"
    kind = _kind(members) if members and count else ""
    is_push = bool(members and count and members.consume_type is ConsumeType.CONSUME_PASSIVELY)
    model = members.message_model.value if members and is_push and members.message_model else ""
    tps, lag = (int(progress.tps), progress.lag) if progress else (0, 0)
    return f"{shown(group.name):<64}  {count:<6}  {version:<24} {kind:<5}  {model:<14}  {tps:<7}  {lag}"


def _version(members: ConsumerMembers) -> str:
    return version_name(min(each.version for each in members.members.values()))


def _kind(members: ConsumerMembers) -> str:
    return "PULL" if members.consume_type is ConsumeType.CONSUME_ACTIVELY else "PUSH"


async def _explanation(servers: NameServers, error: RocketMQError) -> OperatorError:
    from cosmodrome.admin.client_errors import explained_by_client  # noqa: PLC0415  # most commands succeed

    return await explained_by_client(servers, error)


def _no_group(servers: NameServers, group: str) -> MissingError:
    return MissingError(
        f"there is no consumer group {group!r}.",
        why="no broker has offsets of it, and no member is online.",
        remedy=f"see which there are: {servers.command('admin consumerProgress')}",
    )


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(names)
    while batch := list(itertools.islice(iterator, _AT_ONCE)):
        yield batch
