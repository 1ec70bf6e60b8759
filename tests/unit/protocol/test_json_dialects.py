"""The JSON of RocketMQ's peers: both dialects, and fastjson's conversions."""

from collections.abc import Callable
from typing import Any

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_dialects import (
    JsonDialect,
    encode_json,
    integer_keyed,
    json_text,
    parse_integer_keyed,
    parse_lenient,
    to_bool,
    to_int32,
    to_int64,
    to_text,
)
from cosmodrome.protocol.json_lenient import LENIENT_MAX_BYTES


def test_maps_with_integer_keys() -> None:
    """In numeric order, in both dialects."""
    addrs = {10: "k", 2: "b", -1: "m"}

    assert encode_json(integer_keyed(addrs, JsonDialect.PLAIN)) == b'{-1:"m",2:"b",10:"k"}'
    assert encode_json(integer_keyed(addrs, JsonDialect.STANDARD)) == b'{"-1":"m","2":"b","10":"k"}'
    assert encode_json(integer_keyed({}, JsonDialect.PLAIN)) == b"{}"


def test_no_white_space_and_no_order_but_the_values_own() -> None:
    assert encode_json({"b": [1, None], "a": "é"}) == '{"b":[1,null],"a":"é"}'.encode()


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (b"{0:0,4:1}", {"0": 0, "4": 1}),
        (b'{"a":1}', {"a": 1}),
        (b"null", None),
        (b"{'a':1}", {"a": 1}),
        (b'"\xff"', "\ufffd"),
        (b'{"$ref":"$.a"}', {"$ref": "$.a"}),
    ],
)
def test_documents(document: bytes, value: object) -> None:
    assert parse_lenient(document) == value


def test_only_standard_json_may_be_large() -> None:
    blanks = b" " * LENIENT_MAX_BYTES

    assert parse_lenient(b"{}" + blanks) == {}
    with pytest.raises(MalformedBodyError, match="not standard JSON"):
        parse_lenient(b"{0:0}" + blanks)


@pytest.mark.parametrize("convert", [to_int32, to_int64])
@pytest.mark.parametrize(
    ("value", "number"),
    [
        (6, 6), ("6", 6), ("-6", -6), ("+6", 6), (12.0, 12), (1.5, 1), (-1.5, -1), ("1e3", 1000), ("12.0", 12),
        ("12.", 12), (True, 1), (False, 0), (None, 0), ("", 0),
    ],
)  # fmt: skip
def test_integers(convert: Callable[[Any], int], value: object, number: int) -> None:
    assert convert(value) == number


def test_what_is_null_or_empty_has_the_default() -> None:
    assert [to_int32(None, 16), to_int32("", 16), to_int64(None, 7)] == [16, 16, 7]
    assert to_bool(None, default=True)
    assert to_bool("", default=True)


@pytest.mark.parametrize(
    "value",
    [
        "x", "1x", " 1", "1 ", "0x1", "1_0", "٣", "nan", "inf", "1e400", "9" * 65, "-", ".5", "e3", [], {}, [1],
        float("nan"), float("inf"), -float("inf"), 2**31, -(2**31) - 1, "2147483648", 1e300,
    ],
)  # fmt: skip
def test_what_is_no_int32(value: object) -> None:
    with pytest.raises(MalformedBodyError):
        to_int32(value)


def test_limits() -> None:
    assert (to_int32(2**31 - 1), to_int32(-(2**31))) == (2**31 - 1, -(2**31))
    assert (to_int64(2**63 - 1), to_int64(str(-(2**63)))) == (2**63 - 1, -(2**63))
    with pytest.raises(MalformedBodyError, match="out of range"):
        to_int64(2**63)


@pytest.mark.parametrize(
    ("value", "truth"),
    [(True, True), (0, False), (7, True), ("true", True), ("FALSE", False), ("1", True), ("0", False)],
)
def test_booleans(value: object, *, truth: bool) -> None:
    assert to_bool(value) is truth


@pytest.mark.parametrize("value", ["yes", "2", 1.5, [], {}])
def test_what_is_no_boolean(value: object) -> None:
    with pytest.raises(MalformedBodyError, match="is not a boolean"):
        to_bool(value)


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), ("x", "x"), (1, "1"), (True, "true"), ({"a": [1]}, '{"a":[1]}')]
)
def test_texts(value: object, text: str | None) -> None:
    assert to_text(value) == text


def test_a_value_nested_beyond_what_can_be_written() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(MalformedBodyError, match="nested too deeply"):
        json_text(value)
    while value:
        value = value[0]


def test_an_error_does_not_show_what_is_inside() -> None:
    with pytest.raises(MalformedBodyError) as caught:
        to_int32({"password": "secret"})
    assert "secret" not in str(caught.value)
    with pytest.raises(MalformedBodyError) as caught:
        to_int32("x" * 1000)
    assert len(str(caught.value)) < 100


def test_bare_integer_keys_are_read_at_any_size() -> None:
    """Answers of servers have them, and may be large."""
    entries = ",".join(f'{number}:"{{{number}:x,1:2}}"' for number in range(10_000))

    value = parse_integer_keyed(f"{{{entries}}}".encode())

    assert len(value) == 10_000
    assert value["7"] == "{7:x,1:2}", "what is inside a text is left alone"
    with pytest.raises(MalformedBodyError):
        parse_integer_keyed(b"")


@pytest.mark.parametrize("data", [b"{a:'x{0:1}'}", b"{0:'x,1:2'}", b'{0:"x{0:1}"}'])
def test_what_looks_like_a_key_inside_a_text_stays_as_it_is(data: bytes) -> None:
    """Found by the fuzzer: in single quotes it was given double ones of its own."""
    assert parse_integer_keyed(data) == parse_lenient(data)
