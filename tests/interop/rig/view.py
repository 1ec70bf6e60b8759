"""What a NameServer tells anyone who asks, read with single frames.

Owns: the requests by which a test looks at a NameServer or prepares a broker.
Must not know: who serves them; an Apache NameServer answers alike.
"""

import ssl
from typing import Any, Final

from tests.support.wire import Answer, Wire

GET_ROUTEINFO_BY_TOPIC: Final = 105
GET_BROKER_CLUSTER_INFO: Final = 106
GET_ALL_TOPIC_LIST: Final = 206
DELETE_TOPIC: Final = 216
GET_BROKER_MEMBER_GROUP: Final = 901
UPDATE_AND_CREATE_TOPIC: Final = 17
GET_ALL_TOPIC_CONFIG: Final = 21
SUCCESS: Final = 0
TOPIC_NOT_EXIST: Final = 17

NOT_YET: Final = (OSError,)
"""Errors of a question that mean "ask again": nobody listens yet, or the connection broke."""


def ask(address: str, code: int, ext: dict[str, str] | None = None, tls: ssl.SSLContext | None = None) -> Answer:
    """Send one request over a connection of its own and return the answer."""
    with Wire(address, tls=tls) as wire:
        return wire.request(code, ext)


class NameServerView:
    """The answers of one NameServer as values; every question opens its own connection.

    Raises:
        OSError: By every method, when the NameServer cannot be reached.
    """

    def __init__(self, address: str, tls: ssl.SSLContext | None = None) -> None:
        """Remember whom to ask; with `tls` over TLS."""
        self.address = address
        self._tls = tls

    def broker_groups(self) -> dict[str, dict[str, str]]:
        """Return broker name → broker id → address, from request 106."""
        table = self._body_of(GET_BROKER_CLUSTER_INFO)["brokerAddrTable"]
        return {name: dict(data["brokerAddrs"]) for name, data in table.items()}

    def broker_ids(self, broker_name: str) -> set[str]:
        """Return the ids registered under a broker name, empty when it is unknown (request 106)."""
        return set(self.broker_groups().get(broker_name, {}))

    def topics(self) -> set[str]:
        """Return every topic, from request 206."""
        return set(self._body_of(GET_ALL_TOPIC_LIST)["topicList"])

    def route(self, topic: str) -> dict[str, Any] | None:
        """Return TopicRouteData of a topic, None when there is no route (request 105)."""
        answer = self._ask(GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        if answer.code == TOPIC_NOT_EXIST:
            return None
        assert answer.code == SUCCESS, answer
        route: dict[str, Any] = answer.json()
        return route

    def route_addresses(self, topic: str, broker_name: str) -> dict[str, str]:
        """Return broker id → address as the route of a topic gives them to clients."""
        brokers = (self.route(topic) or {}).get("brokerDatas", [])
        return next((dict(each["brokerAddrs"]) for each in brokers if each["brokerName"] == broker_name), {})

    def permission(self, topic: str, broker_name: str) -> int | None:
        """Return the perm bits of a topic on a broker, None when it has no queues there."""
        queues = (self.route(topic) or {}).get("queueDatas", [])
        return next((int(each["perm"]) for each in queues if each["brokerName"] == broker_name), None)

    def member_ids(self, cluster: str, broker_name: str) -> dict[str, str]:
        """Return the real broker id → address of a group, from request 901 (5.x only)."""
        answer = self._ask(GET_BROKER_MEMBER_GROUP, {"clusterName": cluster, "brokerName": broker_name})
        assert answer.code == SUCCESS, answer
        return dict(answer.json()["brokerMemberGroup"]["brokerAddrs"])

    def delete_topic(self, topic: str) -> None:
        """Drop a topic from the tables of the NameServer alone (request 216)."""
        answer = self._ask(DELETE_TOPIC, {"topic": topic})
        assert answer.code == SUCCESS, answer

    def _ask(self, code: int, ext: dict[str, str] | None = None) -> Answer:
        return ask(self.address, code, ext, self._tls)

    def _body_of(self, code: int) -> Any:
        answer = self._ask(code)
        assert answer.code == SUCCESS, answer
        return answer.json()


def topic_configs_of_broker(address: str) -> dict[str, Any]:
    """Return topic name → TopicConfig as a broker itself holds them (request 21)."""
    answer = ask(address, GET_ALL_TOPIC_CONFIG)
    assert answer.code == SUCCESS, answer
    return dict(answer.json()["topicConfigTable"])
