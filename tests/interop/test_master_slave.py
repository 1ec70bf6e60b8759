"""A master and its slave, without acting master: the slave learns its master from the NameServer."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.view import topic_configs_of_broker
from tests.support.waiting import wait_until

NAME = "broker-pair"
TOPIC = "Pair"
SLAVE_SYNC_S = 120.0
"""A 4.9.7 slave copies its master's topics within 10 s; a 5.5.0 slave took 60 s, with either NameServer."""


@dataclass(frozen=True, slots=True)
class Pair:
    name_server: NameServer
    master: ApacheBroker
    slave: ApacheBroker


@pytest.fixture(scope="module", params=[V4_9, pytest.param(V5_5, marks=pytest.mark.full)])
def pair(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Pair]:
    """A running master with one topic of its own, and a running slave."""
    with new_stage(f"pair-{request.param}") as stage:
        name_server = stage.name_server()
        master, slave = (
            stage.registered_broker(
                BrokerSettings(release=request.param, name=NAME, id=broker_id, name_servers=[name_server.address])
            )
            for broker_id in (0, 1)
        )
        master.create_topic(TOPIC)
        yield Pair(name_server, master, slave)


def test_both_are_listed_and_in_the_route(pair: Pair) -> None:
    both = {"0": pair.master.address, "1": pair.slave.address}
    assert pair.name_server.view.broker_groups() == {NAME: both}
    assert pair.name_server.view.route_addresses(TOPIC, NAME) == both


def test_the_slave_learns_its_master_from_its_registration(pair: Pair) -> None:
    """Only then can it copy the topics of the master, which were made on the master alone."""
    wait_until(lambda: TOPIC in topic_configs_of_broker(pair.slave.address), "the slave to copy", SLAVE_SYNC_S)


def test_only_the_slave_is_left_when_the_master_stops(pair: Pair) -> None:
    pair.master.stop()
    assert pair.name_server.view.broker_groups() == {NAME: {"1": pair.slave.address}}
    assert pair.name_server.view.route_addresses(TOPIC, NAME) == {"1": pair.slave.address}
    assert pair.name_server.view.permission(TOPIC, NAME) == 6


def test_the_master_comes_back(pair: Pair) -> None:
    pair.master.start_registered()
    both = {"0": pair.master.address, "1": pair.slave.address}
    assert pair.name_server.view.route_addresses(TOPIC, NAME) == both
    assert pair.name_server.view.permission(TOPIC, NAME) == 6
