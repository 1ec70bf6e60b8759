"""Which queue the next message goes to."""

import pytest

from cosmodrome.client.producer.queue_choice import QueueCursor, queue_of_key
from cosmodrome.protocol.bodies.message_queue import MessageQueue

A = tuple(MessageQueue("T", "a", number) for number in range(3))
B = tuple(MessageQueue("T", "b", number) for number in range(2))


def test_queues_take_turns_from_the_start_on() -> None:
    cursor = QueueCursor(4)
    assert [cursor.next_queue(A + B) for _ in range(6)] == [B[1], A[0], A[1], A[2], B[0], B[1]]


def test_the_counter_wraps() -> None:
    cursor = QueueCursor(2**31 - 1)
    assert [cursor.next_queue(A) for _ in range(2)] == [A[(2**31 - 1) % 3], A[0]]


def test_another_broker_is_preferred() -> None:
    cursor = QueueCursor(0)
    assert cursor.other_queue(A + B, "a") == B[0]
    assert cursor.other_queue(A + B, "b") == A[1]


def test_with_one_broker_it_is_its_next_queue() -> None:
    cursor = QueueCursor(1)
    assert [cursor.other_queue(A, "a") for _ in range(3)] == [A[1], A[2], A[0]]


def test_brokers_that_are_not_fit_are_passed_over() -> None:
    cursor = QueueCursor(0)
    assert cursor.other_queue(A + B, "", lambda name: name == "b") == B[0]
    assert cursor.other_queue(A + B, "b", lambda name: name == "b") == B[0]
    assert cursor.other_queue(A + B, "", lambda _: False) is None


@pytest.mark.parametrize(
    ("key", "java_hash"), [("order-7", -1207111304), ("", 0), ("polygenelubricants", -(2**31)), ("消息", 893927)]
)
def test_a_key_chooses_as_java_does(key: str, java_hash: int) -> None:
    """Java takes the absolute value of the remainder of `hashCode`."""
    for queues in (A, A + B):
        assert queue_of_key(queues, key) == queues[abs(java_hash) % len(queues)]
