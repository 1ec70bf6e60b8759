"""exportMetrics: load, sizes and client versions of a cluster, as one JSON document.

Owns: the form of that document, which is mqadmin's.
Must not know: how brokers are found and asked (brokers.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.admin.broker_settings import config_of, runtime_of
from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers
from cosmodrome.admin.exports import Holdings, snake_keys, user_holdings, write_document
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.admin.stats_all import day_sum
from cosmodrome.errors import AnswerError, RefusedError
from cosmodrome.protocol.bodies.broker_stats import BrokerStatsData
from cosmodrome.protocol.bodies.consumers import ConsumerConnection
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader
from cosmodrome.protocol.headers.statistics import ViewBrokerStatsDataRequestHeader
from cosmodrome.protocol.versions import SERVER_VERSION, version_name

_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
_SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one broker says of itself."""

    runtime: Mapping[str, str]
    config: Mapping[str, str]
    holdings: Holdings
    transactions: BrokerStatsData
    schedules: BrokerStatsData
    clients: frozenset[str]


async def export_metrics(servers: NameServers, output: Output, *, cluster: str, folder: str | None) -> int:
    """Write what the masters of a cluster measure.

    Raises:
        MissingError: There is no such cluster.
        StorageError: The file cannot be written.
    """
    brokers = Brokers(servers, output)
    masters = [place for place in await brokers.registered(cluster) if place.id == MASTER_ID]
    outcomes = await brokers.each(masters, lambda place: _measured(brokers, place))
    code = conclude_brokers(output, outcomes, is_change=False)
    if code:
        return code
    found = {
        place.name: outcome.value for place, outcome in zip(masters, outcomes, strict=True) if outcome.value is not None
    }
    report = {name: _report(each) for name, each in found.items()}
    quotas = [each["runtimeQuota"] for each in report.values()]
    total_tps = {
        f"total{name[0].upper()}{name[1:]}": _sum(quota["tps"][name] for quota in quotas)
        for name in ("normalInTps", "normalOutTps", "scheduleInTps", "transInTps")
    }
    total_day = {
        name: int(_sum(quota["oneDayNum"][name] for quota in quotas))
        for name in ("normalOneDayInNum", "normalOneDayOutNum", "scheduleOneDayInNum", "transOneDayInNum")
    }
    totals = {"totalOneDayNum": total_day, "totalTps": total_tps}
    told = {
        "evaluate_report": {name: snake_keys(each) for name, each in report.items()},
        "total_data": snake_keys(totals),
    }
    write_document(output, folder, "metrics.json", ({"evaluateReport": report, "totalData": totals}, told))
    return 0


async def _measured(brokers: Brokers, place: Place) -> Measured:
    holdings = await user_holdings(brokers, place.address, with_special=False)
    clients: set[str] = set()
    for group in holdings.groups:
        clients |= await _clients(brokers, place.address, group)
    return Measured(
        runtime=await runtime_of(brokers, place.address),
        config=await config_of(brokers, place.address),
        holdings=holdings,
        transactions=await _counter(brokers, place.address, _HALF_TOPIC),
        schedules=await _counter(brokers, place.address, _SCHEDULE_TOPIC),
        clients=frozenset(clients),
    )


async def _clients(brokers: Brokers, address: str, group: str) -> set[str]:
    """Give language and release of the members of a group; none when nobody is online."""
    header = ConsumerGroupRequestHeader(consumer_group=group)
    try:
        found = await brokers.read(address, BrokerRequestCode.GET_CONSUMER_CONNECTION_LIST, header, ConsumerConnection)
    except AnswerError:
        return set()
    return {f"{each.language}%{version_name(each.version)}" for each in found.connection_set}


async def _counter(brokers: Brokers, address: str, topic: str) -> BrokerStatsData:
    """Give how much was put into a topic; where nothing was counted yet the broker refuses."""
    header = ViewBrokerStatsDataRequestHeader(stats_name="TOPIC_PUT_NUMS", stats_key=topic)
    try:
        return await brokers.read(address, BrokerRequestCode.VIEW_BROKER_STATS_DATA, header, BrokerStatsData)
    except RefusedError:
        return BrokerStatsData()


def _report(measured: Measured) -> dict[str, Any]:
    return {
        "runtimeEnv": {
            "cpuNum": measured.config.get("clientCallbackExecutorThreads"),
            "totalMemKBytes": measured.runtime.get("totalMemKBytes"),
        },
        "runtimeQuota": _quota(measured),
        "runtimeVersion": {
            "clientInfo": sorted(measured.clients),
            "rocketmqVersion": version_name(SERVER_VERSION),
        },
    }


def _quota(measured: Measured) -> dict[str, Any]:
    runtime = measured.runtime
    transactions, schedules = measured.transactions.stats_minute, measured.schedules.stats_minute
    return {
        "diskRatio": {name: runtime.get(name) for name in ("commitLogDiskRatio", "consumeQueueDiskRatio")},
        "groupSize": len(measured.holdings.groups),
        "messageAverageSize": runtime.get("putMessageAverageSize"),
        "oneDayNum": {
            "normalOneDayInNum": _growth(runtime, "msgPutTotal"),
            "normalOneDayOutNum": _growth(runtime, "msgGetTotal"),
            "scheduleOneDayInNum": day_sum(measured.schedules),
            "transOneDayInNum": day_sum(measured.transactions),
        },
        "topicSize": len(measured.holdings.topics),
        "tps": {
            "normalInTps": _first(runtime.get("putTps")),
            "normalOutTps": _first(runtime.get("getTransferredTps", runtime.get("getTransferedTps"))),
            "scheduleInTps": schedules.tps if schedules else 0.0,
            "transInTps": transactions.tps if transactions else 0.0,
        },
    }


def _growth(runtime: Mapping[str, str], name: str) -> int:
    return int(_first(runtime.get(f"{name}TodayMorning")) - _first(runtime.get(f"{name}YesterdayMorning")))


def _first(text: str | None) -> float:
    """Give the first number of a list; 0 when there is none."""
    try:
        number = float((text or "0").split(" ")[0])
    except ValueError:
        return 0.0
    return number if abs(number) < 1e18 else 0.0


def _sum(numbers: Iterable[float]) -> float:
    return sum(numbers, 0.0)
