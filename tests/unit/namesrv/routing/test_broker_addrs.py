"""Broker groups and clusters."""

import pytest

from cosmodrome.namesrv.routing.broker_addrs import BrokerAddrs
from cosmodrome.protocol.bodies.route import BrokerData


def group(name: str = "a", cluster: str = "C", addrs: dict[int, str] | None = None) -> BrokerData:
    return BrokerData(broker_addrs={0: "x"} if addrs is None else addrs, broker_name=name, cluster=cluster)


def test_a_group_and_its_cluster() -> None:
    brokers = BrokerAddrs()

    assert brokers.put(group(), "C")
    assert not brokers.put(group(), "C")
    assert brokers.put(group(addrs={0: "y"}), "C")
    assert brokers.group("a") == group(addrs={0: "y"})
    assert brokers.group("b") is None
    assert brokers.brokers_of("C") == ("a",)
    assert brokers.brokers_of("D") == ()
    assert list(brokers) == [group(addrs={0: "y"})]
    assert len(brokers) == 1
    assert "a" in brokers


def test_a_second_cluster_shares_the_group() -> None:
    """That is a change, though the group is the same; the group leaves both clusters."""
    brokers = BrokerAddrs()
    brokers.put(group(), "C")

    assert brokers.put(group(), "D")
    assert {name: list(names) for name, names in brokers.clusters.items()} == {"C": ["a"], "D": ["a"]}
    brokers.remove("a")
    assert brokers.clusters == {}
    assert "a" not in brokers


def test_a_cluster_stays_while_it_has_a_broker() -> None:
    brokers = BrokerAddrs()
    brokers.put(group("a"), "C")
    brokers.put(group("b"), "C")

    brokers.remove("a")
    brokers.remove("?")

    assert brokers.brokers_of("C") == ("b",)


def test_a_group_without_address_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="group a has no address"):
        BrokerAddrs().put(group(addrs={}), "C")
