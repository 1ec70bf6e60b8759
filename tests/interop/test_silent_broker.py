"""A broker that hangs, with its connection open, is dropped after the time it announced itself."""

import time
from collections.abc import Iterator

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import REGISTRATION_PERIOD_S, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_1, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.support.waiting import wait_until

NAME = "broker-silent"
NOT_ACTIVE_S = 4
SCAN_S = 1


@pytest.fixture(scope="module")
def name_server(new_stage: StageMaker) -> Iterator[NameServer]:
    with new_stage("silent-namesrv") as stage:
        yield stage.name_server({"scanNotActiveBrokerInterval": str(SCAN_S * 1000)})


@pytest.fixture(scope="module", params=[V5_5, pytest.param(V5_1, marks=pytest.mark.full)])
def broker(request: pytest.FixtureRequest, new_stage: StageMaker, name_server: NameServer) -> Iterator[ApacheBroker]:
    """Only 5.x brokers with acting master announce a timeout, and heartbeat every second."""
    config = {"enableSlaveActingMaster": "true", "brokerNotActiveTimeoutMillis": str(NOT_ACTIVE_S * 1000)}
    with new_stage(f"silent-{request.param}") as stage:
        yield stage.registered_broker(
            BrokerSettings(release=request.param, name=NAME, name_servers=[name_server.address], config=config)
        )


def test_heartbeats_between_registrations_keep_it_alive(broker: ApacheBroker, name_server: NameServer) -> None:
    assert NOT_ACTIVE_S + SCAN_S < REGISTRATION_PERIOD_S
    name_server.view.delete_topic("TBW102")
    seen = set()

    def is_registered_again() -> bool:
        seen.add(frozenset(name_server.view.broker_ids(NAME)))
        return name_server.view.route("TBW102") is not None

    wait_until(is_registered_again, "the next registration", 4 * REGISTRATION_PERIOD_S)
    assert seen == {frozenset({"0"})}


def test_expires_by_time_and_not_earlier_when_suspended(broker: ApacheBroker, name_server: NameServer) -> None:
    suspended_at = time.monotonic()
    broker.process.suspend()
    try:
        broker.wait_gone(NOT_ACTIVE_S + 5 * SCAN_S)
    finally:
        broker.process.resume()
    # The last heartbeat was sent up to one second before.
    assert time.monotonic() - suspended_at >= NOT_ACTIVE_S - 1


def test_comes_back_when_it_runs_again(broker: ApacheBroker, name_server: NameServer) -> None:
    broker.wait_registered(4 * REGISTRATION_PERIOD_S)
    assert NAME in name_server.view.topics()
