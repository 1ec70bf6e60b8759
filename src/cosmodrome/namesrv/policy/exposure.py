"""What is open to whoever reaches the port.

Owns: when a server can be reached from elsewhere; the words for its open doors, for the banner and the log.
Must not know: how doors are shut (rules.py).
"""

import ipaddress
from dataclasses import dataclass

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.policy.networks import are_everybody

_REMEDY = (
    "to shut them: adminPolicy=hardened with few addresses in adminAllow, brokerAllow or brokerAuth, "
    "tls.server.mode=enforcing, or bindAddress=127.0.0.1 (docs/policy.md)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Doors that are open to everybody, and what shuts them."""

    doors: tuple[str, ...]
    remedy: str = _REMEDY


def exposure(config: NamesrvConfig) -> Exposure:
    """Tell what is open; nothing is on a server that only this host can reach."""
    if is_local(config.bind_address):
        return Exposure(doors=())
    policy = config.admin_policy
    is_everybody_admin = are_everybody(config.admin_allow)
    is_everybody_broker = not config.broker_auth and (not config.broker_allow or are_everybody(config.broker_allow))
    doors = []
    if policy is AdminPolicy.OPEN or is_everybody_admin:
        doors.append("changes of the configuration (318)")
    if policy is not AdminPolicy.HARDENED or is_everybody_admin:
        doors.append("changes of KV, topics and permissions (100, 102, 104, 205, 216, 217, 327)")
        doors.append("reading configuration, KV and listings")
    elif is_everybody_broker:
        doors.append("reading which brokers there are (106), to whoever registers as one")
    if is_everybody_broker:
        doors.append("registering as a broker (103)")
    if config.tls_server_mode != "enforcing":
        doors.append("talking without TLS")
    return Exposure(doors=tuple(doors))


def is_local(bind_address: str) -> bool:
    """Whether only this host can connect to a server that listens there. A name that is not localhost may be anything."""
    try:
        return ipaddress.ip_address(bind_address.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return bind_address.lower() == "localhost"
