"""The bits of a message's system flag.

Owns: their numbers, and the two numbers that are made of several bits.
Must not know: who sets them.
"""

from enum import IntEnum
from typing import Final

COMPRESSED: Final = 0x1
"""The body is compressed."""
MULTI_TAGS: Final = 0x2
TRANSACTION_MASK: Final = 0xC
BORN_HOST_V6: Final = 0x10
"""The born host has 20 bytes."""
STORE_HOST_V6: Final = 0x20
"""The store host has 20 bytes."""
NEED_UNWRAP: Final = 0x40
INNER_BATCH: Final = 0x80
_COMPRESSION_SHIFT: Final = 8
COMPRESSION_MASK: Final = 0x7 << _COMPRESSION_SHIFT


class TransactionType(IntEnum):
    """What a message is to a transaction; the value is the bits in their place."""

    NONE = 0x0
    PREPARED = 0x4
    COMMIT = 0x8
    ROLLBACK = 0xC


class CompressionType(IntEnum):
    """How a body is compressed, as the three bits say it."""

    ZLIB_UNSAID = 0
    """zlib by senders that do not set the bits: Go, C++, old Java."""
    LZ4 = 1
    ZSTD = 2
    ZLIB = 3


def transaction_type(sys_flag: int) -> TransactionType:
    """Read the transaction bits."""
    return TransactionType(sys_flag & TRANSACTION_MASK)


def with_transaction_type(sys_flag: int, kind: TransactionType) -> int:
    """Give a flag with other transaction bits."""
    return sys_flag & ~TRANSACTION_MASK | kind


def compression_type(sys_flag: int) -> CompressionType | None:
    """Read the compression bits; None when they hold a number that is not in use. COMPRESSED is another matter."""
    return _COMPRESSION_TYPES.get((sys_flag & COMPRESSION_MASK) >> _COMPRESSION_SHIFT)


def compressed(sys_flag: int, kind: CompressionType) -> int:
    """Give a flag that says that the body is compressed in this way."""
    return sys_flag & ~COMPRESSION_MASK | COMPRESSED | kind << _COMPRESSION_SHIFT


def inflated(sys_flag: int) -> int:
    """Give a flag that says that the body is plain."""
    return sys_flag & ~(COMPRESSION_MASK | COMPRESSED)


_COMPRESSION_TYPES: Final = {int(kind): kind for kind in CompressionType}
