"""Credentials at our broker, and strangers (B047, B048, C016, C017)."""

# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import json
import logging
import socket
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.broker_calls import Caller, send_fields

from cosmodrome import Broker, NameServer
from cosmodrome.client.credentials import Credentials
from cosmodrome.client.message import Message, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import AuthenticationError

SECRET: Final = "the secret of the operator"  # noqa: S105
OTHER: Final = "the secret of alice"
OPERATOR: Final = Credentials("operator", SECRET)
ALICE: Final = Credentials("alice-1", OTHER)
TOPIC: Final[Mapping[str, str | None]] = {
    "topic": "Made", "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "order": "false",
}  # fmt: skip
GROUP: Final = json.dumps({"groupName": "Made"}).encode()
USER: Final = json.dumps({"username": "eve-1", "password": "x", "userType": "Super"}).encode()
POLICY: Final = json.dumps(
    {"policies": [{"entries": [{"resource": "*", "actions": ["All"], "decision": "Allow"}]}]}
).encode()
ADMINISTRATION: Final[list[tuple[int, Mapping[str, str | None], bytes]]] = [
    (26, {}, b""), (28, {}, b""), (21, {}, b""), (201, {}, b""), (43, {}, b""), (25, {}, b"brokerPermission=4\n"),
    (50, {"accessKey": "eve-eve", "secretKey": "eve-eve-eve", "admin": "true"}, b""), (51, {"accessKey": "operator"}, b""),
    (52, {}, b""), (53, {"globalWhiteAddrs": "*"}, b""), (54, {}, b""),
    (17, TOPIC, b""), (215, {"topic": "Old"}, b""), (200, {}, GROUP), (207, {"groupName": "g"}, b""),
    (222, {"topic": "Old", "group": "g", "timestamp": "-1", "isForce": "true"}, b""),
    (314, {"srcGroup": "g", "destGroup": "h"}, b""), (329, {}, b""), (316, {}, b""),
    (3001, {"username": "eve-1"}, USER), (3002, {"username": "operator"}, USER), (3003, {"username": "operator"}, b""),
    (3004, {"username": "operator"}, b""), (3005, {}, b""), (3006, {"subject": "User:alice-1"}, POLICY),
    (3007, {"subject": "User:alice-1"}, POLICY), (3008, {"subject": "User:alice-1"}, b""),
    (3009, {"subject": "User:operator"}, b""), (3010, {}, b""),
]  # fmt: skip
USERS: Final[Mapping[str, Any]] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": json.dumps({"username": "operator", "password": SECRET}),
    "inner_client_authentication_credentials": json.dumps({"accessKey": "broker", "secretKey": SECRET}),
}
PLAIN: Final = f"""\
globalWhiteRemoteAddresses: []
accounts:
- accessKey: operator
  secretKey: "{SECRET}"
  admin: true
- accessKey: alice-1
  secretKey: "{OTHER}"
  topicPerms: [Old=PUB|SUB]
  groupPerms: [g=SUB]
"""


def plain_home(folder: Path) -> dict[str, Any]:
    """Give the settings of a broker with accounts of 4.9."""
    (folder / "home" / "conf").mkdir(parents=True, exist_ok=True)
    file = folder / "home" / "conf" / "plain_acl.yml"
    file.write_text(PLAIN, encoding="utf-8")
    file.chmod(0o600)
    return {"acl_enable": True, "rocketmq_home": str(folder / "home")}


def modes_of_secrets(folder: Path) -> dict[str, int]:
    """Give the rights of every file that holds the secret."""
    files = [each for each in folder.rglob("*") if each.is_file() and SECRET.encode() in each.read_bytes()]
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in files}


async def allow_alice(operator: Caller) -> None:
    """Let alice send to and consume from one topic, in one group."""
    await operator.ok(3001, {"username": "alice-1"}, json.dumps({"username": "alice-1", "password": OTHER}).encode())
    entries = [
        {"resource": "Topic:Old", "actions": ["Pub", "Sub"], "decision": "Allow"},
        {"resource": "Group:g", "actions": ["Sub"], "decision": "Allow"},
    ]
    body = json.dumps({"policies": [{"policyType": "Custom", "entries": entries}]}).encode()
    await operator.ok(3006, {"subject": "User:alice-1"}, body)


@pytest.fixture(params=["users", "plain"])
async def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Broker]:
    """A broker that asks for credentials, with a topic, a group and an ordinary user."""
    settings = USERS if request.param == "users" else plain_home(tmp_path)
    async with Broker(store=tmp_path / "store", **settings) as broker, Caller(broker.address, OPERATOR) as operator:
        await operator.ok(17, {**TOPIC, "topic": "Old"})
        await operator.ok(200, {}, json.dumps({"groupName": "g"}).encode())
        if request.param == "users":
            await allow_alice(operator)
        yield broker


def refusal(broker: Broker) -> int:
    """Give the code by which this broker refuses credentials: 16 as 5.x, 1 as 4.9."""
    return 16 if broker.config.authentication_enabled else 1


