"""TopicRouteData and what it is made of.

Owns: the values QueueData, BrokerData, TopicQueueMappingInfo, TopicRouteData, and their JSON forms.
Must not know: how a route is found, filtered or cached.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.json_dialects import (
    JsonDialect,
    encode_json,
    integer_keyed,
    parse_integer_keyed,
    parse_lenient,
    to_bool,
    to_int32,
    to_int64,
    to_text,
)
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits

PERM_INHERIT: Final = 1
PERM_WRITE: Final = 2
PERM_READ: Final = 4
PERM_PRIORITY: Final = 8
MASTER_ID: Final = 0
MAX_MAPPED_QUEUES: Final = 16_384
"""Of one static topic at one broker, where a handful is usual."""


class QueueData(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """How many queues one broker has for one topic, and what may be done with them (PERM_ bits)."""

    broker_name: str
    perm: int
    read_queue_nums: int
    topic_sys_flag: int
    write_queue_nums: int


class BrokerData(msgspec.Struct, frozen=True, kw_only=True):
    """One broker group: its addresses by broker id. Id 0 is the master."""

    broker_addrs: Mapping[int, str]
    broker_name: str
    cluster: str
    enable_acting_master: bool = False
    zone_name: str | None = None


class TopicQueueMappingInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where the queues of a static topic are, as one broker sees it (5.x)."""

    topic: str | None
    bname: str | None
    curr_id_map: Mapping[int, int] | None
    dirty: bool = False
    epoch: int = 0
    scope: str | None = None
    total_queues: int = 0


