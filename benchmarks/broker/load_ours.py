"""The loads of BrokerLoad.java, played by this client: the same commands, the same answers.

Owns: keeping sends in flight; taking stored messages.
Must not know: the broker; what is measured of it.
"""

import asyncio
import sys
import time
from typing import Final

import uvloop

from cosmodrome import Consumer, Message, Producer

_READY: Final = "@@READY"
_DONE: Final = "@@DONE"


class Loads:
    """The producer and the consumer of this process."""

    def __init__(self) -> None:
        """Begin without either."""
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None

    async def run(self, words: list[str]) -> None:
        """Do what one line says."""
        match words:
            case ["open", name_server]:
                self._producer = Producer(group="load", namesrv=name_server, send_timeout_s=10.0)
                await self._producer.start()
            case ["produce", topic, count, in_flight, size]:
                await self._produce(topic, int(count), int(in_flight), b"x" * int(size))
            case ["ready", name_server, topic, group, _]:
                self._consumer = Consumer(
                    group=group, namesrv=name_server, subscriptions={topic: "*"}, consume_from="first"
                )
            case ["consume", count]:
                await self._consume(int(count))
            case _:
                print("unknown:", words)

    async def _produce(self, topic: str, count: int, in_flight: int, body: bytes) -> None:
        assert self._producer is not None
        producer, numbers, latencies, failed = self._producer, iter(range(count)), [0] * count, 0

        async def one_after_the_other() -> None:
            nonlocal failed
            for number in numbers:
                sent_at = time.perf_counter_ns()
                try:
                    await producer.send(Message(topic=topic, body=body, tag="TagA"))
                except Exception:  # noqa: BLE001 -- counted and told
                    failed += 1
                latencies[number] = time.perf_counter_ns() - sent_at

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(one_after_the_other())
        _tell(time.perf_counter() - began, latencies, failed)

    async def _consume(self, count: int) -> None:
        assert self._consumer is not None
        began, seen = 0.0, 0
        async with self._consumer as consumer:
            async for message in consumer:
                began = began or time.perf_counter()
                await message.ack()
                seen += 1
                if seen == count:
                    break
            _tell(time.perf_counter() - began, [], 0)


def _tell(seconds: float, latencies: list[int], failed: int) -> None:
    latencies.sort()
    median = latencies[len(latencies) // 2] // 1000 if latencies else 0
    high = latencies[int(len(latencies) * 0.99)] // 1000 if latencies else 0
    print("RESULT", seconds, median, high, failed)


async def main() -> None:
    """Do what the lines of the standard input say, until it ends."""
    loads, number, loop = Loads(), 0, asyncio.get_running_loop()
    print(_READY, flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        number += 1
        await loads.run(line.rstrip("\n").split("\t"))
        print(_DONE, number, flush=True)


if __name__ == "__main__":
    uvloop.run(main())
