"""Java's hash of a text: what a consume queue holds of a tag, and an index of a key.

Owns: the hash.
Must not know: what is hashed.
"""

import functools
from typing import Final

_UNIT_BYTES: Final = 2
_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_SHORT: Final = 64
"""Characters of a tag that is worth remembering: what senders make up must not fill the memory."""


def java_hash(text: str) -> int:
    """Give Java's `String.hashCode`, a signed 32-bit number: it counts in UTF-16 units."""
    value = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            value = (31 * value + unit) & _MASK
    else:
        data = text.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(data), _UNIT_BYTES):
            value = (31 * value + (data[at] << 8 | data[at + 1])) & _MASK
    return (value ^ _SIGN) - _SIGN


def tag_code(tag: str | None) -> int:
    """Give the number that stands for a tag in a consume queue and in a subscription; 0 for no tag."""
    if not tag:
        return 0
    return _remembered(tag) if len(tag) <= _SHORT else java_hash(tag)


@functools.lru_cache(maxsize=4096)
def _remembered(tag: str) -> int:
    return java_hash(tag)
