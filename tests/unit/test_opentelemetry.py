"""Spans and metrics of clients, as OpenTelemetry's own SDK sees them."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.support.consuming import GROUP, TOPIC, Seen, consumer, fill
from tests.support.faulty_broker import SENDS, FaultyCluster, Refuse, faulty_cluster

from cosmodrome import LitePullConsumer, Message, Producer, ReceivedMessage, RefusedError
from cosmodrome.opentelemetry import OpenTelemetry, context_of, link_of

NAME = "messaging.destination.name"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={TOPIC: 1}) as one:
        yield one


class Collected:
    """What an application with the SDK would export."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self._meters = MeterProvider([self._reader])
        self.observer = OpenTelemetry(self.tracers, self._meters)

    def spans(self) -> dict[str, ReadableSpan]:
        """Give the last ended span of each name."""
        return {span.name: span for span in self._spans.get_finished_spans()}

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Give the metrics: attributes and points."""
        data = self._reader.get_metrics_data()
        assert data is not None
        found: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = [(dict(point.attributes or {}), point) for point in metric.data.data_points]
        return found

    def close(self) -> None:
        self.tracers.shutdown()
        self._meters.shutdown()


@pytest.fixture
def collected() -> Any:
    one = Collected()
    yield one
    one.close()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def context(span: ReadableSpan) -> trace.SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


async def test_a_send_and_its_handler_are_one_trace(cluster: FaultyCluster, collected: Collected) -> None:
    inner = collected.tracers.get_tracer("the program's own")

    def act(_: ReceivedMessage) -> None:
        with inner.start_as_current_span("own work"):
            pass

    seen = Seen(act)
    async with (
        Producer("pg", namesrv=cluster.name_server, observers=[collected.observer]) as producer,
        consumer(cluster, seen, observers=[collected.observer]) as reader,
    ):
        with inner.start_as_current_span("a request"):
            sent = await producer.send(
                Message(topic=TOPIC, body=b"12345", tag="paid", keys=["k1", "k2"], sharding_key="customer")
            )
        await seen.came(1)
        client_ids = producer.client_id, reader.status().client_id
    spans = collected.spans()
    request, send, process, own = (spans[name] for name in ("a request", "send T", "process T", "own work"))
    assert {context(span).trace_id for span in (send, process, own)} == {context(request).trace_id}
    assert send.parent == context(request)
    assert process.parent is not None
    assert process.parent.span_id == context(send).span_id
    assert [link.context.span_id for link in process.links] == [context(send).span_id]
    assert own.parent == context(process)
    assert (send.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    common = {
        "messaging.system": "rocketmq",
        NAME: TOPIC,
        "messaging.destination.partition.id": "0",
        "messaging.message.id": sent.msg_id,
        "messaging.message.body.size": 5,
        "messaging.rocketmq.message.tag": "paid",
        "messaging.rocketmq.message.keys": ("k1", "k2"),
    }
    assert attributes(send) == common | {
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.client.id": client_ids[0],
        "messaging.rocketmq.message.type": "fifo",
        "messaging.rocketmq.message.group": "customer",
    }
    assert attributes(process) == common | {
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.client.id": client_ids[1],
        "messaging.consumer.group.name": GROUP,
        "messaging.rocketmq.consumption_model": "clustering",
    }
    assert "traceparent" in cluster.broker.store.messages(TOPIC)[0].named


async def test_a_plain_handler_has_its_span_in_its_thread(cluster: FaultyCluster, collected: Collected) -> None:
    current: list[trace.SpanContext] = []
    fill(cluster.broker, 1)

    def handler(_: ReceivedMessage) -> None:
        current.append(trace.get_current_span().get_span_context())
        raise KeyError("no such order")

    async with consumer(cluster, handler, observers=[collected.observer]):
        await cluster.broker.journal.until(lambda: "process T" in collected.spans(), "the span", 10)
    process = collected.spans()["process T"]
    assert current[0] == context(process)
    assert process.parent is None
    assert process.status.status_code is StatusCode.ERROR
    assert attributes(process)["error.type"] == "KeyError"
    assert [event.name for event in process.events] == ["exception"]


async def test_a_refused_send_is_an_error(cluster: FaultyCluster, collected: Collected) -> None:
    cluster.broker.faults.add(Refuse(13, "the message is illegal"), SENDS, times=None)
    async with Producer("pg", namesrv=cluster.name_server, observers=[collected.observer]) as producer:
        with pytest.raises(RefusedError):
            await producer.send(Message(topic=TOPIC, body=b"1", delay_level=3))
    span = collected.spans()["send T"]
    assert span.status.status_code is StatusCode.ERROR
    assert "the message is illegal" in str(span.status.description)
    found = attributes(span)
    assert (found["error.type"], found["messaging.rocketmq.message.type"]) == ("13", "delay")
    assert not trace.get_current_span().get_span_context().is_valid


async def test_batches_and_polls_are_one_span_each(cluster: FaultyCluster, collected: Collected) -> None:
    messages = [Message(topic=TOPIC, body=b"%d" % number) for number in range(3)]
    options: dict[str, Any] = {"subscriptions": {TOPIC: None}, "consume_from": "first"}
    async with Producer("pg", namesrv=cluster.name_server, observers=[collected.observer]) as producer:
        await producer.send_batch(messages)
    async with LitePullConsumer(
        GROUP, namesrv=cluster.name_server, observers=[collected.observer], **options
    ) as reader:
        found: list[ReceivedMessage] = []
        while len(found) < 3:
            found += await reader.poll(10)
        assert await reader.poll(0.01) == []
    sent, received = collected.spans()["send_batch T"], collected.spans()["poll T"]
    assert attributes(sent)["messaging.batch.message_count"] == 3
    assert attributes(received)["messaging.batch.message_count"] == 3
    assert attributes(received)["messaging.operation.type"] == "receive"
    assert {link.context.span_id for link in received.links} == {context(sent).span_id}
    assert received.start_time is not None
    assert received.end_time is not None
    assert received.start_time <= received.end_time
    assert context(received).trace_id != context(sent).trace_id


async def test_an_iteration_links_to_the_send(cluster: FaultyCluster, collected: Collected) -> None:
    async with Producer("pg", namesrv=cluster.name_server, observers=[collected.observer]) as producer:
        await producer.send(Message(topic=TOPIC, body=b"1"))
    fill(cluster.broker, 1)
    async with consumer(cluster, None, observers=[collected.observer]) as reader:
        message = await anext(reader)
        await message.ack()
        plain = await anext(reader)
    send = context(collected.spans()["send T"])
    link = link_of(message)
    assert link is not None
    assert link.context.span_id == send.span_id
    assert trace.get_current_span(context_of(message)).get_span_context().trace_id == send.trace_id
    assert link_of(plain) is None


async def test_metrics_have_the_names_of_the_conventions(cluster: FaultyCluster, collected: Collected) -> None:
    cluster.broker.faults.add(Refuse(13, "no"), SENDS, times=1)
    seen = Seen()
    async with (
        Producer("pg", namesrv=cluster.name_server, observers=[collected.observer]) as producer,
        consumer(cluster, seen, observers=[collected.observer]),
    ):
        with pytest.raises(RefusedError):
            await producer.send(Message(topic=TOPIC, body=b"0"))
        await producer.send(Message(topic=TOPIC, body=b"1"))
        await producer.send_batch([Message(topic=TOPIC, body=b"2"), Message(topic=TOPIC, body=b"3")])
        await seen.came(3)
    points = collected.points()
    sent = {
        (at["messaging.operation.name"], at.get("error.type")): point.value
        for at, point in points["messaging.client.sent.messages"]
    }
    assert sent == {("send", "13"): 1, ("send", None): 1, ("send_batch", None): 2}
    ((at, consumed),) = points["messaging.client.consumed.messages"]
    assert (at[NAME], at["messaging.consumer.group.name"], consumed.value) == (TOPIC, GROUP, 3)
    ((_, handled),) = points["messaging.process.duration"]
    assert (handled.count, handled.sum >= 0) == (3, True)
    assert sum(point.count for _, point in points["messaging.client.operation.duration"]) == 3


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from cosmodrome import Consumer, Producer
try:
    import cosmodrome.opentelemetry
except ImportError as error:
    print(error)
"""


def test_without_the_extra_it_says_what_to_install() -> None:
    child = subprocess.run([sys.executable, "-I", "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert "pip install 'cosmodrome[opentelemetry]'" in child.stdout
