"""A peer of a NameServer: a connection that knows the requests by name.

Owns: how brokers, clients and tools word each request, and the views they take of the answers.
Must not know: the package under test; what is a right answer, beyond its shape.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.wire import (
    Answer,
    Broker,
    Ext,
    Json,
    Wire,
    data_version,
    dump,
    identity_ext,
    register,
    register_body,
    topic_config,
)

SUCCESS: Final = 0
SYSTEM_ERROR: Final = 1
NOT_SUPPORTED: Final = 3
NO_ROUTE: Final = 17
NOT_FOUND: Final = 22

PUTKV: Final = 100
GETKV: Final = 101
DELKV: Final = 102
REG: Final = 103
UNREG: Final = 104
ROUTE: Final = 105
CLUSTER: Final = 106
WIPE: Final = 205
TOPICS: Final = 206
DELTOPIC: Final = 216
REGTOPIC: Final = 217
KVLIST: Final = 219
TOPICS_OF_CLUSTER: Final = 224
SYSTOPICS: Final = 304
UNIT_TOPICS: Final = 311
UNIT_SUB_TOPICS: Final = 312
UNIT_SUB_NOT_UNIT_TOPICS: Final = 313
CFGSET: Final = 318
CFGGET: Final = 319
QDV: Final = 322
ADDPERM: Final = 327
GROUP: Final = 901
HB: Final = 904
MIN_ID_NOTICE: Final = 905

MASTER: Final = "0"
"""The id of a master, as the keys of `Addresses` spell it."""

Addresses = dict[str, str]
"""Broker id (as text) → address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a client reads in a route; `raw` is the whole body as a value."""

    brokers: Mapping[str, Addresses]
    perms: Mapping[str, int]
    raw: Json

    @property
    def mappings(self) -> Mapping[str, Any]:
        """Static-topic mappings by broker name; empty when the route has none."""
        found: Mapping[str, Any] = self.raw.get("topicQueueMappingByBroker", {})
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The answer to CLUSTER: addresses by broker name, broker names by cluster name."""

    brokers: Mapping[str, Addresses]
    clusters: Mapping[str, list[str]]
    raw: Json


def topics_named(*names: str, perm: int = 6) -> list[Json]:
    """Return topic configurations of these names, all with one permission."""
    return [topic_config(name, perm=perm) for name in names]


def numbered(name: str, count: int, start: int = 1) -> list[str]:
    """Return `count` names that begin with `name` and end in a number."""
    return [f"{name}{number}" for number in range(start, start + count)]


