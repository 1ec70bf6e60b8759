"""Unmodified Java clients and mqadmin at our broker when it asks for credentials, speaks TLS, or is reached by its second port."""

# ruff: noqa: N802  # case ids are written in capitals

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.message_clients import JavaClientError, MessageClients
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.ports import free_port
from tests.interop.rig.stage import OURS, Stage

OPERATOR: Final = {"accessKey": "operator", "secretKey": "the-secret-of-the-operator"}
ALICE: Final = {"accessKey": "alice-1", "secretKey": "the-secret-of-alice"}
USERS: Final = "users"
PLAIN: Final = "plain"
_PLAIN_ACL: Final = f"""\
accounts:
- accessKey: {OPERATOR["accessKey"]}
  secretKey: {OPERATOR["secretKey"]}
  admin: true
- accessKey: {ALICE["accessKey"]}
  secretKey: {ALICE["secretKey"]}
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms: [Allowed=PUB|SUB, ReadOnly=SUB]
  groupPerms: [readers=SUB]
"""


def settings_of(kind: str, folder: Path) -> dict[str, Any]:
    """Give the settings of a broker that asks for credentials of 5.x (users) or 4.9 (plain)."""
    if kind == USERS:
        return {
            "authentication_enabled": True,
            "authorization_enabled": True,
            "init_authentication_user": json.dumps(
                {"username": OPERATOR["accessKey"], "password": OPERATOR["secretKey"]}
            ),
        }
    conf = folder / "home" / "conf"
    conf.mkdir(parents=True)
    file = conf / "plain_acl.yml"
    file.write_text(_PLAIN_ACL, encoding="utf-8")
    file.chmod(0o600)
    return {"acl_enable": True, "rocketmq_home": str(folder / "home")}


def signing_admin(stage: Stage, release: str, keys: Mapping[str, str]) -> MqAdmin:
    """Start mqadmin with its credentials where Apache's looks for them."""
    admin = stage.mqadmin(release)
    text = "".join(f'{key}: "{value}"\n' for key, value in keys.items())
    (admin.home / "conf").mkdir(exist_ok=True)
    (admin.home / "conf" / "tools.yml").write_text(text, encoding="utf-8")
    return admin


@dataclass(frozen=True)
class Place:
    """A broker that asks for credentials, clients and a tool of one release, and a tool that signs as alice."""

    kind: str
    name_server: NameServer
    broker: OurBroker
    clients: MessageClients
    admin: MqAdmin

    def run(self, *words: str) -> str:
        return self.admin.run(*words, "-n", self.name_server.address)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((V5_5, USERS), id="5.5.0-users"),
        pytest.param((V4_9, PLAIN), id="4.9.7-plain", marks=pytest.mark.full),
    ],
)
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release, kind = request.param
    with new_stage(f"our-security-{kind}") as stage:
        server = stage.started_name_server(OURS)
        with OurBroker("broker-a", server.address, **settings_of(kind, stage.folder)) as broker:
            admin = signing_admin(stage, release, OPERATOR)
            found = Place(kind, server, broker, stage.message_clients(release), admin)
            make_accounts(found)
            yield found


def make_accounts(place: Place) -> None:
    """Make topics and a group, and let alice send to one and consume from two, with mqadmin."""
    address = place.broker.broker.address
    for topic in ("Allowed", "ReadOnly", "Closed"):
        assert f"create topic to {address} success" in place.run("updateTopic", "-b", address, "-t", topic)
    place.run("updateSubGroup", "-b", address, "-g", "readers")
    if place.kind == USERS:
        place.run("createUser", "-b", address, "-u", "alice-1", "-p", ALICE["secretKey"], "-t", "Normal")
        for resource, actions in (("Topic:Allowed", "Pub,Sub"), ("Topic:ReadOnly", "Sub"), ("Group:readers", "Sub")):
            place.run("createAcl", "-b", address, "-s", "User:alice-1", "-r", resource, "-a", actions, "-d", "Allow")


def test_C016_B047_the_operator_sees_accounts_and_no_secrets_with_mqadmin(place: Place) -> None:
    address = place.broker.broker.address
    if place.kind == USERS:
        shown = place.run("listUser", "-b", address) + place.run("getUser", "-b", address, "-u", "alice-1")
        assert "Topic:Allowed" in place.run("getAcl", "-b", address, "-s", "User:alice-1")
        assert "Group:readers" in place.run("listAcl", "-b", address, "-s", "alice")
        place.run("createUser", "-b", address, "-u", "bob", "-p", "the-secret-of-bob")
        place.run("updateUser", "-b", address, "-u", "bob", "-s", "disable")
        assert "disable" in place.run("listUser", "-b", address, "-f", "bob")
        place.run("deleteUser", "-b", address, "-u", "bob")
        assert "bob" not in place.run("listUser", "-b", address)
    else:
        shown = place.run("getAclConfig", "-b", address)
        place.run("updateAclConfig", "-b", address, "-a", "bob-bob-1", "-s", "the-secret-of-bob", "-t", "Allowed=SUB")
        assert "bob-bob-1" in place.run("getAclConfig", "-b", address)
        assert address in place.run("clusterAclConfigVersion", "-b", address)
        place.run("deleteAclConfig", "-b", address, "-a", "bob-bob-1")
        assert "bob-bob-1" not in place.run("getAclConfig", "-b", address)
    assert "alice-1" in shown
    assert ALICE["secretKey"] not in shown
    assert OPERATOR["secretKey"] not in shown


