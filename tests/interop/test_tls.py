"""Java brokers, clients and mqadmin speak TLS with our NameServer, by the properties they have for Apache's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import REGISTRATION_PERIOD_S, ApacheBroker, BrokerSettings
from tests.interop.rig.certificates import CLIENT_TRUSTING_ANYBODY, Certificates
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import OURS, Stage
from tests.support.tls_wire import served_serial
from tests.support.waiting import wait_until

MESSAGES = 20
AT_ONCE_S = 10.0
RENEWAL_S = 30.0
PERIODS_S = 4 * REGISTRATION_PERIOD_S
REFUSED_REGISTRATION = "at org.apache.rocketmq.broker.out.BrokerOuterAPI.registerBroker("
"""The place in the trace that a broker of any release logs."""


@dataclass(frozen=True, slots=True)
class Place:
    """A NameServer and a broker that speak TLS, and what a Java client needs to join them."""

    stage: Stage
    release: str
    name_server: NameServer
    broker: ApacheBroker
    client_properties: Mapping[str, str]

    def new_topic(self, topic: str) -> str:
        """Make a topic, and return its name once there is a route."""
        self.broker.create_topic(topic)
        wait_until(lambda: self.name_server.view.route(topic), f"the route of {topic}", AT_ONCE_S)
        return topic

    def cluster_list(self, properties: Mapping[str, str]) -> str:
        """Run mqadmin in a JVM with these properties, and return what it prints about the cluster."""
        return self.stage.mqadmin(self.release, properties).run("clusterList", "-n", self.name_server.address)

    def carry_messages(self, topic: str) -> None:
        """Send and receive with Java clients that speak TLS with the NameServer and the broker."""
        clients = self.stage.clients(self.release, self.client_properties)
        address = self.name_server.address
        self.new_topic(topic)
        assert f"SENT {MESSAGES}/{MESSAGES}" in clients.send(address, topic, MESSAGES)
        assert f"RECEIVED {MESSAGES}/{MESSAGES}" in clients.receive(address, topic, MESSAGES)


# Permissive, and test mode: what happens when TLS is switched on at the clients and nothing else is done.


@pytest.fixture(scope="module", params=[V4_9, pytest.param(V5_5, marks=pytest.mark.full)])
def permissive(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    with new_stage(f"tls-permissive-{request.param}") as stage:
        test_mode = {"tls.server.mode": "permissive", "tls.test.mode.enable": "true"}
        name_server = stage.name_server(test_mode)
        settings = BrokerSettings(
            release=request.param,
            name="broker-tls",
            name_servers=[name_server.address],
            properties={**test_mode, **CLIENT_TRUSTING_ANYBODY},
        )
        broker = stage.registered_broker(settings)
        yield Place(stage, request.param, name_server, broker, CLIENT_TRUSTING_ANYBODY)


def test_permissive_serves_tls_with_a_throw_away_certificate(permissive: Place) -> None:
    """The broker came over TLS; the questions of this test itself come without."""
    assert served_serial(permissive.name_server.address) > 0
    assert permissive.name_server.view.broker_groups() == {permissive.broker.name: {"0": permissive.broker.address}}


def test_permissive_carries_messages_of_tls_clients(permissive: Place) -> None:
    permissive.carry_messages("TlsPermissive")


@pytest.mark.full
def test_permissive_answers_mqadmin_with_and_without_tls(permissive: Place) -> None:
    assert permissive.broker.address in permissive.cluster_list(CLIENT_TRUSTING_ANYBODY)
    assert permissive.broker.address in permissive.cluster_list({})


# Enforcing, with an authority that clients are told to trust.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=[V5_5, pytest.param(V4_9, marks=pytest.mark.full)])
def enforcing(request: pytest.FixtureRequest, new_stage: StageMaker, certificates: Certificates) -> Iterator[Place]:
    """The broker itself takes peers without TLS as well, so that the test can make topics there."""
    context = certificates.client_context()
    with new_stage(f"tls-enforcing-{request.param}") as stage:
        name_server = stage.name_server(certificates.server_properties("enforcing"), context)
        settings = BrokerSettings(
            release=request.param,
            name="broker-tls",
            name_servers=[name_server.address],
            properties={**certificates.server_properties("permissive"), **certificates.client_properties()},
            tls=context,
        )
        broker = stage.registered_broker(settings)
        yield Place(stage, request.param, name_server, broker, certificates.client_properties())


@pytest.fixture(scope="module")
def admin(enforcing: Place) -> MqAdmin:
    """mqadmin that trusts the authority; every command opens a connection of its own."""
    return enforcing.stage.mqadmin(enforcing.release, enforcing.client_properties)


def test_enforcing_carries_messages_of_clients_that_trust_it(enforcing: Place) -> None:
    enforcing.carry_messages("TlsEnforcing")


def test_enforcing_answers_mqadmin_that_trusts_it(enforcing: Place, admin: MqAdmin) -> None:
    assert enforcing.broker.address in admin.run("clusterList", "-n", enforcing.name_server.address)


def test_enforcing_refuses_mqadmin_without_tls(enforcing: Place) -> None:
    seen = enforcing.cluster_list({})
    assert enforcing.broker.address not in seen
    assert "Exception" in seen


def test_mqadmin_that_trusts_another_authority_refuses_it(
    enforcing: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Certificates(tmp_path_factory.mktemp("other-certificates"))
    seen = enforcing.cluster_list(other.client_properties())
    assert enforcing.broker.address not in seen
    assert "Exception" in seen


@pytest.mark.full
def test_a_broker_without_tls_never_registers_where_it_is_enforced(enforcing: Place) -> None:
    """It says that it is up all the same, and goes on trying."""
    settings = BrokerSettings(
        release=enforcing.release,
        name="broker-plain",
        name_servers=[enforcing.name_server.address],
        tls=enforcing.broker.settings.tls,
    )
    plain = enforcing.stage.broker(settings)
    plain.start()
    wait_until(lambda: plain.process.log_text().count(REFUSED_REGISTRATION) > 1, "two refusals", PERIODS_S)
    assert enforcing.name_server.view.broker_groups() == {enforcing.broker.name: {"0": enforcing.broker.address}}
    plain.kill()


def test_a_renewed_certificate_is_shown_and_the_broker_stays(
    enforcing: Place, admin: MqAdmin, certificates: Certificates
) -> None:
    """New handshakes show the new one; connections that are there are left alone."""
    address, view = enforcing.name_server.address, enforcing.name_server.view
    topic = enforcing.new_topic("TlsRenewal")
    said_before = enforcing.name_server.process.output()
    renewed = certificates.renew()
    wait_until(lambda: served_serial(address) == renewed, "the renewed certificate", RENEWAL_S)
    view.delete_topic(topic)
    wait_until(lambda: view.route(topic), f"{topic} to be registered again", PERIODS_S)
    assert enforcing.broker.address in admin.run("clusterList", "-n", address)
    said_since = enforcing.name_server.process.output().removeprefix(said_before)
    if enforcing.stage.name_server_kind == OURS:
        assert "broker.registered" in said_before
    assert "broker.registered" not in said_since
    assert "broker.unregistered" not in said_since
