"""Places from which requests come, and lists of such."""

import ipaddress

import pytest

from cosmodrome.broker.security.hosts import is_from, is_matched, source_pattern, white_patterns
from cosmodrome.transport.dispatch import Peer


def peer(address: str, socket_address: str = "") -> Peer:
    return Peer(1, address, socket_address or address)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("*", ["1.2.3.4:5", "[2001:db8::1]:5"], []),
        ("192.0.2.1", ["192.0.2.1:5"], ["192.0.2.2:5", "[::1]:5"]),
        ("192.0.2.*", ["192.0.2.1:5", "192.0.2.255:5"], ["192.0.3.1:5"]),
        ("192.0.*.*", ["192.0.9.1:5"], ["192.1.9.1:5"]),
        ("192.0.2.1-20", ["192.0.2.1:5", "192.0.2.20:5"], ["192.0.2.21:5", "192.0.2.0:5"]),
        ("192.0.2.{1,20}", ["192.0.2.1:5", "192.0.2.20:5"], ["192.0.2.2:5"]),
        ("192.0.2.1,192.0.2.{7,9}", ["192.0.2.1:5", "192.0.2.9:5"], ["192.0.2.2:5"]),
        ("2001:db8:0:0:0:0:0:1-ff", ["[2001:db8::10]:5"], ["[2001:db8::100]:5", "192.0.2.1:5"]),
        ("::ffff:192.0.2.1", [], ["[2001:db8::1]:5"]),
        ("", [], ["192.0.2.1:5"]),
    ],
)
def test_white_addresses(pattern: str, inside: list[str], outside: list[str]) -> None:
    patterns = white_patterns(pattern)
    assert all(is_matched(peer(each), patterns) for each in inside)
    assert not any(is_matched(peer(each), patterns) for each in outside)


@pytest.mark.parametrize(
    "text", ["192.0.2", "192.0.2.256", "192.0.2.9-1", "a.b.c.*", "192.0.2.*.*", "1-2", "{1,2}", "host"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        white_patterns(text)


def test_sources_are_addresses_and_networks() -> None:
    assert is_matched(peer("192.0.2.7:5"), [source_pattern("192.0.2.0/24")])
    assert is_matched(peer("192.0.2.7:5"), [source_pattern("192.0.2.7")])
    assert not is_matched(peer("192.0.3.7:5"), [source_pattern("192.0.2.0/24")])
    with pytest.raises(ValueError, match="does not appear"):
        source_pattern("192.0.2.*")


def test_behind_a_proxy_both_addresses_count() -> None:
    networks = [ipaddress.ip_network("127.0.0.0/8")]
    assert is_from(peer("127.0.0.1:5"), networks)
    assert not is_from(peer("127.0.0.1:5", "192.0.2.9:6"), networks)
    assert is_from(peer("127.0.0.1:5", "127.0.0.2:6"), networks)
    assert not is_from(Peer(1, "127.0.0.1:5", "127.0.0.1:5", is_source_withheld=True), networks)
    assert is_from(peer("[::ffff:127.0.0.1]:5"), networks), "IPv4 that is written as IPv6"
    assert not is_from(peer("nonsense"), networks)
