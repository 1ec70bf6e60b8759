"""Who is told what a consumer does: its own traces, and the program's observers.

Owns: both, and the end of the traces; messages that tell when they are settled.
Must not know: what is done with it; how messages are consumed.
"""

from typing import Final

from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.traces import ConsumeTraces
from cosmodrome.client.message import ReceivedMessage
from cosmodrome.client.observing import Observers, Processing
from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.trace_sending import TraceSending, settings_of
from cosmodrome.client.session import ClientSession
from cosmodrome.client.traces import trace_topic


class Watch:
    """The observers of one consumer. Its session must be running."""

    def __init__(self, group: str, settings: ConsumerSettings, session: ClientSession) -> None:
        topic = trace_topic(settings.trace)
        self._traces: TraceSending | None = None
        own: tuple[ConsumeTraces, ...] = ()
        if topic is not None:
            self._deadlines = Deadlines()
            self._traces = TraceSending(settings_of(session.config), session, self._deadlines, topic)
            own = (ConsumeTraces(self._traces.tracer),)
        self.observers: Final = Observers(
            (*own, *session.config.observers), group, session.client_id, is_broadcasting=settings.broadcasting
        )

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room, or no broker."""
        return 0 if self._traces is None else self._traces.tracer.dropped

    def handed_over(self, message: ReceivedMessage) -> ReceivedMessage:
        """Give a message that an iteration hands out, in a form that tells when it is settled."""
        return ReceivedMessage(
            message.stored,
            message.queue,
            _Watched(message, self.observers.processing("next", message)),
            topic=message.topic,
        )

    async def close(self, limit_s: float) -> None:
        """Send the last traces, and drop those that take longer."""
        if self._traces is not None:
            await self._traces.close(limit_s)
            self._deadlines.close()


class _Watched:
    """Settles a message, and tells."""

    def __init__(self, message: ReceivedMessage, processing: Processing) -> None:
        self._message = message
        self._processing = processing

    async def ack(self, message: ReceivedMessage) -> None:  # noqa: ARG002 -- this one
        """It is done."""
        await self._message.ack()
        self._processing.end(is_done=True)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:  # noqa: ARG002 -- this one
        """It failed."""
        await self._message.retry(delay_level)
        self._processing.end(is_done=False)
