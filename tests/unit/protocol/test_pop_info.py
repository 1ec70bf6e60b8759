"""The texts of POP mode."""

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.pop_info import (
    PoppedQueue,
    ReceiptHandle,
    decode_message_offsets,
    decode_receipt_handle,
    decode_start_offsets,
    encode_message_offsets,
    encode_receipt_handle,
    encode_start_offsets,
)


def test_a_receipt_handle() -> None:
    handle = ReceiptHandle(0, 1795973768840, 60000, 7, "1", "bk55", 0, 5)

    assert encode_receipt_handle(handle) == "0 1795973768840 60000 7 1 bk55 0 5"
    assert decode_receipt_handle(encode_receipt_handle(handle)) == handle


@pytest.mark.parametrize(
    "text", ["", "x", "0 1 2 3 0 b 0", "0 1 2 3 0 b 0 5 6", "a 1 2 3 0 b 0 5", "0 1 2 3 0 b 4294967296 5"]
)
def test_what_is_no_handle(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        decode_receipt_handle(text)


def test_offsets_of_queues() -> None:
    starts = {PoppedQueue("0", 0): 0, PoppedQueue("1", 3): 7}
    messages = {PoppedQueue("0", 0): (0, 1), PoppedQueue("1", 3): (7,)}

    assert encode_start_offsets(starts) == "0 0 0;1 3 7"
    assert encode_message_offsets(messages) == "0 0 0,1;1 3 7"
    assert decode_start_offsets("0 0 0;1 3 7;") == starts
    assert decode_message_offsets("0 0 0,1;1 3 7") == messages
    assert decode_start_offsets("") == {}


@pytest.mark.parametrize("text", ["0", "0 0", "0 a 0", "0 0 a", "0 0 0 0", "0 0 ,a"])
def test_what_is_no_list_of_offsets(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        decode_start_offsets(text)
    with pytest.raises(MalformedBodyError):
        decode_message_offsets(text)
