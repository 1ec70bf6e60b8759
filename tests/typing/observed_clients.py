"""Observers, traces, POP and address servers as users write them: read by type checkers, run by nobody."""

from collections.abc import Callable
from typing import assert_type

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link

from cosmodrome import (
    ClientConfig,
    ClientSession,
    Consumer,
    LitePullConsumer,
    Message,
    ObservedProcess,
    ObservedReceive,
    ObservedSend,
    Observer,
    Producer,
    ReceivedMessage,
    SendResult,
    sync,
)
from cosmodrome.opentelemetry import OpenTelemetry, context_of, link_of


class Figures(Observer):
    """Counts; what is not overridden is not told."""

    ends: int = 0

    def sending(self, send: ObservedSend) -> Callable[[], None] | None:
        """Add a property, and look at the end."""
        assert_type(send.messages, tuple[Message, ...])
        assert_type(send.result, SendResult | None)
        assert_type(send.error, BaseException | None)
        if send.operation == "send_batch":
            return None
        send.messages = tuple(each.replaced(properties={"k": "v"}) for each in send.messages)
        return self._count

    def receiving(self, receive: ObservedReceive) -> None:
        """Look at the beginning only."""
        assert_type(receive.messages, tuple[ReceivedMessage, ...])

    def processing(self, process: ObservedProcess) -> Callable[[], None]:
        """Look at the end."""
        assert_type(process.message, ReceivedMessage)
        assert_type(process.is_done, bool)
        return self._count

    def _count(self) -> None:
        self.ends += 1


async def observing() -> None:
    """Observers in every place."""
    observers = [Figures(), OpenTelemetry(), OpenTelemetry(TracerProvider(), MeterProvider())]
    session = ClientSession(ClientConfig(namesrv="http://host:8080/rocketmq/nsaddr", observers=observers))
    async with (
        Producer("orders", session=session, trace=True) as producer,
        Consumer("billing", subscriptions={"t": None}, session=session, trace="own-traces") as consumer,
        Consumer("ordered", subscriptions={"t": None}, pop=True, orderly=True, observers=[Figures()]),
        LitePullConsumer("report", subscriptions={"t": None}, observers=observers, trace=True) as polled,
    ):
        assert_type(producer.dropped_traces + consumer.dropped_traces + polled.dropped_traces, int)
        async for message in consumer:
            assert_type(link_of(message), Link | None)
            context_of(message)


def blocking() -> None:
    """The same for threads."""
    with sync.Consumer("billing", subscriptions={"t": None}, trace=True, observers=[Figures()]) as consumer:
        assert_type(consumer.dropped_traces, int)
    with sync.Producer("orders", observers=(OpenTelemetry(),)) as producer:
        assert_type(producer.dropped_traces, int)
