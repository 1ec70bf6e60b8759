"""What the tables show to everybody, as one value.

Owns: which questions are asked to see all of it.
Must not know: how the tables keep it.
"""

from typing import Any, NamedTuple

from tests.support import wire

from cosmodrome.namesrv.routing.listings import Listing, ListingKind
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import encode_topic_route
from cosmodrome.protocol.json_dialects import JsonDialect
from fuzz.values import text_size


class View(NamedTuple):
    """Clusters and groups, routes by topic, live brokers without the time of their last sign."""

    cluster_info: Any
    routes: dict[str, Any]
    live: frozenset[tuple[Any, ...]]

    @property
    def size(self) -> int:
        """How much text it holds, and one for each broker and topic."""
        return text_size(self.cluster_info) + sum(map(len, self.routes)) + len(self.routes) + len(self.live)


def view(tables: RouteTables) -> View:
    """Look at everything; what was kept must be what is made anew."""
    read = tables.read
    routes = {}
    for topic in read.all_topics():
        route, kept = read.topic_route(topic), read.encoded_route(topic, JsonDialect.STANDARD)
        assert route is not None, "a topic without a broker"
        assert kept == encode_topic_route(route, JsonDialect.STANDARD), "a stale route"
        routes[topic] = wire.parse_body(kept)
    live = frozenset(
        (info.key, info.broker_name, info.connection, info.data_version, info.ha_server_addr)
        for info in tables.live_brokers()
    )
    return View(wire.parse_body(read.listing(Listing(ListingKind.CLUSTER_INFO))), routes, live)
