"""Whether a peer comes from a network.

Owns: the reading of peer addresses; that behind a proxy both addresses count.
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
    """Tell whether every address of a peer is in one of these networks."""
    return all(_is_inside(address, networks) for address in addresses(peer))


def named(peer: Peer) -> str:
    """Name a peer for a person: its address, and the proxy if there is one."""
    return peer.address if peer.proxy is None else f"{peer.address} (through {peer.proxy})"


def _is_inside(peer_address: str, networks: Networks) -> bool:
    try:
        address = ipaddress.ip_address(peer_address.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return any(address in network for network in networks if network.version == address.version)
