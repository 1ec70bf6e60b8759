"""NameServer addresses, as people write them.

Owns: every form of a list of addresses; which one is meant without a list; the addresses behind a name.
Must not know: what the servers are asked.
"""

import asyncio
import re
import socket
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cosmodrome.errors import ConnectError, UsageError
from cosmodrome.transport.daemon_thread import in_daemon_thread

DEFAULT_PORT: Final = 9876
DEFAULT_ADDRESSES: Final = f"127.0.0.1:{DEFAULT_PORT}"
ADDRESS_VARIABLES: Final = ("NAMESRV_ADDR", "ROCKETMQ_NAMESRV_ADDR")
"""Environment variables that hold a list, the most important first."""

# A shell leaves quotes and backslashes in the text when a list was quoted twice.
_SEPARATORS: Final = re.compile(r"""[;,\s"'\\]+""")
_SCHEME: Final = re.compile(r"^(?:https?|tcp|rocketmq)://", re.IGNORECASE)
_BRACKETED: Final = re.compile(r"\[([^\[\]]*)\](?::(.*))?")
_HOST: Final = re.compile(r"[\w.-]+")
_PORTS: Final = range(1, 65_536)


class Address(NamedTuple):
    """A host (a name, or an IP address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Give `host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_name(self) -> bool:
        """Whether the host has to be looked up."""
        return not _is_ip(self.host)


class Servers(NamedTuple):
    """The servers that a list means, and the names in it that mean none now."""

    found: tuple[Address, ...]
    failures: Mapping[Address, ConnectError]


def parse_addresses(text: str, source: str = "-n") -> tuple[Address, ...]:
    """Read a list, in its order and without repetitions; a port that is not given is 9876.

    Separators are `;`, `,` and blanks. `http://` before an address and `/` after it are ignored. An IPv6 address
    stands in brackets. `source` is where the text was found, for the error text.

    Raises:
        UsageError: There is no address in it, or one that is bad; the text names all of those.
    """
    pieces = [piece for piece in _SEPARATORS.split(text) if piece]
    found: dict[Address, None] = {}
    faults = []
    for piece in pieces:
        try:
            found[_parse(piece)] = None
        except ValueError as error:
            faults.append(f"{piece!r} {error}")
    if faults or not found:
        raise UsageError(
            f"{source}: {'; '.join(faults) or 'there is no address in it'}.",
            remedy="write HOST:PORT, several with a comma: -n 10.0.0.1:9876,10.0.0.2:9876 (IPv6: [::1]:9876)",
        )
    return tuple(found)


def chosen_addresses(given: str | None, environment: Mapping[str, str]) -> tuple[Address, ...]:
    """Read the list that was given, else that of the environment, else take this host's usual one.

    Raises:
        UsageError: As parse_addresses.
    """
    if given is not None:
        return parse_addresses(given)
    for variable in ADDRESS_VARIABLES:
        text = environment.get(variable, "")
        if text.strip():
            return parse_addresses(text, f"${variable}")
    return parse_addresses(DEFAULT_ADDRESSES)


async def resolve(addresses: Iterable[Address], timeout_s: float) -> Servers:
    """Look names up, and give every address behind each: one name often stands for all NameServers.

    A name with IPv4 and IPv6 addresses gives the IPv4 ones: they are other ways to the same servers.
    """
    asked = tuple(addresses)
    answers = await asyncio.gather(*(_behind(address, timeout_s) for address in asked))
    found = dict.fromkeys(each for answer in answers if not isinstance(answer, ConnectError) for each in answer)
    failures = {
        address: answer for address, answer in zip(asked, answers, strict=True) if isinstance(answer, ConnectError)
    }
    return Servers(tuple(found), failures)


async def _behind(address: Address, timeout_s: float) -> list[Address] | ConnectError:
    if not address.is_name:
        return [address]
    try:
        return await _look_up(address, timeout_s)
    except ConnectError as error:
        return error


async def _look_up(address: Address, timeout_s: float) -> list[Address]:
    question = (address.host, address.port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(timeout_s):
            entries = await in_daemon_thread(socket.getaddrinfo, *question)
    except TimeoutError:
        late = socket.gaierror(socket.EAI_AGAIN, f"no answer from the resolver in {timeout_s:g} s")
        raise ConnectError(f"cannot look up {address.host}: {late}") from late
    except (OSError, UnicodeError) as error:
        raise ConnectError(f"cannot look up {address.host}: {error}") from error
    hosts = {family: [str(entry[4][0]) for entry in entries if entry[0] == family] for family in _FAMILIES}
    chosen = next((found for found in hosts.values() if found), [])
    return [Address(host, address.port) for host in chosen]


_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


def _parse(piece: str) -> Address:
    text = _SCHEME.sub("", piece).removesuffix("/")
    if "/" in text:
        raise ValueError("has a path: an address server is not supported")
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
        if ":" not in host or not _is_ip(host):
            raise ValueError("is no IPv6 address")
        return Address(host.lower(), _port(port))
    if text.count(":") > 1:
        raise ValueError("looks like an IPv6 address without brackets")
    host, colon, port = text.partition(":")
    if not host or not _HOST.fullmatch(host):
        raise ValueError("has no host" if not host else "is no host and port")
    return Address(host.lower(), _port(port if colon else None))


def _port(text: str | None) -> int:
    if text is None:
        return DEFAULT_PORT
    if not (text.isascii() and text.isdigit() and int(text) in _PORTS):
        raise ValueError(f"has the port {text!r}, which is not 1 to 65535" if text else "ends where the port belongs")
    return int(text)


def _is_ip(host: str) -> bool:
    for family in _FAMILIES:
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except OSError:
            continue
        return True
    return False
