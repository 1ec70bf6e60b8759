"""Broker name → BrokerData, and cluster → broker names (Java: brokerAddrTable, clusterAddrTable).

Owns: both, and that a name is in a cluster only while its group has an address.
Must not know: who is alive; which topics a broker serves.
"""

from collections.abc import Iterator, Mapping

from cosmodrome.protocol.bodies.route import BrokerData


class BrokerAddrs:
    """The broker groups. A group is here iff it has at least one address.

    A broker name is global: a second cluster that uses it shares the group, whose `cluster` stays the first.
    """

    def __init__(self) -> None:
        self._groups: dict[str, BrokerData] = {}
        self._clusters: dict[str, dict[str, None]] = {}

    def __iter__(self) -> Iterator[BrokerData]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, broker_name: str) -> bool:
        return broker_name in self._groups

    @property
    def clusters(self) -> Mapping[str, Mapping[str, None]]:
        """The broker names of each cluster, as ordered sets."""
        return self._clusters

    def group(self, broker_name: str) -> BrokerData | None:
        """Give a group, or None when nobody of that name is registered."""
        return self._groups.get(broker_name)

    def brokers_of(self, cluster: str) -> tuple[str, ...]:
        """Give the broker names of a cluster; empty for an unknown one."""
        return tuple(self._clusters.get(cluster, ()))

    def added_members(self, cluster: str, broker_name: str) -> int:
        """Give how many pairs of cluster and broker name there are if this is none of them; 0 if it is."""
        return 0 if broker_name in self._clusters.get(cluster, ()) else sum(map(len, self._clusters.values()))

    def put(self, group: BrokerData, cluster: str) -> bool:
        """Store a group that `cluster` registered, and tell whether that changed anything."""
        if not group.broker_addrs:
            raise ValueError(f"group {group.broker_name} has no address")
        names = self._clusters.setdefault(cluster, {})
        changed = group.broker_name not in names or self._groups.get(group.broker_name) != group
        names[group.broker_name] = None
        self._groups[group.broker_name] = group
        return changed

    def remove(self, broker_name: str) -> None:
        """Forget a group, in every cluster that named it; clusters without brokers go with it."""
        self._groups.pop(broker_name, None)
        for cluster in [name for name, brokers in self._clusters.items() if broker_name in brokers]:
            del self._clusters[cluster][broker_name]
            if not self._clusters[cluster]:
                del self._clusters[cluster]
