"""The checkpoint: what of a store is certainly on disk.

Owns: the file's layout, Java's part and ours behind it.
Must not know: how it came to be on disk.

Java's brokers read and write the first 40 bytes and leave the rest as it is. What we add there holds only as long as
Java's part is the one beside which it was written.
"""

import struct
import zlib
from typing import Final, NamedTuple

CHECKPOINT_BYTES: Final = 4096
_JAVA: Final = struct.Struct(">qqqqq")
_OURS_AT: Final = 64
_OURS: Final = struct.Struct(">8sqqqqqI?")
_CRC: Final = struct.Struct(">I")
_MAGIC: Final = b"COSMODR1"


class Times(NamedTuple):
    """Store times up to which the log, the queues and the index are flushed; the rest belongs to 5.x's replication."""

    log_ms: int = 0
    queues_ms: int = 0
    index_ms: int = 0
    master_flushed_offset: int = 0
    confirmed_offset: int = 0


class Mark(NamedTuple):
    """What we know more exactly than Java's part says.

    Attributes:
        flushed_to: The log before it, and all units of it, are on disk.
        indexed_to: Records before it are in the index, on disk.
        last_indexed: The newest record of which the index has a key; -1 when it has none.
        last_store_ms: Of the record before `flushed_to`.
        queues_digest: Of all queues, of a clean stop.
        is_clean: Whether this was written by a clean stop, with nothing behind it.
    """

    flushed_to: int
    indexed_to: int
    last_indexed: int
    last_store_ms: int
    queues_digest: int = 0
    is_clean: bool = False


def encode_checkpoint(times: Times, mark: Mark | None) -> bytes:
    """Write the whole file."""
    java = _JAVA.pack(*times)
    data = java.ljust(_OURS_AT, b"\0")
    if mark is not None:
        data += _OURS.pack(_MAGIC, times.log_ms, *mark)
        data += _CRC.pack(zlib.crc32(data))
    return data.ljust(CHECKPOINT_BYTES, b"\0")


def decode_checkpoint(data: bytes) -> tuple[Times, Mark | None]:
    """Read a file; what is missing of it is zeros. Our part is None unless it belongs to the times beside it."""
    data = data[:CHECKPOINT_BYTES].ljust(CHECKPOINT_BYTES, b"\0")
    times = Times._make(_JAVA.unpack_from(data))
    end = _OURS_AT + _OURS.size
    magic, log_ms, *fields = _OURS.unpack_from(data, _OURS_AT)
    (crc,) = _CRC.unpack_from(data, end)
    if magic != _MAGIC or log_ms != times.log_ms or crc != zlib.crc32(data[:end]):
        return times, None
    return times, Mark._make(fields)