def test_C016_clients_with_credentials_send_and_consume(place: Place) -> None:
    clients = place.clients
    clients.producer("pa", place.name_server.address, "senders", **ALICE)
    clients.send("pa", "Allowed", "plain", keys="k1", tag="a", count=4)
    clients.send("pa", "Allowed", "later", delayLevel=1)
    clients.send_batch("pa", "Allowed", "batch", 3)
    clients.consumer("ca", place.name_server.address, "readers", "Allowed", fail=1, **ALICE)
    clients.wait_seen("ca", 16)
    clients.end("ca")


@pytest.mark.full
def test_C016_transactions_and_order_with_credentials(place: Place) -> None:
    clients = place.clients
    clients.producer("pt", place.name_server.address, "tx", kind="transaction", **OPERATOR)
    clients.transact("pt", "Closed", "kept", "commit")
    clients.consumer("co", place.name_server.address, "ordered", "Closed", orderly=True, **OPERATOR)
    assert clients.wait_seen("co", 1)
    clients.end("co")


@pytest.mark.parametrize(
    ("keys", "topic", "of_users", "of_plain"),
    [
        (ALICE, "ReadOnly", "no permission to access Topic:ReadOnly", "No default permission for topic:ReadOnly"),
        (ALICE, "Closed", "no permission to access Topic:Closed", "No default permission for topic:Closed"),
        ({}, "Allowed", "username cannot be null", "No accessKey is configured"),
        ({**ALICE, "secretKey": "guess"}, "Allowed", "check signature failed", "Check signature failed for accessKey"),
        ({**ALICE, "accessKey": "nobody"}, "Allowed", "User:nobody is not found", "No acl config for nobody"),
    ],
)
def test_B047_others_are_refused_in_the_words_of_apache(
    place: Place, keys: Mapping[str, str], topic: str, of_users: str, of_plain: str
) -> None:
    name = f"refused {topic} {' '.join(keys.values())}".strip()
    place.clients.producer(name, place.name_server.address, "senders", **keys)
    with pytest.raises(JavaClientError) as caught:
        place.clients.send(name, topic, "x")
    assert (of_users if place.kind == USERS else of_plain) in str(caught.value)


@pytest.mark.full
def test_B047_alice_administers_nothing_with_mqadmin(place: Place, new_stage: StageMaker) -> None:
    release = V5_5 if place.kind == USERS else V4_9
    address = place.broker.broker.address
    with new_stage("alice") as stage:
        alice = signing_admin(stage, release, ALICE)
        refusal = "no permission to access Cluster" if place.kind == USERS else "Need admin permission"
        for words in (
            ["getBrokerConfig", "-b", address],
            ["updateBrokerConfig", "-b", address, "-k", "brokerPermission", "-v", "4"],
            ["brokerStatus", "-b", address],
        ):
            assert refusal in alice.run(*words, "-n", place.name_server.address), words


@pytest.mark.full
@pytest.mark.parametrize("release", [V5_5, V4_9])
@pytest.mark.parametrize("kind", [USERS, PLAIN])
def test_C016_either_release_signs_for_either_kind(new_stage: StageMaker, release: str, kind: str) -> None:
    with new_stage(f"signed-{release}-{kind}") as stage:
        server = stage.started_name_server(OURS)
        with OurBroker("broker-a", server.address, **settings_of(kind, stage.folder)):
            clients = stage.message_clients(release)
            clients.producer("p", server.address, "senders", **OPERATOR)
            sent = clients.send("p", "T", "m", keys="k1", count=8)
            clients.consumer("c", server.address, "G", "T", fail=1, **OPERATOR)
            clients.wait_seen("c", 16)
            admin = signing_admin(stage, release, OPERATOR)
            assert sent[0].msg_id in admin.run("queryMsgByKey", "-t", "T", "-k", "k1", "-n", server.address)
            found = admin.run("queryMsgByUniqueKey", "-t", "T", "-i", sent[0].msg_id, "-n", server.address)
            assert "CLUSTER=DefaultCluster" in found.replace(" ", "")


@pytest.mark.full
@pytest.mark.parametrize("release", [V5_5, V4_9])
def test_clients_that_want_tls_and_the_second_port(new_stage: StageMaker, release: str) -> None:
    """Both at once: everything but pulls goes to the port two below, encrypted."""
    properties = {
        "tls.enable": "true",
        "tls.test.mode.enable": "true",
        "com.rocketmq.sendMessageWithVIPChannel": "true",
    }
    with new_stage(f"tls-vip-{release}") as stage:
        server = stage.started_name_server(OURS, {"tls.server.mode": "permissive", "tls.test.mode.enable": "true"})
        with OurBroker("broker-a", server.address, tls_server_mode="enforcing", ha_listen_port=free_port()) as broker:
            clients = stage.message_clients(release, properties)
            clients.producer("p", server.address, "senders")
            clients.send("p", "T", "m", count=8)
            clients.consumer("c", server.address, "G", "T", fail=1)
            clients.wait_seen("c", 16)
            port = int(broker.broker.address.rpartition(":")[2])
            assert has_connection_to(port - 2), "sends and offsets go to the second port"


def has_connection_to(port: int) -> bool:
    """Tell whether somebody on this host is connected to a port."""
    rows = [line.split() for line in Path("/proc/net/tcp6").read_text("ascii").splitlines()[1:]]
    rows += [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return any(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)
