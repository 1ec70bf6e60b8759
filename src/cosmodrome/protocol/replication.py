"""What a master and a slave say to each other over the replication port (Java: DefaultHAService).

Owns: where a report and a transfer begin and end; their numbers.
Must not know: which offsets make sense; whose connection it is.

Nobody greets, and nothing names the sender: a slave sends `offset 8` as often as it likes, a master `offset 8, size 4`
and so many bytes of its log.
"""

import struct
from typing import Final

REPORT_BYTES: Final = 8
TRANSFER_HEADER_BYTES: Final = 12
NOT_AN_OFFSET: Final = 2**56
"""No log is as long; what is read as such a number is text, or another protocol."""
_REPORT: Final = struct.Struct(">q")
_TRANSFER: Final = struct.Struct(">qi")


class ReportReader:
    """Finds the reports of a slave in what it sends, however that was cut."""

    def __init__(self) -> None:
        """Begin at the start of a connection."""
        self._rest = b""

    def feed(self, data: bytes) -> tuple[int, ...]:
        """Accept bytes in the order of their arrival, and give the reports that are whole now."""
        data = self._rest + data if self._rest else data
        count, left = divmod(len(data), REPORT_BYTES)
        self._rest = data[len(data) - left :]
        return struct.unpack_from(f">{count}q", data)


def encode_report(offset: int) -> bytes:
    """Give what a slave sends."""
    return _REPORT.pack(offset)


def encode_transfer_header(offset: int, size: int) -> bytes:
    """Give what precedes `size` bytes of the log; with 0 it only says that the master is there."""
    return _TRANSFER.pack(offset, size)


def decode_transfer_header(data: bytes | memoryview) -> tuple[int, int]:
    """Give offset and size. `data` has `TRANSFER_HEADER_BYTES`."""
    offset, size = _TRANSFER.unpack(data)
    return offset, size
