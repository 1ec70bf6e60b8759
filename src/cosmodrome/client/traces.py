"""Traces of messages: messages about messages, for tools that show a message's way.

Owns: which traces wait, and how many had to be dropped; their sending in the background.
Must not know: what a trace says; how a message is sent.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import msgspec

from cosmodrome.client.message import Message, SendResult
from cosmodrome.errors import RocketMQError

logger = logging.getLogger(__name__)

TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
TRACE_GROUP: Final = "_INNER_TRACE_PRODUCER"
FIELD_END: Final = "\x01"
RECORD_END: Final = "\x02"
MAX_BODY_BYTES: Final = 128_000
MAX_KEYS_BYTES: Final = 16_000
"""Of the keys of one trace message: they are properties, which have a limit."""
MAX_WAITING_BYTES: Final = 4 * 1024 * 1024
GATHER_S: Final = 0.1
"""How long traces wait for company."""


class Trace(msgspec.Struct, frozen=True, gc=False):
    """One record, and the keys by which it is found."""

    text: str
    keys: tuple[str, ...]


class Tracer:
    """Sends the traces of one client. Whoever sends or handles messages never waits for it, nor fails because of it."""

    def __init__(self, send: Callable[[Message], Awaitable[SendResult]], topic: str) -> None:
        self._send = send
        self._topic = topic
        self._waiting: deque[Trace] = deque()
        self._waiting_bytes = 0
        self._news = asyncio.Event()
        self._is_finishing = False
        self.dropped = 0
        """Traces that found no room, or no broker."""

    def add(self, trace: Trace) -> None:
        """Have a trace sent."""
        size = len(trace.text)
        if self._waiting_bytes + size > MAX_WAITING_BYTES:
            self._drop(1)
            return
        self._waiting.append(trace)
        self._waiting_bytes += size
        self._news.set()

    async def run(self) -> None:
        """Send what is added, until `finish`; then what is left."""
        while True:
            await self._news.wait()
            if not self._is_finishing:
                await asyncio.sleep(GATHER_S)
            await self.flush()
            if self._is_finishing:
                return

    def finish(self) -> None:
        """Have `run` end when all is sent."""
        self._is_finishing = True
        self._news.set()

    async def flush(self) -> None:
        """Send what waits; what cannot be sent is dropped and counted."""
        self._news.clear()
        while self._waiting:
            count, message = self._next_message()
            try:
                await self._send(message)
            except RocketMQError as error:
                logger.warning("%d traces cannot be sent: %s", count, error)
                self._drop(count)
            except asyncio.CancelledError:
                self._drop(count)
                raise

    def give_up(self) -> None:
        """Drop what waits."""
        self._drop(len(self._waiting))
        self._waiting.clear()

    def _next_message(self) -> tuple[int, Message]:
        """Take as many as one message holds, at least one."""
        texts: list[str] = []
        keys: dict[str, None] = {}
        body_bytes = keys_bytes = 0
        while self._waiting:
            trace = self._waiting[0]
            body_bytes += len(trace.text.encode("utf-8", "replace"))
            keys_bytes += sum(len(key.encode("utf-8", "replace")) + 1 for key in trace.keys)
            if texts and (body_bytes > MAX_BODY_BYTES or keys_bytes > MAX_KEYS_BYTES):
                break
            self._waiting.popleft()
            self._waiting_bytes -= len(trace.text)
            texts.append(trace.text)
            # Keys beyond the limit are left out: the message can still be found by its id, which comes first.
            keys.update(dict.fromkeys(_fitting(trace.keys)))
        body = "".join(texts).encode("utf-8", "replace")
        return len(texts), Message(topic=self._topic, body=body, keys=tuple(keys))

    def _drop(self, count: int) -> None:
        self.dropped += count


def record(keys: tuple[str, ...], *fields: str) -> Trace:
    """Write a record of these fields."""
    return Trace(FIELD_END.join(fields) + RECORD_END, keys)


def trace_topic(setting: bool | str) -> str | None:  # noqa: FBT001 -- a setting: yes, no, or a name
    """Give the topic that a `trace` setting means, or None."""
    if isinstance(setting, str):
        return setting
    return TRACE_TOPIC if setting else None


def _fitting(keys: tuple[str, ...]) -> Iterator[str]:
    left = MAX_KEYS_BYTES
    for key in keys:
        left -= len(key.encode("utf-8", "replace")) + 1
        if left < 0:
            return
        yield key
