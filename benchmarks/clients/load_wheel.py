"""The load of ClientLoad.java, played by the PyPI package `rocketmq` (Apache's C++ client); same words, same output.

It runs in an environment of its own, see tests/interop/rig/python_client.py. The package sends synchronously only, so
every send in flight is a thread.
"""

import os
import sys
import threading
import time
from array import array
from collections import Counter
from typing import Any

from rocketmq.client import Message, Producer, PushConsumer  # type: ignore[import-not-found]  # in its own environment

FAILED: list[str] = []


def main(words: list[str]) -> None:
    """Play one load."""
    match words:
        case ["produce", name_server, topic, warm, count, in_flight, size]:
            produce(name_server, topic, (int(warm), int(count)), int(in_flight), int(size))
        case ["consume", name_server, topic, group, warm, count]:
            consume(name_server, topic, group, (int(warm), int(count)))
        case _:
            sys.exit(__doc__)


def produce(name_server: str, topic: str, counts: tuple[int, int], in_flight: int, size: int) -> None:
    """Keep so many sends in flight."""
    producer = Producer("load")
    producer.set_namesrv_addr(name_server)
    producer.start()
    body = "x" * size
    producer.send_sync(_message(topic, body))
    print("FIRST", flush=True)
    warm, count = counts
    _send(producer, topic, body, _room_for(warm), in_flight)
    latencies = _room_for(count)
    began, cpu = time.perf_counter(), time.process_time()
    _send(producer, topic, body, latencies, in_flight)
    _result(began, cpu, latencies)


def _message(topic: str, body: str) -> Any:
    message = Message(topic)
    message.set_tags("TagA")
    message.set_body(body)
    return message


def _send(producer: Any, topic: str, body: str, latencies: "array[int]", in_flight: int) -> None:
    numbers = iter(range(len(latencies)))
    lock = threading.Lock()

    def one_after_the_other() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            sent_at = time.perf_counter_ns()
            try:
                producer.send_sync(_message(topic, body))
            except Exception as error:  # noqa: BLE001 -- counted and told
                FAILED.append(str(error))
            latencies[number] = time.perf_counter_ns() - sent_at

    threads = [threading.Thread(target=one_after_the_other) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def consume(name_server: str, topic: str, group: str, counts: tuple[int, int]) -> None:
    """Take stored messages."""
    warm, count = counts
    lock, is_over = threading.Lock(), threading.Event()
    seen, began, cpu = 0, 0.0, 0.0

    def take(_: Any) -> None:
        nonlocal seen, began, cpu
        with lock:
            seen += 1
            if seen == 1:
                print("FIRST", flush=True)
            if seen == warm:
                began, cpu = time.perf_counter(), time.process_time()
            elif seen == warm + count:
                _result(began, cpu, _room_for(0))
                is_over.set()

    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(name_server)
    consumer.subscribe(topic, take)
    consumer.start()
    is_over.wait()


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
    os._exit(0)  # the library's threads outlive an orderly end