@pytest.mark.parametrize("who", ["alice", "unsigned", "wrong", "unknown"])
async def test_B047_administration_is_for_administrators(guarded: Broker, who: str) -> None:
    """From loopback too; 50 to 54 are known to 4.9 and 3001 to 3010 to 5.x, and refused all the same."""
    wrong = Credentials("operator", "not the secret")
    keys = {"alice": ALICE, "unsigned": None, "wrong": wrong, "unknown": Credentials("eve-eve", "x")}[who]
    async with Caller(guarded.address, keys) as caller, Caller(guarded.address, OPERATOR) as operator:
        before = [(await operator.ok(code)).body for code in (21, 201, 26)]
        for code, fields, body in ADMINISTRATION:
            answer = await caller.ask(code, fields, body)
            assert answer.code == refusal(guarded), (code, answer)
            assert not answer.body
            assert SECRET not in str(answer)
        assert [(await operator.ok(code)).body for code in (21, 201, 26)] == before
        assert (await operator.send("Old")).code == 0


async def test_B047_what_is_listed_works_and_nothing_else(guarded: Broker) -> None:
    async with Caller(guarded.address, ALICE) as alice:
        await alice.heartbeat("g", "Old")
        assert (await alice.send("Old")).code == 0
        assert [each.body for each in await alice.messages("Old")] == [b"x"]
        await alice.ok(15, {"consumerGroup": "g", "topic": "Old", "queueId": "0", "commitOffset": "1"})
        assert (await alice.send("New")).code == refusal(guarded)
        assert (await alice.ask(320, send_fields("New", m="true"), b"x")).code == refusal(guarded)
        assert (await alice.ask(36, {"group": "other", "offset": "0"})).code == refusal(guarded)
        assert (await alice.send("%RETRY%other")).code == refusal(guarded)
        for pull in (11, 361):
            fields = {"consumerGroup": "other", "topic": "Old", "queueId": "0", "queueOffset": "0", "maxMsgNums": "1"}
            assert (await alice.ask(pull, fields)).code == refusal(guarded)


async def test_B047_a_message_is_viewed_only_by_who_may_read_its_topic(guarded: Broker) -> None:
    async with Caller(guarded.address, OPERATOR) as operator, Caller(guarded.address, ALICE) as alice:
        await operator.ok(17, TOPIC)
        for topic, code in (("Old", 0), ("Made", refusal(guarded))):
            sent = await operator.send(topic)
            offset = str(int((sent.ext_fields or {})["msgId"][16:], 16))  # type: ignore[index]
            assert (await alice.ask(33, {"offset": offset})).code == code


