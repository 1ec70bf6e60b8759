"""Routes of a test's own making.

Owns: the answer of a name server that is a double itself: `double.works[105] = lambda under: route_reply(...)`.
Must not know: which broker is where.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.support import wire
from tests.support.faulty_broker.journal import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A broker name in a route: its addresses by id, and its queues; None for a name without queues."""

    name: str
    addresses: Mapping[int, str]
    queues: int | None = 4
    write: int | None = None
    perm: int = 6
    cluster: str = "DefaultCluster"


def route_reply(places: Iterable[Place], order_conf: str | None = None) -> Reply:
    """Answer 105 with these places. Queues without addresses and the other way about can be said, as false routes do."""
    listed = list(places)
    body = {
        "brokerDatas": [
            {
                "brokerAddrs": {str(id_): address for id_, address in place.addresses.items()},
                "brokerName": place.name,
                "cluster": place.cluster,
                "enableActingMaster": False,
            }
            for place in listed
            if place.addresses
        ],
        "filterServerTable": {},
        "queueDatas": [
            {
                "brokerName": place.name,
                "perm": place.perm,
                "readQueueNums": place.queues,
                "topicSysFlag": 0,
                "writeQueueNums": place.queues if place.write is None else place.write,
            }
            for place in listed
            if place.queues is not None
        ],
    }
    if order_conf is not None:
        body["orderTopicConf"] = order_conf  # type: ignore[assignment]  # the one member that is no list
    return Reply(0, None, None, wire.dump(body))


def no_route(topic: str) -> Reply:
    """Answer 105 as a name server does that does not know the topic."""
    return Reply(17, f"No topic route info in name server for the topic: {topic}")
