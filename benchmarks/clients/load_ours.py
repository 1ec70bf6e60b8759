"""The load of ClientLoad.java, played by this client; same words, same output.

python -m benchmarks.clients.load_ours produce NAMESRV TOPIC WARM COUNT IN_FLIGHT BYTES
python -m benchmarks.clients.load_ours consume NAMESRV TOPIC GROUP WARM COUNT
"""

import asyncio
import sys
import time
from array import array
from collections import Counter
from collections.abc import Coroutine

import uvloop

import cosmodrome  # as a program that does one of both: what it does not name is not loaded

FAILED: list[str] = []


def main(words: list[str]) -> None:
    """Play one load."""
    match words:
        case ["produce", name_server, topic, warm, count, in_flight, size]:
            _run(produce(name_server, topic, (int(warm), int(count)), int(in_flight), int(size)))
        case ["consume", name_server, topic, group, warm, count]:
            _run(consume(name_server, topic, group, (int(warm), int(count))))
        case _:
            sys.exit(__doc__)


def _run(load: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(load)


async def produce(name_server: str, topic: str, counts: tuple[int, int], in_flight: int, size: int) -> None:
    """Keep so many sends in flight."""
    body = b"x" * size
    async with cosmodrome.Producer(group="load", namesrv=name_server, send_timeout_s=10.0) as producer:
        await producer.send(cosmodrome.Message(topic=topic, body=body, tag="TagA"))
        print("FIRST", flush=True)
        warm, count = counts
        await _send(producer, topic, body, _room_for(warm), in_flight)
        latencies = _room_for(count)
        began, cpu = time.perf_counter(), time.process_time()
        await _send(producer, topic, body, latencies, in_flight)
        _result(began, cpu, latencies)


async def _send(
    producer: cosmodrome.Producer, topic: str, body: bytes, latencies: "array[int]", in_flight: int
) -> None:
    numbers = iter(range(len(latencies)))
    made = cosmodrome.Message

    async def one_after_the_other() -> None:
        for number in numbers:
            sent_at = time.perf_counter_ns()
            try:
                await producer.send(made(topic=topic, body=body, tag="TagA"))
            except Exception as error:  # noqa: BLE001 -- counted and told
                FAILED.append(str(error))
            latencies[number] = time.perf_counter_ns() - sent_at

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(one_after_the_other())


async def consume(name_server: str, topic: str, group: str, counts: tuple[int, int]) -> None:
    """Take stored messages, each acknowledged."""
    warm, count = counts
    seen, began, cpu = 0, 0.0, 0.0
    async with cosmodrome.Consumer(
        group=group, namesrv=name_server, subscriptions={topic: "*"}, consume_from="first"
    ) as consumer:
        async for message in consumer:
            await message.ack()
            seen += 1
            if seen == 1:
                print("FIRST", flush=True)
            if seen == warm:
                began, cpu = time.perf_counter(), time.process_time()
            elif seen == warm + count:
                _result(began, cpu, _room_for(0))
                break


def _room_for(count: int) -> "array[int]":
    """Give a place for each latency in ns; a list of numbers would be a quarter of what the process holds."""
    return array("q", bytes(8 * count))


def _result(began: float, cpu: float, latencies: "array[int]") -> None:
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    print("RESULT", seconds, spent, _percentile(latencies, 0.5), _percentile(latencies, 0.99), len(FAILED), flush=True)
    if FAILED:
        print(FAILED[0], file=sys.stderr)


def _percentile(latencies: "array[int]", share: float) -> int:
    """Give the microseconds, in tens, in which this share was answered."""
    counts = Counter(each // 10_000 for each in latencies)
    left = int(len(latencies) * share)
    for tens in sorted(counts):
        left -= counts[tens]
        if left < 0:
            return tens * 10
    return 0


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdin.readline()
