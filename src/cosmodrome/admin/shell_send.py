"""`cosmodrome send`: messages from the shell.

Owns: which messages are sent, how fast and how many at a time; what is printed of them.
Must not know: how a message is sent (client/producer); the words of the command line.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cosmodrome.admin.body_sources import lines_of, whole_file
from cosmodrome.admin.client_errors import explained_by_client
from cosmodrome.admin.cluster_access import client_options, explained, placed
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.admin.progress import Rates
from cosmodrome.admin.sending import TOOLS_GROUP, send_row
from cosmodrome.admin.stopping import Stopping
from cosmodrome.client.message import Message, SendResult
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import ClientClosedError, RocketMQError
from cosmodrome.shown_text import shown

_PARTLY_FAILED: Final = 1
_INTERRUPTED: Final = 130
_STDIN: Final = "-"
_CATCH_UP_S: Final = 0.1
"""So much time that was lost is made up for by going faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `cosmodrome send`.

    Attributes:
        bodies: Arguments; without any, and without a file, each line of standard input is a message.
        file: Its content is one message; `-` is standard input.
        has_lines: Each line of the file is one.
        count: How often all of that is sent.
        rate: Messages per second, at most.
        concurrency: How many are under way at a time.
        goes_on: A message that cannot be sent does not end it.
    """

    topic: str
    bodies: Sequence[str]
    file: str | None
    has_lines: bool
    keys: Sequence[str]
    tag: str | None
    properties: dict[str, str]
    delay_s: float | None
    delay_level: int | None
    deliver_at: datetime | None
    order_key: str | None
    group: str | None
    count: int
    rate: float | None
    concurrency: int
    goes_on: bool
    is_traced: bool


async def send(servers: NameServers, output: Output, **flags: Any) -> int:
    """Send messages, and say of each where it is, and of all how fast they went."""
    asked = Asked(**flags)
    name_server = (await placed(servers)).name_server
    async with explained(servers):
        options = client_options(servers, name_server) | {"trace": asked.is_traced}
        async with Producer(asked.group or TOOLS_GROUP, **options) as producer:
            with Stopping() as stopping, output.rates("sent") as rates:
                work = _Sending(asked, producer, output, rates, servers.timeout_s)
                is_whole = await stopping.unless(work.all())
    return await _concluded(servers, output, work, is_whole=bool(is_whole))


async def _concluded(servers: NameServers, output: Output, work: "_Sending", *, is_whole: bool) -> int:
    rates, failed = work.rates, len(work.failures)
    output.end(
        "messages",
        topic=work.asked.topic,
        sent=rates.done,
        failed=failed,
        seconds=round(rates.elapsed_s, 3),
        messages_per_second=round(rates.per_s, 1),
        is_interrupted=not is_whole and not failed,
    )
    output.note(rates.line() + (f", {failed} failed" if failed else ""))
    first = await explained_by_client(servers, work.failures[0]) if work.failures else None
    if first is not None and not rates.done:
        raise first
    if first is not None:
        output.error(first)
        return _PARTLY_FAILED
    return 0 if is_whole else _INTERRUPTED


class _Sending:
    """Sends what was asked for."""

    def __init__(self, asked: Asked, producer: Producer, output: Output, rates: Rates, timeout_s: float) -> None:
        self.asked = asked
        self.rates = rates
        self.failures: list[RocketMQError] = []
        self._producer = producer
        self._output = output
        self._timeout_s = timeout_s
        self._room = asyncio.Semaphore(asked.concurrency)
        self._next_s = 0.0

    async def all(self) -> bool:
        """Send everything, and tell whether nothing was left out."""
        loop = asyncio.get_running_loop()
        running: set[asyncio.Task[None]] = set()
        self._next_s = loop.time()
        try:
            async for body in self._bodies():
                await self._room.acquire()
                if self.failures and not self.asked.goes_on:
                    return False
                await self._pace(loop.time())
                task = asyncio.create_task(self._one(body))
                running.add(task)
                task.add_done_callback(running.discard)
        finally:
            await asyncio.gather(*running)  # also when it is interrupted: what is under way is counted
        return not self.failures

    async def _one(self, body: bytes) -> None:
        try:
            result = await self._producer.send(self._message(body), timeout=self._timeout_s)
        except ClientClosedError:
            raise
        except RocketMQError as error:
            self.failures.append(error)
        else:
            self.rates.count(len(body))
            self._tell(result)
        finally:
            self._room.release()

    def _message(self, body: bytes) -> Message:
        asked = self.asked
        return Message(
            topic=asked.topic,
            body=body,
            tag=asked.tag,
            keys=asked.keys,
            properties=asked.properties,
            delay=asked.delay_s,
            delay_level=asked.delay_level or 0,
            deliver_at=asked.deliver_at,
            sharding_key=asked.order_key,
        )

    def _tell(self, result: SendResult) -> None:
        queue = result.queue
        place = f"{shown(queue.broker_name)}:{queue.queue_id}@{result.queue_offset}"
        self._output.row(send_row(result))
        self._output.confirm(f"{result.msg_id}  {place}")

    async def _pace(self, now_s: float) -> None:
        if self.asked.rate is None:
            return
        self._next_s = max(self._next_s, now_s - _CATCH_UP_S)
        wait_s = self._next_s - now_s
        self._next_s += 1 / self.asked.rate
        if wait_s > 0:
            self._output.flush()
            await asyncio.sleep(wait_s)

    async def _bodies(self) -> AsyncIterator[bytes]:
        asked = self.asked
        path = asked.file or (None if asked.bodies else _STDIN)
        if path is None or (asked.file and not asked.has_lines):
            whole = [await whole_file(path)] if path is not None else [_encoded(body) for body in asked.bodies]
            for body in whole * asked.count:
                yield body
            return
        for _ in range(1 if path == _STDIN else asked.count):
            async for line in lines_of(path):
                yield line


def _encoded(text: str) -> bytes:
    """Give the bytes that stood on the command line."""
    return text.encode("utf-8", "surrogateescape")
