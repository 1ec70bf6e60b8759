"""Which real brokers can prove who they are to a NameServer that asks for it: 5.x by its own credentials, older ones not."""

from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import REGISTRATION_PERIOD_S, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.process import START_S
from tests.interop.rig.stage import OURS, Stage
from tests.support.callers import write_accounts
from tests.support.waiting import wait_until

NAME: Final = "broker-signed"
ACCOUNT: Final = {"accessKey": "brokers", "secretKey": "secret of brokers", "role": "broker"}
CREDENTIALS: Final = '{"accessKey":"brokers","secretKey":"%s"}'
# Without it a 5.5.0 broker that has inner credentials does not start, even if nobody has to sign what he sends to it.
PROVIDER: Final = {
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
    )
}
REFUSED: Final = "brokerAuth=true wants brokers to sign"


def demanding_server(stage: Stage) -> NameServer:
    """Start a server of ours at which brokers must sign; Apache's have no such thing. This host is no administrator."""
    accounts = write_accounts(stage.folder / "accounts.toml", [ACCOUNT])
    config = {"brokerAuth": "true", "aclFile": str(accounts), "adminAllow": "192.0.2.0/24", "auditLog": "off"}
    return stage.started_name_server(OURS, config)


def broker_settings(release: str, server: NameServer, credentials: str = "") -> BrokerSettings:
    config = {"innerClientAuthenticationCredentials": credentials, **PROVIDER} if credentials else {}
    return BrokerSettings(release=release, name=NAME, name_servers=[server.address], config=config)


def test_a_5_5_broker_signs_all_it_sends_with_its_inner_credentials(new_stage: StageMaker) -> None:
    """Registrations, version queries, single topics and the goodbye."""
    with new_stage("signed") as stage:
        server = demanding_server(stage)
        broker = stage.registered_broker(broker_settings(V5_5, server, CREDENTIALS % ACCOUNT["secretKey"]))
        broker.create_topic("SignedTopic")
        wait_until(lambda: server.view.route("SignedTopic") is not None, "the topic", 4 * REGISTRATION_PERIOD_S)
        broker.stop()
        broker.wait_gone()
        assert "request.denied" not in server.process.output()


@pytest.mark.full
@pytest.mark.parametrize(
    ("release", "credentials"),
    [(V5_5, CREDENTIALS % "guessed secret"), (V5_5, ""), (V5_1, CREDENTIALS % ACCOUNT["secretKey"]), (V4_9, "")],
)
def test_others_are_refused_and_told_why(new_stage: StageMaker, release: str, credentials: str) -> None:
    """A broker of 4.9 or 5.1 has nothing to sign with: for it there is brokerAllow."""
    with new_stage("unsigned") as stage:
        server = demanding_server(stage)
        broker = stage.broker(broker_settings(release, server, credentials))
        broker.process.start()
        wait_until(lambda: REFUSED in server.process.output(), "a refusal", START_S)
        assert server.view.broker_groups() == {}
