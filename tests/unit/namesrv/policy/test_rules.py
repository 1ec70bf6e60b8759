"""Which requests each policy guards, and who passes."""

import ipaddress
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.wire import dump

from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.policy.accounts import Account, Role
from cosmodrome.namesrv.policy.callers import Caller
from cosmodrome.namesrv.policy.rules import GUARDED, Rules, RuleSettings
from cosmodrome.namesrv.routing.broker_live import BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits
from cosmodrome.transport.dispatch import Peer

NETWORKS = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128"))
READS = {319, 101, 219, 106, 206, 224, 304, 311, 312, 313}
CHANGES = {318, 100, 102, 205, 327, 216}
GUARDED_BY = {
    AdminPolicy.OPEN: set[int](),
    AdminPolicy.COMPATIBLE: {318},
    AdminPolicy.HARDENED: CHANGES | READS | {104, 217},
}
STRANGER = Caller(Peer(1, "192.0.2.1:5"))
BROKER_CONNECTION = 7


class FakeBrokers:
    """One broker, registered over one connection."""

    def names_over(self, connection: ConnectionId) -> frozenset[str]:
        return frozenset({"broker-a"} if connection == BROKER_CONNECTION else ())

    def lives(self, broker_name: str, addr: str) -> Sequence[BrokerLiveInfo]:
        info: Any = SimpleNamespace(connection=BROKER_CONNECTION)
        return [info] if (broker_name, addr) == ("broker-a", "a:1") else []


def rules(policy: AdminPolicy, limits: BodyLimits = DEFAULT_LIMITS, **more: Any) -> Rules:
    return Rules(RuleSettings(policy=policy, admin_allow=NETWORKS, **more), FakeBrokers(), limits)


def passing(policy: AdminPolicy, caller: Caller, request: RemotingCommand | None = None, **more: Any) -> set[int]:
    """Give the codes that this caller may send."""
    table = rules(policy, **more).by_code()
    refused = {
        int(code) for code, rule in table.items() if rule((request or RemotingCommand(0)).replaced(code=code), caller)
    }
    return {int(code) for code in RequestCode} - refused


EVERYTHING = {int(code) for code in RequestCode}


@pytest.mark.parametrize("policy", AdminPolicy)
def test_what_each_policy_guards(policy: AdminPolicy) -> None:
    assert {int(code) for code in GUARDED[policy]} == GUARDED_BY[policy]
    assert passing(policy, STRANGER) == EVERYTHING - GUARDED_BY[policy]
    for inside in ("10.1.2.3:5", "[::1]:5"):
        assert passing(policy, Caller(Peer(1, inside))) == EVERYTHING


@pytest.mark.parametrize("address", ["unknown", "", "[::2]:5", "11.0.0.1:5", "localhost:5", "10.0.0.1"])
def test_who_is_not_inside(address: str) -> None:
    assert 318 not in passing(AdminPolicy.COMPATIBLE, Caller(Peer(1, address)))


@pytest.mark.parametrize(
    ("address", "socket_address", "is_in"),
    [
        ("10.0.0.1:5", "10.0.0.2:6", True),
        ("10.0.0.1:5", "192.0.2.1:6", False),
        ("192.0.2.1:5", "10.0.0.2:6", False),
    ],
)
def test_behind_a_proxy_both_addresses_count(address: str, socket_address: str, *, is_in: bool) -> None:
    """Anybody can send a PROXY header that names loopback."""
    assert (318 in passing(AdminPolicy.COMPATIBLE, Caller(Peer(1, address, socket_address)))) is is_in


def test_the_server_reads_its_own_answers() -> None:
    """Shadow mode asks it again, whoever had asked first."""
    assert (
        passing(AdminPolicy.HARDENED, Caller(Peer(0, "shadow")))
        == EVERYTHING - GUARDED_BY[AdminPolicy.HARDENED] | READS
    )


@pytest.mark.parametrize(
    ("role", "may_not"),
    [(Role.ADMIN, set()), (Role.READER, CHANGES | {104, 217}), (Role.BROKER, CHANGES | {104, 217})],
)
def test_what_a_signature_opens(role: Role, may_not: set[int]) -> None:
    account = Account(access_key="k", secret_key="1234567", role=role)  # noqa: S106

    assert passing(AdminPolicy.HARDENED, STRANGER._replace(account=account)) == EVERYTHING - may_not


@pytest.mark.parametrize(
    ("name", "addr", "connection", "is_own"),
    [
        ("broker-a", "a:1", BROKER_CONNECTION, True),
        ("broker-a", "a:1", 1, False),
        ("broker-a", "a:2", BROKER_CONNECTION, False),
        ("broker-b", "a:1", BROKER_CONNECTION, False),
    ],
)
def test_brokers_unregister_themselves(name: str, addr: str, connection: int, *, is_own: bool) -> None:
    request = RemotingCommand(104, ext_fields={"brokerName": name, "brokerAddr": addr, "clusterName": "C"})

    assert (104 in passing(AdminPolicy.HARDENED, Caller(Peer(connection, "192.0.2.1:5")), request)) is is_own


