"""NameServer addresses as people write them."""

import socket
import threading
from typing import Any

import pytest

from cosmodrome.client.addresses import Address, chosen_addresses, parse_addresses, resolve
from cosmodrome.errors import UsageError


def texts(text: str) -> list[str]:
    return [str(address) for address in parse_addresses(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1:9876", ["10.0.0.1:9876"]),
        ("10.0.0.1", ["10.0.0.1:9876"]),
        ("mq-1.example.com:1", ["mq-1.example.com:1"]),
        ("a:1;b:2", ["a:1", "b:2"]),
        ("a:1,b:2", ["a:1", "b:2"]),
        (" a:1\n\tb:2 ", ["a:1", "b:2"]),
        (";;a:1;,", ["a:1"]),
        ("a:1,A:1,http://a:1/", ["a:1"]),
        ("http://a:1/;HTTPS://b:2", ["a:1", "b:2"]),
        ("tcp://a:1 rocketmq://b", ["a:1", "b:9876"]),
        ("[::1]:1", ["[::1]:1"]),
        ("[2001:DB8::1]", ["[2001:db8::1]:9876"]),
        ("[fe80::1%eth0]:1", ["[fe80::1%eth0]:1"]),
        ("'a:1;b:2'", ["a:1", "b:2"]),
        ('"a:1\\;b:2"', ["a:1", "b:2"]),
        ("my_host:65535", ["my_host:65535"]),
    ],
)
def test_sensible_forms_are_read(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a:0", "has the port '0', which is not 1 to 65535"),
        ("a:65536", "has the port '65536', which is not 1 to 65535"),
        ("a:-1", "has the port '-1'"),
        ("a:x", "has the port 'x'"),
        ("a:٣", "has the port '٣'"),
        ("a:", "ends where the port belongs"),
        (":9876", "has no host"),
        ("::1", "looks like an IPv6 address without brackets"),
        ("a:1:2", "looks like an IPv6 address without brackets"),
        ("[::x]:1", "is no IPv6 address"),
        ("[1.2.3]:1", "is no IPv6 address"),
        ("[10.0.0.1]:1", "is no IPv6 address"),
        ("[::1]9876", "looks like an IPv6 address without brackets"),
        ("http://a:1/path", "has a path"),
        ("a$b:1", "is no host and port"),
    ],
)
def test_bad_ones_are_named_with_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_addresses(f"good:1;{text}")

    assert repr(text) in caught.value.what
    assert fault in caught.value.what
    assert "good" not in caught.value.what


def test_all_bad_ones_are_named_at_once() -> None:
    with pytest.raises(UsageError, match=r"'a:x' .*; 'b:y' "):
        parse_addresses("a:x,c:1,b:y")


@pytest.mark.parametrize("text", ["", " ", ";,"])
def test_a_list_without_an_address_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="there is no address in it"):
        parse_addresses(text)


def test_what_is_given_counts_before_the_environment_and_that_before_the_usual_address() -> None:
    both = {"NAMESRV_ADDR": "env:1", "ROCKETMQ_NAMESRV_ADDR": "rust:1"}

    assert chosen_addresses("given:1", both) == (Address("given", 1),)
    assert chosen_addresses(None, both) == (Address("env", 1),)
    assert chosen_addresses(None, {**both, "NAMESRV_ADDR": " "}) == (Address("rust", 1),)
    assert chosen_addresses(None, {}) == (Address("127.0.0.1", 9876),)


def test_a_fault_says_where_the_list_was_found() -> None:
    with pytest.raises(UsageError, match=r"^\$NAMESRV_ADDR: 'a:x'"):
        chosen_addresses(None, {"NAMESRV_ADDR": "a:x"})
    with pytest.raises(UsageError, match=r"^-n: "):
        chosen_addresses("", {"NAMESRV_ADDR": "a:1"})


def test_only_names_are_looked_up() -> None:
    assert Address("mq", 1).is_name
    assert not Address("10.0.0.1", 1).is_name
    assert not Address("::1", 1).is_name
    assert not Address("fe80::1%eth0", 1).is_name


def entries(family: socket.AddressFamily, *hosts: str) -> list[Any]:
    return [(family, socket.SOCK_STREAM, 6, "", (host, 1)) for host in hosts]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}

    def ask(host: str, *_: object, **__: object) -> list[Any]:
        if host not in found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found[host]

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    return found


async def test_a_name_stands_for_all_its_addresses(records: dict[str, list[Any]]) -> None:
    records["mq"] = entries(socket.AF_INET, "10.0.0.1", "10.0.0.2", "10.0.0.3")
    servers = await resolve(parse_addresses("mq:1,10.0.0.2:1,10.0.0.9:1"), 1)

    assert [str(address) for address in servers.found] == ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.9:1"]
    assert servers.failures == {}


async def test_ipv6_addresses_of_a_name_count_when_it_has_no_others(records: dict[str, list[Any]]) -> None:
    records["six"] = entries(socket.AF_INET6, "::1", "::2")
    records["both"] = [*entries(socket.AF_INET6, "::3"), *entries(socket.AF_INET, "10.0.0.3")]
    servers = await resolve(parse_addresses("six:1,both:1"), 1)

    assert [str(address) for address in servers.found] == ["[::1]:1", "[::2]:1", "10.0.0.3:1"]


async def test_a_name_that_is_not_known_does_not_hide_the_others(records: dict[str, list[Any]]) -> None:
    records["mq"] = entries(socket.AF_INET, "10.0.0.1")
    servers = await resolve(parse_addresses("nobody:1,mq:1"), 1)

    assert [str(address) for address in servers.found] == ["10.0.0.1:1"]
    (failure,) = servers.failures.values()
    assert "cannot look up nobody" in str(failure)
    assert isinstance(failure.__cause__, socket.gaierror)


async def test_a_resolver_that_says_nothing_costs_no_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: forever.wait() and [])
    servers = await resolve(parse_addresses("mq:1"), 0.01)

    assert servers.found == ()
    assert "no answer from the resolver in 0.01 s" in str(servers.failures[Address("mq", 1)])
    forever.set()
