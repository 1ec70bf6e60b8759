"""Store records."""

import struct
from typing import Any

import msgspec
import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.record import (
    FILLER_BYTES,
    MAGIC_FILLER,
    StoredMessage,
    body_crc,
    decode_record,
    decode_records,
    encode_filler,
    encode_record,
)
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6

VECTOR = bytes.fromhex(
    "0000007b daa320a7 77d18982 00000002 00000000 0000000000000005 0000000000001000 00000000"
    "0000018bcfe56800 0a000005 0000c351 0000018bcfe5687b 0a000009 00002a9f 00000000 0000000000000000"
    "00000005 48656c6c6f 09 546f70696354657374 0012 4b455953014b310254414753015461674102"
)
"""The example of the specification."""
MESSAGE = StoredMessage(
    topic="TopicTest",
    body=b"Hello",
    properties_bytes=b"KEYS\x01K1\x02TAGS\x01TagA\x02",
    queue_id=2,
    queue_offset=5,
    commit_log_offset=4096,
    born_timestamp_ms=1_700_000_000_000,
    born_host_bytes=encode_host("10.0.0.5", 50001),
    store_timestamp_ms=1_700_000_000_123,
    store_host_bytes=encode_host("10.0.0.9", 10911),
    body_crc=0x77D18982,
)
BODY_LENGTH_AT = 84
V6 = BORN_HOST_V6 | STORE_HOST_V6


def changed(**values: Any) -> StoredMessage:
    return msgspec.structs.replace(MESSAGE, **values)


def with_hosts(flags: int) -> StoredMessage:
    return changed(
        sys_flag=flags,
        born_host_bytes=encode_host("fd00::5" if flags & BORN_HOST_V6 else "10.0.0.5", 50001),
        store_host_bytes=encode_host("fd00::9" if flags & STORE_HOST_V6 else "10.0.0.9", 10911),
    )


def test_the_example_of_the_specification() -> None:
    assert decode_records(VECTOR) == [MESSAGE]
    assert encode_record(MESSAGE) == VECTOR


def test_what_is_read_out_of_a_record() -> None:
    (message,) = decode_records(VECTOR)

    assert message.properties == {"KEYS": "K1", "TAGS": "TagA"}
    assert message.tag == "TagA"
    assert str(message.born_host) == "10.0.0.5:50001"
    assert str(message.store_host) == "10.0.0.9:10911"
    assert message.offset_msg_id == message.msg_id == "0A00000900002A9F0000000000001000"
    assert message.is_intact
    assert body_crc(b"Hello") == message.body_crc


def test_the_id_of_the_sender_goes_before_that_of_the_broker() -> None:
    message = changed(properties_bytes=b"UNIQ_KEY\x01mine")

    assert message.msg_id == "mine"
    assert message.offset_msg_id != "mine"


def test_properties_are_read_once() -> None:
    message = changed()

    assert message.properties is message.properties
    assert message == MESSAGE


def test_a_damaged_body_is_read_and_noticed() -> None:
    (message,) = decode_records(VECTOR.replace(b"Hello", b"Hellu"))

    assert message.body == b"Hellu"
    assert not message.is_intact


def test_the_checksum_has_no_sign() -> None:
    assert body_crc(b"a") == 0x68B7BE43
    assert 0 <= body_crc(b"Hello") < 2**31


@pytest.mark.parametrize("flags", [0, BORN_HOST_V6, STORE_HOST_V6, V6])
def test_c066_hosts_of_both_lengths(flags: int) -> None:
    message = with_hosts(flags)
    data = encode_record(message)

    assert len(data) == len(VECTOR) + 12 * flags.bit_count()
    assert decode_records(data) == [message]
    assert str(message.born_host) == ("[fd00::5]:50001" if flags & BORN_HOST_V6 else "10.0.0.5:50001")
    assert str(message.store_host) == ("[fd00::9]:10911" if flags & STORE_HOST_V6 else "10.0.0.9:10911")
    assert len(message.offset_msg_id) == (56 if flags & STORE_HOST_V6 else 32)


@pytest.mark.parametrize("flags", [0, BORN_HOST_V6, STORE_HOST_V6, V6])
def test_c066_a_host_that_is_not_as_long_as_the_flag_says(flags: int) -> None:
    for other in {0, BORN_HOST_V6, STORE_HOST_V6, V6} - {flags}:
        message = msgspec.structs.replace(with_hosts(other), sys_flag=flags)
        with pytest.raises(ValueError, match="lengths of the hosts"):
            encode_record(message)


@pytest.mark.parametrize(
    ("topic", "is_v2", "size"),
    [("t" * 127, False, 1), ("t" * 128, True, 2), ("t" * 32_767, True, 2), ("t", True, 2), ("", False, 1)],
)
def test_the_length_of_the_topic(topic: str, is_v2: bool, size: int) -> None:  # noqa: FBT001
    message = changed(topic=topic, is_v2=is_v2)
    data = encode_record(message)

    assert len(data) == 90 + size + len(topic) + 5 + 18
    assert data[4:8].hex() == ("daa320ab" if is_v2 else "daa320a7")
    assert decode_records(data) == [message]
    assert encode_record(changed(topic=topic)) == data or len(topic) == 1


def test_a_topic_of_characters_that_take_several_bytes() -> None:
    message = changed(topic="\u6807" * 43, is_v2=True)

    assert decode_records(encode_record(message)) == [message]
    assert encode_record(changed(topic="\u6807" * 43)) == encode_record(message)


