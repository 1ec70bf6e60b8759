"""Encoded listings, kept until anything changes."""

from collections.abc import Callable

import pytest
from tests.support.builders import identity, queue_data, registration, topics

from cosmodrome.namesrv.routing.listings import MAX_KEPT, KeptListings, Listing, ListingKind
from cosmodrome.namesrv.routing.tables import RouteTables

ALL = Listing(ListingKind.ALL_TOPICS)


def test_a_body_is_kept_for_one_revision() -> None:
    kept = KeptListings()
    kept.put(ALL, 1, b"one")

    assert kept.get(ALL, 1) == b"one"
    assert kept.get(ALL, 2) is None
    assert kept.get(Listing(ListingKind.SYSTEM_TOPICS), 1) is None
    kept.put(ALL, 2, b"two")
    assert kept.get(ALL, 1) is None
    assert kept.get(ALL, 2) == b"two"


def test_not_everything_that_can_be_asked_for_is_kept() -> None:
    """Anybody can make up names of clusters."""
    kept = KeptListings()
    for number in range(MAX_KEPT + 1):
        kept.put(Listing(ListingKind.TOPICS_OF_CLUSTER, str(number)), 1, b"")

    assert kept.get(Listing(ListingKind.TOPICS_OF_CLUSTER, "0"), 1) is None
    assert kept.get(Listing(ListingKind.TOPICS_OF_CLUSTER, str(MAX_KEPT)), 1) == b""


def filled() -> RouteTables:
    tables = RouteTables()
    tables.register_broker(registration(), 0)
    return tables


def test_a_listing_is_made_once() -> None:
    read = filled().read

    assert read.listing(ALL) is read.listing(ALL)


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.register_broker(registration(identity("b")), 0),
        lambda tables: tables.register_broker(registration(configs=topics("T1", "T9")), 0),
        lambda tables: tables.register_broker(registration(identity("broker-a", 1)), 0),
        lambda tables: tables.register_broker(registration(identity(zone="z")), 0),
        lambda tables: tables.register_broker(registration(identity(cluster="D")), 0),
        lambda tables: tables.register_topic("N", (queue_data(),)),
        lambda tables: tables.delete_topic("T1", None),
        lambda tables: tables.unregister_broker("broker-a", identity().key, 0),
        lambda tables: tables.expire(10**9),
        lambda tables: tables.connection_closed(1, 0),
    ],
)
def test_any_change_makes_it_be_made_again(change: Callable[[RouteTables], object]) -> None:
    tables = filled()
    listings = [Listing(kind, "C") for kind in ListingKind]
    before = [tables.read.listing(listing) for listing in listings]

    change(tables)

    after = [tables.read.listing(listing) for listing in listings]
    assert all(old is not new for old, new in zip(before, after, strict=True))
    assert before != after


def test_what_changes_nothing_leaves_it() -> None:
    tables = filled()
    body = tables.read.listing(ALL)
    tables.register_broker(registration(), 5)
    tables.heartbeat(identity().key, 5)
    tables.delete_topic("?", None)
    tables.unregister_broker("?", identity().key, 5)

    assert tables.read.listing(ALL) is body
