"""A broker of each release registers, carries messages of two clients, comes back, and leaves.

The three brokers are started once and live through the tests in the order of this file; what all of
them do at the same time (a restart of the NameServer, a shutdown) is a fixture, not a test.
"""

from collections.abc import Iterator

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, REGISTRATION_PERIOD_S
from tests.interop.rig.clients import JavaClients
from tests.interop.rig.jars import RELEASES, V4_9, V5_5
from tests.interop.rig.trio import Trio
from tests.support.waiting import wait_until

MESSAGES = 1000
PERIODS_S = 4 * REGISTRATION_PERIOD_S
AT_ONCE_S = 10.0
"""Well below every heartbeat timeout and registration period."""

each_release = pytest.mark.parametrize("release", RELEASES)


@pytest.fixture(scope="module")
def trio(new_stage: StageMaker) -> Iterator[Trio]:
    with new_stage("trio") as stage:
        yield Trio(stage)


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def clients(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[JavaClients]:
    with new_stage(f"clients-{request.param}") as stage:
        yield stage.clients(request.param)


def own_topic(trio: Trio, release: str) -> str:
    """Return the topic that a broker names after itself, and no other broker has."""
    return trio.broker(release).name


def test_every_broker_is_listed_under_its_name_and_id(trio: Trio) -> None:
    assert trio.name_server.view.broker_groups() == trio.addresses()


@each_release
def test_registers_its_system_topics_at_start(trio: Trio, release: str) -> None:
    name = trio.broker(release).name
    assert trio.name_server.view.topics() >= {"TBW102", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", name, CLUSTER}
    assert trio.name_server.view.permission("TBW102", name) == 7
    assert trio.name_server.view.route_addresses(name, name) == {"0": trio.broker(release).address}


@each_release
def test_registers_a_new_topic_when_it_is_made(trio: Trio, release: str) -> None:
    topic = f"Fresh-{release}".replace(".", "_")
    trio.broker(release).create_topic(topic, queues=3, perm=4)
    route = wait_until(lambda: trio.name_server.view.route(topic), "the route of a new topic", AT_ONCE_S)
    name = trio.broker(release).name
    assert route["queueDatas"] == [
        {"brokerName": name, "perm": 4, "readQueueNums": 3, "topicSysFlag": 0, "writeQueueNums": 3}
    ]


@each_release
def test_every_message_sent_is_received(clients: JavaClients, trio: Trio, release: str) -> None:
    topic = f"Messages-{clients.release}-through-{release}".replace(".", "_")
    address = trio.name_server.address
    trio.broker(release).create_topic(topic)
    wait_until(lambda: trio.name_server.view.route(topic), f"the route of {topic}", AT_ONCE_S)
    assert f"SENT {MESSAGES}/{MESSAGES}" in clients.send(address, topic, MESSAGES)
    assert f"RECEIVED {MESSAGES}/{MESSAGES}" in clients.receive(address, topic, MESSAGES)


def test_a_topic_nobody_made_is_created_by_its_first_message(clients: JavaClients, trio: Trio) -> None:
    """The producer gets "no route", asks for TBW102 instead, and a broker makes and registers the topic."""
    topic = f"Unmade-{clients.release}".replace(".", "_")
    address = trio.name_server.address
    assert trio.name_server.view.route(topic) is None
    assert "SENT 10/10" in clients.send(address, topic, 10)
    assert "RECEIVED 10/10" in clients.receive(address, topic, 10)


@pytest.fixture(scope="module")
def topics_dropped(trio: Trio) -> None:
    """The topics named after the brokers, dropped from the NameServer alone."""
    for release in RELEASES:
        trio.name_server.view.delete_topic(own_topic(trio, release))


@each_release
def test_registers_again_every_period(trio: Trio, topics_dropped: None, release: str) -> None:
    """A topic dropped from the NameServer alone is put back by the next full registration."""
    topic = own_topic(trio, release)
    wait_until(lambda: trio.name_server.view.route(topic), f"{topic} to be registered again", PERIODS_S)


@pytest.fixture(scope="module")
def topics_before_restart(trio: Trio) -> set[str]:
    """The topics known just before the NameServer was restarted on its port."""
    topics = trio.name_server.view.topics()
    trio.name_server.restart()
    return topics


@each_release
def test_comes_back_by_itself_after_a_restart(trio: Trio, topics_before_restart: set[str], release: str) -> None:
    trio.broker(release).wait_registered(PERIODS_S)


def test_all_topics_come_back_after_a_restart(trio: Trio, topics_before_restart: set[str]) -> None:
    wait_until(lambda: trio.name_server.view.topics() == topics_before_restart, "the same topics", PERIODS_S)


@pytest.fixture(scope="module")
def crashed(trio: Trio) -> None:
    """The NameServer killed and started again on its port."""
    trio.name_server.kill()
    trio.name_server.start()


@pytest.mark.full
@each_release
def test_comes_back_by_itself_after_a_crash(trio: Trio, crashed: None, release: str) -> None:
    trio.broker(release).wait_registered(PERIODS_S)


@each_release
def test_vanishes_at_once_with_its_topics_when_killed(trio: Trio, release: str) -> None:
    broker = trio.broker(release)
    broker.kill()
    broker.wait_gone(AT_ONCE_S)
    wait_until(lambda: own_topic(trio, release) not in trio.name_server.view.topics(), "no topic", AT_ONCE_S)


@pytest.fixture(scope="module")
def shutting_down(trio: Trio) -> None:
    """All three brokers running again, then told to end by SIGTERM."""
    trio.start_ended()
    trio.terminate()


@each_release
def test_unregisters_when_it_shuts_down(trio: Trio, shutting_down: None, release: str) -> None:
    """Its log tells that the NameServer agreed; being gone alone could be the closed connection."""
    broker = trio.broker(release)
    broker.wait_gone()
    said = f"unregisterBroker OK, NamesrvAddr: {trio.name_server.address}"
    wait_until(lambda: said in broker.process.log_text(), said)


def test_stays_unregistered_until_its_end(trio: Trio, shutting_down: None) -> None:
    """A 5.x broker keeps asking on its connection for seconds after it has unregistered."""
    view = trio.name_server.view
    for broker in map(trio.broker, RELEASES):
        broker.wait_gone()
    wait_until(
        lambda: view.broker_groups() != {} or not any(trio.broker(each).process.is_alive for each in RELEASES),
        "the end of the brokers",
    )
    assert view.broker_groups() == {}
    assert view.topics() == set()
