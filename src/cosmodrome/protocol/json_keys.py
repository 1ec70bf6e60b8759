"""Maps whose keys are objects or numbers, as fastjson writes them.

Owns: reading and writing such maps; where a document refers to a part of itself, the part in its place.
Must not know: what a key or a document means.

    {"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5},"delays":{3:120}}

A key that is an object is read as the text of that object, a key that is a number as its digits.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.json_dialects import MAX_VALUES, encode_json, parse_lenient

MAX_REFERRED_VALUES: Final = 10_000
"""Values that references of one document may stand for, in total: what is referred to often is small."""
_MAX_PATH_CHARACTERS: Final = 500

# A text, also one without end, is passed over whole, so that nothing in it is taken for a key. A key that is an object
# holds scalars only: no brace outside its texts.
_TEXT_OR_KEY: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*+"?'
    rb'|(?P<before>[{,]\s*+)(?:(?P<object>\{(?:[^{}"]|"(?:[^"\\]|\\.)*+")*+\})|(?P<number>-?[0-9]++))(?=\s*+:)',
    re.DOTALL,
)
_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\[(?P<index>[0-9]{1,9})\]|\[(?P<quote>[\"'])(?P<quoted>.*?)(?P=quote)\]"
)

_decode: Final = msgspec.json.Decoder().decode
_NOT_STANDARD: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse_keyed(data: bytes, max_values: int = MAX_VALUES) -> Any:
    """Read a document in which maps may have any keys, and in which parts may be references to others.

    What is standard JSON, or becomes it with these keys quoted, may have any size; the rest is read as by
    `parse_lenient`.

    Raises:
        MalformedBodyError: As parse_lenient.
        BodyLimitError: As parse_lenient, or references stand for more than MAX_REFERRED_VALUES values.
    """
    if len(data) > max_values and data.count(b",") + data.count(b"[") + data.count(b"{") >= max_values:
        raise BodyLimitError(f"more than {max_values} values in one document")
    document = _parse(data, max_values)
    return resolve_references(document) if b'"$ref"' in data else document


def _parse(data: bytes, max_values: int) -> Any:
    try:
        return _decode(data)
    except _NOT_STANDARD:
        quoted = _with_quoted_keys(data)
    try:
        return _decode(quoted)
    except _NOT_STANDARD:
        return parse_lenient(quoted, max_values)


def _with_quoted_keys(data: bytes) -> bytes:
    """Quote the keys that are not; a key that is an object becomes a text."""
    quoted = bytearray()
    end = 0
    for found in _TEXT_OR_KEY.finditer(data):
        before, key, number = found.group("before", "object", "number")
        if before is not None:
            quoted += data[end : found.start()] + before
            quoted += b'"%b"' % number if key is None else encode_json(key.decode("utf-8", "replace"))
            end = found.end()
    quoted += data[end:]
    return bytes(quoted)


def object_keyed(members: Iterable[tuple[Any, Any]]) -> msgspec.Raw:
    """Write a map with objects as keys, ready to be placed into a larger document."""
    return msgspec.Raw(b"{%b}" % b",".join(b"%b:%b" % (encode_json(key), encode_json(value)) for key, value in members))


def resolve_references(document: Any) -> Any:
    """Put the part that is meant in the place of each `{"$ref":"$.a.b[0]"}`.

    A reference that leads nowhere, to something that holds references itself, or that is relative (`@`, `..`) becomes
    null: who writes one has written an object that holds itself.

    Raises:
        BodyLimitError: References stand for more than MAX_REFERRED_VALUES values.
        MalformedBodyError: The document is nested too deeply.
    """
    try:
        return _References(document).resolved(document)
    except RecursionError as error:
        raise MalformedBodyError("nested too deeply") from error


class _References:
    """The document that references lead into, and what they have cost."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._values = 0

    def resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and isinstance(path := value.get("$ref"), str):
            return self._target(path)
        return {key: self.resolved(member) for key, member in value.items()}

    def _target(self, path: str) -> Any:
        target = _found(self._document, path)
        waiting = [target]
        while waiting:
            value = waiting.pop()
            self._values += 1
            if self._values > MAX_REFERRED_VALUES:
                raise BodyLimitError(f"references to more than {MAX_REFERRED_VALUES} values in one document")
            if isinstance(value, dict):
                if "$ref" in value:
                    return None
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
        return target


def _found(document: Any, path: str) -> Any:
    """Give what a path from the root leads to, or None."""
    if not path.startswith("$") or len(path) > _MAX_PATH_CHARACTERS:
        return None
    value, at = document, 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        name = step["name"] if step["name"] is not None else step["quoted"]
        if name is not None and isinstance(value, dict):
            value = value.get(name)
        elif step["index"] is not None and isinstance(value, list) and int(step["index"]) < len(value):
            value = value[int(step["index"])]
        else:
            return None
        at = step.end()
    return value


def parse_key(text: str) -> Any:
    """Read a key that was an object.

    Raises:
        MalformedBodyError: It is no document.
    """
    try:
        return _decode(text)
    except _NOT_STANDARD as error:
        raise MalformedBodyError(f"{text[:60]!r} is no key") from error
