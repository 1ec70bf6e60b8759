"""statsAll: what goes through topics and consumer groups, over a minute and a day.

Owns: its layout; which counters it adds up.
Must not know: how brokers are found and asked (brokers.py).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.admin.brokers import Brokers, Place, readers_of
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.admin.settings_text import rounded
from cosmodrome.client.admin.reach import read_with
from cosmodrome.errors import AdminError, AnswerError, MissingError, RemotingError
from cosmodrome.protocol.bodies.broker_stats import BrokerStatsData
from cosmodrome.protocol.bodies.cluster import decode_group_list
from cosmodrome.protocol.bodies.offsets import ConsumeStats
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.group_admin import GetConsumeStatsRequestHeader
from cosmodrome.protocol.headers.statistics import ViewBrokerStatsDataRequestHeader
from cosmodrome.protocol.headers.topic_admin import TopicRequestHeader
from cosmodrome.protocol.messages.checks import DLQ_PREFIX, RETRY_PREFIX
from cosmodrome.shown_text import shown

_TOPICS_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What went in or out: messages a second over the last minute, and messages of the last 24 hours."""

    tps: float = 0.0
    day: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A topic and one of its consumer groups; without a group when it has none."""

    topic: str
    group: str | None
    accumulation: int
    incoming: Flow
    outgoing: Flow


async def stats_all(servers: NameServers, output: Output, *, active_only: bool, topic: str | None) -> int:
    """Print a line for each topic and consumer group, or those of one topic.

    Raises:
        MissingError: There is no such topic.
    """
    names = [
        name
        for name in await servers.first(lambda server: server.all_topics())
        if not name.startswith((RETRY_PREFIX, DLQ_PREFIX)) and topic in (None, "", name)
    ]
    if topic and not names:
        raise MissingError(
            f"there is no topic {topic!r}.", remedy=f"check the spelling: {servers.command('admin topicList')}"
        )
    brokers = _Counters(Brokers(servers, output))
    output.text(
        f"{'#Topic':<64}  {'#Consumer Group':<64} {'#Accumulation':>12} {'#InTPS':>11} {'#OutTPS':>11} "
        f"{'#InMsg24Hour':>14} {'#OutMsg24Hour':>14}"
    )
    turns = asyncio.Semaphore(_TOPICS_AT_ONCE)
    with output.progress("topics", len(names)) as progress:

        async def lines(name: str) -> list[Line]:
            async with turns:
                return await progress.counting(brokers.lines(name))

        tasks = [asyncio.ensure_future(lines(name)) for name in sorted(names)]
        try:
            for task in tasks:
                _print(output, await task, active_only=active_only)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    output.end("topics")
    for address, error in brokers.silent.items():
        output.error(error)
        output.note(f"the figures of broker {address} are missing")
    return 1 if brokers.silent else 0


def _print(output: Output, lines: Iterable[Line], *, active_only: bool) -> None:
    for line in lines:
        if active_only and not line.incoming.day and not line.outgoing.day:
            continue
        row = {
            "topic": line.topic,
            "consumer_group": line.group,
            "accumulation": line.accumulation,
            "in_tps": line.incoming.tps,
            "out_tps": line.outgoing.tps,
            "in_messages_24h": line.incoming.day,
            "out_messages_24h": line.outgoing.day,
        }
        out_tps = rounded(line.outgoing.tps, 2) if line.group is not None else ""
        out_day = str(line.outgoing.day) if line.group is not None else "NO_CONSUMER"
        output.row(
            row,
            f"{shown(line.topic):<64}  {shown(line.group or ''):<64} {line.accumulation:>12} "
            f"{rounded(line.incoming.tps, 2):>11} {out_tps:>11} {line.incoming.day:>14} {out_day:>14}",
        )


class _Counters:
    """Asks brokers for counters; a broker that does not answer is asked only once.

    Attributes:
        silent: What went wrong, by address.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.silent: dict[str, AdminError] = {}

    async def lines(self, topic: str) -> list[Line]:
        """Give the lines of one topic; none when it is gone meanwhile."""
        try:
            route = await self._brokers.route(topic)
        except MissingError:
            return []
        readers = readers_of(route.broker_datas)
        masters = [
            Place(data.cluster or "", data.broker_name, MASTER_ID, data.broker_addrs[MASTER_ID])
            for data in route.broker_datas
            if MASTER_ID in data.broker_addrs
        ]
        incoming = await self._flow(masters, "TOPIC_PUT_NUMS", topic)
        groups = await self._groups(readers, topic)
        if not groups:
            return [Line(topic=topic, group=None, accumulation=0, incoming=incoming, outgoing=Flow())]
        outgoing = await asyncio.gather(
            *(self._flow(masters, "GROUP_GET_NUMS", f"{topic}@{group}") for group in groups)
        )
        behind = await asyncio.gather(*(self._behind(readers, topic, group) for group in groups))
        return [
            Line(topic=topic, group=group, accumulation=late, incoming=incoming, outgoing=flow)
            for group, late, flow in zip(groups, behind, outgoing, strict=True)
        ]

    async def _groups(self, readers: Iterable[Place], topic: str) -> tuple[str, ...]:
        """Give the groups that the first broker that answers knows."""
        header = TopicRequestHeader(topic=topic)
        for place in readers:
            if place.address in self.silent:
                continue
            try:
                answer = await self._brokers.ask(place.address, BrokerRequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
                return tuple(sorted(read_with(place.address, decode_group_list, answer)))
            except RemotingError as error:
                self.silent[place.address] = await self._brokers.explained(place.address, error)
            except AnswerError:
                continue
        return ()

    async def _flow(self, masters: Iterable[Place], name: str, key: str) -> Flow:
        """Add up a counter; where nothing was counted yet it does not exist."""
        header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
        total = Flow()
        for place in masters:
            if place.address in self.silent:
                continue
            try:
                data = await self._brokers.read(
                    place.address, BrokerRequestCode.VIEW_BROKER_STATS_DATA, header, BrokerStatsData
                )
            except RemotingError as error:
                self.silent[place.address] = await self._brokers.explained(place.address, error)
            except AnswerError:
                continue
            else:
                tps = data.stats_minute.tps if data.stats_minute else 0.0
                total = Flow(tps=total.tps + tps, day=total.day + day_sum(data))
        return total

    async def _behind(self, readers: Iterable[Place], topic: str, group: str) -> int:
        header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
        total = 0
        for place in readers:
            if place.address in self.silent:
                continue
            try:
                stats = await self._brokers.read(
                    place.address, BrokerRequestCode.GET_CONSUME_STATS, header, ConsumeStats
                )
            except RemotingError as error:
                self.silent[place.address] = await self._brokers.explained(place.address, error)
            except AnswerError:
                return 0
            else:
                total += sum(each.broker_offset - each.consumer_offset for each in stats.offset_table.values())
        return max(0, total)


def day_sum(data: BrokerStatsData) -> int:
    """Give how many were counted in the last 24 hours, or as long as there are figures."""
    spans = (data.stats_day, data.stats_hour, data.stats_minute)
    return next((span.sum for span in spans if span is not None and span.sum), 0)
