"""Rules about ports, and about several files together.

Owns: ports that one broker, or several on one host, want twice; names and ids that two brokers have.
Must not know: what else is wrong in one file (the other rules).
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from cosmodrome.configuring.linting.broker_file import MASTER_ID, BrokerFile
from cosmodrome.configuring.linting.finding import Finding, Rule

_HIGHEST_PORT: Final = 65_535
_NAMESRV_PORT: Final = 9876


def ports(broker: BrokerFile) -> Iterator[Finding]:
    """Find ports of one broker that cannot be, or that it wants twice."""
    rule = Rule("ports", broker.file)
    listen = broker.number("listenPort")
    if listen is None:
        return
    slaves = broker.number("haListenPort") or listen + 1
    if not (listen > 2 and max(listen, slaves) <= _HIGHEST_PORT):
        text = f"listenPort={listen} leaves no room for the ports {listen - 2} and {slaves} beside it."
        yield rule.error(broker.at("listenPort"), text, "Choose one between 1026 and 65534.")
    elif slaves in (listen, listen - 2):
        text = f"haListenPort={slaves} is taken by the broker itself: it listens on {listen} and {listen - 2} too."
        yield rule.error(broker.at("haListenPort"), text, "Leave haListenPort out; then it is listenPort + 1.")
    if _NAMESRV_PORT in broker.ports():
        text = f"listenPort={listen} takes port {_NAMESRV_PORT} too, which is a NameServer's."
        yield rule.warning(broker.at("listenPort"), text)


def together(brokers: Sequence[BrokerFile]) -> Iterator[Finding]:
    """Find what does not go together in several files."""
    for earlier, later in itertools.combinations(brokers, 2):
        yield from _same_identity(earlier, later)
        if _share_a_host(earlier, later):
            yield from _same_ports(earlier, later)
            yield from _same_store(earlier, later)
    yield from _slaves_without_master(brokers)


def _same_identity(earlier: BrokerFile, later: BrokerFile) -> Iterator[Finding]:
    rule = Rule("identity", later.file)
    is_named = earlier.entry("brokerName") is not None and later.entry("brokerName") is not None
    if earlier.name != later.name or not later.name or not (is_named or _share_a_host(earlier, later)):
        return
    name, other = later.name[:60], earlier.file.shown
    clusters = [broker.value("brokerClusterName")[:60] for broker in (earlier, later)]
    if clusters[0] != clusters[1]:
        text = (
            f"brokerName={name} is in cluster {clusters[1]} here and in {clusters[0]} in {other}; NameServers take both for "
            "one broker, and routes mix."
        )
        yield rule.error(later.at("brokerName"), text, "Give brokers of different clusters different names.")
    elif later.id_in_force is not None and earlier.id_in_force == later.id_in_force:
        text = (
            f"brokerName={name} with id {later.id_in_force} is in {other} too; each pushes the other out of the routes."
        )
        remedy = "Give one of them another brokerName, or make it a slave: brokerRole=SLAVE and an id of its own."
        yield rule.error(later.at("brokerName"), text, remedy)
    elif earlier.value("namesrvAddr") != later.value("namesrvAddr"):
        text = f"brokerName={name} has another namesrvAddr in {other}; some NameServers know only half of it."
        yield rule.warning(later.at("namesrvAddr"), text, "Give all brokers of a name the same list.")


def _share_a_host(earlier: BrokerFile, later: BrokerFile) -> bool:
    """Tell whether two brokers seem to be meant for one host: the same address, or ports that were chosen."""
    addresses = [broker.value("brokerIP1") for broker in (earlier, later)]
    if any(addresses):
        return addresses[0] == addresses[1]
    return any(broker.entry("listenPort") is not None for broker in (earlier, later))


def _same_ports(earlier: BrokerFile, later: BrokerFile) -> Iterator[Finding]:
    rule = Rule("ports", later.file)
    theirs = earlier.ports()
    for port, use in later.ports().items():
        if port in theirs:
            text = f"port {port} {use} is taken by {earlier.file.shown}, as {theirs[port]}, if both are on one host."
            remedy = (
                "A broker takes three ports: keep listenPort of brokers on one host at least 4 apart, for example 10."
            )
            yield rule.error(later.at("listenPort"), text, remedy)
            return


def _same_store(earlier: BrokerFile, later: BrokerFile) -> Iterator[Finding]:
    path = later.value("storePathRootDir")
    if path.rstrip("/") == earlier.value("storePathRootDir").rstrip("/"):
        text = (
            f"storePathRootDir={path[:100]} is that of {earlier.file.shown} too; on one host the second does not start."
        )
        rule = Rule("store-path", later.file)
        yield rule.error(later.at("storePathRootDir"), text, "Give each broker a folder of its own.")


def _slaves_without_master(brokers: Sequence[BrokerFile]) -> Iterator[Finding]:
    names: dict[str, list[BrokerFile]] = defaultdict(list)
    for broker in brokers:
        names[broker.name].append(broker)
    if len(brokers) < 2:
        return
    for name, group in names.items():
        if name and all(broker.id_in_force not in (None, MASTER_ID) for broker in group):
            text = f"brokerName={name[:60]}: there are slaves of it, and none of these files is its master."
            yield Rule("identity", group[0].file).warning(group[0].at("brokerName"), text)
