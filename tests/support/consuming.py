"""Consumers for tests, and what they have seen.

Owns: short intervals; waiting for messages; the rule that nothing is left running and nothing was warned of.
Must not know: what a test does to the consumer.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from tests.support.faulty_broker import FaultyBroker, FaultyCluster

from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.message import ReceivedMessage

TOPIC: Final = "T"
GROUP: Final = "G"
WITHIN_S: Final = 20.0
FAST: Final[dict[str, Any]] = {
    "persist_interval_s": 0.1,
    "request_timeout_s": 2.0,
    "close_timeout_s": 3.0,
    "consume_from": "first",
}


class Seen:
    """A handler that notes messages, and does what `act` says with each."""

    def __init__(self, act: Callable[[ReceivedMessage], object] | None = None) -> None:
        self.messages: list[ReceivedMessage] = []
        self.at_s: list[float] = []
        self._act = act
        self._change = asyncio.Event()

    async def __call__(self, message: ReceivedMessage) -> object:
        """Note a message."""
        self.messages.append(message)
        self.at_s.append(asyncio.get_running_loop().time())
        self._change.set()
        result = None if self._act is None else self._act(message)
        return await result if asyncio.iscoroutine(result) else result

    @property
    def bodies(self) -> list[bytes]:
        """The bodies, in the order of their coming."""
        return [message.body for message in self.messages]

    @property
    def counts(self) -> Counter[bytes]:
        """How often each body came."""
        return Counter(self.bodies)

    async def until(self, claim: Callable[[], object], within_s: float = WITHIN_S) -> None:
        """Wait until a claim about what was seen is true; it is looked at with each message."""
        try:
            async with asyncio.timeout(within_s):
                while not claim():
                    self._change.clear()
                    await self._change.wait()
        except TimeoutError:
            raise AssertionError(f"not in {within_s:g} s; seen: {self.counts}") from None

    async def came(self, count: int, within_s: float = WITHIN_S) -> None:
        """Wait for so many messages."""
        await self.until(lambda: len(self.messages) >= count, within_s)


def consumer(cluster: FaultyCluster, handler: Any = None, **options: Any) -> Consumer:
    """Make a consumer of one topic, which hurries."""
    settings: dict[str, Any] = FAST | {"group": GROUP, "subscriptions": {TOPIC: None}} | options
    return Consumer(settings.pop("group"), namesrv=cluster.name_server, handler=handler, **settings)


def fill(broker: FaultyBroker, count: int, queue_id: int = 0, *, topic: str = TOPIC, first: int = 0) -> list[bytes]:
    """Store messages `0`, `1`, ... in a queue, and give their bodies."""
    bodies = [b"%d.%d" % (queue_id, number) for number in range(first, first + count)]
    for body in bodies:
        broker.put(topic, body, queue_id)
    return bodies


def named(fault: Any) -> str:
    """Name a fault in the name of a test."""
    code = getattr(fault, "code", None)
    return type(fault).__name__ if code is None else f"{type(fault).__name__}-{code}"


async def committed(broker: FaultyBroker, offset: int, queue_id: int = 0, *, group: str = GROUP) -> None:
    """Wait until a group has committed an offset."""
    key = (group, TOPIC, queue_id)
    await broker.journal.until(lambda: broker.groups.offsets.get(key) == offset, f"offset {offset} of {key}", WITHIN_S)


async def until(probe: Callable[[], object], what: str, within_s: float = WITHIN_S) -> None:
    """Wait until a claim about a consumer is true, which tells nobody when it becomes so."""
    try:
        async with asyncio.timeout(within_s):
            while True:
                if probe():
                    return
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not in {within_s:g} s: {what}") from None


@contextlib.asynccontextmanager
async def undisturbed() -> AsyncIterator[None]:
    """Run a block in debug mode; afterwards no task is left, and the event loop was told of no fault."""
    loop = asyncio.get_running_loop()
    faults: list[dict[str, Any]] = []
    before = asyncio.all_tasks()
    loop.set_debug(True)
    loop.slow_callback_duration = 10.0
    loop.set_exception_handler(lambda _, context: faults.append(context))
    try:
        yield
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - before
        assert not left, left
        assert not faults, faults
    finally:
        loop.set_exception_handler(None)
        loop.set_debug(False)
