"""Spans and metrics of OpenTelemetry for producers and consumers. Needs `pip install 'cosmodrome[opentelemetry]'`.

    producer = Producer("orders", observers=[OpenTelemetry()])

Names and attributes are those of OpenTelemetry's conventions for messaging. The context of a send travels in the
properties of its messages, by the propagator that is set, so that a consumer in any language finds it.

Owns: which spans and metrics there are; where the context is in a message.
Must not know: where spans and metrics go.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

try:
    from opentelemetry import context, metrics, propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
except ImportError as error:
    raise ImportError(f"{error}; it comes with: pip install 'cosmodrome[opentelemetry]'") from error

from cosmodrome.client.message import Message, ReceivedMessage
from cosmodrome.client.observing import ObservedProcess, ObservedReceive, ObservedSend, Observer
from cosmodrome.errors import RefusedError

SYSTEM: Final = "rocketmq"
_NAME: Final = "cosmodrome"
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

Attribute = str | bool | int | float | list[str]
Attributes = dict[str, Attribute]


class OpenTelemetry(Observer):
    """An observer for `observers=`; one may serve any number of clients.

    Args:
        tracer_provider: Takes the spans; None: the one that is set globally.
        meter_provider: Takes the metrics; None: the one that is set globally.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(_NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_NAME, meter_provider=meter_provider)
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}", "Messages that were sent.")
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Messages that were given to the program."
        )
        self._operations = meter.create_histogram(
            "messaging.client.operation.duration",
            "s",
            "How long calls took.",
            explicit_bucket_boundaries_advisory=_BOUNDS,
        )
        self._handlings = meter.create_histogram(
            "messaging.process.duration", "s", "How long handlers took.", explicit_bucket_boundaries_advisory=_BOUNDS
        )

    def sending(self, send: ObservedSend) -> Callable[[], None]:
        """Begin a span of a call that sends, and put its context into the messages."""
        began_s = time.monotonic()
        kept = _kept(send.operation, "send", _destination(send.messages), send.client_id)
        own = _of_messages(send.messages)
        if send.operation == "send_transaction":
            own["messaging.rocketmq.message.type"] = "transaction"
        span = self._tracer.start_span(_title(kept), kind=SpanKind.PRODUCER, attributes=kept | own)
        token = context.attach(trace.set_span_in_context(span))
        send.messages = tuple(_carrying(message) for message in send.messages)

        def end() -> None:
            context.detach(token)
            if send.result is not None:
                span.set_attribute("messaging.message.id", send.result.msg_id)
                span.set_attribute("messaging.destination.partition.id", str(send.result.queue.queue_id))
            measured = kept | _failed(span, send.error)
            self._sent.add(len(send.messages), measured)
            self._operations.record(time.monotonic() - began_s, measured)
            span.end()

        return end

    def receiving(self, receive: ObservedReceive) -> Callable[[], None]:
        """Measure a wait for messages; it becomes a span, with a link to the send of each, when some came."""
        began_s, began_ns = time.monotonic(), time.time_ns()
        around = context.get_current()

        def end() -> None:
            messages = receive.messages
            if not messages:
                return
            kept = _kept(receive.operation, "receive", _destination(messages), receive.client_id)
            kept["messaging.consumer.group.name"] = receive.group
            span = self._tracer.start_span(
                _title(kept),
                around,
                SpanKind.CLIENT,
                kept | _of_received(messages),
                _links(messages),
                began_ns,
            )
            span.end()
            self._consumed.add(len(messages), kept)
            self._operations.record(time.monotonic() - began_s, kept)

        return end

    def processing(self, process: ObservedProcess) -> Callable[[], None] | None:
        """Begin a span of a handler's run, in the trace of the send; what the handler does belongs to it."""
        if process.by != "handler":
            return None  # the program's own code has the message: whose span is current there is the program's choice
        began_s, message = time.monotonic(), process.message
        kept = _kept("process", "process", message.topic, process.client_id)
        kept["messaging.consumer.group.name"] = process.group
        own = _of_received((message,))
        own["messaging.rocketmq.consumption_model"] = "broadcasting" if process.is_broadcasting else "clustering"
        span = self._tracer.start_span(
            _title(kept), _sent_in(message), SpanKind.CONSUMER, kept | own, _links((message,))
        )
        token = context.attach(trace.set_span_in_context(span))

        def end() -> None:
            context.detach(token)
            measured = kept | _failed(span, process.error)
            if not process.is_done and process.error is None:
                span.set_attribute("cosmodrome.comes_again", value=True)
            self._consumed.add(1, measured)
            self._handlings.record(time.monotonic() - began_s, measured)
            span.end()

        return end


