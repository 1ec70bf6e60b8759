"""A producer and consumers of ours among brokers that fail at random, drawn from a seed.

Owns: one run: who sends and consumes what, which faults there are, and what must hold afterwards.
Must not know: how the clients do it; nothing but their public names is used.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.builders import eventually
from tests.support.faulty_broker import SENDS, Chaos, Disturbances, Fault, FaultyBroker, faulty_cluster
from tests.support.waiting import NotInTimeError

from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import RocketMQError

TOPIC: Final = "Chaos"
GROUP: Final = "chaos-consumers"
QUEUES: Final = 4
ROUNDS: Final = 8
"""Of sends; after each of them something else happens to the brokers."""
MESSAGES_A_ROUND: Final = 10
FAULT_RATE: Final = 0.08
SHARE_REFUSED: Final = 0.1
"""Of the messages that a handler refuses when it sees them first."""

SETTLED_S: Final = 45.0
"""For everything to be consumed and committed once the brokers are well again."""

_QUICK: Final[dict[str, Any]] = {
    "request_timeout_s": 0.5,
    "route_interval_s": 0.3,
    "heartbeat_interval_s": 0.3,
    "persist_interval_s": 0.2,
}


class NotNowError(Exception):
    """A handler's way to say: again."""


@dataclass
class ChaosRun:
    """One run of a seed.

    `failed_sends` are those that raised and were made again by the program, under the same id. `lie` is a fault that
    the first send meets, to see that a run notices.
    """

    seed: int
    is_orderly: bool = False
    settled_s: float = SETTLED_S
    lie: Fault | None = None
    acknowledged: set[str] = field(default_factory=set)
    failed_sends: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    disturbances: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        self._keys = [f"{self.seed}-{number}" for number in range(ROUNDS * MESSAGES_A_ROUND)]
        self._refused = {key for key in self._keys if chance.random() < SHARE_REFUSED}
        self._first_seen: dict[MessageQueue, list[int]] = {}

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, {'orderly' if self.is_orderly else 'concurrent'}: {len(self.acknowledged)} messages, "
            f"{self.failed_sends} sends made again, {sum(self.seen.values())} deliveries, faults {dict(self.faults)}, "
            f"disturbances {self.disturbances}"
        )

    async def play(self, folder: Path) -> None:
        """Play it.

        Raises:
            AssertionError: A message was lost, an offset stands still, or something is left over.
        """
        async with faulty_cluster(folder, "broker-a", "broker-b", topics={TOPIC: QUEUES}) as cluster:
            before = asyncio.all_tasks()
            async with self._weather(cluster.brokers) as weather:
                async with self._producer(cluster.name_server) as producer, self._consumer(cluster.name_server):
                    await self._send_in_rounds(producer, weather, cluster.name_server)
                    await weather.calm()
                    self._expire_locks(cluster.brokers)
                    await self._settled(cluster.brokers)
                self._check(cluster.brokers)
                await eventually(lambda: not any(broker.lines for broker in cluster.brokers), "closed connections")
            left = [task for task in asyncio.all_tasks() - before if "/tests/" not in repr(task.get_coro())]
            assert left == [], f"tasks are left over: {left}; {self}"

    @asynccontextmanager
    async def _weather(self, brokers: Sequence[FaultyBroker]) -> AsyncIterator["_Weather"]:
        for number, broker in enumerate(brokers):
            broker.sends.settings.level_s = 0.02
            broker.pulls.settings.longest_hold_s = 0.2
            broker.faults.chaos = Chaos(self.seed * 10 + number, FAULT_RATE)
            if self.lie is not None:
                broker.faults.add(self.lie, SENDS)
        weather = _Weather(brokers, self.seed)
        try:
            yield weather
        finally:
            await weather.stop()
            self.disturbances = weather.disturbances.done
            self.faults = Counter(
                arrival.fault for broker in brokers for arrival in broker.journal.arrivals if arrival.fault
            )

    def _producer(self, name_server: str) -> Producer:
        return Producer(group="chaos-producers", namesrv=name_server, send_timeout_s=2.0, **_QUICK)

    def _consumer(self, name_server: str) -> Consumer:
        return Consumer(
            group=GROUP,
            subscriptions={TOPIC: "*"},
            handler=self._handle,
            consume_from="first",
            namesrv=name_server,
            suspend_s=0.2,
            orderly=self.is_orderly,
            orderly_pause_s=0.02,
            **_QUICK,
        )

    async def _handle(self, message: ReceivedMessage) -> None:
        (key,) = message.keys
        self.seen[key] += 1
        if self.seen[key] == 1:
            self._first_seen.setdefault(message.queue, []).append(message.queue_offset)
            if key in self._refused:
                raise NotNowError(key)

    async def _send_in_rounds(self, producer: Producer, weather: "_Weather", name_server: str) -> None:
        """Send; a second member joins after the second round and leaves before the last but one."""
        async with AsyncExitStack() as second:
            for number in range(ROUNDS):
                if number == 2:
                    await second.enter_async_context(self._consumer(name_server))
                if number == ROUNDS - 2:
                    await second.aclose()
                async with asyncio.TaskGroup() as senders:
                    for key in self._keys[number * MESSAGES_A_ROUND :][:MESSAGES_A_ROUND]:
                        senders.create_task(self._send(producer, key))
                await weather.another()

    async def _send(self, producer: Producer, key: str) -> None:
        message = Message(topic=TOPIC, body=key.encode(), keys=[key], msg_id=f"ID-{key}")
        while key not in self.acknowledged:
            try:
                await producer.send(message)
            except RocketMQError:
                self.failed_sends += 1
                await asyncio.sleep(0)
            else:
                self.acknowledged.add(key)

    def _expire_locks(self, brokers: Sequence[FaultyBroker]) -> None:
        """A member that left while a broker was down could not give its locks back: they would last a minute."""
        for broker in brokers:
            broker.groups.expire_locks()

    async def _settled(self, brokers: Sequence[FaultyBroker]) -> None:
        await self._until(lambda: self.seen.keys() >= self.acknowledged, "every message")
        await self._until(lambda: all(self.seen[key] > 1 for key in self._refused), "every refused message again")
        await self._until(lambda: not _behind(brokers), "offsets at the end of their queues")

    async def _until(self, probe: Callable[[], bool], what: str) -> None:
        try:
            await eventually(probe, what, self.settled_s)
        except NotInTimeError as error:
            raise NotInTimeError(f"{error}; {self}") from None

    def _check(self, brokers: Sequence[FaultyBroker]) -> None:
        stored = Counter[str]()
        for broker in brokers:
            stored += broker.store.unique_keys(TOPIC)
        lost = {key for key in self.acknowledged if f"ID-{key}" not in stored}
        assert not lost, f"acknowledged and not stored: {lost}; {self}"
        assert self.acknowledged == set(self._keys)
        if self.is_orderly:
            unordered = {queue: offsets for queue, offsets in self._first_seen.items() if offsets != sorted(offsets)}
            assert not unordered, f"not in order: {unordered}; {self}"


