"""JSON as mqadmin prints it for people.

Owns: tabs, Java's member names in alphabetical order, bare integer keys, as fastjson writes them.
Must not know: what is printed.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from cosmodrome.protocol.json_dialects import encode_json


def java_pretty(value: Any, depth: int = 0) -> str:
    """Write a wire value; members that are None are left out."""
    if isinstance(value, msgspec.Struct):
        members = {_camel(name): getattr(value, name) for name in value.__struct_fields__}
        parts = [(_text(name), members[name]) for name in sorted(members) if members[name] is not None]
    elif isinstance(value, Mapping):
        known = {key: each for key, each in value.items() if each is not None}
        parts = [(str(key) if isinstance(key, int) else _text(key), each) for key, each in known.items()]
    elif isinstance(value, list | tuple):
        # An empty list is written as one with an empty line in it.
        return _enclosed("[", [java_pretty(each, depth + 1) for each in value] or [""], "]", depth)
    else:
        return _text(value)
    return _enclosed("{", [f"{key}:{java_pretty(each, depth + 1)}" for key, each in parts], "}", depth)


def _enclosed(opening: str, parts: list[str], closing: str, depth: int) -> str:
    if not parts:
        return opening + closing
    inner = "\n" + "\t" * (depth + 1)
    outer = "\n" + "\t" * depth
    return f"{opening}{inner}{f',{inner}'.join(parts)}{outer}{closing}"


def _text(value: Any) -> str:
    return encode_json(value).decode()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