def link_of(message: ReceivedMessage) -> Link | None:
    """Give a link to the send of a message, for a span of a program's own; None when it has no context."""
    found = trace.get_current_span(_sent_in(message)).get_span_context()
    return Link(found) if found.is_valid else None


def context_of(message: ReceivedMessage) -> Context:
    """Give the context that a message carries, for example as the parent of a span of a program's own."""
    return _sent_in(message)


def _kept(operation: str, kind: str, topic: str, client_id: str) -> Attributes:
    """Give the attributes of spans and metrics: those with few values."""
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": topic,
        "messaging.client.id": client_id,
    }


def _title(kept: Mapping[str, Attribute]) -> str:
    return f"{kept['messaging.operation.name']} {kept['messaging.destination.name']}"


def _destination(messages: Iterable[Message | ReceivedMessage]) -> str:
    """Name the topic; several with a comma, which only a poll can have."""
    return ",".join(dict.fromkeys(str(each.topic) for each in messages))


def _of_messages(messages: tuple[Message, ...]) -> Attributes:
    found: Attributes = {}
    if len(messages) != 1:
        found["messaging.batch.message_count"] = len(messages)
        return found
    message = messages[0]
    found["messaging.message.body.size"] = len(message.body)
    found["messaging.rocketmq.message.type"] = _type_of(message)
    if message.tag:
        found["messaging.rocketmq.message.tag"] = message.tag
    if message.keys:
        found["messaging.rocketmq.message.keys"] = list(message.keys)
    if message.sharding_key:
        found["messaging.rocketmq.message.group"] = message.sharding_key
    if message.delay_level:
        found["messaging.rocketmq.message.delay_time_level"] = message.delay_level
    if message.deliver_at is not None:
        found["messaging.rocketmq.message.delivery_timestamp"] = int(message.deliver_at.timestamp() * 1000)
    return found


def _type_of(message: Message) -> str:
    if message.is_delayed:
        return "delay"
    return "normal" if message.sharding_key is None else "fifo"


def _of_received(messages: tuple[ReceivedMessage, ...]) -> Attributes:
    found: Attributes = {}
    if len(messages) != 1:
        found["messaging.batch.message_count"] = len(messages)
        return found
    message = messages[0]
    found["messaging.message.id"] = message.msg_id
    found["messaging.message.body.size"] = len(message.stored.body)
    found["messaging.destination.partition.id"] = str(message.queue.queue_id)
    if message.tag:
        found["messaging.rocketmq.message.tag"] = message.tag
    if message.keys:
        found["messaging.rocketmq.message.keys"] = list(message.keys)
    return found


def _carrying(message: Message) -> Message:
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    if not carrier:
        return message
    return message.replaced(properties={**message.properties, **carrier})


def _sent_in(message: ReceivedMessage) -> Context:
    return propagate.extract(message.properties)


def _links(messages: Iterable[ReceivedMessage]) -> list[Link]:
    return [link for link in map(link_of, messages) if link is not None]


def _failed(span: Span, error: BaseException | None) -> Attributes:
    """Mark a span as failed, if it is; give what metrics say of it."""
    if error is None:
        return {}
    kind = str(error.code) if isinstance(error, RefusedError) else type(error).__qualname__
    span.record_exception(error)
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, str(error)))
    return {"error.type": kind}
