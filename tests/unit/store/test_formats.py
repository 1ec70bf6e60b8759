"""Checkpoints, hashes of keys, and single properties."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.small_store import settings

from cosmodrome.errors import ConfigError
from cosmodrome.protocol.messages.properties import KEYS, TAGS, UNIQ_KEY, decode_properties
from cosmodrome.protocol.messages.tag_hash import java_hash, tag_code
from cosmodrome.store.checkpoint import CHECKPOINT_BYTES, Mark, Times, decode_checkpoint, encode_checkpoint
from cosmodrome.store.key_hash import key_hash
from cosmodrome.store.log_walk import LogRecord, read_record
from cosmodrome.store.retention import RetentionSettings
from cosmodrome.store.settings import file_name, start_of
from cosmodrome.store.stored_properties import code_of, due_code_of, index_keys_of, tag_of

MARK = Mark(flushed_to=5, indexed_to=4, last_indexed=-1, last_store_ms=10, queues_digest=2**32 - 1, is_clean=True)


def test_a_checkpoint_is_read_as_it_was_written() -> None:
    data = encode_checkpoint(Times(10, 11, 12, 13, 14), MARK)

    assert len(data) == CHECKPOINT_BYTES
    assert data[:40].hex() == "".join(f"{number:016x}" for number in range(10, 15))
    assert decode_checkpoint(data) == (Times(10, 11, 12, 13, 14), MARK)
    assert decode_checkpoint(encode_checkpoint(Times(1), None)) == (Times(1), None)
    assert decode_checkpoint(b"") == (Times(), None)


@pytest.mark.parametrize("at", [0, 7, 8, 20, 33, 64, 72, 80, 100, 118])
def test_our_part_of_a_checkpoint_holds_only_with_javas_unchanged(at: int) -> None:
    data = bytearray(encode_checkpoint(Times(10, 10, 5), MARK))
    data[at] ^= 1

    assert decode_checkpoint(bytes(data))[1] is None


KEY_TEXT = st.one_of(
    st.text(st.sampled_from("0123456789ABCDEF"), min_size=32, max_size=32),
    st.text(min_size=1, max_size=80).filter(lambda text: text.isprintable()),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
)


@given(st.sampled_from(["TopicTest", "T", "%RETRY%g"]), KEY_TEXT)
def test_a_key_has_javas_hash(topic: str, key: str) -> None:
    value = java_hash(f"{topic}#{key}")

    assert key_hash(java_hash(f"{topic}#"), key.encode()) == (0 if value == -(2**31) else abs(value))


def test_the_hash_that_the_format_gives_as_an_example() -> None:
    assert key_hash(java_hash("TopicTest#"), b"KEY1") == 1656969516
    # The text whose hash is Java's smallest number, which has no absolute value.
    assert java_hash("polygenelubricants") == -(2**31)
    assert key_hash(0, b"polygenelubricants") == 0


WORD = st.text(st.sampled_from("ab TAGSKEYUNIQ_\x01\x02é"), max_size=12)


@given(
    st.lists(st.tuples(st.sampled_from([KEYS, TAGS, UNIQ_KEY, "XTAGS", "TAGSX", "a", ""]), WORD), max_size=6),
    st.booleans(),
)
def test_single_properties_are_those_of_the_whole_text(entries: list[tuple[str, str]], has_end: bool) -> None:  # noqa: FBT001 -- drawn
    text = "\x02".join(f"{name}\x01{value}" for name, value in entries) + "\x02" * has_end
    properties = decode_properties(text)
    tag = properties.get(TAGS, "")
    keys = [properties.get(UNIQ_KEY, ""), *properties.get(KEYS, "").split(" ")]

    assert tag_of(text.encode()).decode() == tag
    assert code_of(tag_of(text.encode())) == tag_code(tag)
    found = index_keys_of(text.encode(), tag.encode())
    assert [key.decode() for key in found] == [key for key in keys if key] + ([f"T#{tag}"] if tag else [])


def test_a_long_tag_is_hashed_too() -> None:
    assert code_of(b"x" * 1000) == java_hash("x" * 1000)


def test_when_a_message_is_due() -> None:
    assert due_code_of(b"DELAY\x011\x02", 100, (5, 7)) == 105
    assert due_code_of(b"DELAY\x013\x02", 100, (5, 7)) == 107
    assert due_code_of(b"DELAY\x01-1\x02", 100, (5, 7)) is None
    assert due_code_of(b"DELAY\x01soon\x02", 100, (5, 7)) is None
    assert due_code_of(b"", 100, (5, 7)) is None
    assert due_code_of(b"DELAY\x011\x02", 100, ()) is None


def test_names_of_files() -> None:
    assert file_name(1073741824) == "00000000001073741824"
    assert start_of("00000000001073741824") == 1073741824
    assert start_of("notes.txt") is None
    assert start_of("0000000000107374182x") is None


@pytest.mark.parametrize(
    "change",
    [
        {"store_host": b"1234567"}, {"queue_file_bytes": 0}, {"queue_file_bytes": 2**31}, {"queue_file_bytes": 30},
        {"segment_bytes": 1023}, {"segment_bytes": 2**31}, {"index_slots": 0}, {"index_entries": 1},
    ],
)  # fmt: skip
def test_sizes_that_no_store_can_have_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        settings(**change)


@pytest.mark.parametrize(
    "change",
    [
        {"reserved_ms": -1}, {"delete_hours": frozenset({24})}, {"delete_ratio": 0.0}, {"delete_ratio": 0.9},
        {"refuse_ratio": 1.5}, {"force_ratio": 0.95},
    ],
)  # fmt: skip
def test_b039_rules_of_deleting_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        RetentionSettings(**change)


RECORD = bytes.fromhex(
    "0000007bdaa320a777d18982000000020000000000000000000000050000000000001000000000000000018bcfe568000a0000050000c351"
    "0000018bcfe5687b0a00000900002a9f000000000000000000000000000000054865 6c6c6f09546f70696354657374"
    "00124b455953014b310254414753015461674102"
)
"""The example that the format's description gives."""


def test_the_example_of_a_record_is_whole() -> None:
    record = read_record(memoryview(RECORD), 0, 4096)

    assert record == LogRecord(4096, 123, "TopicTest", 2, 5, 0, 1700000000123, b"KEYS\x01K1\x02TAGS\x01TagA\x02")
    assert read_record(memoryview(RECORD), 0, 4097) is None
    assert read_record(memoryview(b"x" + RECORD + b"y"), 1, 4096) == record


@given(st.integers(0, len(RECORD)), st.binary(max_size=20), st.integers(0, 30), st.booleans())
def test_any_bytes_are_a_whole_record_or_none(at: int, patch: bytes, cut: int, is_torn_possible: bool) -> None:  # noqa: FBT001 -- drawn
    data = RECORD[:at] + patch + RECORD[at + len(patch) : len(RECORD) - cut]

    record = read_record(memoryview(data), 0, 4096, is_torn_possible=is_torn_possible)

    assert record is None or (record.size <= len(data) and record.topic)
