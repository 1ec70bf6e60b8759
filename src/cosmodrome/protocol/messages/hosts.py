"""Hosts as records and ids hold them: 4 or 16 bytes of address, 4 bytes of port.

Owns: those bytes, and their text.
Must not know: whose host it is; names that have to be looked up.
"""

import functools
import ipaddress
import struct
from typing import Final, NamedTuple

V4_BYTES: Final = 8
V6_BYTES: Final = 20
PORTS: Final = range(2**16)

_V4: Final = struct.Struct(">4BI")
_PORT: Final = struct.Struct(">I")
_PORT_BYTES: Final = 4


class Host(NamedTuple):
    """An IP address without brackets, and a port."""

    ip: str
    port: int

    def __str__(self) -> str:
        """Give `ip:port`, with brackets around an IPv6 address."""
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


@functools.lru_cache(maxsize=4096)
def encode_host(ip: str, port: int) -> bytes:
    """Give the bytes of a host. An IPv4 address that is dressed as IPv6 (`::ffff:10.0.0.1`) is written as IPv4.

    Brackets and the scope of a link-local address (`fe80::1%eth0`) have no place in them and are left out.

    Raises:
        ValueError: Not an IP address, or no port.
    """
    if port not in PORTS:
        raise ValueError(f"{port} is no port")
    bare = ip.removeprefix("[").removesuffix("]").partition("%")[0]
    address = ipaddress.ip_address(bare)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.packed + _PORT.pack(port)


def decode_host(data: bytes) -> Host:
    """Read 8 or 20 bytes. The port is what is written there, even if it is none.

    Raises:
        ValueError: Another number of bytes.
    """
    if len(data) == V4_BYTES:
        one, two, three, four, port = _V4.unpack(data)
        return Host(f"{one}.{two}.{three}.{four}", port)
    if len(data) == V6_BYTES:
        (port,) = _PORT.unpack_from(data, V6_BYTES - _PORT_BYTES)
        return Host(ipaddress.IPv6Address(data[:-_PORT_BYTES]).compressed, port)
    raise ValueError(f"a host of {len(data)} bytes")


def parse_host(text: str) -> Host:
    """Read `ip:port`, with or without brackets around an IPv6 address: the port is behind the last colon.

    Raises:
        ValueError: It has no port, or the address is none; the text names it.
    """
    ip, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        raise ValueError(f"{text!r} is no ip:port")
    try:
        return decode_host(encode_host(ip, int(port)))
    except ValueError as error:
        raise ValueError(f"{text!r} is no ip:port") from error