class Peer(Wire):
    """A connection whose methods are requests. Those that return a value fail when the answer is an error."""

    def reg(
        self,
        broker: Broker,
        topics: Iterable[Json] = (),
        version: Json | int = 1,
        *,
        mappings: Iterable[Json] = (),
        filter_servers: Iterable[str] = (),
        **header: Any,
    ) -> Answer:
        """Register (103). A number as `version` is the counter of a data version."""
        chosen = data_version(version) if isinstance(version, int) else version
        body = register_body(topics, chosen, mappings=mappings, filter_servers=filter_servers)
        return register(self, broker, body=body, **header)

    def registered(self, broker: Broker, topics: Iterable[Json] = (), version: Json | int = 1, **more: Any) -> Answer:
        """Register, and fail unless that is answered with success."""
        return _good(self.reg(broker, topics, version, **more))

    def unreg(self, broker: Broker) -> Answer:
        """Unregister (104)."""
        return self.request(UNREG, identity_ext(broker))

    def heartbeat(self, broker: Broker) -> Answer:
        """Send a light heartbeat (904), as a two-way request."""
        return self.request(HB, identity_ext(broker))

    def query_version(self, broker: Broker, version: Json | None) -> Answer:
        """Ask whether this data version is news (322); None sends no body."""
        return self.request(QDV, identity_ext(broker), b"" if version is None else dump(version))

    def ask_route(self, topic: str, ext: Ext | None = None, **header: Any) -> Answer:
        """Ask for a route (105) and return the answer, whatever it is."""
        return self.request(ROUTE, {"topic": topic, **(ext or {})}, **header)

    def route(self, topic: str) -> Route | None:
        """Return the route of a topic; None when the answer says that there is none."""
        answer = self.ask_route(topic)
        if answer.code == NO_ROUTE:
            assert answer.body == b"", answer
            assert topic in (answer.remark or ""), answer
            return None
        return read_route(answer)

    def routed(self, topic: str) -> Route:
        """Return the route of a topic that must have one."""
        route = self.route(topic)
        assert route is not None, f"no route of {topic}"
        return route

    def cluster(self) -> Cluster:
        """Return what CLUSTER (106) says."""
        raw = _good(self.request(CLUSTER)).json()
        brokers = {name: data["brokerAddrs"] for name, data in raw["brokerAddrTable"].items()}
        return Cluster(brokers=brokers, clusters=raw["clusterAddrTable"], raw=raw)

    def group(self, cluster: str, broker_name: str) -> Addresses:
        """Return the addresses of a group (901)."""
        answer = _good(self.request(GROUP, {"clusterName": cluster, "brokerName": broker_name}))
        addresses: Addresses = answer.json()["brokerMemberGroup"]["brokerAddrs"]
        return addresses

    def topics(self) -> list[str]:
        """Return every topic name (206)."""
        return self._topic_list(TOPICS)

    def topics_of(self, cluster: str) -> list[str]:
        """Return the topic names of a cluster (224)."""
        return self._topic_list(TOPICS_OF_CLUSTER, {"cluster": cluster})

    def delete_topic(self, topic: str, cluster: str | None = None) -> Answer:
        """Delete a topic (216), everywhere or in one cluster."""
        return self.request(DELTOPIC, {"topic": topic, "clusterName": cluster})

    def register_topic(self, topic: str, *queues: Json) -> Answer:
        """Register one topic on brokers that are known (217)."""
        body = {"brokerDatas": [], "filterServerTable": {}, "queueDatas": list(queues)}
        return self.request(REGTOPIC, {"topic": topic}, dump(body))

    def wipe(self, broker_name: str) -> int:
        """Take the write permission from a broker (205) and return how many topics that touched."""
        return self._count(WIPE, broker_name, "wipeTopicCount")

    def add_perm(self, broker_name: str) -> int:
        """Give a broker its write permission back (327) and return how many topics that touched."""
        return self._count(ADDPERM, broker_name, "addTopicCount")

    def put_kv(self, namespace: str | None, key: str | None, value: str | None) -> Answer:
        """Store a KV entry (100)."""
        return self.request(PUTKV, {"namespace": namespace, "key": key, "value": value})

    def get_kv(self, namespace: str, key: str) -> Answer:
        """Read a KV entry (101)."""
        return self.request(GETKV, {"namespace": namespace, "key": key})

    def delete_kv(self, namespace: str, key: str) -> Answer:
        """Delete a KV entry (102)."""
        return self.request(DELKV, {"namespace": namespace, "key": key})

    def list_kv(self, namespace: str) -> Answer:
        """Read a KV namespace (219)."""
        return self.request(KVLIST, {"namespace": namespace})

    def change_config(self, **values: object) -> Answer:
        """Change configuration keys (318)."""
        lines = (f"{key}={str(value).lower() if isinstance(value, bool) else value}\n" for key, value in values.items())
        return self.request(CFGSET, None, "".join(lines).encode())

    def _topic_list(self, code: int, ext: Ext | None = None) -> list[str]:
        names: list[str] = _good(self.request(code, ext)).json()["topicList"]
        return names

    def _count(self, code: int, broker_name: str, field: str) -> int:
        answer = _good(self.request(code, {"brokerName": broker_name}))
        assert answer.ext is not None, answer
        return int(answer.ext[field])


def read_route(answer: Answer) -> Route:
    """Return the route that a successful answer to 105 carries."""
    raw = _good(answer).json()
    return Route(
        brokers={each["brokerName"]: each["brokerAddrs"] for each in raw["brokerDatas"]},
        perms={each["brokerName"]: each["perm"] for each in raw["queueDatas"]},
        raw=raw,
    )


def queue_data(broker_name: str, perm: int = 6, sys_flag: int = 0) -> dict[str, Any]:
    """Return a QueueData as REGTOPIC carries it."""
    return {
        "brokerName": broker_name,
        "perm": perm,
        "readQueueNums": 8,
        "topicSysFlag": sys_flag,
        "writeQueueNums": 8,
    }


@contextlib.contextmanager
def peers(address: str, count: int, timeout: float = 10) -> Iterator[list[Peer]]:
    """Open so many connections, and close them all at the end."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Peer(address, timeout)) for _ in range(count)]


def _good(answer: Answer) -> Answer:
    assert answer.code == SUCCESS, answer
    return answer
