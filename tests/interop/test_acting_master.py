"""A slave of a 5.5.0 pair acts as master while the master is away."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.name_servers import NameServer
from tests.support.waiting import wait_until

NAME = "broker-acting"
TOPIC = "Acting"
AT_ONCE_S = 10.0
RETURN_S = 60.0
NOTICE = re.compile(r"min broker id changed, prev \d+, new (\d+)")
"""What a broker logs when it executes request 905, and at no other time (it also asks every second)."""


@dataclass(frozen=True, slots=True)
class Pair:
    name_server: NameServer
    master: ApacheBroker
    slave: ApacheBroker


@pytest.fixture(scope="module")
def pair(new_stage: StageMaker) -> Iterator[Pair]:
    """A running pair with one topic."""
    with new_stage("acting") as stage:
        name_server = stage.name_server({"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"})
        master, slave = (
            stage.registered_broker(
                BrokerSettings(
                    release=V5_5,
                    name=NAME,
                    id=broker_id,
                    name_servers=[name_server.address],
                    config={"enableSlaveActingMaster": "true"},
                )
            )
            for broker_id in (0, 1)
        )
        master.create_topic(TOPIC)
        wait_until(lambda: name_server.view.permission(TOPIC, NAME) == 6, "a writable topic")
        yield Pair(name_server, master, slave)


@pytest.fixture(scope="module")
def master_killed(pair: Pair) -> None:
    pair.master.kill()
    pair.master.wait_gone(AT_ONCE_S)


@pytest.fixture(scope="module")
def master_back(pair: Pair, master_killed: None) -> None:
    pair.master.start_registered()


def smallest_ids_told_to(broker: ApacheBroker) -> list[str]:
    """Return the smallest id of each notice that a broker has received, in order."""
    return NOTICE.findall(broker.process.log_text())


def test_both_are_in_the_route_under_their_own_ids(pair: Pair) -> None:
    assert pair.name_server.view.route_addresses(TOPIC, NAME) == {"0": pair.master.address, "1": pair.slave.address}


def test_the_route_shows_the_slave_as_master_and_read_only(pair: Pair, master_killed: None) -> None:
    view = pair.name_server.view
    wait_until(lambda: view.permission(TOPIC, NAME) == 4, "the write bit to vanish", AT_ONCE_S)
    assert view.route_addresses(TOPIC, NAME) == {"0": pair.slave.address}


def test_the_member_group_shows_the_real_id(pair: Pair, master_killed: None) -> None:
    assert pair.name_server.view.member_ids(CLUSTER, NAME) == {"1": pair.slave.address}


def test_the_slave_is_told_that_it_is_the_smallest_id(pair: Pair, master_killed: None) -> None:
    wait_until(lambda: smallest_ids_told_to(pair.slave) == ["1"], "a notice with id 1", AT_ONCE_S)


def test_the_route_is_whole_again_when_the_master_is_back(pair: Pair, master_back: None) -> None:
    view = pair.name_server.view
    both = {"0": pair.master.address, "1": pair.slave.address}
    wait_until(lambda: view.route_addresses(TOPIC, NAME) == both, f"the route to show {both}", RETURN_S)
    wait_until(lambda: view.permission(TOPIC, NAME) == 6, "the write bit", RETURN_S)
    assert view.member_ids(CLUSTER, NAME) == both


def test_the_slave_is_told_that_the_master_is_back(pair: Pair, master_back: None) -> None:
    wait_until(lambda: smallest_ids_told_to(pair.slave) == ["1", "0"], "a notice with id 0", RETURN_S)
