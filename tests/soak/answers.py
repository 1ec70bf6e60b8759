"""What the server answers, beside what the model says.

Owns: the questions, and the comparison of each answer; everything that others put into the tables is left out by name.
Must not know: what changed the tables (checked.py).
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.support.model import Model
from tests.support.peer import (
    CLUSTER,
    GETKV,
    GROUP,
    KVLIST,
    NO_ROUTE,
    NOT_FOUND,
    QDV,
    ROUTE,
    SUCCESS,
    SYSTOPICS,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_SUB_NOT_UNIT_TOPICS,
    UNIT_SUB_TOPICS,
    UNIT_TOPICS,
    Peer,
)
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Broker, data_version, dump, identity_ext

SYSTEM_BUSY: Final = 2
PREFIX: Final = "checked-"
"""Of every broker, cluster, topic and namespace that is checked; nobody else uses it."""
CLUSTERS: Final = (f"{PREFIX}C", f"{PREFIX}D")
NAMES: Final = (f"{PREFIX}a", f"{PREFIX}b", f"{PREFIX}c", f"{PREFIX}d")
TOPICS_USED: Final = tuple(f"{PREFIX}T{number}" for number in range(12))
NAMESPACE: Final = f"{PREFIX}namespace"
ORDERS: Final = "ORDER_TOPIC_CONFIG"
KEYS: Final = tuple(f"key-{number}" for number in range(5))

_FLAGGED: Final = {UNIT_TOPICS: (1, 0), UNIT_SUB_TOPICS: (2, 0), UNIT_SUB_NOT_UNIT_TOPICS: (2, 1)}
"""Listing → flags that a topic must have, and flags that it must not have."""
_BUSY_S: Final = 30.0


class PatientPeer(Peer):
    """A peer that asks again when it is told that the server is busy, and counts that."""

    asked = 0
    busy = 0

    def request(self, code: int, ext: Any = None, body: bytes = b"", **header: Any) -> Answer:
        """Ask until the answer is another one than "busy"."""

        def answer_unless_busy() -> Answer | None:
            answer = super(PatientPeer, self).request(code, ext, body, **header)
            PatientPeer.asked += 1
            PatientPeer.busy += answer.code == SYSTEM_BUSY
            return None if answer.code == SYSTEM_BUSY else answer

        return wait_until(answer_unless_busy, f"an answer to {code} other than busy", _BUSY_S)


class Facts:
    """All that should be true: the tables, the KV entries, and whether routes show them."""

    def __init__(self) -> None:
        self.model = Model()
        self.kv: dict[str, dict[str, str]] = {}
        self.shows_order = False

    def order_of(self, topic: str) -> str | None:
        """Give what a route shows of the KV entries."""
        return self.kv.get(ORDERS, {}).get(topic) if self.shows_order else None


def route_differences(peer: Peer, facts: Facts, topics: tuple[str, ...]) -> Iterator[str]:
    """Compare the routes of these topics."""
    for topic in topics:
        answer = peer.request(ROUTE, {"topic": topic})
        expected = facts.model.route(topic, facts.order_of(topic))
        if expected is None:
            yield from _unlike(f"code of the route of {topic}", answer.code, NO_ROUTE)
            continue
        shown = _sorted_route(answer.json()) if answer.code == SUCCESS else answer
        yield from _unlike(f"route of {topic}", shown, expected)


def all_differences(peer: Peer, facts: Facts) -> list[str]:
    """Compare everything that can be asked."""
    return [
        *route_differences(peer, facts, TOPICS_USED),
        *_cluster_differences(peer, facts.model),
        *_listing_differences(peer, facts.model),
        *_version_differences(peer, facts.model),
        *_kv_differences(peer, facts),
    ]


def _cluster_differences(peer: Peer, model: Model) -> Iterator[str]:
    info = peer.request(CLUSTER).json()
    brokers = {name: data for name, data in info["brokerAddrTable"].items() if name.startswith(PREFIX)}
    clusters = {name: sorted(of) for name, of in info["clusterAddrTable"].items() if name.startswith(PREFIX)}
    expected = model.cluster_info()
    yield from _unlike("brokers of the cluster listing", brokers, expected["brokerAddrTable"])
    yield from _unlike("clusters of the cluster listing", clusters, expected["clusterAddrTable"])
    for name in NAMES:
        answer = peer.request(GROUP, {"clusterName": CLUSTERS[0], "brokerName": name})
        group = model.group(name)
        addrs = {} if group is None else {str(id_): addr for id_, addr in group.addrs.items()}
        yield from _unlike(f"group {name}", answer.json()["brokerMemberGroup"]["brokerAddrs"], addrs)


def _listing_differences(peer: Peer, model: Model) -> Iterator[str]:
    yield from _unlike("all topics", _ours(peer.request(TOPICS)), sorted(model.topics()))
    for cluster in CLUSTERS:
        listed = _ours(peer.request(TOPICS_OF_CLUSTER, {"cluster": cluster}))
        yield from _unlike(f"topics of {cluster}", listed, sorted(model.topics_of_cluster(cluster)))
    names = {of for of, _ in model.members} | {group.name for group in model.groups}
    yield from _unlike("system topics", _ours(peer.request(SYSTOPICS)), sorted(names))
    for code, flags in _FLAGGED.items():
        must, may = model.topics_with_flags(*flags)
        listed = _ours(peer.request(code))
        if not must <= set(listed) <= may or len(set(listed)) != len(listed):
            yield f"listing {code}: {listed}, expected {sorted(must)} at least and {sorted(may)} at most"


def _version_differences(peer: Peer, model: Model) -> Iterator[str]:
    for row in model.live:
        broker = Broker(name=row.name, addr=row.addr, cluster=row.cluster)
        version = row.version
        same = data_version(version.counter or 0, version.timestamp, version.state_version)
        answer = peer.request(QDV, identity_ext(broker), dump(same))
        yield from _unlike(f"version of {row.addr}", (answer.ext, answer.json()), ({"changed": "false"}, same))


def _kv_differences(peer: Peer, facts: Facts) -> Iterator[str]:
    for namespace in (NAMESPACE, ORDERS):
        answer = peer.request(KVLIST, {"namespace": namespace})
        expected = facts.kv.get(namespace)
        shown = answer.json()["table"] if answer.code == SUCCESS else None
        yield from _unlike(f"entries of {namespace}", shown, expected)
    for key in KEYS:
        answer = peer.request(GETKV, {"namespace": NAMESPACE, "key": key})
        value = facts.kv.get(NAMESPACE, {}).get(key)
        expected_answer = (NOT_FOUND, None) if value is None else (SUCCESS, {"value": value})
        yield from _unlike(f"entry {key}", (answer.code, answer.ext or None), expected_answer)


def _ours(answer: Answer) -> list[str]:
    names: list[str] = answer.json()["topicList"]
    return sorted(name for name in names if name.startswith(PREFIX))


def _sorted_route(route: dict[str, Any]) -> dict[str, Any]:
    for name in ("brokerDatas", "queueDatas"):
        route[name].sort(key=lambda data: str(data["brokerName"]))
    return route


def _unlike(what: str, shown: object, expected: object) -> Iterator[str]:
    if shown != expected:
        yield f"{what}: {shown!r:.1000}, expected {expected!r:.1000}"
