"""The first bytes of a connection, and what they say the peer speaks.

Owns: telling remoting frames, TLS, the PROXY protocol, HTTP and other protocols apart.
Must not know: what is done about it.
"""

from enum import Enum
from typing import Final


class Greeting(Enum):
    """What a peer speaks; the value is how a person calls it."""

    REMOTING = "RocketMQ remoting"
    TLS = "TLS"
    PROXY_V1 = "PROXY protocol 1"
    PROXY_V2 = "PROXY protocol 2"
    HTTP = "HTTP/1"
    HTTP2 = "HTTP/2 (gRPC)"
    SSH = "SSH"
    REDIS = "Redis"


_TLS_HANDSHAKE: Final = b"\x16"
_TLS_RECORD_HEADER_BYTES: Final = 5
_LONGEST_TLS_RECORD: Final = 2**14
PROXY_V2_SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
_HTTP_METHODS: Final = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE")

_PREFIXES: Final[tuple[tuple[bytes, Greeting], ...]] = (
    (PROXY_V2_SIGNATURE, Greeting.PROXY_V2),
    (b"PROXY", Greeting.PROXY_V1),
    (b"PRI * HTTP/2", Greeting.HTTP2),
    (b"SSH-", Greeting.SSH),
    (b"PING\r\n", Greeting.REDIS),
    (b"*1\r\n$", Greeting.REDIS),
    *((method + b" ", Greeting.HTTP) for method in _HTTP_METHODS),
)
_FIRST_BYTES: Final = frozenset(prefix[0] for prefix, _ in _PREFIXES)


def recognise(data: bytes) -> Greeting | None:
    """Tell what the first bytes of a connection begin, or None when more bytes are needed to tell.

    Bytes that begin nothing known count as remoting, whose decoder then says what is wrong with them. A frame
    cannot be mistaken while the frame limit is below 352 MiB: its first byte is smaller than any of these.
    """
    if not data:
        return None
    if data[:1] == _TLS_HANDSHAKE:
        return Greeting.TLS
    if data[0] not in _FIRST_BYTES:
        return Greeting.REMOTING
    is_prefix_begun = False
    for prefix, greeting in _PREFIXES:
        if data.startswith(prefix):
            return greeting
        is_prefix_begun = is_prefix_begun or prefix.startswith(data)
    return None if is_prefix_begun else Greeting.REMOTING


def is_record_begun(data: bytes) -> bool:
    """Tell whether bytes are the beginning of a TLS record in the clear, and not all of it.

    What is no such record, by its version or length, does not get better by waiting: it is not begun.
    """
    if len(data) < _TLS_RECORD_HEADER_BYTES:
        return data[1:2] in (b"", b"\3")
    length = int.from_bytes(data[3:5], "big")
    return data[1] == 3 and length <= _LONGEST_TLS_RECORD and len(data) < _TLS_RECORD_HEADER_BYTES + length
