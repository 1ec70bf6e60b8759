"""Clients written in other languages than Java carry messages with routes of our NameServer.

One broker and one Java client live through the file. What a client does about a topic that nobody made is its own
choice, and part of what a NameServer has to live with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig import go_client, node_client, python_client, rust_client
from tests.interop.rig.brokers import REGISTRATION_PERIOD_S, ApacheBroker, BrokerSettings
from tests.interop.rig.client_program import ClientProgram, MakeClient
from tests.interop.rig.clients import JavaClients
from tests.interop.rig.jars import V5_5
from tests.interop.rig.name_servers import NameServer
from tests.support.waiting import wait_until

MESSAGES = 100
AT_ONCE_S = 10.0
PERIODS_S = 4 * REGISTRATION_PERIOD_S
RECONNECT_S = 90.0
"""A client may wait for its next heartbeat or poll of the NameServer, every 30 s, before it connects again."""

GO, NODE, PYTHON, RUST = "go", "node", "python", "rust"
MAKERS: Final[Mapping[str, MakeClient]] = MappingProxyType(
    {
        GO: go_client.go_client,
        NODE: node_client.node_client,
        PYTHON: python_client.python_client,
        RUST: rust_client.rust_client,
    }
)
ASK_FOR_TBW102: Final = (GO, PYTHON, RUST)
"""Clients that ask for the route of TBW102 when there is none for the topic; the others give up."""

BUILD = pytest.mark.timeout(3600)
"""The first test of a language waits until its client is built; where nothing is cached Rust may take half an hour."""
GO_MARKS: Final = (BUILD, pytest.mark.builds(go_client.BUILD))
RUST_MARKS: Final = (BUILD, pytest.mark.builds(rust_client.BUILD), pytest.mark.full)

each_language = pytest.mark.parametrize(
    "language",
    [pytest.param(GO, marks=GO_MARKS), NODE, PYTHON, pytest.param(RUST, marks=RUST_MARKS)],
)
with_java = pytest.mark.parametrize(
    "language",
    [
        pytest.param(GO, marks=GO_MARKS),
        pytest.param(NODE, marks=pytest.mark.full),
        pytest.param(PYTHON, marks=pytest.mark.full),
        pytest.param(RUST, marks=RUST_MARKS),
    ],
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the messages go."""

    name_server: NameServer
    broker: ApacheBroker

    @property
    def address(self) -> str:
        return self.name_server.address

    def new_topic(self, topic: str) -> str:
        """Make a topic, and return its name once there is a route."""
        self.broker.create_topic(topic)
        wait_until(lambda: self.name_server.view.route(topic), f"the route of {topic}", AT_ONCE_S)
        return topic


class Clients:
    """The client of each language, made when it is asked for."""

    def __init__(self, new_stage: StageMaker) -> None:
        self._stage = new_stage("languages-clients")
        self._made: dict[str, ClientProgram] = {}

    def __enter__(self) -> Self:
        self._stage.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._stage.__exit__(None, None, None)

    def of(self, language: str) -> ClientProgram:
        if language not in self._made:
            self._made[language] = self._stage.client_program(language, MAKERS[language])
        return self._made[language]


@pytest.fixture(scope="module")
def clients(new_stage: StageMaker) -> Iterator[Clients]:
    with Clients(new_stage) as clients:
        yield clients


@pytest.fixture(scope="module")
def place(new_stage: StageMaker) -> Iterator[Place]:
    with new_stage("languages") as stage:
        name_server = stage.name_server()
        settings = BrokerSettings(release=V5_5, name="broker-languages", name_servers=[name_server.address])
        yield Place(name_server, stage.registered_broker(settings))


@pytest.fixture(scope="module")
def java(new_stage: StageMaker) -> Iterator[JavaClients]:
    with new_stage("languages-java") as stage:
        yield stage.clients(V5_5)


@each_language
def test_every_message_sent_is_received(clients: Clients, place: Place, language: str) -> None:
    client = clients.of(language)
    topic = place.new_topic(f"Own-{language}")
    assert f"SENT {MESSAGES}/{MESSAGES}" in client.send(place.address, topic, MESSAGES)
    assert f"RECEIVED {MESSAGES}/{MESSAGES}" in client.receive(place.address, topic, MESSAGES)


@with_java
def test_java_receives_what_it_sends(clients: Clients, java: JavaClients, place: Place, language: str) -> None:
    topic = place.new_topic(f"From-{language}-to-java")
    assert f"SENT {MESSAGES}/{MESSAGES}" in clients.of(language).send(place.address, topic, MESSAGES)
    assert f"RECEIVED {MESSAGES}/{MESSAGES}" in java.receive(place.address, topic, MESSAGES)


@with_java
def test_it_receives_what_java_sends(clients: Clients, java: JavaClients, place: Place, language: str) -> None:
    topic = place.new_topic(f"From-java-to-{language}")
    assert f"SENT {MESSAGES}/{MESSAGES}" in java.send(place.address, topic, MESSAGES)
    assert f"RECEIVED {MESSAGES}/{MESSAGES}" in clients.of(language).receive(place.address, topic, MESSAGES)


@each_language
def test_a_topic_nobody_made(clients: Clients, place: Place, language: str) -> None:
    """It is made by its first message when the client asks for TBW102 instead, and stays unknown otherwise."""
    topic = f"Unmade-{language}"
    assert place.name_server.view.route(topic) is None
    seen = clients.of(language).send(place.address, topic, 2)
    if language in ASK_FOR_TBW102:
        assert "SENT 2/2" in seen
        assert place.name_server.view.route(topic) is not None
    else:
        assert "SENT 0/2" in seen
        assert place.name_server.view.route(topic) is None


@each_language
def test_a_living_producer_finds_new_routes_after_a_restart(clients: Clients, place: Place, language: str) -> None:
    """Its connection broke with the old process; the new topic's route can only come from the new one."""
    session = clients.of(language).session(place.address)
    assert "SENT 1/1" in session.send(place.new_topic(f"Before-{language}"))
    place.name_server.restart()
    place.broker.wait_registered(PERIODS_S)
    topic = place.new_topic(f"After-{language}")
    wait_until(lambda: "SENT 1/1" in session.send(topic), f"a {language} producer to send again", RECONNECT_S)
