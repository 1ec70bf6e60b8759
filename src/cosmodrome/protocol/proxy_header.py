"""The PROXY protocol, versions 1 and 2: who a peer behind a proxy is.

Owns: where such a header ends, and the source address in it.
Must not know: what the address is used for; who may send such a header.
"""

import ipaddress
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.greeting import PROXY_V2_SIGNATURE

_V1_MAX_BYTES: Final = 107
_V1_END: Final = b"\r\n"
_V1_FIELDS: Final = 6
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_V1_ADDRESSES: Final[dict[str, Callable[[str], _Address]]] = {
    "TCP4": ipaddress.IPv4Address,
    "TCP6": ipaddress.IPv6Address,
}
_V2_HEAD: Final = struct.Struct(">BBH")
_V2_VERSION: Final = 2
_V2_LOCAL, _V2_PROXY = 0, 1
# address family and transport → length of one address; ports follow both addresses
_V2_ADDRESS_BYTES: Final = {0x11: 4, 0x12: 4, 0x21: 16, 0x22: 16}
_PORTS: Final = range(65536)


class ProxyHeader(NamedTuple):
    """A header that was read: how many bytes it had, and the peer as `host:port`, None if it does not say."""

    length: int
    source: str | None


def decode_proxy_v1(data: bytes) -> ProxyHeader | None:
    """Read `PROXY TCP4 source destination port port` and its line end; None when more bytes are needed.

    Raises:
        ProtocolError: It is not such a line.
    """
    end = data.find(_V1_END, 0, _V1_MAX_BYTES)
    if end < 0:
        if len(data) >= _V1_MAX_BYTES:
            raise ProtocolError("a PROXY header has no line end")
        return None
    fields = data[:end].decode("ascii", "replace").split(" ")
    length = end + len(_V1_END)
    if fields[:2] == ["PROXY", "UNKNOWN"]:
        return ProxyHeader(length, None)
    kind = _V1_ADDRESSES.get(fields[1]) if len(fields) == _V1_FIELDS else None
    if kind is None or fields[0] != "PROXY":
        raise ProtocolError("a PROXY header is not of the form that version 1 has")
    try:
        source, _destination = kind(fields[2]), kind(fields[3])
        source_port, _destination_port = _port(fields[4]), _port(fields[5])
    except ValueError as error:
        raise ProtocolError("a PROXY header has a bad address") from error
    return ProxyHeader(length, _address(source, source_port))


def decode_proxy_v2(data: bytes) -> ProxyHeader | None:
    """Read a binary header, additional fields included; None when more bytes are needed.

    Raises:
        ProtocolError: Another version, an unknown command, or an address that does not fit.
    """
    head_end = len(PROXY_V2_SIGNATURE) + _V2_HEAD.size
    if len(data) < head_end:
        return None
    version_command, family, length = _V2_HEAD.unpack_from(data, len(PROXY_V2_SIGNATURE))
    command = version_command & 0x0F
    if version_command >> 4 != _V2_VERSION or command not in (_V2_LOCAL, _V2_PROXY):
        raise ProtocolError("a PROXY header has an unknown version or command")
    if len(data) < head_end + length:
        return None
    size = _V2_ADDRESS_BYTES.get(family)
    if command == _V2_LOCAL or size is None:
        return ProxyHeader(head_end + length, None)
    if length < 2 * size + 4:
        raise ProtocolError("a PROXY header is too short for its addresses")
    host = ipaddress.ip_address(data[head_end : head_end + size])
    (port,) = struct.unpack_from(">H", data, head_end + 2 * size)
    return ProxyHeader(head_end + length, _address(host, port))


def _port(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or int(text) not in _PORTS:
        raise ValueError(f"{text!r} is not a port")
    return int(text)


def _address(host: _Address, port: int) -> str:
    """Write an address in the one form that peers have: no zone, IPv4 ones that came as IPv6 as IPv4."""
    if host.version == 4:
        return f"{host}:{port}"
    return f"{host.ipv4_mapped}:{port}" if host.ipv4_mapped else f"[{ipaddress.IPv6Address(int(host))}]:{port}"
