"""PROXY protocol headers, versions 1 and 2."""

import struct

import pytest

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.greeting import PROXY_V2_SIGNATURE
from cosmodrome.protocol.proxy_header import ProxyHeader, decode_proxy_v1, decode_proxy_v2

V4_ADDRESSES = bytes.fromhex("0a0101010a020202045708ae")


def v2(version_command: int, family: int, content: bytes) -> bytes:
    return PROXY_V2_SIGNATURE + struct.pack(">BBH", version_command, family, len(content)) + content


@pytest.mark.parametrize(
    ("line", "source"),
    [
        (b"PROXY TCP4 10.1.1.1 10.2.2.2 1111 2222\r\n", "10.1.1.1:1111"),
        (b"PROXY TCP6 2001:db8::1 2001:db8::2 1111 2222\r\n", "[2001:db8::1]:1111"),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN whatever 1 2\r\n", None),
    ],
)
def test_a_line_names_the_source(line: bytes, source: str | None) -> None:
    assert decode_proxy_v1(line + b"rest") == ProxyHeader(len(line), source)


@pytest.mark.parametrize(
    "line",
    [
        b"PROXY\r\n",
        b"PROXY TCP4 10.1.1.1 10.2.2.2 1111\r\n",
        b"PROXY UDP4 10.1.1.1 10.2.2.2 1111 2222\r\n",
        b"PROXY TCP4 10.1.1.999 10.2.2.2 1111 2222\r\n",
        b"PROXY TCP4 10.1.1.1 10.2.2.2 x 2222\r\n",
        b"PROXY TCP4 10.1.1.1 10.2.2.2 70000 2222\r\n",
        b"PROXY " + b"x" * 200,
    ],
)
def test_a_bad_line_is_an_error(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_proxy_v1(line)


def test_a_line_may_come_byte_by_byte() -> None:
    line = b"PROXY TCP4 10.1.1.1 10.2.2.2 1111 2222\r\n"

    assert [decode_proxy_v1(line[:length]) for length in range(len(line))] == [None] * len(line)


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (v2(0x21, 0x11, V4_ADDRESSES), "10.1.1.1:1111"),
        (v2(0x21, 0x11, V4_ADDRESSES + b"\x03\x00\x04abcd"), "10.1.1.1:1111"),
        (v2(0x21, 0x21, bytes(15) + b"\x01" + bytes(15) + b"\x02" + b"\x00\x07\x00\x08"), "[::1]:7"),
        (v2(0x20, 0x00, b""), None),
        (v2(0x21, 0x31, bytes(216)), None),
    ],
)
def test_a_binary_header_names_the_source(header: bytes, source: str | None) -> None:
    assert decode_proxy_v2(header + b"rest") == ProxyHeader(len(header), source)
    assert [decode_proxy_v2(header[:length]) for length in range(len(header))] == [None] * len(header)


@pytest.mark.parametrize("header", [v2(0x11, 0x11, V4_ADDRESSES), v2(0x2F, 0x11, V4_ADDRESSES), v2(0x21, 0x11, b"ab")])
def test_a_bad_binary_header_is_an_error(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_proxy_v2(header)
