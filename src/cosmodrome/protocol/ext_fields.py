"""Typed headers and the string maps that carry them.

Owns: the only conversions between header dataclasses and extFields.
Must not know: what a header is for.

A header is a frozen dataclass or a struct derived of `HeaderFields`, whose fields are `str | None`, `int | None` or
`bool | None`, all with defaults. The name on the wire is the field's in camel case, or `metadata["wire"]` of a
dataclass and `msgspec.field(name=)` of a struct. An int is a Java long, or with the metadata `JAVA_INT`, in a struct
as `Int32 | None`, a Java int: what does not fit is not readable. Making a struct costs a quarter of a dataclass:
headers of messages are structs.
"""

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import msgspec

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import ResponseCode

HeaderT = TypeVar("HeaderT")
_Layout = tuple[tuple[str, str, Callable[[str], Any]], ...]

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_SURELY_FITS: Final = 19
_JAVA_LONG: Final = range(-(2**63), 2**63)
_JAVA_INT: Final = range(-(2**31), 2**31)

JAVA_INT: Final[Mapping[str, Any]] = {"java": "int"}
Int32 = Annotated[int, msgspec.Meta(ge=_JAVA_INT.start, le=_JAVA_INT.stop - 1)]


class HeaderFields(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What headers that are structs derive of."""


def wire_name(name: str) -> dict[str, str]:
    """Give the metadata of a field whose name on the wire is not its own in camel case."""
    return {"wire": name}


def decode_ext_fields(header_type: type[HeaderT], ext_fields: Mapping[str, str | None] | None) -> HeaderT:
    """Read a header. A field that is missing, null or not readable keeps its default, as in Java."""
    if not ext_fields:
        return header_type()
    values: dict[str, Any] = {}
    for name, wire, convert in _layout(header_type):
        text = ext_fields.get(wire)
        if text is not None:
            value = convert(text)
            if value is not None:
                values[name] = value
    return header_type(**values)


def encode_ext_fields(header: Any) -> dict[str, str | None]:
    """Write a header; fields that are None are left out."""
    fields: dict[str, str | None] = {}
    for name, wire, _ in _layout(type(header)):
        value = getattr(header, name)
        if value is not None:
            fields[wire] = str(value).lower() if isinstance(value, bool) else str(value)
    return fields


def require(header: Any, *names: str) -> None:
    """Refuse a request whose header lacks a field, before anything is changed.

    Raises:
        RequestRefusedError: SYSTEM_ERROR, naming the first field that is missing as it is called on the wire.
    """
    for name in names:
        if getattr(header, name) is None:
            wire = next(wire for field, wire, _ in _layout(type(header)) if field == name)
            remark = f"the custom field <{wire}> is null"
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause="missing_field")


def _to_int(text: str) -> int | None:
    if len(text) < _SURELY_FITS and text.isascii() and text.isdigit():
        return int(text)
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number in _JAVA_LONG else None


def _to_java_int(text: str) -> int | None:
    number = _to_int(text)
    return None if number is None or number not in _JAVA_INT else number


def _to_bool(text: str) -> bool:
    return text.lower() == "true"


_CONVERTERS: Final[dict[Any, Callable[[str], Any]]] = {
    str: str, int: _to_int, Int32: _to_java_int, bool: _to_bool,
}  # fmt: skip


def _layout(header_type: type[Any]) -> _Layout:
    return _layout_of(header_type)  # type: ignore[arg-type]  # mypy takes the hash of instances for that of the class


@functools.cache
def _layout_of(header_type: type[Any]) -> _Layout:
    if issubclass(header_type, msgspec.Struct):
        return tuple(
            (field.name, field.encode_name, _CONVERTERS[typing.get_args(field.type)[0]])
            for field in msgspec.structs.fields(header_type)
        )
    hints = get_type_hints(header_type)
    return tuple(
        (
            field.name,
            field.metadata.get("wire") or _camel(field.name),
            _to_java_int if field.metadata.get("java") == "int" else _CONVERTERS[typing.get_args(hints[field.name])[0]],
        )
        for field in dataclasses.fields(header_type)
    )


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
