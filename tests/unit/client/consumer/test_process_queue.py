"""The lowest unfinished offset and the limits hold whatever order messages are finished in."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.client.consumer.process_queue import HoldingLimits, ProcessQueue, Total

NO_LIMIT = 2**40


@dataclass(frozen=True)
class Message:
    queue_offset: int
    body: bytes = b"x"


def queue_with(offsets: list[int], start: int = 0, next_begin: int = 0) -> ProcessQueue[Message]:
    queue: ProcessQueue[Message] = ProcessQueue(start, Total(NO_LIMIT))
    queue.take([Message(offset) for offset in offsets], next_begin)
    return queue


def test_a_new_queue_commits_and_pulls_where_it_starts() -> None:
    queue = queue_with([], start=7)

    assert (queue.committable, queue.next_offset, queue.count) == (7, 7, 0)
    assert queue.lowest() is None


def test_the_committable_offset_waits_for_the_lowest_unfinished_message() -> None:
    queue = queue_with([3, 4, 5], start=3, next_begin=6)

    queue.finish(4)
    queue.finish(5)
    assert queue.committable == 3
    queue.finish(3)
    assert queue.committable == 6


def test_what_the_filter_left_out_is_passed_over() -> None:
    queue = queue_with([10, 20], next_begin=42)

    queue.finish(10)
    assert queue.committable == 20
    queue.finish(20)
    assert queue.committable == 42


def test_a_message_is_finished_once() -> None:
    queue = queue_with([1])

    assert queue.finish(1) == Message(1)
    assert queue.finish(1) is None
    assert queue.finish(99) is None


def test_what_was_delivered_before_is_not_delivered_again() -> None:
    queue = queue_with([0, 1, 2], next_begin=3)

    again = queue.take([Message(1), Message(2), Message(3)], 4)

    assert again == [Message(3)]
    assert queue.count == 4


def test_is_not_led_backwards() -> None:
    queue = queue_with([0, 1, 2], next_begin=3)

    queue.take([], 1)
    queue.skip_to(2)

    assert queue.next_offset == 3


def test_clearing_gives_back_what_is_held_and_its_bytes() -> None:
    total = Total(NO_LIMIT)
    queue: ProcessQueue[Message] = ProcessQueue(0, total)
    queue.take([Message(0, b"aa"), Message(1, b"bbb"), Message(2)], 3)
    queue.finish(1)

    assert queue.clear() == [Message(0, b"aa"), Message(2)]
    assert (queue.count, queue.size_bytes, total.size_bytes) == (0, 0, 0)


@pytest.mark.parametrize(
    ("limits", "has_room"),
    [
        (HoldingLimits(messages=4), True),
        (HoldingLimits(messages=3), False),
        (HoldingLimits(size_bytes=4), True),
        (HoldingLimits(size_bytes=3), False),
        (HoldingLimits(span=100), True),
        (HoldingLimits(span=99), False),
        (HoldingLimits(span=None), True),
    ],
)
def test_pulling_pauses_at_each_limit(limits: HoldingLimits, has_room: bool) -> None:  # noqa: FBT001
    queue = queue_with([0, 1, 100])

    assert queue.has_room(limits) is has_room


def test_takes_no_more_than_fits_the_whole_client() -> None:
    total = Total(5)
    one: ProcessQueue[Message] = ProcessQueue(0, total)
    other: ProcessQueue[Message] = ProcessQueue(0, total)

    assert one.take([Message(0, b"aaa")], 1) == [Message(0, b"aaa")]
    assert other.take([Message(0, b"bb"), Message(1, b"c"), Message(2, b"d")], 3) == [Message(0, b"bb")]
    assert (other.next_offset, total.size_bytes, total.has_room) == (1, 5, False)
    one.finish(0)
    assert other.take([Message(1, b"c"), Message(2, b"d")], 3) == [Message(1, b"c"), Message(2, b"d")]


def test_c056_a_single_message_above_the_limit_passes() -> None:
    total = Total(5)
    queue: ProcessQueue[Message] = ProcessQueue(0, total)

    assert queue.take([Message(0, b"a" * 9), Message(1)], 2) == [Message(0, b"a" * 9)]
    assert queue.next_offset == 1
    assert queue.take([Message(1)], 2) == []
    queue.finish(0)
    assert queue.take([Message(1)], 2) == [Message(1)]


def test_a_topics_limits_are_shared_by_its_queues() -> None:
    limits = HoldingLimits().shared_by(4, topic_messages=10, topic_bytes=None)

    assert (limits.messages, limits.size_bytes) == (2, HoldingLimits().size_bytes)
    assert HoldingLimits().shared_by(40, topic_messages=10, topic_bytes=3).messages == 1


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="total_bytes"):
        HoldingLimits(total_bytes=0)


@given(
    gaps=st.lists(st.integers(1, 5), max_size=30),
    order=st.randoms(use_true_random=False),
    start=st.integers(0, 100),
)
def test_the_committable_offset_is_that_of_a_slow_model(gaps: list[int], order: object, start: int) -> None:
    offsets: list[int] = []
    for gap in gaps:
        offsets.append((offsets[-1] if offsets else start - 1) + gap)
    end = (offsets[-1] if offsets else start) + 3
    queue = queue_with(offsets, start, end)
    unfinished = set(offsets)
    shuffled = list(offsets)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own Random

    for offset in shuffled:
        queue.finish(offset)
        unfinished.discard(offset)
        assert queue.committable == min(unfinished, default=end)
        assert queue.count == len(unfinished)
