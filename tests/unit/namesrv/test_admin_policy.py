"""Who may change a server over the wire."""

import ipaddress

import pytest

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.admin_policy import GUARDED, AdminGate
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.events import Event, RequestDenied
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Peer

NETWORKS = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128"))
CHANGING = {
    AdminPolicy.OPEN: set(),
    AdminPolicy.COMPATIBLE: {318},
    AdminPolicy.HARDENED: {318, 100, 102, 205, 327, 216, 217},
}


def allowed(policy: AdminPolicy, peer: Peer, events: list[Event] | None = None, broker: int = 99) -> set[int]:
    """Give the codes that this peer may send."""
    publish = (lambda _: None) if events is None else events.append
    gate = AdminGate(policy, NETWORKS, lambda connection: connection == broker, publish)
    processors = gate.guarded({code: lambda request, _: response_to(request, 0) for code in RequestCode})
    through: set[int] = set()
    refused: set[int] = set()
    for code, processor in processors.items():
        try:
            processor(RemotingCommand(code), peer)
        except RequestRefusedError as error:
            refused.add(error.code)
            continue
        through.add(int(code))
    assert refused <= {16}
    return through


@pytest.mark.parametrize("policy", AdminPolicy)
def test_what_each_policy_guards(policy: AdminPolicy) -> None:
    everything = {int(code) for code in RequestCode}

    assert allowed(policy, Peer(1, "192.0.2.1:5")) == everything - CHANGING[policy]
    assert {int(code) for code in GUARDED[policy]} == CHANGING[policy]
    for inside in ("10.1.2.3:5", "[::1]:5"):
        assert allowed(policy, Peer(1, inside)) == everything


@pytest.mark.parametrize("address", ["unknown", "", "[::2]:5", "11.0.0.1:5", "localhost:5", "10.0.0.1"])
def test_who_is_not_inside(address: str) -> None:
    assert 318 not in allowed(AdminPolicy.COMPATIBLE, Peer(1, address))


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
    assert (318 in allowed(AdminPolicy.COMPATIBLE, Peer(1, address, socket_address))) is is_in


def test_brokers_may_register_topics() -> None:
    through = allowed(AdminPolicy.HARDENED, Peer(99, "192.0.2.1:5"))

    assert 217 in through
    assert 216 not in through


def test_a_refusal_is_told() -> None:
    events: list[Event] = []
    allowed(AdminPolicy.COMPATIBLE, Peer(1, "192.0.2.1:5"), events)

    assert events == [
        RequestDenied(code=318, peer="192.0.2.1:5", reason="192.0.2.1:5 is not in adminAllow (adminPolicy=compatible)")
    ]
