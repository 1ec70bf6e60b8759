"""From where a request comes, and lists of such places as people write them.

Owns: address patterns of both kinds of accounts; that behind a proxy both addresses count.
Must not know: what a place is allowed.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Final

from cosmodrome.transport.dispatch import Peer

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Pattern = Callable[[Address], bool]
_RANGE: Final = re.compile(r"([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})")
_SET: Final = re.compile(r"(.*)\{([0-9a-fA-F,]+)\}")
_ANY: Final = "*"


def addresses(peer: Peer) -> tuple[Address, ...]:
    """Give the peer's address, and that of the proxy before it if there is one; nothing when the source is withheld.

    Anybody can send a PROXY header that names loopback: what asks for an address asks it of both.
    """
    if peer.is_source_withheld:
        return ()
    texts = (peer.address,) if peer.proxy is None else (peer.address, peer.proxy)
    try:
        return tuple(map(_plain, (ipaddress.ip_address(host_of(text)) for text in texts)))
    except ValueError:
        return ()


def host_of(address: str) -> str:
    """Give the host of `host:port`."""
    return address.rpartition(":")[0].strip("[]")


def is_from(peer: Peer, networks: Iterable[Network]) -> bool:
    """Tell whether every address of a peer is in one of these networks."""
    listed, found = tuple(networks), addresses(peer)
    return bool(found) and all(
        any(address in network for network in listed if network.version == address.version) for address in found
    )


def is_matched(peer: Peer, patterns: Iterable[Pattern]) -> bool:
    """Tell whether every address of a peer fits one of these patterns."""
    listed, found = tuple(patterns), addresses(peer)
    return bool(found) and all(any(pattern(address) for pattern in listed) for address in found)


def white_patterns(text: str) -> tuple[Pattern, ...]:
    """Read a whiteRemoteAddress of a plain ACL: a list with commas of addresses whose last parts may be patterns.

    A part is a number, `*`, `1-20`, or `{1,2}`. Empty is nowhere.

    Raises:
        ValueError: It is none.
    """
    return tuple(_white(each) for each in _pieces(text))


def source_pattern(text: str) -> Pattern:
    """Read a source address of a policy: an address, or a network.

    Raises:
        ValueError: It is neither.
    """
    network = ipaddress.ip_network(text.strip(), strict=False)
    return lambda address: address.version == network.version and address in network


def _plain(address: Address) -> Address:
    """Give IPv4 that is written as IPv6 as IPv4."""
    return getattr(address, "ipv4_mapped", None) or address


def _pieces(text: str) -> list[str]:
    """Split at commas that are not in braces."""
    return [piece.strip() for piece in re.split(r",(?![^{]*\})", text) if piece.strip()]


def _white(text: str) -> Pattern:
    if text == _ANY:
        return lambda _: True
    braces = _SET.fullmatch(text)
    if braces is not None:
        choices = tuple(ipaddress.ip_address(braces[1] + each) for each in braces[2].split(","))
        return lambda address: address in choices
    if "*" not in text and "-" not in text:
        exact = ipaddress.ip_address(text)
        return lambda address: address == exact
    is_six = ":" in text
    parts = [_part(each, 16 if is_six else 10) for each in text.split(":" if is_six else ".")]
    if len(parts) != (8 if is_six else 4):
        raise ValueError(f"{text!r} is no address pattern")
    return lambda address: (
        (address.version == 6) == is_six
        and all(low <= number <= high for number, (low, high) in zip(_numbers(address), parts, strict=True))
    )


def _part(text: str, base: int) -> tuple[int, int]:
    most = 255 if base == 10 else 65_535
    if text == _ANY:
        return 0, most
    ends = _RANGE.fullmatch(text)
    low, high = (int(ends[1], base), int(ends[2], base)) if ends else (int(text, base),) * 2
    if not 0 <= low <= high <= most:
        raise ValueError(f"{text!r} is no part of an address")
    return low, high


def _numbers(address: Address) -> list[int]:
    size = 1 if address.version == 4 else 2
    packed = address.packed
    return [int.from_bytes(packed[at : at + size], "big") for at in range(0, len(packed), size)]
