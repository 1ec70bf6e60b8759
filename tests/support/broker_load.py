"""Many messages into a broker and out of it, by raw frames.

Owns: pipelined sends; reading whole queues; digests of what was read.
Must not know: which broker it is; the package under test.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support import wire
from tests.support.faulty_broker.records import Record, decode_records
from tests.support.wire import Answer, Wire

SEND, PULL, QUERY_OFFSET, UPDATE_OFFSET, MAX_OFFSET, HEARTBEAT = 310, 11, 14, 15, 30, 34
WINDOW: Final = 128
_LENGTH_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to be sent."""

    topic: str
    queue_id: int = 0
    body: bytes = b"x"
    properties: str = ""


def send_all(address: str, messages: Sequence[Outgoing]) -> list[Answer]:
    """Send messages one behind the other, many on their way; give the answers, which must be successes."""
    answers: list[Answer] = []
    with Wire(address, timeout=60) as connection:
        for first in range(0, len(messages), WINDOW):
            part = messages[first : first + WINDOW]
            connection.send(b"".join(_frame(each, first + at + 1) for at, each in enumerate(part)))
            answers += [connection.answer_to(first + at + 1) for at in range(len(part))]
    refused = [each for each in answers if each.code != 0]
    assert not refused, refused[0]
    return answers


def _frame(message: Outgoing, opaque: int) -> bytes:
    fields = {
        "a": "pg", "b": message.topic, "c": "TBW102", "d": "4", "e": str(message.queue_id), "f": "0", "g": "1700000000000",
        "h": "0", "i": message.properties, "j": "0", "k": "false", "m": "false",
    }  # fmt: skip
    return wire.encode_request(SEND, fields, message.body, opaque=opaque)


@dataclass(slots=True)
class Content:
    """What a queue holds: a digest of the stored bytes of each message, in order."""

    records: list[Record] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)


def read_queue(connection: Wire, topic: str, queue_id: int, offset: int = 0) -> Content:
    """Read a queue from an offset to its end. Empty when there is no such topic."""
    found = Content()
    while True:
        answer = pull(connection, topic, queue_id, offset + len(found.records))
        if answer.code != 0:
            assert answer.code in (17, 19, 21), answer
            return found
        for data in _split(answer.body):
            (record,) = decode_records(data)
            assert (record.topic, record.queue_id) == (topic, queue_id)
            assert record.queue_offset == offset + len(found.records), "queues have no gap"
            found.records.append(record)
            found.digests.append(hashlib.blake2b(data, digest_size=12).digest())


def pull(connection: Wire, topic: str, queue_id: int, offset: int) -> Answer:
    """Pull without waiting."""
    fields = {
        "consumerGroup": "reader", "topic": topic, "queueId": str(queue_id), "queueOffset": str(offset), "maxMsgNums": "32",
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
    }  # fmt: skip
    return connection.request(PULL, fields)


def end_of(connection: Wire, topic: str, queue_id: int) -> int:
    """Give the offset of the next message of a queue."""
    return int((connection.request(MAX_OFFSET, {"topic": topic, "queueId": str(queue_id)}).ext or {})["offset"])


def commit(connection: Wire, group: str, topic: str, queue_id: int, offset: int) -> None:
    """Commit an offset."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id), "commitOffset": str(offset)}
    answer = connection.request(UPDATE_OFFSET, fields)
    assert answer.code == 0, answer


def committed(connection: Wire, group: str, topic: str, queue_id: int) -> int:
    """Give the committed offset."""
    answer = connection.request(QUERY_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)})
    assert answer.code == 0, answer
    return int((answer.ext or {})["offset"])


def join(connection: Wire, group: str, topics: Sequence[str]) -> None:
    """Be a member of a group."""
    subscriptions = [{"topic": each, "subString": "*", "subVersion": 1, "expressionType": "TAG"} for each in topics]
    consumer = {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": subscriptions,
    }  # fmt: skip
    body = wire.dump({"clientID": f"{group}@1", "producerDataSet": [], "consumerDataSet": [consumer]})
    answer = connection.request(HEARTBEAT, {}, body)
    assert answer.code == 0, answer


def _split(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + _LENGTH_BYTES])
        yield data[at : at + size]
        at += size
