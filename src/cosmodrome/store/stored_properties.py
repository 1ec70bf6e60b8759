"""Single properties out of a stored text, without reading all of it.

Owns: finding the last entry with a name; what the store itself needs of a message: its tag, its keys, when it is due.
Must not know: records; files.
"""

import functools
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.properties import DELAY, KEYS, TAGS, UNIQ_KEY, decode_properties, properties_text
from cosmodrome.protocol.messages.tag_hash import tag_code
from cosmodrome.store.key_hash import TAG_PREFIX

_SEPARATOR: Final = b"\x01"
_END: Final = b"\x02"
_END_BYTE: Final = 2
_SHORT: Final = 64


class PropertyName(NamedTuple):
    """A name, and how an entry with it begins."""

    text: str
    begin: bytes


_TAGS: Final = PropertyName(TAGS, TAGS.encode() + _SEPARATOR)
_KEYS: Final = PropertyName(KEYS, KEYS.encode() + _SEPARATOR)
_UNIQ_KEY: Final = PropertyName(UNIQ_KEY, UNIQ_KEY.encode() + _SEPARATOR)
_DELAY: Final = PropertyName(DELAY, DELAY.encode() + _SEPARATOR)


def value_of(properties: bytes, name: PropertyName) -> bytes:
    """Give the value of a property as `decode_properties` would, b"" when there is none."""
    text, begin = name
    at = properties.rfind(begin)
    if at < 0:
        return b""
    value_at = at + len(begin)
    end = properties.find(_END, value_at)
    value = properties[value_at:end] if end >= 0 else properties[value_at:]
    if value and _SEPARATOR not in value and (not at or properties[at - 1] == _END_BYTE):
        return value
    # It is not an entry with this name; another one may be.
    return decode_properties(properties_text(properties)).get(text, "").encode("utf-8", "surrogatepass")


def tag_of(properties: bytes) -> bytes:
    """Give the tag, b"" without one."""
    return value_of(properties, _TAGS)


def code_of(tag: bytes) -> int:
    """Give the number of a tag, 0 of none."""
    return _code_of(tag) if len(tag) <= _SHORT else tag_code(properties_text(tag))


@functools.lru_cache(maxsize=4096)
def _code_of(tag: bytes) -> int:
    return tag_code(properties_text(tag))


def due_code_of(properties: bytes, store_ms: int, delays_ms: tuple[int, ...]) -> int | None:
    """Give when a message in the schedule topic is due, None if it says no level."""
    value = value_of(properties, _DELAY)
    try:
        level = int(value)
    except ValueError:
        return None
    return store_ms + delays_ms[min(level, len(delays_ms)) - 1] if level > 0 and delays_ms else None


def index_keys_of(properties: bytes, tag: bytes) -> list[bytes]:
    """Give the keys by which a message is found, in the order in which Apache's brokers index them; `tag` is one if given."""
    unique = value_of(properties, _UNIQ_KEY)
    keys = [unique] if unique else []
    if _KEYS.begin in properties:
        keys += [word for word in value_of(properties, _KEYS).split(b" ") if word]
    if tag:
        keys.append(TAG_PREFIX + tag)
    return keys
