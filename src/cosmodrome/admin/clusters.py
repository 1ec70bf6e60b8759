"""clusterList: clusters and brokers from a NameServer, load and totals from the brokers.

Owns: its two layouts, and what they take from a broker's runtime information.
Must not know: how a server is asked.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row
from cosmodrome.admin.settings_text import rounded
from cosmodrome.admin.topics import unknown_cluster
from cosmodrome.client.broker import BrokerClient
from cosmodrome.errors import AnswerError, RemotingError
from cosmodrome.protocol.bodies.cluster import ClusterInfo
from cosmodrome.shown_text import shown

UNREACHABLE: Final = "unreachable"

_BROKER_LIMIT_S: Final = 3.0
"""Brokers that are gone must not cost a user's whole patience; mqadmin's own limit."""
_MS_PER_HOUR: Final = 3_600_000
_LARGEST: Final = 1e18
"""A number beyond it is none that a broker means; NaN is not below it either."""
_LAST_TIME_MS: Final = 253_402_300_799_000
"""The end of the year 9999."""
_HEAD: Final = (
    "#Cluster Name", "#Broker Name", "#BID", "#Addr", "#Version", "#InTPS(LOAD)", "#OutTPS(LOAD)",
    "#Timer(Progress)", "#PCWait(ms)", "#Hour", "#SPACE", "#ACTIVATED",
)  # fmt: skip
_MORE_HEAD: Final = (
    "#Cluster Name", "#Broker Name", "#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """One broker address, and what the broker says; `runtime` is None when it does not answer."""

    cluster: str
    broker_name: str
    broker_id: int
    addr: str
    runtime: Mapping[str, str] | None

    def text(self, *names: str) -> str:
        """Give the first of these values that the broker sent; releases spell some differently."""
        return next((self.runtime[name] for name in names if name in self.runtime), "") if self.runtime else ""

    def number(self, *names: str) -> float:
        """Give a value, or the first word of it, as a number; 0 when it is none or absent."""
        word = self.text(*names).split(" ")[0]
        try:
            number = float(word)
        except ValueError:
            return 0.0
        return number if abs(number) < _LARGEST else 0.0

    def growth(self, later: str, earlier: str) -> int:
        """Give the difference of two totals."""
        return int(self.number(later) - self.number(earlier))


async def cluster_list(
    servers: NameServers, output: Output, cluster: str | None, *, is_more: bool, interval_s: float | None = None
) -> int:
    """Print all brokers of one cluster or of all: once, or with an interval until the process is interrupted.

    Raises:
        MissingError: There is no such cluster.
    """
    while True:
        await _print_once(servers, output, cluster, is_more=is_more)
        if interval_s is None:
            return 0
        output.flush()
        await asyncio.sleep(interval_s)


async def _print_once(servers: NameServers, output: Output, cluster: str | None, *, is_more: bool) -> None:
    info = await servers.first(lambda server: server.cluster_info())
    if cluster is not None and cluster not in info.cluster_addr_table:
        raise unknown_cluster(servers, cluster, info.cluster_addr_table)
    brokers = await _states(servers, info, cluster)
    now_ms = time.time_ns() // 1_000_000
    output.text(_more_line(*_MORE_HEAD) if is_more else _head_line(*_HEAD))
    for broker in brokers:
        output.row(_row(broker), _more_cells(broker) if is_more else _cells(broker, now_ms))
    output.end("brokers")
    if not brokers:
        output.note("no broker is registered")


async def _states(servers: NameServers, info: ClusterInfo, cluster: str | None) -> list[BrokerState]:
    async def state(of: str, broker_name: str, broker_id: int, addr: str) -> BrokerState:
        broker = BrokerClient(servers.remoting, addr, min(servers.timeout_s, _BROKER_LIMIT_S))
        try:
            runtime = await broker.runtime_info()
        except (RemotingError, AnswerError):
            runtime = None
        return BrokerState(cluster=of, broker_name=broker_name, broker_id=broker_id, addr=addr, runtime=runtime)

    return await asyncio.gather(
        *(
            state(of, name, id_, addr)
            for of, names in sorted(info.cluster_addr_table.items())
            if cluster is None or of == cluster
            for name in sorted(names)
            if name in info.broker_addr_table
            for id_, addr in info.broker_addr_table[name].broker_addrs.items()
        )
    )


def _row(broker: BrokerState) -> Row:
    row: dict[str, Any] = {
        "cluster": broker.cluster,
        "broker_name": broker.broker_name,
        "broker_id": broker.broker_id,
        "addr": broker.addr,
        "is_reachable": broker.runtime is not None,
    }
    if broker.runtime is None:
        return row
    earliest_ms = broker.number("earliestMessageTimeStamp")
    earliest = dt.datetime.fromtimestamp(earliest_ms / 1000, tz=dt.UTC) if 0 < earliest_ms < _LAST_TIME_MS else None
    return row | {
        "version": broker.text("brokerVersionDesc"),
        "is_active": broker.text("brokerActive") == "true",
        "in_tps": broker.number("putTps"),
        "out_tps": broker.number("getTransferredTps", "getTransferedTps"),
        "in_total_yesterday": broker.growth("msgPutTotalTodayMorning", "msgPutTotalYesterdayMorning"),
        "out_total_yesterday": broker.growth("msgGetTotalTodayMorning", "msgGetTotalYesterdayMorning"),
        "in_total_today": broker.growth("msgPutTotalTodayNow", "msgPutTotalTodayMorning"),
        "out_total_today": broker.growth("msgGetTotalTodayNow", "msgGetTotalTodayMorning"),
        "page_cache_wait_ms": broker.number("pageCacheLockTimeMills"),
        "earliest_message_time": f"{earliest.isoformat(timespec='seconds').removesuffix('+00:00')}Z"
        if earliest
        else None,
        "disk_ratio": broker.number("commitLogDiskRatio"),
    }


def _cells(broker: BrokerState, now_ms: int) -> str:
    earliest_ms = broker.number("earliestMessageTimeStamp")
    hours = (now_ms - earliest_ms) / _MS_PER_HOUR if earliest_ms else 0.0
    sent = broker.number("getTransferredTps", "getTransferedTps")
    # mqadmin prints N for what older brokers do not send.
    acks = [
        broker.text(f"ackThreadPoolQueue{name}") or ("" if broker.runtime is None else "N") for name in _QUEUE_FACTS
    ]
    sends = [broker.text(f"sendThreadPoolQueue{name}") for name in _QUEUE_FACTS]
    pulls = [broker.text(f"pullThreadPoolQueue{name}") for name in _QUEUE_FACTS]
    return _line(
        shown(broker.cluster),
        shown(broker.broker_name),
        broker.broker_id,
        shown(broker.addr),
        UNREACHABLE if broker.runtime is None else shown(broker.text("brokerVersionDesc")),
        f"{rounded(broker.number('putTps'), 2):>9}({sends[0]},{sends[1]}ms)",
        f"{rounded(sent, 2):>9}({pulls[0]},{pulls[1]}ms|{acks[0]},{acks[1]}ms)",
        _timer(broker),
        broker.text("pageCacheLockTimeMills"),
        rounded(hours, 2),
        rounded(broker.number("commitLogDiskRatio"), 4),
        "true" if broker.text("brokerActive").lower() == "true" else "false",
    )


_QUEUE_FACTS: Final = ("Size", "HeadWaitTimeMills")


def _timer(broker: BrokerState) -> str:
    behind = f"{broker.number('timerReadBehind'):.0f}-{broker.number('timerOffsetBehind'):.0f}"
    waiting = rounded(broker.number("timerCongestNum") / 10_000, 1)
    rates = [rounded(broker.number(name), 1) for name in ("timerEnqueueTps", "timerDequeueTps")]
    return f"{behind}({waiting}w, {rates[0]}, {rates[1]})"


def _more_cells(broker: BrokerState) -> str:
    row = _row(broker)
    names = ("in_total_yesterday", "out_total_yesterday", "in_total_today", "out_total_today")
    return _more_line(shown(broker.cluster), shown(broker.broker_name), *(row.get(name, 0) for name in names))


def _head_line(*cells: object) -> str:
    return _laid_out(cells, wait="<11", active="<10")


def _line(*cells: object) -> str:
    return _laid_out(cells, wait=">11", active=">10")


def _laid_out(cells: tuple[object, ...], *, wait: str, active: str) -> str:
    cluster, name, id_, addr, version, incoming, outgoing, timer, page, hour, space, is_active = map(str, cells)
    return (
        f"{cluster:<22}  {name:<22}  {id_:<4}  {addr:<22} {version:<16}  {incoming:>16}  {outgoing:>30}  {timer:<22}  "
        f"{page:{wait}}  {hour:<12}  {space:<8}  {is_active:{active}}"
    )


def _more_line(*cells: object) -> str:
    cluster, name, *totals = map(str, cells)
    return f"{cluster:<16}  {name:<32} {' '.join(f'{total:>14}' for total in totals)}"