class TopicRouteData(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of GET_ROUTEINFO_BY_TOPIC. Optional members that are None are left out of the JSON."""

    broker_datas: tuple[BrokerData, ...]
    queue_datas: tuple[QueueData, ...]
    filter_server_table: Mapping[str, tuple[str, ...]]
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: Mapping[str, TopicQueueMappingInfo] | None = None


class _BrokerDataJson(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    broker_addrs: msgspec.Raw
    broker_name: str
    cluster: str
    enable_acting_master: bool
    zone_name: str | None = None


class _MappingInfoJson(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    bname: str | None = None
    curr_id_map: msgspec.Raw | None = None
    dirty: bool
    epoch: int
    scope: str | None = None
    topic: str | None = None
    total_queues: int


class _RouteGroupsJson(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    broker_datas: list[_BrokerDataJson]
    filter_server_table: Mapping[str, tuple[str, ...]]


class _RouteQueuesJson(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    order_topic_conf: str | None = None
    queue_datas: tuple[QueueData, ...]
    topic_queue_mapping_by_broker: dict[str, _MappingInfoJson] | None = None


def encode_topic_route(route: TopicRouteData, dialect: JsonDialect) -> bytes:
    """Write a route: members in alphabetical order, no white space (the Go client cuts it by hand)."""
    return join_route(encode_route_groups(route.broker_datas, route.filter_server_table, dialect), route, dialect)


def encode_route_groups(
    broker_datas: Iterable[BrokerData], filter_server_table: Mapping[str, tuple[str, ...]], dialect: JsonDialect
) -> bytes:
    """Write what all routes with the same brokers have in common, for `join_route`."""
    datas = [broker_data_json(data, dialect) for data in broker_datas]
    return encode_json(_RouteGroupsJson(broker_datas=datas, filter_server_table=filter_server_table))


def join_route(groups: bytes, route: TopicRouteData, dialect: JsonDialect) -> bytes:
    """Write a route whose brokers and filter servers are written already."""
    mappings = route.topic_queue_mapping_by_broker
    queues = encode_json(
        _RouteQueuesJson(
            order_topic_conf=route.order_topic_conf,
            queue_datas=route.queue_datas,
            topic_queue_mapping_by_broker=None
            if mappings is None
            else {name: _mapping_info_json(info, dialect) for name, info in mappings.items()},
        )
    )
    # Two objects, neither of them empty, become one.
    return b"".join((memoryview(groups)[:-1], b",", memoryview(queues)[1:]))


def broker_data_json(data: BrokerData, dialect: JsonDialect) -> Any:
    """Give a BrokerData in the form that `encode_json` writes."""
    return _BrokerDataJson(
        broker_addrs=integer_keyed(data.broker_addrs, dialect),
        broker_name=data.broker_name,
        cluster=data.cluster,
        enable_acting_master=data.enable_acting_master,
        zone_name=data.zone_name,
    )


def _mapping_info_json(info: TopicQueueMappingInfo, dialect: JsonDialect) -> _MappingInfoJson:
    return _MappingInfoJson(
        bname=info.bname,
        curr_id_map=None if info.curr_id_map is None else integer_keyed(info.curr_id_map, dialect),
        dirty=info.dirty,
        epoch=info.epoch,
        scope=info.scope,
        topic=info.topic,
        total_queues=info.total_queues,
    )


def mapping_info_from_json(document: Any) -> TopicQueueMappingInfo:
    """Read a parsed TopicQueueMappingInfo.

    Raises:
        MalformedBodyError: Not an object, or members of other types.
        BodyLimitError: More than MAX_MAPPED_QUEUES queues.
    """
    if not isinstance(document, dict):
        raise MalformedBodyError("a TopicQueueMappingInfo is not an object")
    ids = document.get("currIdMap")
    if ids is not None and not isinstance(ids, dict):
        raise MalformedBodyError("currIdMap is not an object")
    if ids is not None and len(ids) > MAX_MAPPED_QUEUES:
        raise BodyLimitError(f"more than {MAX_MAPPED_QUEUES} queues in one static-topic mapping")
    return TopicQueueMappingInfo(
        topic=to_text(document.get("topic")),
        bname=to_text(document.get("bname")),
        curr_id_map=None if ids is None else {to_int32(key): to_int32(value) for key, value in ids.items()},
        dirty=to_bool(document.get("dirty")),
        epoch=to_int64(document.get("epoch")),
        scope=to_text(document.get("scope")) if "scope" in document else "__global__",
        total_queues=to_int32(document.get("totalQueues")),
    )


def decode_queue_datas(body: bytes, limits: BodyLimits = DEFAULT_LIMITS) -> tuple[QueueData, ...]:
    """Read the queue datas of a TopicRouteData, all that REGISTER_TOPIC_IN_NAMESRV uses of it.

    `topicSynFlag` is how 4.8.0 and older spell `topicSysFlag`.

    Raises:
        MalformedBodyError: Not an object, or a queue data that is not one.
        BodyLimitError: More queue datas, or longer names, than `limits` allow.
    """
    document = parse_lenient(body)
    if document is None:
        return ()
    if not isinstance(document, dict) or not isinstance(document.get("queueDatas") or [], list):
        raise MalformedBodyError("the body is not a TopicRouteData")
    items = document.get("queueDatas") or []
    limits.check_topics(len(items))
    queue_datas = tuple(_queue_data_from_json(item) for item in items)
    limits.check_names(data.broker_name for data in queue_datas)
    return queue_datas


def _queue_data_from_json(document: Any) -> QueueData:
    if not isinstance(document, dict):
        raise MalformedBodyError("a QueueData is not an object")
    broker_name = to_text(document.get("brokerName"))
    if broker_name is None:
        raise MalformedBodyError("a QueueData has no brokerName")
    return QueueData(
        broker_name=broker_name,
        perm=to_int32(document.get("perm")),
        read_queue_nums=to_int32(document.get("readQueueNums")),
        topic_sys_flag=to_int32(document.get("topicSysFlag", document.get("topicSynFlag"))),
        write_queue_nums=to_int32(document.get("writeQueueNums")),
    )


def decode_topic_route(body: bytes) -> TopicRouteData:
    """Read a route as any release writes it, in either dialect; members that are absent are empty.

    Raises:
        MalformedBodyError: Not a TopicRouteData.
    """
    document = _object(parse_integer_keyed(body), "a TopicRouteData")
    mappings = document.get("topicQueueMappingByBroker")
    filters = _object(document.get("filterServerTable") or {}, "filterServerTable")
    return TopicRouteData(
        broker_datas=tuple(broker_data_from_json(item) for item in _list(document, "brokerDatas")),
        queue_datas=tuple(_queue_data_from_json(item) for item in _list(document, "queueDatas")),
        filter_server_table={addr: tuple(map(str, _list(filters, addr))) for addr in filters},
        order_topic_conf=to_text(document.get("orderTopicConf")),
        topic_queue_mapping_by_broker=None
        if mappings is None
        else {name: mapping_info_from_json(info) for name, info in _object(mappings, "the mappings").items()},
    )


def broker_data_from_json(document: Any) -> BrokerData:
    """Read a parsed BrokerData; releases before 5.0 write neither `enableActingMaster` nor `zoneName`.

    Raises:
        MalformedBodyError: Not an object, or members of other types.
    """
    members = _object(document, "a BrokerData")
    return BrokerData(
        broker_addrs=broker_addrs_from_json(members.get("brokerAddrs")),
        broker_name=to_text(members.get("brokerName")) or "",
        cluster=to_text(members.get("cluster")) or "",
        enable_acting_master=to_bool(members.get("enableActingMaster")),
        zone_name=to_text(members.get("zoneName")),
    )


def broker_addrs_from_json(document: Any) -> Mapping[int, str]:
    """Read parsed addresses by broker id; none at all are empty. The result is in order of ids.

    Raises:
        MalformedBodyError: Not an object, or a key that is not a number.
    """
    addrs = _object(document or {}, "brokerAddrs")
    return dict(sorted((to_int64(id_), to_text(addr) or "") for id_, addr in addrs.items()))


def _object(document: Any, name: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise MalformedBodyError(f"{name} is not an object")
    return document


def _list(document: dict[str, Any], name: str) -> list[Any]:
    items = document.get(name) or []
    if not isinstance(items, list):
        raise MalformedBodyError(f"{name} is not a list")
    return items
