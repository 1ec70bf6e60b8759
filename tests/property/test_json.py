"""The tolerant reader and both dialects, for any value."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import wire

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_dialects import (
    JsonDialect,
    encode_json,
    integer_keyed,
    json_text,
    parse_lenient,
    to_bool,
    to_int32,
    to_int64,
    to_text,
)
from cosmodrome.protocol.json_lenient import LENIENT_MAX_BYTES, MAX_DEPTH, parse_lenient_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_a_value_written_is_the_value_read(value: Any) -> None:
    assert parse_lenient(encode_json(value)) == value
    assert json.loads(encode_json(value)) == value


@given(value=values, spaced=st.booleans())
def test_the_lenient_reader_agrees_with_the_strict_one(value: Any, *, spaced: bool) -> None:
    document = json.dumps(value, ensure_ascii=spaced, indent=1 if spaced else None)

    assert parse_lenient_text(document) == msgspec.json.decode(document)


@given(st.text(max_size=40) | st.text("{}[]:,\"'0123456789.eE+-truefalsn \\u/*\n", max_size=40))
def test_the_lenient_reader_takes_whatever_the_strict_one_takes(document: str) -> None:
    try:
        strict = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            parse_lenient_text(document)
        except MalformedBodyError:
            return
    else:
        assert parse_lenient_text(document) == strict


@given(st.binary(max_size=60))
def test_any_bytes_are_a_document_or_a_documented_error(data: bytes) -> None:
    try:
        value = parse_lenient(data)
    except MalformedBodyError:
        return
    assert isinstance(json_text(value), str)
    assert encode_json(value)


@given(st.text(st.sampled_from("{}[]:,\"' ab0/*\\ux\ud800\ufeff\n"), max_size=60))
def test_any_near_json_is_a_document_or_a_documented_error(text: str) -> None:
    try:
        parse_lenient(text.encode("utf-8", "surrogatepass"))
    except MalformedBodyError:
        return


@given(values)
def test_how_fastjson_lets_people_write(value: Any) -> None:
    """Bare keys that are integers, single quotes, stray commas and comments change nothing."""
    assert parse_lenient(_as_written_by_hand(value)) == value


def _as_written_by_hand(value: Any) -> bytes:
    if isinstance(value, dict):
        members = b",, ".join(_key(key) + b" : " + _as_written_by_hand(each) for key, each in value.items())
        return b"{ /* an { object } */ " + members + b" ,}"
    if isinstance(value, list):
        return b"[ // a list]\n" + b",".join(map(_as_written_by_hand, value)) + b",]"
    return wire.dump(value)


def _key(key: str) -> bytes:
    if key.isascii() and key.isdigit():
        return key.encode()
    return wire.dump(key) if "'" in key or "\\" in json.dumps(key) else b"'" + key.replace('"', '\\"').encode() + b"'"


@given(st.dictionaries(st.integers(-(2**63), 2**63 - 1), values, max_size=5), st.sampled_from(JsonDialect))
def test_maps_with_integer_keys_are_the_same_value_in_both_dialects(
    mapping: dict[int, Any], dialect: JsonDialect
) -> None:
    body = encode_json({"m": integer_keyed(mapping, dialect)})
    expected = {"m": {str(key): value for key, value in mapping.items()}}

    assert parse_lenient(body) == expected
    assert wire.parse_body(body) == expected
    if dialect is JsonDialect.STANDARD:
        assert json.loads(body) == expected
    assert [int(key) for key in wire.parse_body(body)["m"]] == sorted(mapping)


@given(values)
def test_conversions_give_their_type_or_a_documented_error(value: Any) -> None:
    for convert, kind in ((to_int32, int), (to_int64, int), (to_bool, bool)):
        try:
            assert type(convert(value)) is kind
        except MalformedBodyError:
            continue
    text = to_text(value)
    assert text is None if value is None else isinstance(text, str)


@given(st.integers())
def test_integers_survive_or_are_out_of_range(number: int) -> None:
    for convert, limit in ((to_int32, 2**31), (to_int64, 2**63)):
        for written in (number, str(number)):
            if -limit <= number < limit:
                assert convert(written) == number
            else:
                try:
                    convert(written)
                except MalformedBodyError:
                    continue
                raise AssertionError(f"{written!r} was taken")


@given(st.integers(1, 3 * MAX_DEPTH))
def test_depth_of_what_is_not_standard_is_bounded(depth: int) -> None:
    document = "[" * depth + "'x'" + "]" * depth
    try:
        parse_lenient_text(document)
    except MalformedBodyError:
        assert depth > MAX_DEPTH
    else:
        assert depth <= MAX_DEPTH


def test_size_of_what_is_not_standard_is_bounded_and_of_standard_json_is_not() -> None:
    long = "x" * LENIENT_MAX_BYTES

    assert parse_lenient(json.dumps([long]).encode()) == [long]
    with pytest.raises(MalformedBodyError, match="not standard JSON"):
        parse_lenient(f"['{long}']".encode())
