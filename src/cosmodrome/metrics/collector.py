"""Metrics for a registry of prometheus_client, in programs that have a server of ours inside.

Owns: asking a server from whichever thread the registry is asked in; metrics in the forms of prometheus_client.
Must not know: what is measured.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Final, Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from cosmodrome.metrics.exposition import cumulative
from cosmodrome.metrics.family import Family, Histogram, Kind

TIMEOUT_S: Final = 10.0


class Measured(Protocol):
    """A server that can be measured: NameServer and Broker."""

    def measured(self) -> Coroutine[Any, Any, Iterable[Family]]:
        """Give every metric as it is now; in the event loop of the server."""


class MetricsCollector(Collector):
    """Gives the metrics of a server to a registry: `REGISTRY.register(MetricsCollector(server))`.

    Make it in the event loop of the server. A registry may then be asked in any other thread; it waits for the loop,
    at most TIMEOUT_S. In the thread of the loop a NameServer can be asked, too, and a broker cannot: it measures between other work.
    When the loop is closed there is nothing.
    """

    def __init__(self, server: Measured) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def describe(self) -> list[Metric]:
        """Give nothing, so that a registry does not ask the server when it gets to know it."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Give every metric as it is now.

        Raises:
            RuntimeError: A broker was asked in the thread of its own loop.
            TimeoutError: The loop was busy for TIMEOUT_S.
        """
        yield from map(_metric, self._families())

    def _families(self) -> Iterable[Family]:
        if self._loop.is_closed():
            return []
        asked = self._server.measured()
        if threading.get_ident() != self._thread:
            return asyncio.run_coroutine_threadsafe(asked, self._loop).result(TIMEOUT_S)
        try:
            asked.send(None)
        except StopIteration as done:
            found: Iterable[Family] = done.value
            return found
        asked.close()
        raise RuntimeError("a broker cannot be measured in the thread of its own event loop; ask in another thread")


def _metric(family: Family) -> Metric:
    if family.kind is Kind.HISTOGRAM:
        return _histogram(family)
    make = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = make(family.name, family.meaning, labels=family.labels)
    for sample in family.samples:
        if not isinstance(sample.value, Histogram):
            metric.add_metric(sample.labels, sample.value)
    return metric


def _histogram(family: Family) -> Metric:
    metric = HistogramMetricFamily(family.name, family.meaning, labels=family.labels)
    for sample in family.samples:
        if isinstance(sample.value, Histogram):
            buckets = [(bound, float(count)) for bound, count in cumulative(sample.value)]
            metric.add_metric(sample.labels, buckets, sample.value.total)
    return metric
