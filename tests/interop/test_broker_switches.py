"""Broker settings that change what reaches the NameServer: every one leads to the same tables."""

from collections.abc import Iterator

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import REGISTRATION_PERIOD_S, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import Stage
from tests.support.waiting import wait_until

PERIODS_S = 4 * REGISTRATION_PERIOD_S
AT_ONCE_S = 10.0
BINARY_HEADERS = {"rocketmq.serialize.type": "ROCKETMQ"}
MANY_TOPICS = [f"Split{number:02}" for number in range(12)]


@pytest.fixture(scope="module")
def name_server(new_stage: StageMaker) -> Iterator[NameServer]:
    with new_stage("switches-namesrv") as stage:
        yield stage.name_server()


@pytest.fixture
def stage(new_stage: StageMaker, name_server: NameServer) -> Iterator[Stage]:
    """Where the one broker of a test lives; the next test finds a NameServer that has none.

    A broker that was killed just after the NameServer was starved of processor time stays listed for a while.
    """
    with new_stage("switches") as stage:
        yield stage
    wait_until(lambda: not name_server.view.broker_groups(), "the NameServer to forget the broker")


@pytest.mark.parametrize("release", [V5_5, pytest.param(V5_1, marks=pytest.mark.full), V4_9])
def test_binary_headers_are_understood(stage: Stage, name_server: NameServer, release: str) -> None:
    settings = BrokerSettings(
        release=release, name="broker-binary", name_servers=[name_server.address], properties=BINARY_HEADERS
    )
    broker = stage.registered_broker(settings)
    broker.create_topic("Binary")
    wait_until(lambda: name_server.view.permission("Binary", broker.name) == 6, "the new topic", AT_ONCE_S)
    assert name_server.view.permission("TBW102", broker.name) == 7
    broker.process.terminate()
    broker.wait_gone()


@pytest.mark.parametrize("release", [V5_5, pytest.param(V5_1, marks=pytest.mark.full), V4_9])
def test_compressed_registrations_are_understood(stage: Stage, name_server: NameServer, release: str) -> None:
    """COMPAT: a 5.x broker compresses and says it does not; Apache's NameServers refuse it, ours does not."""
    settings = BrokerSettings(
        release=release,
        name="broker-compressed",
        name_servers=[name_server.address],
        config={"compressedRegister": "true"},
    )
    broker = stage.registered_broker(settings)
    assert name_server.view.permission("TBW102", broker.name) == 7
    assert broker.name in name_server.view.topics()


@pytest.mark.parametrize("release", [V5_5, pytest.param(V4_9, marks=pytest.mark.full)])
def test_a_broker_that_asks_before_it_registers_notices_a_restart(
    stage: Stage, name_server: NameServer, release: str
) -> None:
    """With forceRegister=false it registers again only when the NameServer says that something changed."""
    settings = BrokerSettings(
        release=release,
        name="broker-query-first",
        name_servers=[name_server.address],
        config={"forceRegister": "false"},
    )
    broker = stage.registered_broker(settings)
    name_server.restart()
    broker.wait_registered(PERIODS_S)
    assert name_server.view.permission("TBW102", broker.name) == 7


def test_a_topic_registered_alone_gets_its_route(stage: Stage, name_server: NameServer) -> None:
    """With enableSingleTopicRegister a 5.x broker announces a new topic by request 217."""
    settings = BrokerSettings(
        release=V5_5,
        name="broker-single",
        name_servers=[name_server.address],
        config={"enableSingleTopicRegister": "true"},
    )
    broker = stage.registered_broker(settings)
    broker.create_topic("Single", queues=3)
    route = wait_until(lambda: name_server.view.route("Single"), "the route of the new topic", AT_ONCE_S)
    assert route["queueDatas"] == [
        {"brokerName": broker.name, "perm": 6, "readQueueNums": 3, "topicSysFlag": 0, "writeQueueNums": 3}
    ]


def test_topics_registered_in_parts_all_arrive(stage: Stage, name_server: NameServer) -> None:
    """With enableSplitRegistration a full registration is several, the last of which may be empty."""
    settings = BrokerSettings(
        release=V5_5,
        name="broker-split",
        name_servers=[name_server.address],
        config={"enableSplitRegistration": "true", "splitRegistrationSize": "5"},
    )
    broker = stage.registered_broker(settings)
    for topic in MANY_TOPICS:
        broker.create_topic(topic)
    # The topics of the broker's own come with its first full registration, which may be later than those made here.
    whole = {*MANY_TOPICS, "TBW102", "BenchmarkTest", "OFFSET_MOVED_EVENT"}
    wait_until(lambda: name_server.view.topics() >= whole, "the first full registration", PERIODS_S)
    topics_before = name_server.view.topics()
    name_server.restart()

    def all_are_back() -> bool:
        assert name_server.view.topics() >= topics_before
        return True

    wait_until(all_are_back, "all parts of a registration", PERIODS_S, (AssertionError,))
