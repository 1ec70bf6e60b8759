"""Rules about addresses: what a broker tells others, and where it looks for NameServers.

Owns: addresses that clients or slaves cannot reach, lists of NameServers that Java does not read as they are meant.
Must not know: ports (estate_rules.py).
"""

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from cosmodrome.configuring.files import SettingsFile
from cosmodrome.configuring.linting.finding import Finding, Rule
from cosmodrome.configuring.linting.host import Host
from cosmodrome.namesrv.properties import Property

_BRIDGE: Final = ipaddress.ip_network("172.17.0.0/16")
"""Docker's own."""
_CONTAINERS: Final = tuple(
    map(
        ipaddress.ip_network,
        ("172.18.0.0/15", "172.20.0.0/14", "172.24.0.0/13", "10.88.0.0/16", "10.244.0.0/16", "10.42.0.0/16"),
    )
)
"""Networks that Docker, Podman, Flannel and k3s make unless told otherwise. Others use them too."""
_LINK_LOCAL: Final = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
_WHO: Final = {"brokerIP1": "clients", "brokerIP2": "slaves"}
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def announced(file: SettingsFile, host: Host) -> Iterator[Finding]:
    """Find addresses that clients or slaves are told and cannot reach."""
    entries = file.last()
    for key, who in _WHO.items():
        if key in entries:
            yield from _announced(Rule("announced-address", file), entries[key], who, host)
    if "brokerIP1" not in entries and len(host.addresses) > 1:
        shown = ", ".join(f"{address} ({name})" for address, name in host.addresses[:6])
        text = (
            f"brokerIP1 is not set, and this host has several addresses: {shown}; which one clients are told is chance."
        )
        remedy = f"Set it to the one that clients can reach, for example brokerIP1={host.example_address()}"
        yield Rule("announced-address", file).warning("brokerIP1", text, remedy)


def _announced(rule: Rule, entry: Property, who: str, host: Host) -> Iterator[Finding]:
    value = entry.value.strip()
    said = f"{entry.key}={value[:60]}"
    remedy = f"Set it to an address {who} can reach, for example {entry.key}={host.example_address()}"
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        yield from _announced_name(rule, entry, who, remedy)
        return
    if address.is_unspecified:
        yield rule.error(entry, f"{said} is no address of one host; {who} will fail to connect.", remedy)
    elif address.is_loopback:
        text = f"{said} is a loopback address; {who} on other hosts will fail to connect."
        yield rule.warning(entry, text, remedy)
    elif address in _BRIDGE:
        text = f"{said} is a container bridge address; {who} outside will fail to connect."
        yield rule.error(entry, text, remedy)
    elif any(address in network for network in _LINK_LOCAL):
        text = f"{said} is a link-local address; {who} on other networks will fail to connect."
        yield rule.error(entry, text, remedy)
    elif any(address in network for network in _CONTAINERS):
        text = f"{said} is in a network that containers often have; {who} outside it will fail to connect."
        yield rule.warning(entry, text, f"{remedy}, unless all of them are in that network.")


def _announced_name(rule: Rule, entry: Property, who: str, remedy: str) -> Iterator[Finding]:
    value = entry.value.strip()
    said = f'{entry.key}="{value[:60]}"'
    if not value:
        yield rule.error(entry, f"{entry.key} is empty; {who} are told an address without a host.", remedy)
    elif value.startswith("[") or "%" in value:
        yield rule.error(entry, f"{said} is no address: brackets and zones do not belong into it.", remedy)
    elif re.search(r":[0-9]+$", value) or "/" in value:
        yield rule.error(entry, f"{said} holds more than a host; the port is listenPort.", remedy)
    elif value == "localhost":
        yield rule.warning(entry, f"{said} is a loopback address; {who} on other hosts will fail to connect.", remedy)
    else:
        text = f"{said} is a name, which each of the {who} looks up for itself; all of them must be able to."
        yield rule.note(entry, text)


def name_servers(file: SettingsFile) -> Iterator[Finding]:
    """Find lists of NameServers that are not read as they are meant."""
    rule = Rule("name-servers", file)
    entry = file.last().get("namesrvAddr")
    if entry is None:
        text = "namesrvAddr is not set; unless it comes from -n or $NAMESRV_ADDR the broker registers nowhere."
        yield rule.note("namesrvAddr", text, "Set it, for example namesrvAddr=10.0.0.1:9876;10.0.0.2:9876")
        return
    if "," in entry.value:
        yield rule.warning(entry, "namesrvAddr uses ',' between addresses; RocketMQ expects ';'")
    pieces = re.split("[;,]", entry.value)
    given = [piece.strip() for piece in pieces if piece.strip()]
    if any(piece != piece.strip() for piece in pieces if piece.strip()) and len(given) > 1:
        yield rule.error(
            entry,
            "namesrvAddr has blanks between its addresses; Java looks for a host whose name begins with one.",
            f"Write namesrvAddr={';'.join(given)[:200]}",
        )
    if not given:
        yield rule.error(entry, "namesrvAddr is empty; the broker registers nowhere.")
    for server in dict.fromkeys(given):
        yield from _name_server(rule, entry, server)
        if given.count(server) > 1:
            yield rule.warning(entry, f"namesrvAddr holds {server[:60]} twice.", "Remove one of them.")


def _name_server(rule: Rule, entry: Property, server: str) -> Iterator[Finding]:
    match = _SERVER.fullmatch(server)
    shown = server[:60]
    if match is None or not 0 < int(match[2]) < 65_536:
        text = f'namesrvAddr holds "{shown}", which is no address with a port; the broker does not reach it.'
        yield rule.error(entry, text, "Write host:port, for example 10.0.0.1:9876")
    elif match[1] in ("0.0.0.0", "[::]"):  # noqa: S104 -- compared, not bound
        text = f"namesrvAddr holds {shown}, which is no address of one host."
        yield rule.error(entry, text, "Write the address of the host that the NameServer runs on.")
    elif match[1] == "localhost" or match[1].startswith("127."):
        text = f"namesrvAddr holds {shown}: right only while a NameServer runs on the same host, outside any container."
        yield rule.note(entry, text)
