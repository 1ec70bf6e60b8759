"""GET_ROUTEINFO_BY_TOPIC.

Owns: which form of a route a client gets, and what it is told when there is none.
Must not know: how a route is put together.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.events import Publish, RouteMissed
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.encoded_routes import StandingBody
from cosmodrome.namesrv.routing.reader import RouteReader
from cosmodrome.namesrv.routing.zone_filter import in_zone
from cosmodrome.protocol.bodies.route import encode_topic_route
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.route import GetRouteInfoRequestHeader
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.versions import V4_9_4
from cosmodrome.transport.dispatch import Answer, Peer

_FAQ: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
# Of a name that is longer than any topic's may be.
_SHOWN: Final = 100
_ZONE_MODE: Final = "__ZONE_MODE"

FindElsewhere = Callable[[str], Awaitable[bytes | None]]


class RouteProcessor:
    """Answers where a topic is.

    Args:
        read: The tables.
        kv_config: For the order configuration of topics.
        config: What is switched on.
        elapsed_s: Seconds since the server came up, by a clock that never steps.
        publish: Told of misses.
    """

    def __init__(
        self,
        read: RouteReader,
        kv_config: KVConfigStore,
        config: LiveConfig,
        elapsed_s: Callable[[], float],
        publish: Publish,
    ) -> None:
        self._read = read
        self._kv_config = kv_config
        self._config = config
        self._elapsed_s = elapsed_s
        self._publish = publish
        self._longest_name = config.started_with.max_name_length
        self._find_elsewhere: FindElsewhere | None = None
        self.not_ready_count = 0
        """How many routes were not answered because the server waited for brokers."""

    def ask_elsewhere(self, find: FindElsewhere) -> None:
        """Look topics that are unknown here up by this (`clusterTest`)."""
        self._find_elsewhere = find

    def get_route_info_by_topic(self, request: RemotingCommand, peer: Peer) -> Answer:
        """105."""
        config = self._config.current
        if config.need_wait_for_service and self._elapsed_s() < config.wait_seconds_for_service:
            self.not_ready_count += 1
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "name server not ready", is_fault=False)
        fields = request.ext_fields or {}
        topic = fields.get("topic")
        if topic is None:
            return self._missed(request, "null", peer)
        if self._find_elsewhere is not None:
            return self._for_cluster_test(request, topic, peer)
        order = self._kv_config.get(ORDER_TOPIC_CONFIG, topic) if config.order_message_enable else None
        dialect = _dialect_for(request.version, fields)
        body = self._read.encoded_route(topic, dialect, order)
        if body is None:
            return self._missed(request, topic, peer)
        if _ZONE_MODE in fields:
            body = self._body_of_zone(fields, topic, order, body, dialect)
        return response_to(request, ResponseCode.SUCCESS, None, None, body)

    def standing_body(self, request: RemotingCommand) -> StandingBody | None:
        """Give what a request was just answered with, to be sent to everybody who asks the same until it is withdrawn.

        None when more than the tables and the configuration decides about the answer.
        """
        config, fields = self._config.current, request.ext_fields or {}
        topic = fields.get("topic")
        if topic is None or config.order_message_enable or self._find_elsewhere is not None or _ZONE_MODE in fields:
            return None
        return self._read.standing_body(topic, _dialect_for(request.version, fields))

    def _body_of_zone(
        self, fields: Mapping[str, str | None], topic: str, order: str | None, body: bytes, dialect: JsonDialect
    ) -> bytes:
        """Give the body for a client that wants one zone; the very same bytes when nothing is filtered."""
        header = decode_ext_fields(GetRouteInfoRequestHeader, fields)
        route = self._read.topic_route(topic, order)
        if not header.zone_mode or not (header.zone_name or "").strip() or route is None:
            return body
        filtered = in_zone(route, header.zone_name or "")
        return body if filtered is route else encode_topic_route(filtered, dialect)

    async def _for_cluster_test(self, request: RemotingCommand, topic: str, peer: Peer) -> RemotingCommand:
        """Look here, then elsewhere. COMPAT: always in the plain dialect, always with the order configuration."""
        order = self._kv_config.get(ORDER_TOPIC_CONFIG, topic)
        body = self._read.encoded_route(topic, JsonDialect.PLAIN, order)
        if body is None and self._find_elsewhere is not None:
            body = await self._find_elsewhere(topic)
        if body is None:
            return self._missed(request, topic, peer)
        return response_to(request, ResponseCode.SUCCESS, None, None, body)

    def _missed(self, request: RemotingCommand, topic: str, peer: Peer) -> RemotingCommand:
        self._publish(RouteMissed(topic=topic, peer=peer.address))
        shown = topic if len(topic) <= self._longest_name else f"{topic[:_SHOWN]}..."
        remark = f"No topic route info in name server for the topic: {shown}{_FAQ}"
        return response_to(request, ResponseCode.TOPIC_NOT_EXIST, remark)


def _dialect_for(version: int, fields: Mapping[str, str | None]) -> JsonDialect:
    if version >= V4_9_4:
        return JsonDialect.STANDARD
    is_wanted = (fields.get("acceptStandardJsonOnly") or "").lower() == "true"
    return JsonDialect.STANDARD if is_wanted else JsonDialect.PLAIN
