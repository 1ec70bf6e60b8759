"""What the tables of a server come to, as a text that other servers' can be compared with.

Owns: finding it between other work, and keeping it until the tables change.
Must not know: what of a route counts (protocol/route_digest.py); who compares.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.listings import Listing, ListingKind
from cosmodrome.namesrv.routing.reader import RouteReader
from cosmodrome.protocol.bodies.cluster import ClusterInfo, decode_cluster_info
from cosmodrome.protocol.route_digest import NO_ROUTE, TableDigest, route_digest

_PIECE: Final = 100
"""Topics that take about a millisecond."""
_TRIES: Final = 3
_State = tuple[int, bool, Mapping[str, str] | None]


class ServerDigest:
    """The digest of one server's brokers and routes: that which `peers diff` finds by asking for all of them."""

    def __init__(self, read: RouteReader, kv_config: KVConfigStore, config: LiveConfig) -> None:
        self._read = read
        self._kv_config = kv_config
        self._config = config
        self._finding = asyncio.Lock()
        self._kept: tuple[_State, str] | None = None

    async def current(self) -> str | None:
        """Give it; None while the tables change faster than it can be found."""
        async with self._finding:
            for _ in range(_TRIES):
                state = self._state()
                if self._kept is not None and self._kept[0] == state:
                    return self._kept[1]
                text = await self._found(state)
                if self._state() == state:
                    self._kept = (state, text)
        return None

    def _state(self) -> _State:
        """Give what it rests on; tables of entries are replaced as a whole."""
        has_order = self._config.current.order_message_enable
        return self._read.revision, has_order, self._kv_config.table(ORDER_TOPIC_CONFIG) if has_order else None

    async def _found(self, state: _State) -> str:
        digest, orders = TableDigest(), state[2] or {}
        for place, addr in members(decode_cluster_info(self._read.listing(Listing(ListingKind.CLUSTER_INFO)))):
            digest.add_broker(place, addr)
        known: dict[object, str] = {}
        for count, topic in enumerate(self._read.all_topics(), 1):
            digest.add_route(topic, self._route(topic, orders.get(topic), known))
            if count % _PIECE == 0:
                await asyncio.sleep(0)
                if self._read.revision != state[0]:
                    break
        return digest.text

    def _route(self, topic: str, order: str | None, known: dict[object, str]) -> str:
        """Digest a route; most topics have the same queues at the same brokers as many others."""
        alike = None if self._read.options.support_acting_master else self._read.likeness(topic)
        if alike is not None and (alike, order) in known:
            return known[alike, order]
        route = self._read.topic_route(topic, order)
        digest = NO_ROUTE if route is None else route_digest(route)
        if alike is not None:
            known[alike, order] = digest
        return digest


def members(info: ClusterInfo) -> list[tuple[tuple[str, str, int], str]]:
    """Give each member of a group, by cluster, name and id, with its address."""
    return [
        ((cluster, name, id_), addr)
        for cluster, names in info.cluster_addr_table.items()
        for name in names
        if name in info.broker_addr_table
        for id_, addr in info.broker_addr_table[name].broker_addrs.items()
    ]
