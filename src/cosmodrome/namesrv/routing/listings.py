"""Encoded listings, kept until anything in the tables changes.

Owns: what can be listed; the bodies that were made, and the bound on them.
Must not know: how a listing is made.
"""

from enum import Enum
from typing import Final, NamedTuple

MAX_KEPT: Final = 32
"""Listings kept at a time: the fixed ones, and those of some clusters."""


class ListingKind(Enum):
    """What can be listed."""

    CLUSTER_INFO = "all clusters, groups and addresses"
    ALL_TOPICS = "all topics"
    TOPICS_OF_CLUSTER = "the topics of one cluster"
    SYSTEM_TOPICS = "the names of clusters and brokers"
    UNIT_TOPICS = "topics with the unit flag"
    UNIT_SUB_TOPICS = "topics with the unit-subscription flag"
    UNIT_SUB_UNUNIT_TOPICS = "topics with the unit-subscription flag alone"


class Listing(NamedTuple):
    """One listing; `cluster` is for those of one cluster."""

    kind: ListingKind
    cluster: str | None = None


class KeptListings:
    """Bodies made at one revision of the tables."""

    def __init__(self) -> None:
        self._revision = 0
        self._bodies: dict[Listing, bytes] = {}

    def get(self, listing: Listing, revision: int) -> bytes | None:
        """Give the body made at this revision, or None."""
        return self._bodies.get(listing) if revision == self._revision else None

    def put(self, listing: Listing, revision: int, body: bytes) -> None:
        """Keep a body; those of other revisions go."""
        if revision != self._revision or len(self._bodies) >= MAX_KEPT:
            self._bodies.clear()
            self._revision = revision
        self._bodies[listing] = body
