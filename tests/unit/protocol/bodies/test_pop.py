"""Acknowledgements of several messages."""

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, decode_bit_set, encode_bit_set
from cosmodrome.protocol.json_structs import decode_body, encode_body


@pytest.mark.parametrize(
    ("offsets", "text"),
    [((), ""), ((10,), "AQ=="), ((10, 11, 13), "Cw=="), ((17,), "gA=="), ((10, 18), "AQE="), ((74,), "AAAAAAAAAAAB")],
)
def test_offsets_as_bits_after_the_first(offsets: tuple[int, ...], text: str) -> None:
    """The lowest bit of the first byte is the start, as in Java's BitSet."""
    assert encode_bit_set(offsets, 10) == text
    assert decode_bit_set(text, 10) == offsets


@pytest.mark.parametrize("offset", [9, 10 + 6144, 2**62])
def test_offsets_that_are_no_bits(offset: int) -> None:
    with pytest.raises(ValueError, match="too far"):
        encode_bit_set([offset], 10)


@pytest.mark.parametrize("text", ["x", "====", "AQ", "é", "A" * 2000])
def test_what_is_no_bit_set(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        decode_bit_set(text, 0)


def test_names_of_one_letter() -> None:
    ack = BatchAck(
        consumer_group="g", topic="T", retry="1", start_offset=5, queue_id=2, revive_queue_id=7, pop_time=8,
        invisible_time=9, bit_set="AQ==",
    )  # fmt: skip
    body = BatchAckMessageRequestBody(broker_name="b", acks=(ack,))

    assert encode_body(body) == (
        b'{"acks":[{"b":"AQ==","c":"g","it":9,"pt":8,"q":2,"r":"1","rq":7,"so":5,"t":"T"}],"brokerName":"b"}'
    )
    assert decode_body(BatchAckMessageRequestBody, encode_body(body)) == body
