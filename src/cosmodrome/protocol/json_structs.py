"""Structs and the JSON documents that carry them.

Owns: the only conversions between body structs and documents; fastjson's tolerance in reading their members.
Must not know: what a struct is for.

A body is a frozen struct derived of `BodyFields`. The name on the wire of a member is its own in camel case, or that of
`msgspec.field(name=)`. Members may be str, bool, float, int (a Java long), Int32, StrEnum, structs, tuples and mappings
of these with str, int or struct keys, each of them or None. A member without a default must be there.
"""

import functools
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_dialects import (
    JsonDialect,
    encode_json,
    integer_keyed,
    to_bool,
    to_int32,
    to_int64,
    to_text,
)
from cosmodrome.protocol.json_keys import object_keyed, parse_key, parse_keyed

StructT = TypeVar("StructT", bound=msgspec.Struct)
_Read = Callable[[Any], Any]

_WRAPPERS: Final = (Annotated, types.UnionType, typing.Union)
_NUMBER_MAX_CHARACTERS: Final = 400
_ERROR_MAX_CHARACTERS: Final = 180


class BodyFields(msgspec.Struct, frozen=True, rename="camel"):
    """What structs that are bodies, or parts of them, derive of."""


class _Member(typing.NamedTuple):
    name: str
    wire: str
    read: _Read
    is_required: bool


def decode_body(struct_type: type[StructT], body: bytes) -> StructT:
    """Read a body as any release writes it: object keys, bare integer keys, ordinals, numbers as text.

    A member that is null, or absent, has its default. Members that are not known are passed over.

    Raises:
        MalformedBodyError: Not readable, a member of another type, or none where one must be.
        BodyLimitError: More values than one document may hold.
    """
    return from_json(struct_type, parse_keyed(body))


def encode_body(struct: msgspec.Struct, dialect: JsonDialect = JsonDialect.PLAIN) -> bytes:
    """Write a body as fastjson does: no white space, names in alphabetical order, nulls left out, objects as keys.

    Raises:
        ValueError: A text holds half a surrogate pair.
    """
    return encode_json(to_json(struct, dialect))


def from_json(struct_type: type[StructT], document: Any) -> StructT:
    """Read a parsed document; object keys are texts in it. As decode_body.

    Raises:
        MalformedBodyError: As decode_body.
    """
    if not isinstance(document, dict):
        raise MalformedBodyError(f"a {struct_type.__name__} is not an object")
    values: dict[str, Any] = {}
    for member in _members(struct_type):
        value = _read_member(member, document.get(member.wire))
        if value is not None:
            values[member.name] = value
        elif member.is_required:
            raise MalformedBodyError(f"a {struct_type.__name__} has no {member.wire}")
    return struct_type(**values)


def _read_member(member: _Member, value: Any) -> Any:
    if value is None:
        return None
    try:
        return member.read(value)
    except MalformedBodyError as error:
        raise type(error)(f"{member.wire}: {error}"[:_ERROR_MAX_CHARACTERS]) from error


def to_json(value: Any, dialect: JsonDialect = JsonDialect.PLAIN) -> Any:
    """Give a struct, or a collection of them, in the form that `encode_json` writes."""
    if isinstance(value, msgspec.Struct):
        members = ((wire, getattr(value, name)) for wire, name in _sorted_names(type(value)))
        return {wire: to_json(member, dialect) for wire, member in members if member is not None}
    if isinstance(value, Mapping):
        return _map_json(value, dialect)
    if isinstance(value, tuple | list):
        return [to_json(item, dialect) for item in value]
    return value


def _map_json(mapping: Mapping[Any, Any], dialect: JsonDialect) -> Any:
    members = {key: to_json(value, dialect) for key, value in mapping.items()}
    first = next(iter(members), None)
    if isinstance(first, msgspec.Struct):
        return object_keyed((to_json(key, dialect), value) for key, value in members.items())
    if isinstance(first, int):
        return integer_keyed(members, dialect)
    return members


@functools.cache
def _members_of(struct_type: type[Any]) -> tuple[_Member, ...]:
    return tuple(
        _Member(field.name, field.encode_name, _reader(field.type), field.required)
        for field in msgspec.structs.fields(struct_type)
    )


def _members(struct_type: type[Any]) -> tuple[_Member, ...]:
    return _members_of(struct_type)  # type: ignore[arg-type]  # mypy takes the hash of instances for that of the class


@functools.cache
def _sorted_names_of(struct_type: type[Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((field.encode_name, field.name) for field in msgspec.structs.fields(struct_type)))


def _sorted_names(struct_type: type[Any]) -> tuple[tuple[str, str], ...]:
    return _sorted_names_of(struct_type)  # type: ignore[arg-type]  # as above


def _reader(kind: Any) -> _Read:
    """Make the reader of one type; it never gets null."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in _WRAPPERS:
        return _reader(next(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        return _tuple_reader(_reader(arguments[0]))
    if origin is Mapping:
        return _mapping_reader(_key_reader(arguments[0]), _reader(arguments[1]))
    return functools.partial(_to_member if issubclass(kind, StrEnum) else from_json, kind)


def _tuple_reader(read: _Read) -> _Read:
    def read_tuple(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise MalformedBodyError("not a list")
        return tuple(read(item) for item in value if item is not None)

    return read_tuple


def _mapping_reader(read_key: _Read, read: _Read) -> _Read:
    def read_mapping(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise MalformedBodyError("not an object")
        return {read_key(key): read(member) for key, member in value.items() if member is not None}

    return read_mapping


def _key_reader(kind: Any) -> _Read:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return lambda key: from_json(kind, parse_key(key))
    return _reader(kind)


def _to_member(kind: type[StrEnum], value: Any) -> StrEnum | None:
    """Give the member of that name or ordinal; None for a name that is not known, as in fastjson."""
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        return kind.__members__.get(value)
    members = list(kind)
    ordinal = to_int64(value, -1)
    if ordinal not in range(len(members)):
        raise MalformedBodyError(f"no {kind.__name__} has this number")
    return members[ordinal]


def _to_float(value: Any) -> float:
    if isinstance(value, str):
        value = _number_in(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise MalformedBodyError("not a number")


def _number_in(text: str) -> float | None:
    """Read a Java double's text; None for what is none."""
    if len(text) > _NUMBER_MAX_CHARACTERS or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _to_str(value: Any) -> str:
    return to_text(value) or ""


_SCALARS: Final[dict[Any, _Read]] = {
    str: _to_str, bool: to_bool, int: to_int64, Int32: to_int32, float: _to_float,
}  # fmt: skip
