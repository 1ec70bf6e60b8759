"""Acknowledgements that travel together."""

from cosmodrome.client.consumer.pop_acks import batch_acks, is_near_its_start
from cosmodrome.client.consumer.pop_handle import Receipt
from cosmodrome.protocol.bodies.pop import MAX_BIT_SET_SPAN, BatchAck, decode_bit_set


def receipt(offset: int, *, start: int = 100, queue: int = 3, popped: int = 5, flag: str = "0") -> Receipt:
    topic = "T" if flag == "0" else "%RETRY%G_T"
    return Receipt(topic, "T", "broker-a", queue, offset, f"{start} {popped} 60000 7 {flag} broker-a {queue} {offset}")


def offsets(ack: BatchAck) -> tuple[int, ...]:
    return decode_bit_set(ack.bit_set, ack.start_offset)


def test_those_of_one_queue_and_one_pop_are_one_bit_set() -> None:
    (ack,) = batch_acks("G", [receipt(100), receipt(107), receipt(103)])
    assert (ack.consumer_group, ack.topic, ack.retry) == ("G", "T", "0")
    assert (ack.start_offset, ack.queue_id, ack.revive_queue_id) == (100, 3, 7)
    assert (ack.pop_time, ack.invisible_time) == (5, 60_000)
    assert offsets(ack) == (100, 103, 107)


def test_other_queues_pops_and_retry_topics_are_kept_apart() -> None:
    acks = batch_acks("G", [receipt(100), receipt(101, queue=4), receipt(102, popped=6), receipt(103, flag="1")])
    assert [(ack.queue_id, ack.pop_time, ack.retry, offsets(ack)) for ack in acks] == [
        (3, 5, "0", (100,)),
        (4, 5, "0", (101,)),
        (3, 6, "0", (102,)),
        (3, 5, "1", (103,)),
    ]
    assert {ack.topic for ack in acks} == {"T"}, "the flag says that it was the retry topic"


def test_one_that_a_bit_set_does_not_reach_travels_alone() -> None:
    assert is_near_its_start(receipt(100))
    assert is_near_its_start(receipt(100 + MAX_BIT_SET_SPAN - 1))
    assert not is_near_its_start(receipt(100 + MAX_BIT_SET_SPAN))
    assert not is_near_its_start(receipt(99))
