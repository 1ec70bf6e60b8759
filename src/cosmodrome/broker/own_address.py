"""The address that a broker publishes when none is set.

Owns: which of this host's addresses that is.
Must not know: who is told.
"""

import ipaddress
import socket
from typing import Final

from cosmodrome.transport.listening import ANY_IPV4, ANY_IPV6

_ELSEWHERE: Final = "192.0.2.1"
"""No host has it; a route to it is one to everybody."""
_LOOPBACK: Final = "127.0.0.1"


def published_ip(bind_address: str, name_server: str | None) -> str:
    """Give the address that is listened on; for all of them, the one from which a NameServer, or others, are reached."""
    if bind_address not in (ANY_IPV4, ANY_IPV6):
        return _numeric(bind_address)
    target = _ELSEWHERE if name_server is None else name_server.rpartition(":")[0].strip("[]")
    return _source_towards(target) or _source_towards(_ELSEWHERE) or _LOOPBACK


def _numeric(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return str(found[0][4][0])


def _source_towards(target: str) -> str | None:
    """Ask the system from which address it would send there. Nothing is sent."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(target).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            return str(probe.getsockname()[0]).partition("%")[0]
    except (OSError, ValueError):
        return None
