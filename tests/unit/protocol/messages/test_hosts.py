"""Hosts in records and ids."""

import pytest

from cosmodrome.protocol.messages.hosts import Host, decode_host, encode_host, parse_host


def test_an_ipv4_host() -> None:
    data = encode_host("10.0.0.5", 50001)

    assert data == bytes.fromhex("0a0000050000c351")
    assert decode_host(data) == Host("10.0.0.5", 50001)
    assert str(decode_host(data)) == "10.0.0.5:50001"


@pytest.mark.parametrize("ip", ["fd00::1", "[fd00::1]", "FD00:0::1", "fd00::1%eth0", "[fd00::1%eth0]"])
def test_c066_an_ipv6_host_in_every_form(ip: str) -> None:
    data = encode_host(ip, 10911)

    assert len(data) == 20
    assert decode_host(data) == Host("fd00::1", 10911)
    assert str(decode_host(data)) == "[fd00::1]:10911"


def test_an_ipv4_address_that_is_dressed_as_ipv6() -> None:
    """As a peer's address looks on a socket for both."""
    assert encode_host("::ffff:10.0.0.5", 1) == encode_host("10.0.0.5", 1)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("10.0.0.5:1", Host("10.0.0.5", 1)),
        ("[::1]:10911", Host("::1", 10911)),
        ("::1:10911", Host("::1", 10911)),
        ("[fe80::1%eth0]:80", Host("fe80::1", 80)),
    ],
)
def test_c066_the_port_is_behind_the_last_colon(text: str, host: Host) -> None:
    assert parse_host(text) == host


@pytest.mark.parametrize("text", ["", "host:1", "10.0.0.5", "10.0.0.5:", "10.0.0.5:x", "10.0.0.5:65536", "10.0.0.5:-1", "[::1]", "1.2.3.4.5:1"])  # fmt: skip
def test_c066_what_is_none_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no ip:port") as raised:
        parse_host(text)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("port", [-1, 65536])
def test_no_port(port: int) -> None:
    with pytest.raises(ValueError, match="no port"):
        encode_host("10.0.0.5", port)


@pytest.mark.parametrize("size", [0, 7, 9, 16, 19, 21])
def test_a_host_of_another_length(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes"):
        decode_host(bytes(size))