@pytest.mark.parametrize("length", [32_766, 32_767])
def test_c009_the_longest_properties_come_back(length: int) -> None:
    message = changed(properties_bytes=b"k\x01" + b"v" * (length - 2))

    assert decode_records(encode_record(message) + VECTOR) == [message, MESSAGE]


@pytest.mark.parametrize("length", [32_768, 65_535, 65_536, 70_000])
def test_c009_longer_properties_are_never_written(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes"):
        encode_record(changed(properties_bytes=b"v" * length))


@pytest.mark.parametrize("length", [32_768, 65_535])
def test_c009_a_length_that_has_turned_negative_is_refused(length: int) -> None:
    """As a broker without a check has stored it: the bytes are there, the number is not."""
    head = VECTOR[:-20]
    record = struct.pack(">i", len(head) + 2 + length) + head[4:] + struct.pack(">H", length) + b"v" * length

    with pytest.raises(MalformedBodyError):
        decode_records(record)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_in_a_row_from_any_buffer(kind: type) -> None:
    messages = [changed(queue_offset=number, commit_log_offset=number * 200) for number in range(40)]
    data = kind(b"".join(map(encode_record, messages)))

    assert decode_records(data) == messages
    assert all(type(message.body) is bytes for message in decode_records(data))


@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_one_record_of_a_log(kind: type) -> None:
    data = kind(b"\0" * 7 + VECTOR + VECTOR + b"\0" * 9)

    message, next_at = decode_record(data, 7)
    assert message == MESSAGE
    assert next_at == 7 + len(VECTOR)
    assert decode_record(data, next_at) == (MESSAGE, 7 + 2 * len(VECTOR))


@pytest.mark.parametrize("kind", [bytes, memoryview])
@pytest.mark.parametrize("size", range(1, len(VECTOR)))
def test_a_record_that_is_cut(kind: type, size: int) -> None:
    with pytest.raises(MalformedBodyError):
        decode_records(kind(VECTOR + VECTOR[:size]))
    with pytest.raises(MalformedBodyError):
        decode_record(kind(VECTOR[:size]))


@pytest.mark.parametrize("at", [0, 4, BODY_LENGTH_AT, BODY_LENGTH_AT + 9, BODY_LENGTH_AT + 19])
@pytest.mark.parametrize("value", [b"\xff", b"\x80", b"\x7f", b"\x01"])
def test_a_length_that_says_something_else(at: int, value: bytes) -> None:
    """Of the record, the body, the topic, the properties; and the magic number."""
    data = VECTOR[:at] + value + VECTOR[at + 1 :]

    for read in (decode_records, decode_record):
        with pytest.raises(MalformedBodyError):
            read(data + VECTOR * 3)


@pytest.mark.parametrize("size", [0, -1, 1, 122, 124, 2**31 - 1, -(2**31)])
def test_a_size_that_is_not_that_of_the_fields(size: int) -> None:
    data = struct.pack(">i", size) + VECTOR[4:]

    for kind in (bytes, memoryview):
        with pytest.raises(MalformedBodyError):
            decode_record(kind(data + VECTOR * 3))


def test_an_empty_buffer() -> None:
    assert decode_records(b"") == []
    for kind in (bytes, memoryview):
        with pytest.raises(MalformedBodyError):
            decode_record(kind(b""))
        with pytest.raises(MalformedBodyError):
            decode_record(kind(VECTOR), len(VECTOR))


def test_a_topic_that_is_no_utf8() -> None:
    with pytest.raises(MalformedBodyError, match="UTF-8"):
        decode_records(VECTOR.replace(b"TopicTest", b"Topic\xffest"))
    long = encode_record(changed(topic="t" * 300)).replace(b"tt", b"t\xff")
    with pytest.raises(MalformedBodyError, match="UTF-8"):
        decode_records(long)


def test_c031_properties_of_others_are_kept_as_they_are_and_shown_marked() -> None:
    message = changed(properties_bytes=b"a\x01\xff\x02TAGS\x01x")

    (read,) = decode_records(encode_record(message))
    assert read.properties_bytes == message.properties_bytes
    assert read.properties == {"a": "\N{REPLACEMENT CHARACTER}", "TAGS": "x"}


@pytest.mark.parametrize(
    "values",
    [
        {"queue_id": 2**31}, {"queue_offset": 2**63}, {"body_crc": 2**32}, {"flag": -(2**31) - 1},
        {"reconsume_times": 2**31}, {"topic": "t" * 32_768},
    ],
    ids=repr,
)  # fmt: skip
def test_what_does_not_fit(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"fit|bytes"):
        encode_record(changed(**values))


def test_numbers_at_their_ends() -> None:
    for number, large in ((-(2**31), -(2**63)), (2**31 - 1, 2**63 - 1)):
        message = changed(
            queue_id=number, flag=number, body_crc=number, reconsume_times=number, queue_offset=large,
            commit_log_offset=large, born_timestamp_ms=large, store_timestamp_ms=large,
            prepared_transaction_offset=large,
        )  # fmt: skip
        assert decode_records(encode_record(message)) == [message]
        assert len(message.offset_msg_id) == 32


def test_a_filler() -> None:
    assert encode_filler(106) == bytes.fromhex("0000006a cbd43194")
    assert len(encode_filler(FILLER_BYTES)) == FILLER_BYTES == 8
    assert struct.unpack(">i", encode_filler(106)[4:]) == (MAGIC_FILLER,)
    with pytest.raises(ValueError, match="7"):
        encode_filler(7)
    with pytest.raises(MalformedBodyError):
        decode_record(encode_filler(106) + bytes(98))
