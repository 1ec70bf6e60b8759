"""Words for times, counts and addresses.

Owns: how they read in a sentence.
Must not know: what is said of them.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Final

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SHOWN: Final = 3
# What Docker and Podman give to containers unless told otherwise.
_CONTAINERS: Final = tuple(
    map(ipaddress.ip_network, (*(f"172.{number}.0.0/16" for number in range(17, 32)), "10.88.0.0/16"))
)


def span(seconds: float) -> str:
    """Give a time as `3 h 12 min`: its two largest units."""
    left, parts = max(0, int(seconds)), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or (parts and unit == "s"):
            parts.append(f"{count} {unit}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 ")) or "0 s"


def moment(time_s: float, now_s: float) -> str:
    """Give a moment as a clock on the wall here says it, with the date when that is another one."""
    then, now = (dt.datetime.fromtimestamp(each, tz=dt.UTC).astimezone() for each in (time_s, now_s))
    return then.strftime("%H:%M:%S" if then.date() == now.date() else "%Y-%m-%d %H:%M:%S")


def some(names: Sequence[str]) -> str:
    """Give the first few names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def counted(count: int, what: str) -> str:
    """Give `1 broker`, `2 brokers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def odd_address(address: str) -> str | None:
    """Say what is odd about the address that a broker gave; None when nothing is, or it is a name."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return "localhost means the client's own machine" if host == "localhost" else None
    if ip.is_unspecified:
        return "it means no machine"
    if ip.is_loopback:
        return "it means the client's own machine"
    if ip.is_link_local:
        return "it is valid on one link only"
    if any(ip in network for network in _CONTAINERS if network.version == ip.version):
        return "it looks like a container's, which is not reached from other machines"
    return None
