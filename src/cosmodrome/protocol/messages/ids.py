"""Message ids: those that senders make up, and those that say where a record is.

Owns: both layouts, in both lengths.
Must not know: the clock; this process; where randomness comes from.
"""

import ipaddress
import struct
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.hosts import PORTS, decode_host, encode_host

_V4_ID_DIGITS: Final = 32
_V6_ID_DIGITS: Final = 56
_OFFSET: Final = struct.Struct(">q")
_AFTER_IP: Final = struct.Struct(">HIIH")
_WORD: Final = 0xFFFFFFFF
_HALF: Final = 0xFFFF
_BYTE: Final = 0xFF
_DIGITS: Final = tuple(f"{number:02X}" for number in range(256))


class UniqueIds:
    """Makes the ids of one sender: 32 digits, or 56 on a host with an IPv6 address.

    Two senders with one address and one process number, as containers have them, differ by `discriminator`, 32 bits
    that each process draws at random, and anew after a fork.
    """

    __slots__ = ("_begun", "_begun_ms", "_counter", "_prefix")

    def __init__(self, ip: str, pid: int, discriminator: int) -> None:
        self._counter = 0
        self._begun = ""
        self._begun_ms: int | None = None
        address = ipaddress.ip_address(ip.partition("%")[0]).packed
        self._prefix = f"{address.hex().upper()}{pid & _HALF:04X}{discriminator & _WORD:08X}"

    def next(self, now_ms: int, month_start_ms: int) -> str:
        """Give an id. `month_start_ms` is when the current month began in local time."""
        counter = self._counter
        self._counter = (counter + 1) & _HALF
        low = counter & _BYTE
        elapsed_ms = now_ms - month_start_ms
        if low == 0 or elapsed_ms != self._begun_ms:  # many are made in one millisecond
            self._begun_ms = elapsed_ms
            self._begun = f"{self._prefix}{elapsed_ms & _WORD:08X}{counter >> 8:02X}"
        return self._begun + _DIGITS[low]


class UniqueId(NamedTuple):
    """What a sender's id says, if it is made as Java makes it."""

    ip: str
    pid: int
    discriminator: int
    ms_in_month: int
    counter: int

    def made_at_ms(self, now_ms: int, month_start_ms: int, previous_month_start_ms: int) -> int:
        """Give when it was made, if that was in this month or in the one before."""
        this_month = month_start_ms + self.ms_in_month
        return this_month if this_month <= now_ms else previous_month_start_ms + self.ms_in_month


class OffsetMessageId(NamedTuple):
    """What a broker's id says: whom to ask, and for what."""

    host: str
    port: int
    commit_log_offset: int


def decode_unique_id(text: str) -> UniqueId | None:
    """Read a sender's id; None when it has another form, which is as good an id."""
    data = _bytes_of(text)
    if data is None:
        return None
    ip, rest = data[: -_AFTER_IP.size], data[-_AFTER_IP.size :]
    return UniqueId(str(ipaddress.ip_address(ip)), *_AFTER_IP.unpack(rest))


def offset_msg_id(host: str, port: int, commit_log_offset: int) -> str:
    """Give the id that a broker gives the record at this offset.

    Raises:
        ValueError: Not an IP address, or no port.
    """
    return (encode_host(host, port) + _OFFSET.pack(commit_log_offset)).hex().upper()


def decode_offset_msg_id(text: str) -> OffsetMessageId | None:
    """Read a broker's id; None when it is none.

    A sender's id has as many digits. Where an id of a broker has the port, it has its process number, which gives a
    port beyond the last one unless that number is 0.
    """
    data = _bytes_of(text)
    if data is None:
        return None
    host, port = decode_host(data[: -_OFFSET.size])
    return OffsetMessageId(host, port, *_OFFSET.unpack(data[-_OFFSET.size :])) if port in PORTS else None


def _bytes_of(text: str) -> bytes | None:
    if len(text) not in (_V4_ID_DIGITS, _V6_ID_DIGITS):
        return None
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if 2 * len(data) == len(text) else None
