"""What each broker's topics rest on: the table it sent last, as far as it still says what is held.

Owns: which of its stretches may be passed over when they come again.
Must not know: how a table is cut; what the tables hold.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from cosmodrome.namesrv.routing.registration import BrokerIdentity
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch

MOST_TOUCHED: Final = 1000
"""Topics that may change one by one before a table is forgotten."""


class KnownTable(NamedTuple):
    """The last table of a broker, in its order. `touched` are topics that changed since, `revision` is that of the group.

    Stretches with one of them have no digest; in the others every topic is held as the text says.
    """

    stretches: tuple[KnownStretch, ...]
    touched: frozenset[str]
    revision: int


class Bases:
    """The last tables that were taken as they were sent, by broker name.

    Whoever changes what is held of a broker says so with `touch`.
    """

    def __init__(self) -> None:
        self._tables: dict[str, tuple[BrokerIdentity, tuple[KnownStretch, ...]]] = {}
        self._touched: dict[str, set[str]] = {}

    def keep(self, identity: BrokerIdentity, stretches: tuple[KnownStretch, ...]) -> None:
        """Keep what the held topics of a broker now rest on, if that is anything."""
        self.forget(identity.broker_name)
        if stretches:
            self._tables[identity.broker_name] = (identity, stretches)

    def touch(self, broker_name: str, topics: Collection[str] | None) -> None:
        """Note that topics of a broker changed; None for all of them."""
        if broker_name not in self._tables:
            return
        if topics is not None and len(topics) <= MOST_TOUCHED:
            touched = self._touched.setdefault(broker_name, set())
            touched.update(topics)
            if len(touched) <= MOST_TOUCHED:
                return
        self.forget(broker_name)

    def forget(self, broker_name: str) -> None:
        """Keep nothing of a broker."""
        self._tables.pop(broker_name, None)
        self._touched.pop(broker_name, None)

    def known(self, identity: BrokerIdentity, revision: int) -> KnownTable | None:
        """Give the last table of a broker that said exactly this about itself; None when there is none."""
        owner, stretches = self._tables.get(identity.broker_name, (None, ()))
        if owner != identity:
            return None
        touched = frozenset(self._touched.get(identity.broker_name, ()))
        if touched:
            stretches = tuple(
                stretch if touched.isdisjoint(stretch.names) else _without_digest(stretch) for stretch in stretches
            )
        return KnownTable(stretches, touched, revision)


def _without_digest(stretch: KnownStretch) -> KnownStretch:
    return KnownStretch(stretch.beginning, stretch.size_bytes, b"", stretch.names)
