"""How much a value holds.

Owns: the measure by which targets say that what is read is no larger than what was sent.
Must not know: what the value means.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


def text_size(value: Any) -> int:
    """Give the characters of all texts in a value, structures counted by their parts."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(text_size(key) + text_size(member) for key, member in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(map(text_size, value))
    if isinstance(value, msgspec.Struct):
        return sum(text_size(getattr(value, name)) for name in value.__struct_fields__)
    return 0


def item_count(value: Any) -> int:
    """Give how many entries the containers in a value have together."""
    if isinstance(value, Mapping):
        return len(value) + sum(map(item_count, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) + sum(map(item_count, value))
    if isinstance(value, msgspec.Struct):
        return sum(item_count(getattr(value, name)) for name in value.__struct_fields__)
    return 0
