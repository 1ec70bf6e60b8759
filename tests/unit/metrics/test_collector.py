"""A program that has a server of ours inside shows its metrics with its own."""

import asyncio
from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from cosmodrome import Broker, MetricsCollector, NameServer
from cosmodrome.metrics.exposition import text_of
from cosmodrome.metrics.family import Family, Histogram, Kind, Sample


class Fixed:
    """A server with metrics that do not change; with a `pause` it waits between them."""

    def __init__(self, *families: Family, pause: bool = False) -> None:
        self.families = families
        self.pause = pause

    async def measured(self) -> Iterable[Family]:
        if self.pause:
            await asyncio.sleep(0)
        return self.families


FAMILIES = (
    Family("came", Kind.COUNTER, "how many", ("who",), [Sample(("a",), 3), Sample(("b",), 4)]),
    Family("size", Kind.HISTOGRAM, "how large", ("topic",), [Sample(("T",), Histogram((1, 2.5), (2, 3, 4), 99.5))]),
    Family("now", Kind.GAUGE, "how warm", (), [Sample((), 0.5)]),
)


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.startswith(("process_", "python_"))
    }


async def test_a_registry_says_the_same_as_our_own_text() -> None:
    registry = CollectorRegistry(auto_describe=True)
    registry.register(MetricsCollector(Fixed(*FAMILIES)))
    ours = b"".join([piece async for piece in text_of(FAMILIES)]).decode()

    assert values(generate_latest(registry).decode()) == values(ours)


async def test_a_name_server_beside_the_metrics_of_a_program() -> None:
    registry = CollectorRegistry(auto_describe=True)
    Gauge("orders_open", "of this program", registry=registry).set(7)
    async with NameServer(port=0) as server:
        registry.register(MetricsCollector(server))
        here = values(generate_latest(registry).decode())
        elsewhere = values((await asyncio.to_thread(generate_latest, registry)).decode())

    assert here["orders_open", ()] == elsewhere["orders_open", ()] == 7
    assert here["rocketmq_nameserver_up", ()] == elsewhere["rocketmq_nameserver_up", ()] == 1
    assert here.keys() == elsewhere.keys()


async def test_a_broker_is_asked_in_another_thread() -> None:
    registry = CollectorRegistry()
    async with Broker() as broker:
        registry.register(MetricsCollector(broker))
        found = values((await asyncio.to_thread(generate_latest, registry)).decode())

        assert any(name == "rocketmq_topic_number" for name, _ in found)
        with pytest.raises(RuntimeError, match="another thread"):
            generate_latest(registry)


async def test_who_waits_cannot_be_asked_where_it_would_wait_for_itself() -> None:
    with pytest.raises(RuntimeError, match="another thread"):
        list(MetricsCollector(Fixed(*FAMILIES, pause=True)).collect())


def test_when_the_loop_is_closed_there_is_nothing() -> None:
    async def made() -> MetricsCollector:
        return MetricsCollector(Fixed(*FAMILIES))

    assert list(asyncio.run(made()).collect()) == []


async def test_of_a_name_server_that_is_not_started_there_is_nothing() -> None:
    server = NameServer(port=0)
    collector = MetricsCollector(server)
    assert list(collector.collect()) == []
    async with server:
        assert list(collector.collect())
    assert list(collector.collect()) == []
