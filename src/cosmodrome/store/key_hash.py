"""Java's hash of `topic#key`, for very many keys.

Owns: the hash of a key behind a topic whose hash is known; the number that an index file has of it.
Must not know: index files.
"""

import functools
from operator import mul
from typing import Final

from cosmodrome.protocol.messages.properties import properties_text
from cosmodrome.protocol.messages.tag_hash import java_hash

_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_LONGEST: Final = 64
_POWERS: Final = tuple(pow(31, exponent, 2**32) for exponent in range(_LONGEST + 1))
_WEIGHTS: Final = tuple(tuple(reversed(_POWERS[:length])) for length in range(_LONGEST + 1))
"""For each length the weight of each character, the first one's first."""
_ID_LENGTH: Final = 32
"""Of the ids that clients make; all of one client begin alike for a minute."""
_HEAD: Final = 24
_MOMENT: Final = 28
"""What is before it also has the milliseconds of a client's clock; behind it is a count."""
_MOMENT_WEIGHTS: Final = _WEIGHTS[_MOMENT - _HEAD]
_W3, _W2, _W1 = (_POWERS[exponent] for exponent in (3, 2, 1))
TAG_PREFIX: Final = b"T#"
"""What a tag becomes a key with; there are few of them."""


def key_hash(topic_hash: int, key: bytes) -> int:
    """Give the number of a key: the absolute value of Java's hash of `topic#key`.

    Args:
        topic_hash: Java's hash of `topic#`.
        key: In UTF-8, as it is stored.
    """
    if len(key) == _ID_LENGTH and key.isascii():
        begun = _begun_to_moment(topic_hash, key[:_MOMENT])
        value = begun + key[28] * _W3 + key[29] * _W2 + key[30] * _W1 + key[31] & _MASK
        return value if value < _SIGN else _absolute(value)
    if key.startswith(TAG_PREFIX):
        return _tag_hash(topic_hash, key)
    return _hash(topic_hash, key)


def _absolute(value: int) -> int:
    value &= _MASK
    if value < _SIGN:
        return value
    # Java's absolute value of its smallest number is negative, and taken for 0.
    return 0 if value == _SIGN else _MASK + 1 - value


@functools.lru_cache(maxsize=4096)
def _tag_hash(topic_hash: int, key: bytes) -> int:
    return _hash(topic_hash, key)


def _hash(topic_hash: int, key: bytes) -> int:
    length = len(key)
    if length <= _LONGEST and key.isascii():
        return _absolute(topic_hash * _POWERS[length] + sum(map(mul, key, _WEIGHTS[length])))
    text = properties_text(key)
    units = len(text.encode("utf-16-be", "surrogatepass")) // 2
    return _absolute(topic_hash * pow(31, units, 2**32) + java_hash(text))


@functools.lru_cache(maxsize=4096)
def _begun_to_moment(topic_hash: int, head: bytes) -> int:
    value: int = _begun(topic_hash, head[:_HEAD]) + sum(map(mul, head[_HEAD:], _MOMENT_WEIGHTS))
    return value * _POWERS[_ID_LENGTH - _MOMENT] & _MASK


@functools.lru_cache(maxsize=4096)
def _begun(topic_hash: int, head: bytes) -> int:
    value: int = topic_hash * _POWERS[_HEAD] + sum(map(mul, head, _WEIGHTS[_HEAD]))
    return value * _POWERS[_MOMENT - _HEAD] & _MASK
