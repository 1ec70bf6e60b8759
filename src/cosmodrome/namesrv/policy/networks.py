"""Whether a peer comes from a network.

Owns: the reading of peer addresses; that behind a proxy both addresses count; which networks are everybody.
Must not know: what a network is allowed.
"""

import ipaddress

from cosmodrome.namesrv.config_keys import Network
from cosmodrome.transport.dispatch import Peer

Networks = tuple[Network, ...]


def addresses(peer: Peer) -> tuple[str, ...]:
    """Give the peer's address, and that of the proxy before it if there is one.

    Anybody can send a PROXY header that names loopback, so what asks for an address asks it of both.
    """
    return (peer.address,) if peer.proxy is None else (peer.address, peer.proxy)


def is_from(peer: Peer, networks: Networks) -> bool:
    """Tell whether every address of a peer is in one of these networks.

    A proxy that does not say whom it speaks for is only in networks that hold every address there is.
    """
    if peer.is_source_withheld:
        return _versions_held(networks) == {4, 6}
    return all(_is_inside(address, networks) for address in addresses(peer))


def named(peer: Peer) -> str:
    """Name a peer for a person: its address, and the proxy if there is one."""
    if peer.is_source_withheld:
        return f"{peer.address} (a proxy that names no source)"
    return peer.address if peer.proxy is None else f"{peer.address} (through {peer.proxy})"


def are_everybody(networks: Networks) -> bool:
    """Tell whether these networks hold every IPv4 or every IPv6 address, together if not one of them alone."""
    return bool(_versions_held(networks))


def _versions_held(networks: Networks) -> set[int]:
    four = ipaddress.collapse_addresses(each for each in networks if isinstance(each, ipaddress.IPv4Network))
    six = ipaddress.collapse_addresses(each for each in networks if isinstance(each, ipaddress.IPv6Network))
    held: tuple[Network, ...] = (*four, *six)
    return {network.version for network in held if not network.prefixlen}


def _is_inside(peer_address: str, networks: Networks) -> bool:
    try:
        address = ipaddress.ip_address(peer_address.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return any(address in network for network in networks if network.version == address.version)