class _Weather:
    """Chaos and disturbances, until `calm`."""

    def __init__(self, brokers: Sequence[FaultyBroker], seed: int) -> None:
        self.disturbances = Disturbances(brokers, seed)
        self._running = asyncio.ensure_future(self.disturbances.run())

    async def another(self) -> None:
        """Wait until something else has happened to a broker."""
        count = len(self.disturbances.done)
        await eventually(lambda: self._running.done() or len(self.disturbances.done) > count, "another disturbance")

    async def calm(self) -> None:
        """Let the brokers be well."""
        await self.stop()
        await self.disturbances.calm()

    async def stop(self) -> None:
        """End the disturbances. A second call does nothing."""
        self._running.cancel()
        (ended,) = await asyncio.gather(self._running, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended


def _behind(brokers: Sequence[FaultyBroker]) -> list[tuple[str, int]]:
    """Give the queues, retries included, whose committed offset is not at their end; -1 for what waits to be retried."""
    queues = [(TOPIC, queue_id) for queue_id in range(QUEUES)] + [(f"%RETRY%{GROUP}", 0)]
    behind = [
        (broker.broker_name, queue_id)
        for broker in brokers
        for topic, queue_id in queues
        if broker.groups.offsets.get((GROUP, topic, queue_id), 0) < broker.store.queue(topic, queue_id).end
    ]
    return behind + [(broker.broker_name, -1) for broker in brokers if broker.sends.parked]
