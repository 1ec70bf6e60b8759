"""Messages: store records, batch bodies, property texts, compressed bodies."""

import struct
from typing import Final

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.messages.batch import ENTRY_OVERHEAD_BYTES, BatchEntry, decode_batch, encode_batch, split_batch
from cosmodrome.protocol.messages.compression import inflate
from cosmodrome.protocol.messages.hosts import PORTS
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.properties import (
    ENTRY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    decode_properties,
    encode_properties,
    properties_bytes,
    properties_text,
)
from cosmodrome.protocol.messages.record import (
    MIN_RECORD_BYTES,
    StoredMessage,
    decode_record,
    decode_records,
    encode_record,
)
from cosmodrome.protocol.messages.sys_flag import COMPRESSED
from cosmodrome.protocol.messages.tag_hash import tag_code
from fuzz.script import Script

_UNSAID: Final = slice(4, 12)
"""Bytes of a batch entry that are not looked at."""
_INT: Final = struct.Struct(">i")
_MAX_INFLATED: Final = 100_000


def store_records(data: bytes) -> None:
    """Any bytes are records or refused, together and one by one; what is read is all there was, and is written again."""
    one_by_one = _one_by_one(data)
    try:
        records = decode_records(data)
    except MalformedBodyError:
        assert one_by_one is None
        return
    assert records == one_by_one
    assert b"".join(map(encode_record, records)) == data
    assert MIN_RECORD_BYTES * len(records) <= len(data)
    for record in records:
        _check_what_is_said(record)


def _one_by_one(data: bytes) -> list[StoredMessage] | None:
    records = []
    position = 0
    view = memoryview(data)
    while position < len(data):
        try:
            record, next_at = decode_record(view, position)
        except MalformedBodyError:
            return None
        assert position + MIN_RECORD_BYTES <= next_at <= len(data)
        assert next_at - position == _INT.unpack_from(data, position)[0]
        records.append(record)
        position = next_at
    return records


def _check_what_is_said(record: StoredMessage) -> None:
    """What is read later than the record is read without an error, whatever it is."""
    assert sum(len(name) + len(value) for name, value in record.properties.items()) <= len(record.properties_bytes)
    assert -(2**31) <= tag_code(record.tag) < 2**31
    assert str(record.born_host).endswith(f":{record.born_host.port}")
    read = decode_offset_msg_id(record.offset_msg_id)
    assert read == (None if record.store_host.port not in PORTS else (*record.store_host, record.commit_log_offset))
    assert record.msg_id
    assert record.is_intact in (True, False)


def batch_body(data: bytes) -> None:
    """Any bytes are a batch or refused; what is read is all there was; cut by any size it is the same messages."""
    script = Script(data)
    max_bytes = script.word()
    body = script.rest()
    try:
        entries = decode_batch(body)
    except MalformedBodyError:
        return
    assert entries
    assert ENTRY_OVERHEAD_BYTES * len(entries) <= len(body)
    assert encode_batch(entries) == _without_what_is_unsaid(body, entries)
    batches = split_batch(entries, max_bytes)
    assert [entry for batch in batches for entry in batch] == entries
    for batch in batches:
        assert len(batch) == 1 or len(encode_batch(batch)) <= max_bytes


def _without_what_is_unsaid(body: bytes, entries: list[BatchEntry]) -> bytes:
    blank = bytearray(body)
    position = 0
    for entry in entries:
        blank[position + _UNSAID.start : position + _UNSAID.stop] = bytes(_UNSAID.stop - _UNSAID.start)
        position += entry.encoded_bytes
    return bytes(blank)


def message_properties(data: bytes) -> None:
    """Any bytes are properties: those that a slow reading finds, whether the last is ended or not; they survive."""
    text = properties_text(data)
    found = decode_properties(text)
    assert found == _slowly(text)
    assert decode_properties(text + ENTRY_SEPARATOR) == found
    encoded = encode_properties(found)
    assert decode_properties(encoded) == found
    assert len(encoded) <= len(text) + 1
    assert properties_text(properties_bytes(encoded)) == encoded


def _slowly(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    entry = ""
    for char in text + ENTRY_SEPARATOR:
        if char != ENTRY_SEPARATOR:
            entry += char
            continue
        if entry.count(NAME_VALUE_SEPARATOR) == 1 and NAME_VALUE_SEPARATOR not in (entry[0], entry[-1]):
            name, value = entry.split(NAME_VALUE_SEPARATOR)
            found[name] = value
        entry = ""
    return found


def compressed_body(data: bytes) -> None:
    """Any bytes inflate to no more than the ceiling, or are refused; with a higher ceiling they are the same."""
    script = Script(data)
    flag = script.byte() << 8 | COMPRESSED
    ceiling = script.word()
    body = script.rest()
    plain = _or_none(body, flag, ceiling)
    if plain is not None:
        assert len(plain) <= ceiling
        assert _or_none(body, flag, _MAX_INFLATED) == plain
    assert inflate(body, flag & ~COMPRESSED) is body


def _or_none(body: bytes, flag: int, ceiling: int) -> bytes | None:
    try:
        return inflate(body, flag, ceiling)
    except MalformedBodyError:
        return None
