"""docs/reference/metrics.md: every metric of a NameServer and of a broker, as servers that run give them.

Owns: the layout of that page.
Must not know: anything about a metric that its family does not say.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from cosmodrome import Broker, NameServer
from cosmodrome.metrics.family import Family, Kind

_HEAD: Final = """\
# Metrics

<!-- Written by `python -m scripts.reference` from src/cosmodrome/namesrv/metrics and src/cosmodrome/broker/metrics. Do not edit. -->

What `/metrics` of a NameServer and of a broker shows. [Monitoring](../monitoring.md) says how to scrape it, and what to look at.

Counters are since the start and end in `_total`; histograms have series with `_bucket`, `_count` and `_sum` behind their name. Beside these there are `process_*`,
`python_info` and `python_gc_*`, the standard ones of Python's Prometheus client.
"""
_NAME_SERVER: Final = """\
## NameServer

No label is a topic or a client: a label's values are words of ours, or there are as many as brokers. `metricsLabel=region:eu,rack:7` gives every metric more labels.
`rocketmq_rpc_latency_milliseconds` is there with `metricsJavaNames=true` only.
"""
_BROKER: Final = """\
## Broker

Names and labels are those of Apache's broker 5.5.0 but for those that begin with `rocketmq_broker_` (`rocketmq_broker_permission` is Apache's).
"""


def page() -> str:
    """Give the whole page."""
    of_name_server, of_broker = asyncio.run(_families())
    return "\n".join((_HEAD, _NAME_SERVER, _table(of_name_server), _BROKER, _table(of_broker)))


async def _families() -> tuple[list[Family], list[Family]]:
    async with NameServer(port=0, metrics_java_names=True) as server, Broker() as broker:
        return list(await server.measured()), list(await broker.measured())


def _table(families: Iterable[Family]) -> str:
    rows = "".join(f"| `{_name(each)}` | {each.kind.value} | {_labels(each)} | {each.meaning} |\n" for each in families)
    return f"| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n{rows}"


def _labels(family: Family) -> str:
    """Give the names of the labels, and the values of a single one that has them before anything happened."""
    values = ", ".join(sample.labels[0] for sample in family.samples if len(family.labels) == 1)
    return ", ".join(family.labels) + (f": {values}" if values else "")


def _name(family: Family) -> str:
    return f"{family.name}_total" if family.kind is Kind.COUNTER else family.name
