"""Whether somebody took the identity of a living broker."""

import dataclasses

import pytest
from tests.support.builders import identity, registration

from cosmodrome.namesrv.events import BrokerIdentityMoved
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.namesrv.routing.registration import BrokerRegistration, host_of
from cosmodrome.namesrv.routing.tables import RouteTables


def moves(*registrations: BrokerRegistration) -> list[BrokerIdentityMoved]:
    """Register one after another, and give the moves that the last one is told to be."""
    tables = RouteTables()
    for each in registrations:
        _, effects = tables.register_broker(each, 0)
    return [event for event in effects.events if isinstance(event, BrokerIdentityMoved)]


def said(addr: str, peer: str, **more: object) -> BrokerRegistration:
    return dataclasses.replace(registration(identity("a", addr=addr, **more)), peer=peer)  # type: ignore[arg-type]  # of `identity`


@pytest.mark.parametrize(
    ("second", "is_moved"),
    [
        (said("a:1", "10.0.0.1:7"), False),
        (said("b:1", "10.0.0.1:7"), True),
        (said("a:1", "10.0.0.2:5"), True),
        (said("b:1", "10.0.0.2:5"), True),
        (said("b:1", "10.0.0.2:5", id_=1), False),
        (said("a:1", "10.0.0.1:7", id_=1), False),
        (said("a:1", "10.0.0.2:5", id_=1), True),
        (said("b:1", "10.0.0.2:5", cluster="D"), True),
        (said("a:1", "10.0.0.2:5", cluster="D"), False),
    ],
)
def test_the_same_identity_elsewhere_is_a_move(second: BrokerRegistration, *, is_moved: bool) -> None:
    assert bool(moves(said("a:1", "10.0.0.1:5"), second)) is is_moved


def test_a_move_names_both_sides() -> None:
    assert moves(said("a:1", "10.0.0.1:5"), said("b:1", "10.0.0.2:6")) == [
        BrokerIdentityMoved(
            cluster="C", broker="a", id=0, addr="b:1", old_addr="a:1", peer="10.0.0.2:6", old_peer="10.0.0.1:5"
        )
    ]


@pytest.mark.parametrize(("host", "is_moved"), [("10.0.0.1", False), ("10.0.0.2", True)])
def test_an_address_that_takes_another_name(host: str, *, is_moved: bool) -> None:
    """That unregisters the broker under the name that it had."""
    renamed = dataclasses.replace(registration(identity("b", addr="a:1", id_=2)), peer=f"{host}:6")

    told = moves(said("a:1", "10.0.0.1:5"), renamed)

    move = BrokerIdentityMoved(
        cluster="C",
        broker="b",
        id=2,
        addr="a:1",
        old_addr="a:1",
        peer=f"{host}:6",
        old_peer="10.0.0.1:5",
        old_broker="a",
    )
    assert told == ([move] if is_moved else [])


def test_who_left_cannot_be_replaced() -> None:
    tables = RouteTables()
    tables.register_broker(said("a:1", "10.0.0.1:5"), 0)
    tables.connection_closed(ConnectionId(1), 0)
    _, effects = tables.register_broker(said("b:1", "10.0.0.2:6"), 0)

    assert not [event for event in effects.events if isinstance(event, BrokerIdentityMoved)]


def test_hosts_of_peers() -> None:
    assert (host_of("10.0.0.1:5"), host_of("[::1]:5"), host_of(None)) == ("10.0.0.1", "[::1]", None)
