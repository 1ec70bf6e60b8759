"""What a group becomes when one of its brokers registers."""

import pytest
from tests.support.builders import identity

from cosmodrome.namesrv.routing.broker_live import BrokerKey
from cosmodrome.namesrv.routing.registration import addrs_without_former_ids, group_with, is_prime_slave
from cosmodrome.protocol.bodies.route import BrokerData


def test_identity() -> None:
    assert identity("a", 0).key == BrokerKey("C", "a-0:10911")
    assert identity("a", 0).is_master
    assert not identity("a", 1).is_master


def test_a_new_group() -> None:
    assert group_with(None, identity("a", 1, addr="x", acting=True, zone="z")) == BrokerData(
        broker_addrs={1: "x"}, broker_name="a", cluster="C", enable_acting_master=True, zone_name="z"
    )


def test_a_group_keeps_its_first_cluster_and_takes_the_newest_flags() -> None:
    old = group_with(None, identity("a", 0, acting=True, zone="z"))

    new = group_with(old, identity("a", 1, cluster="D", acting=None))

    assert (new.cluster, new.enable_acting_master, new.zone_name) == ("C", False, None)
    assert new.broker_addrs == {0: "a-0:10911", 1: "a-1:10911"}


def test_an_address_has_one_id() -> None:
    """The newest: that is how roles are switched."""
    old = BrokerData(broker_addrs={0: "x", 1: "y"}, broker_name="a", cluster="C")
    slave_becomes_master = identity("a", 0, addr="y")

    assert addrs_without_former_ids(old, slave_becomes_master) == {0: "x"}
    assert group_with(old, slave_becomes_master).broker_addrs == {0: "y"}
    assert addrs_without_former_ids(old, identity("a", 1, addr="y")) == {0: "x", 1: "y"}


@pytest.mark.parametrize(
    ("id_", "acting", "is_prime"),
    [(1, True, True), (1, False, True), (1, None, False), (2, True, False), (0, True, False)],
)
def test_the_prime_slave(id_: int, *, acting: bool | None, is_prime: bool) -> None:
    """The smallest id, of a release that knows that; never the master."""
    group = BrokerData(broker_addrs={id_: "x", 1: "y"}, broker_name="a", cluster="C")

    assert is_prime_slave(group, identity("a", id_, acting=acting)) is is_prime