@pytest.mark.parametrize(
    ("body", "is_own"),
    [
        (dump({"queueDatas": [{"brokerName": "broker-a"}]}), True),
        (dump({"queueDatas": [{"brokerName": "broker-a"}, {"brokerName": "broker-b"}]}), False),
        (dump({"queueDatas": []}), True),
        (b"", True),
        (b"{", False),
    ],
)
def test_brokers_register_topics_of_their_own(body: bytes, *, is_own: bool) -> None:
    request = RemotingCommand(217, ext_fields={"topic": "T"}, body=body)

    assert (217 in passing(AdminPolicy.HARDENED, Caller(Peer(BROKER_CONNECTION, "192.0.2.1:5")), request)) is is_own
    assert 217 not in passing(AdminPolicy.HARDENED, STRANGER, request)


@pytest.mark.parametrize(
    ("limits", "is_own"),
    [(DEFAULT_LIMITS, True), (BodyLimits(max_topics=1), False), (BodyLimits(max_name_length=7), False)],
)
def test_a_body_beyond_the_limits_in_force_is_nobodys_own(limits: BodyLimits, *, is_own: bool) -> None:
    body = dump({"queueDatas": [{"brokerName": "broker-a"}, {"brokerName": "broker-a"}]})
    request = RemotingCommand(217, ext_fields={"topic": "T"}, body=body)
    caller = Caller(Peer(BROKER_CONNECTION, "192.0.2.1:5"))

    assert rules(AdminPolicy.HARDENED, limits).is_own_word(request, caller) is is_own


@pytest.mark.parametrize(
    ("trusted", "may_read"),
    [
        ({}, {106}),
        ({"broker_allow": (ipaddress.ip_network("0.0.0.0/0"),)}, {106}),
        ({"broker_allow": (ipaddress.ip_network("192.0.2.0/24"),)}, READS),
        ({"broker_auth": True}, READS),
    ],
)
def test_a_connection_of_a_broker_reads_more_where_not_anybody_is_one(
    trusted: dict[str, Any], may_read: set[int]
) -> None:
    caller = Caller(Peer(BROKER_CONNECTION, "192.0.2.1:5"))

    assert passing(AdminPolicy.HARDENED, caller, **trusted) & READS == may_read


def test_a_proxy_that_names_no_source_has_no_rights_by_its_address() -> None:
    proxy = Peer(1, "10.0.0.1:5", "10.0.0.1:5", is_source_withheld=True)

    assert passing(AdminPolicy.HARDENED, Caller(proxy)) == EVERYTHING - GUARDED_BY[AdminPolicy.HARDENED]
    assert 103 not in passing(AdminPolicy.OPEN, Caller(proxy), broker_allow=NETWORKS)
    refusal = rules(AdminPolicy.COMPATIBLE).by_code()[RequestCode(318)](RemotingCommand(318), Caller(proxy))
    assert refusal is not None
    assert "names no source" in refusal.reason


@pytest.mark.parametrize("policy", AdminPolicy)
def test_who_may_be_a_broker(policy: AdminPolicy) -> None:
    speaking = {103, 104, 217, 322, 904}
    listed: dict[str, Any] = {"broker_allow": (ipaddress.ip_network("192.0.2.0/24"),)}
    elsewhere: dict[str, Any] = {"broker_allow": (ipaddress.ip_network("198.51.100.0/24"),)}
    broker = STRANGER._replace(account=Account(access_key="k", secret_key="1234567", role=Role.BROKER))  # noqa: S106
    hardened = {104, 217} if policy is AdminPolicy.HARDENED else set()

    assert not speaking - hardened - passing(policy, STRANGER, **listed)
    assert not speaking & passing(policy, STRANGER, **elsewhere)
    assert not speaking & passing(policy, STRANGER, broker_auth=True)
    assert not speaking - hardened - passing(policy, broker, broker_auth=True)
    assert not speaking & passing(policy, broker, broker_auth=True, **elsewhere), "both are asked for"
    administrator = Caller(Peer(1, "10.0.0.1:5"))
    assert passing(policy, administrator, broker_auth=True) & speaking == {104, 217}, "may end a broker, not be one"


def test_a_refusal_says_what_to_set() -> None:
    settings = RuleSettings(policy=AdminPolicy.HARDENED, admin_allow=NETWORKS, broker_allow=NETWORKS, broker_auth=True)
    for code, rule in Rules(settings, FakeBrokers()).by_code().items():
        refusal = rule(RemotingCommand(code), STRANGER._replace(claimed="k"))
        assert refusal is not None
        assert "Allow" in refusal.remedy
        assert "192.0.2.1:5" in refusal.reason
        assert refusal.cause.startswith("not_")
