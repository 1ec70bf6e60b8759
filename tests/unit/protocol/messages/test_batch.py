"""Batch bodies."""

import struct
from itertools import pairwise

import pytest

from cosmodrome.errors import MalformedBodyError, MessageError
from cosmodrome.protocol.messages.batch import (
    ENTRY_OVERHEAD_BYTES,
    NOT_IN_A_BATCH,
    BatchEntry,
    decode_batch,
    encode_batch,
    split_batch,
)

ENTRY = BatchEntry(b"Hello", b"UNIQ_KEY\x01X\x02", 7)
DATA = bytes.fromhex("00000026 00000000 00000000 00000007 00000005 48656c6c6f 000b") + ENTRY.properties


def test_the_bytes_of_an_entry() -> None:
    assert encode_batch([ENTRY]) == DATA
    assert decode_batch(DATA) == [ENTRY]
    assert ENTRY.encoded_bytes == len(DATA) == ENTRY_OVERHEAD_BYTES + 16


def test_entries_in_a_row_from_any_buffer() -> None:
    entries = [BatchEntry(bytes([number]) * number, b"", -number) for number in range(100)]
    data = encode_batch(iter(entries))

    assert decode_batch(data) == entries
    assert decode_batch(memoryview(bytearray(data))) == entries
    assert all(type(entry.body) is bytes for entry in decode_batch(memoryview(data)))


def test_what_senders_write_where_nothing_is_said_is_not_looked_at() -> None:
    assert decode_batch(DATA[:4] + b"\xda\xa3\x20\xa7\1\2\3\4" + DATA[12:]) == [ENTRY]


@pytest.mark.parametrize("size", range(len(DATA)))
def test_an_entry_that_is_cut(size: int) -> None:
    with pytest.raises(MalformedBodyError):
        decode_batch(DATA[:size])
    if size:
        with pytest.raises(MalformedBodyError, match="entry 1 "):
            decode_batch(DATA + DATA[:size])


@pytest.mark.parametrize("at", [0, 16, 25])
@pytest.mark.parametrize("change", [-1, 1])
def test_lengths_that_contradict_each_other(at: int, change: int) -> None:
    """Of the entry, of the body, of the properties."""
    layout = ">h" if at == 25 else ">i"
    data = bytearray(DATA * 3)
    struct.pack_into(layout, data, at, struct.unpack_from(layout, data, at)[0] + change)

    with pytest.raises(MalformedBodyError, match="entry 0 "):
        decode_batch(bytes(data))


@pytest.mark.parametrize("length", [-1, -5, -(2**31), 2**31 - 1])
def test_lengths_of_a_body_that_cannot_be(length: int) -> None:
    data = bytearray(DATA)
    struct.pack_into(">i", data, 16, length)

    with pytest.raises(MalformedBodyError):
        decode_batch(bytes(data))


def test_no_message_at_all() -> None:
    with pytest.raises(MalformedBodyError, match="without a message"):
        decode_batch(b"")


@pytest.mark.parametrize("length", [32_768, 65_535, 65_536, 70_000])
def test_c009_too_long_properties_of_the_third_entry_are_named(length: int) -> None:
    long = BatchEntry(b"x", b"v" * length)

    with pytest.raises(MessageError, match=f"message 2: properties of {length} bytes") as raised:
        encode_batch([ENTRY, ENTRY, long, ENTRY])
    assert raised.value.index == 2
    assert raised.value.code == 13


@pytest.mark.parametrize("length", [32_766, 32_767])
def test_c009_the_longest_properties_of_an_entry_come_back(length: int) -> None:
    entries = [ENTRY, ENTRY, BatchEntry(b"x", b"v" * length), ENTRY]

    assert decode_batch(encode_batch(entries)) == entries


def test_c009_properties_whose_length_has_turned_negative_are_refused() -> None:
    data = struct.pack(">iiiii", 22 + 40_000, 0, 0, 0, 0) + struct.pack(">H", 40_000) + b"v" * 40_000

    with pytest.raises(MalformedBodyError):
        decode_batch(data)


def test_c008_batches_are_cut_by_bytes() -> None:
    entries = [BatchEntry(("\u6807" * (number % 50)).encode(), b"k\x01\xe6\xa0\x87") for number in range(3000)]
    limit = 4096

    batches = split_batch(entries, limit)
    assert [entry for batch in batches for entry in batch] == entries
    assert all(len(encode_batch(batch)) <= limit for batch in batches)
    for batch, following in pairwise(batches):
        assert len(encode_batch([*batch, following[0]])) > limit


def test_c008_what_is_too_large_by_itself_stands_alone() -> None:
    large = BatchEntry(b"x" * 100, b"")

    assert split_batch([ENTRY, large, ENTRY, ENTRY], 80) == [[ENTRY], [large], [ENTRY, ENTRY]]
    assert split_batch([large, large], 80) == [[large], [large]]
    assert split_batch([large], 80) == [[large]]
    assert split_batch([], 80) == []
    assert split_batch([ENTRY, ENTRY], 2 * len(DATA)) == [[ENTRY, ENTRY]]
    assert split_batch([ENTRY, ENTRY], 2 * len(DATA) - 1) == [[ENTRY], [ENTRY]]


def test_c007_what_a_broker_would_have_to_park() -> None:
    assert {"DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TRAN_MSG"} == NOT_IN_A_BATCH
