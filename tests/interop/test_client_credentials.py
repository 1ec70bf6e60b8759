"""Our clients and Apache brokers that want signatures, or TLS."""

# ruff: noqa: N802  # case ids are written in capitals

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.support.admin_tool import Tool

from cosmodrome.client.credentials import Credentials
from cosmodrome.client.message import Message, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.transactions import TransactionState
from cosmodrome.errors import AuthenticationError
from cosmodrome.protocol.codes import BrokerRequestCode

ACCESS: Final = "RocketMQ-admin"
SECRET: Final = "12345678-secret"  # noqa: S105
KEYS: Final = Credentials(ACCESS, SECRET)

_PLAIN_ACL: Final = f"""\
accounts:
- accessKey: {ACCESS}
  secretKey: "{SECRET}"
  admin: true
"""
_PAIR: Final = '{"%s":"RocketMQ-admin","%s":"12345678-secret"}'
_AUTH: Final = "org.apache.rocketmq.auth"
_SIGNING_5: Final[Mapping[str, str]] = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": _PAIR % ("username", "password"),
    "innerClientAuthenticationCredentials": _PAIR % ("accessKey", "secretKey"),
    "authorizationEnabled": "true",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
}
TLS_OPEN: Final[Mapping[str, str]] = {"tls.server.mode": "permissive", "tls.test.mode.enable": "true"}


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def name_server(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[NameServer]:
    """A NameServer with one broker that wants signatures and speaks TLS with who wants it."""
    release = request.param
    with new_stage(f"credentials-{release}") as stage:
        server = stage.name_server(TLS_OPEN)
        config = _SIGNING_5 if release == V5_5 else {"aclEnable": "true"}
        broker = stage.broker(
            BrokerSettings(
                release=release, name="broker-a", name_servers=[server.address], config=config, properties=TLS_OPEN
            )
        )
        conf = broker.process.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "plain_acl.yml").write_text(_PLAIN_ACL, encoding="utf-8")
        broker.start_registered()
        yield server


@pytest.fixture(params=["plain", "tls"])
async def producer(request: pytest.FixtureRequest, name_server: NameServer) -> AsyncIterator[Producer]:
    async with Producer(
        "signing",
        namesrv=name_server.address,
        credentials=KEYS,
        tls=request.param == "tls",
        send_timeout_s=20,
        check_transaction=lambda _: TransactionState.COMMIT,
    ) as one:
        yield one


MESSAGES: Final = {
    "plain": Message(topic="Signed", body=b"x"),
    "any script": Message(
        topic="Signed", body="тело 消息 🚀".encode(), tag="标签", keys=["ключ"], properties={"ü 🚀": "ß"}
    ),
    "compressed": Message(topic="Signed", body=b"x" * 10_000, flag=-1),
    "delayed": Message(topic="Signed", body=b"x", delay_level=1),
    "of zeros": Message(topic="Signed", body=bytes(10), properties={"0": "0"}),
}


@pytest.mark.parametrize("kind", MESSAGES)
async def test_C016_messages_of_any_kind_are_accepted(producer: Producer, kind: str) -> None:
    assert (await producer.send(MESSAGES[kind])).status is SendStatus.OK


async def test_C016_other_requests_are_accepted(producer: Producer) -> None:
    session = producer._session
    assert (await producer.send_batch([MESSAGES["plain"], MESSAGES["any script"]])).status is SendStatus.OK
    result = await producer.send_transaction(MESSAGES["plain"], lambda *_: TransactionState.COMMIT)
    assert result.send_result.status is SendStatus.OK
    await producer.send_oneway(MESSAGES["plain"])
    assert await session.heartbeat() == {}
    (address,) = session.master_addresses()
    await session.requests.unregister(address, session.client_id, producer_group="signing")
    fields = {"topic": "Signed", "queueId": "0"}
    answer = await session.requests.ask(address, BrokerRequestCode.GET_MAX_OFFSET, fields)
    assert int((answer.ext_fields or {})["offset"] or "") >= 0


@pytest.mark.parametrize(
    "wrong", [None, Credentials(ACCESS, "another secret"), Credentials("stranger", SECRET), Credentials(ACCESS, "ü")]
)
async def test_C016_C017_wrong_credentials_are_raised_at_once(
    name_server: NameServer, wrong: Credentials | None, caplog: Any
) -> None:
    async with Producer("strange", namesrv=name_server.address, credentials=wrong) as producer:
        with pytest.raises(AuthenticationError) as caught:
            await producer.send(MESSAGES["plain"])
        assert SECRET not in str(caught.value)
        failures = await producer._session.heartbeat()
        assert all(isinstance(error, AuthenticationError) for error in failures.values())
    assert SECRET not in caplog.text


def test_the_command_line_signs_as_tools_yml_says(name_server: NameServer, tmp_path: Path) -> None:
    """The keys are where mqadmin looks for them."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text(f"accessKey: {ACCESS}\nsecretKey: {SECRET}\n", encoding="utf-8")
    signing = Tool(tmp_path, {"ROCKETMQ_HOME": str(tmp_path)})
    cluster = f"-c {CLUSTER} -n {name_server.address}".split(" ")

    made = signing("updateTopic", "-t", "MadeByTool", *cluster)
    refused = Tool(tmp_path)("updateTopic", "-t", "NotMade", *cluster)

    assert (made.code, made.err) == (0, "")
    assert (refused.code, refused.out) == (77, "")
    assert "does not accept the credentials" in refused.err
    assert SECRET not in made.out + refused.err
