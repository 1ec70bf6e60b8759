"""The JSON that RocketMQ peers write: standard, and fastjson's with bare integer keys.

Owns: both dialects in writing; a reader as tolerant as fastjson; fastjson's conversions between scalars.
Must not know: which peer wants which dialect; what a document means.
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import msgspec

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.json_lenient import LENIENT_MAX_BYTES, parse_lenient_text

MAX_VALUES: Final = 1_000_000
"""Values in one document that is read without knowing its form; an empty object takes 21 times its text in memory.
The largest table that fits a frame has 900,000."""
_NUMBER_MAX_CHARACTERS: Final = 64
# A text that does not end is one to the end of the body: it is not looked at again from each quote in it.
_TEXT_OR_BARE_KEY: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([{,])(-?[0-9]+)(?=:)')
_PLACE: Final = re.compile(r"\(byte ([0-9]+)\)$")
_NUMBER_TEXT: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_INT32_RANGE: Final = range(-(2**31), 2**31)
_INT64_RANGE: Final = range(-(2**63), 2**63)


class JsonDialect(IntEnum):
    """How a map with integer keys is written."""

    PLAIN = 0
    """`{0:"a"}`: what fastjson writes by itself and old clients parse by hand."""
    STANDARD = 1
    """`{"0":"a"}`: what every JSON parser reads."""


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_NOT_STANDARD: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def encode_json(value: Any) -> bytes:
    """Write without white space, in the order of the value's own members.

    Half a surrogate pair, which UTF-8 cannot carry, never gets here: the readers replace it.
    """
    return _encode(value)


def integer_keyed(mapping: Mapping[int, Any], dialect: JsonDialect) -> msgspec.Raw:
    """Write a map with integer keys, in numeric order, ready to be placed into a larger document."""
    quote = b"" if dialect is JsonDialect.PLAIN else b'"'
    members = (b"%b%d%b:%b" % (quote, key, quote, _encode(mapping[key])) for key in sorted(mapping))
    return msgspec.Raw(b"{%b}" % b",".join(members))


def parse_lenient(data: bytes, max_values: int = MAX_VALUES) -> Any:
    """Read a JSON document of any dialect that fastjson reads; integer keys become strings.

    Standard JSON may have any size and `max_values` values. What only fastjson reads (bare keys, single quotes, comments, stray commas,
    a byte order mark) may have at most LENIENT_MAX_BYTES: only people write it, and reading it is slow.

    Raises:
        MalformedBodyError: Not readable, too deeply nested, or too large for its dialect. An empty document too.
        BodyLimitError: It may hold more than `max_values` values.
    """
    _check_values(data, max_values)
    try:
        return _decode(data)
    except _NOT_STANDARD as error:
        if len(data) > LENIENT_MAX_BYTES:
            raise _not_standard(error) from error
    return parse_lenient_text(data.decode("utf-8", "replace"))


def _check_values(data: bytes, max_values: int) -> None:
    """Every value but the first stands behind a comma or an opening bracket; texts may hold more of them."""
    if len(data) > max_values and data.count(b",") + data.count(b"[") + data.count(b"{") >= max_values:
        raise BodyLimitError(f"more than {max_values} values in one document")


def _not_standard(error: Exception) -> MalformedBodyError:
    """Say what is wrong in words of ours; the reader's own name its types."""
    if isinstance(error, RecursionError):
        return MalformedBodyError("nested too deeply")
    place = _PLACE.search(str(error))
    return MalformedBodyError(f"not standard JSON{'' if place is None else f' at byte {place[1]}'}")


def parse_integer_keyed(data: bytes) -> Any:
    """Read what servers of any release write: as parse_lenient, with bare integer keys at any size.

    Raises:
        MalformedBodyError: As parse_lenient.
    """
    try:
        return _decode(data)
    except _NOT_STANDARD:
        pass
    try:
        # What is standard JSON now holds no text in other quotes, in which something else than a key could have matched.
        return _decode(_TEXT_OR_BARE_KEY.sub(_quoted_key, data))
    except _NOT_STANDARD:
        return parse_lenient(data)


def _quoted_key(found: re.Match[bytes]) -> bytes:
    return found[0] if found[2] is None else b'%b"%b"' % (found[1], found[2])


def to_int32(value: Any, default: int = 0) -> int:
    """Convert as fastjson does for a Java int: numbers as text, floats truncated, booleans, null as `default`.

    Raises:
        MalformedBodyError: Not a number, or outside int32.
    """
    return _to_integer(value, default, _INT32_RANGE)


def to_int64(value: Any, default: int = 0) -> int:
    """Convert as fastjson does for a Java long. As to_int32 otherwise."""
    return _to_integer(value, default, _INT64_RANGE)


def to_bool(value: Any, *, default: bool = False) -> bool:
    """Convert as fastjson does for a Java boolean.

    Raises:
        MalformedBodyError: Neither a boolean nor a number nor text of one.
    """
    if value is None or value == "":
        return default
    if isinstance(value, bool | int):
        return bool(value)
    if isinstance(value, str) and value.lower() in _BOOLEAN_TEXTS:
        return _BOOLEAN_TEXTS[value.lower()]
    raise MalformedBodyError(f"{_shown(value)} is not a boolean")


def to_text(value: Any) -> str | None:
    """Convert as fastjson does for a Java String: null stays, scalars and structures become their JSON text."""
    return None if value is None else json_text(value)


def json_text(value: Any) -> str:
    """Give a string itself, and anything else as its JSON text.

    Raises:
        MalformedBodyError: Nested too deeply to be written.
    """
    if isinstance(value, str):
        return value
    try:
        return _encode(value).decode("utf-8")
    except RecursionError as error:
        raise MalformedBodyError("a value is nested too deeply") from error


_BOOLEAN_TEXTS: Final = {"true": True, "false": False, "1": True, "0": False}


def _to_integer(value: Any, default: int, allowed: range) -> int:
    if value is None or value == "":
        return default
    number = value
    if isinstance(value, str):
        number = _number_in(value)
    if isinstance(number, float):
        if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 -- NaN is what differs from itself
            raise MalformedBodyError(f"{_shown(value)} is not an integer")
        number = int(number)
    if not isinstance(number, int):
        raise MalformedBodyError(f"{_shown(value)} is not an integer")
    if number not in allowed:
        raise MalformedBodyError(f"{_shown(value)} is out of range")
    return int(number)


def _number_in(text: str) -> int | float | None:
    match = _NUMBER_TEXT.fullmatch(text) if len(text) <= _NUMBER_MAX_CHARACTERS else None
    if match is None:
        return None
    return int(text) if match.group(1) is None and match.group(2) is None else float(text)


def _shown(value: Any) -> str:
    """Name a value in an error text; what is inside a structure stays there."""
    return f"a {type(value).__name__}" if isinstance(value, dict | list) else repr(value)[:60]
