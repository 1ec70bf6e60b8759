"""Texts that are equal for equal routes, and for equal tables.

Owns: what of a route and of a table counts; that order does not.
Must not know: where routes come from; who compares.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo, TopicRouteData
from cosmodrome.protocol.json_dialects import encode_json

_DIGEST_BYTES: Final = 8
_MODULUS: Final = 1 << (8 * _DIGEST_BYTES)
NO_ROUTE: Final = "no route"
"""In the place of the digest of a route that there is not."""


def route_digest(route: TopicRouteData) -> str:
    """Give a text that is equal for equal routes, whatever the order of what is in them."""
    mappings = route.topic_queue_mapping_by_broker or {}
    said = [
        sorted((data.cluster, data.broker_name, sorted(data.broker_addrs.items())) for data in route.broker_datas),
        sorted(encode_json(data) for data in route.queue_datas),
        sorted((addr, sorted(filters)) for addr, filters in route.filter_server_table.items()),
        route.order_topic_conf,
        sorted((name, encode_json(_plain(info))) for name, info in mappings.items()),
    ]
    return _hash(said).hex()


class TableDigest:
    """A digest of brokers and routes that are added one by one, in any order, each once."""

    def __init__(self) -> None:
        self._sum = 0

    def add_broker(self, place: tuple[str, str, int], addr: str) -> None:
        """Add a member of a group: its cluster, the group's name and its id there, and its address."""
        self._add(["broker", *place, addr])

    def add_route(self, topic: str, digest: str) -> None:
        """Add a topic with the digest of its route, or NO_ROUTE."""
        self._add(["route", topic, digest])

    def _add(self, said: Iterable[Any]) -> None:
        self._sum = (self._sum + int.from_bytes(_hash(said), "big")) % _MODULUS

    @property
    def text(self) -> str:
        """What was added so far, as a text."""
        return self._sum.to_bytes(_DIGEST_BYTES, "big").hex()


def _plain(info: TopicQueueMappingInfo) -> dict[str, Any]:
    values = msgspec.structs.asdict(info)
    ids = info.curr_id_map
    values["curr_id_map"] = None if ids is None else [[queue, id_] for queue, id_ in sorted(ids.items())]
    return values


def _hash(said: Iterable[Any]) -> bytes:
    return hashlib.blake2b(encode_json(said), digest_size=_DIGEST_BYTES).digest()
