"""Sends to and receives from RocketMQ with the PyPI package `rocketmq`, which wraps Apache's C++ client.

    client.py send NAMESRV TOPIC COUNT                   one producer, messages m0, m1, ...
    client.py recv NAMESRV TOPIC GROUP COUNT SECONDS     one push consumer, from the first offset
    client.py session NAMESRV                            one producer; each line "TOPIC COUNT" is a send

It prints "SENT ok/count" or "RECEIVED ok/count" and ends with status 0 when nothing is missing. It runs in an
environment of its own, not in that of the tests.
"""
# ruff: noqa: T201 -- its output is how it answers the rig

import os
import sys
import threading

from rocketmq.client import Message, Producer, PushConsumer  # type: ignore[import-not-found]  # in its own environment

SEND_OK = 0


def bodies_of(count: int) -> list[str]:
    return [f"m{number}" for number in range(count)]


def started_producer(name_server: str) -> Producer:
    producer = Producer("rig-python")
    producer.set_namesrv_addr(name_server)
    producer.start()
    return producer


def send(producer: Producer, topic: str, count: int) -> bool:
    sent = 0
    for body in bodies_of(count):
        message = Message(topic)
        message.set_tags("TagA")
        message.set_body(body)
        try:
            sent += producer.send_sync(message).status == SEND_OK
        except Exception as error:  # noqa: BLE001 -- the package raises what its C++ core reports
            print("FAILED", error)
    print(f"SENT {sent}/{count}", flush=True)
    return sent == count


def session(name_server: str) -> bool:
    producer = started_producer(name_server)
    print("READY", flush=True)
    for line in sys.stdin:
        topic, count = line.split()
        send(producer, topic, int(count))
    return True


def receive(name_server: str, topic: str, group: str, count: int, seconds: int) -> bool:
    missing = set(bodies_of(count))
    is_complete = threading.Event()

    def take(message: Message) -> None:
        missing.discard(message.body.decode())
        if not missing:
            is_complete.set()

    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(name_server)
    consumer.subscribe(topic, take)
    consumer.start()
    is_complete.wait(seconds)
    print(f"RECEIVED {count - len(missing)}/{count}", flush=True)
    return not missing


def run(words: list[str]) -> bool:
    match words:
        case ["send", name_server, topic, count]:
            return send(started_producer(name_server), topic, int(count))
        case ["recv", name_server, topic, group, count, seconds]:
            return receive(name_server, topic, group, int(count), int(seconds))
        case ["session", name_server]:
            return session(name_server)
    raise ValueError(words)


if __name__ == "__main__":
    # The library's threads outlive an orderly end, hence the abrupt one.
    is_complete = run(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0 if is_complete else 1)
