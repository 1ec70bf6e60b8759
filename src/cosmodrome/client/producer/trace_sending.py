"""The sending of traces, as messages of a producer group of their own.

Owns: that sender, and its life.
Must not know: what traces say; whose they are.
"""

import asyncio
import dataclasses
from typing import Final

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.message import Message, SendResult
from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.outgoing import MessageIds, Preparer
from cosmodrome.client.producer.sending import Job, Sender
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.session import ClientSession
from cosmodrome.client.traces import TRACE_GROUP, Tracer


class TraceSending:
    """A tracer that runs; `close` ends it."""

    def __init__(self, settings: ProducerSettings, session: ClientSession, deadlines: Deadlines, topic: str) -> None:
        self._settings = dataclasses.replace(settings, group=TRACE_GROUP, trace=False, namespace="", observers=())
        self._loop = asyncio.get_running_loop()
        self._preparer = Preparer(self._settings, MessageIds(settings.client_ip or "127.0.0.1"))
        self._sender = Sender(self._settings, session, deadlines)
        self.tracer: Final = Tracer(self._send, topic)
        self._run = session.spawn(self.tracer.run(), "traces")

    async def close(self, limit_s: float) -> None:
        """Send what waits, and drop what is left after so many seconds."""
        self.tracer.finish()
        await asyncio.wait({self._run}, timeout=limit_s)
        self._sender.close()
        if not self._run.done():
            self._run.cancel()
            await asyncio.wait({self._run})
        self.tracer.give_up()

    async def _send(self, message: Message) -> SendResult:
        outgoing = self._preparer.prepared(message)
        limit_s = self._settings.send_timeout_s
        return await self._sender.send(Job(outgoing, self._loop.time() + limit_s, limit_s))


def settings_of(config: ClientConfig) -> ProducerSettings:
    """Give the settings with which a client that is no producer sends traces."""
    names = [each.name for each in dataclasses.fields(ClientConfig)]
    return ProducerSettings(group=TRACE_GROUP, **{name: getattr(config, name) for name in names})