async def test_B047_secrets_are_in_no_answer_and_no_log(guarded: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Caller(guarded.address, OPERATOR) as operator:
        for code, fields, _ in ADMINISTRATION:
            if code not in (51, 53, 3003, 3008):
                answer = await operator.ask(code, fields)
                assert SECRET not in str(answer)
                assert OTHER not in str(answer)
    assert SECRET not in caplog.text
    assert SECRET not in repr(guarded.config)


async def test_B047_files_of_secrets_are_for_their_owner_only(guarded: Broker, tmp_path: Path) -> None:
    async with Caller(guarded.address, OPERATOR) as operator:
        if guarded.config.acl_enable:
            await operator.ok(50, {"accessKey": "fresh-1", "secretKey": "fresh-secret"})
    modes = modes_of_secrets(tmp_path)
    assert modes
    assert set(modes.values()) == {0o600}


async def test_B047_changes_of_accounts_act_on_the_next_request(tmp_path: Path) -> None:
    async with Broker(store=tmp_path, **USERS) as broker, Caller(broker.address, OPERATOR) as operator:
        await allow_alice(operator)
        async with Caller(broker.address, ALICE) as alice:
            assert (await alice.send("Old")).code == 0
            deny = {"resource": "Topic:Ol*", "actions": ["Pub"], "sourceIps": ["127.0.0.1"], "decision": "Deny"}
            exact = {"resource": "Topic:Old", "actions": ["Pub"], "sourceIps": ["10.0.0.0/8"], "decision": "Allow"}
            body = json.dumps({"policies": [{"entries": [deny, exact]}]}).encode()
            await operator.ok(3007, {"subject": "User:alice-1"}, body)
            answer = await alice.send("Old")
            assert (answer.code, answer.remark) == (
                16, "User:alice-1 has no permission to access Topic:Old from 127.0.0.1, the decision is deny."
            )  # fmt: skip
            off = json.dumps({"userStatus": "disable"}).encode()
            await operator.ok(3002, {"username": "alice-1"}, off)
            assert (await alice.send("Old")).remark == "User:alice-1 is disabled."
            await operator.ok(3003, {"username": "alice-1"})
            assert (await alice.send("Old")).remark == "User:alice-1 is not found."
    async with Broker(store=tmp_path, **USERS) as broker, Caller(broker.address, OPERATOR) as operator:
        assert b"alice" not in (await operator.ok(3005)).body
        assert b"alice" not in (await operator.ok(3010)).body


async def test_B047_accounts_of_a_file_that_changes_are_read_again(tmp_path: Path) -> None:
    settings = plain_home(tmp_path)
    async with Broker(store=tmp_path / "store", **settings) as broker, Caller(broker.address, ALICE) as alice:
        assert (await alice.send("Old")).code == 0
        file = tmp_path / "home" / "conf" / "plain_acl.yml"
        file.write_text("accounts: [{accessKey: short}]", encoding="utf-8")
        broker.look_at_files()
        assert (await alice.send("Old")).code == 0, "a bad file replaces nothing"
        file.write_text(PLAIN.replace("Old=PUB|SUB", "Old=SUB"), encoding="utf-8")
        broker.look_at_files()
        answer = await alice.send("Old")
        assert answer.remark == "org.apache.rocketmq.acl.common.AclException: No default permission for topic:Old"


async def test_B047_accounts_are_changed_by_requests(tmp_path: Path) -> None:
    settings = plain_home(tmp_path)
    async with Broker(store=tmp_path / "store", **settings) as broker, Caller(broker.address, OPERATOR) as operator:
        await operator.ok(50, {"accessKey": "alice-1", "topicPerms": "Old=DENY,New=PUB"})
        async with Caller(broker.address, ALICE) as alice:
            assert (await alice.send("New")).code == 0
            assert (await alice.send("Old")).code == 1
        short = await operator.ask(50, {"accessKey": "eve-eve", "secretKey": "tiny"})
        assert (short.code, "tiny" in str(short.remark)) == (209, False)
        await operator.ok(51, {"accessKey": "alice-1"})
        assert b"alice" not in (await operator.ok(54)).body
        assert (await operator.ask(51, {"accessKey": "alice-1"})).code == 210
        versions = (await operator.ok(52)).ext_fields or {}
        assert json.loads(versions["version"] or "")["counter"] == 2


async def test_B047_no_header_of_a_proxy_makes_a_peer_one_of_a_white_list(tmp_path: Path) -> None:
    """Anybody can write that he speaks for 192.0.2.1."""
    settings = plain_home(tmp_path)
    file = tmp_path / "home" / "conf" / "plain_acl.yml"
    file.write_text(PLAIN.replace("[]", "['192.0.2.*']", 1), encoding="utf-8")
    async with Broker(store=tmp_path / "store", **settings) as broker:
        host, _, port = broker.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        header = json.dumps({"code": 26, "opaque": 1, "flag": 0, "version": 479, "extFields": {}}).encode()
        writer.write(b"PROXY TCP4 192.0.2.1 127.0.0.1 1 2\r\n")
        writer.write((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        answer = await asyncio.wait_for(reader.read(4096), 10)
        assert b'"code":1,' in answer.replace(b" ", b"")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("code", [39, 40, 220, 221, 326])
async def test_B048_what_brokers_send_to_clients_is_refused_from_clients(code: int) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        assert (await caller.ask(code, {"topic": "T", "group": "g"})).code == 3


async def test_B048_a_header_of_a_proxy_is_no_way_to_loopback() -> None:
    async with Broker(host="0.0.0.0") as broker:  # noqa: S104 -- the case is about it
        own = next(
            (each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
             if not str(each[4][0]).startswith("127.")), None,
        )  # fmt: skip
        host = str(own or "127.0.0.1")
        reader, writer = await asyncio.open_connection(host, int(broker.address.rpartition(":")[2]))
        header = json.dumps({"code": 215, "opaque": 1, "flag": 0, "version": 479, "extFields": {"topic": "T"}}).encode()
        source = "127.0.0.1" if own else "192.0.2.1"
        writer.write(f"PROXY TCP4 {source} 127.0.0.1 1 2\r\n".encode())
        writer.write((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        answer = await asyncio.wait_for(reader.read(4096), 10)
        assert b'"code":16,' in answer.replace(b" ", b"")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("wrong", [None, Credentials("operator", "another secret"), Credentials("stranger", SECRET)])
async def test_C017_our_client_raises_wrong_credentials_at_once(guarded: Broker, wrong: Credentials | None) -> None:
    async with NameServer(port=0) as server:
        guarded_too = Broker(namesrv=server.address, config=None, **USERS)
        async with guarded_too, Producer("strange", namesrv=server.address, credentials=wrong) as producer:
            with pytest.raises(AuthenticationError) as caught:
                await producer.send(Message(topic="T", body=b"x"))
        assert SECRET not in str(caught.value)


async def test_C016_everything_that_our_client_signs_is_accepted(tmp_path: Path) -> None:
    messages = [
        Message(topic="T", body=b"x"),
        Message(topic="T", body="тело 消息 🚀".encode(), tag="标签", keys=["ключ"], properties={"ü 🚀": "ß"}),
        Message(topic="T", body=b"x" * 10_000, flag=-1),
        Message(topic="T", body=bytes(10), properties={"0": "0"}),
    ]
    async with (
        NameServer(port=0) as server,
        Broker(namesrv=server.address, store=tmp_path / "store", **plain_home(tmp_path)),
        Producer("signing", namesrv=server.address, credentials=OPERATOR) as producer,
    ):
        for message in messages:
            assert (await producer.send(message)).status is SendStatus.OK
        assert (await producer.send_batch(messages[:2])).status is SendStatus.OK
        assert await producer._session.heartbeat() == {}
