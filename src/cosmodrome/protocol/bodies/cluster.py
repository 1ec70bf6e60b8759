"""Listings: ClusterInfo, BrokerMemberGroup, TopicList, GroupList, KVTable.

Owns: their JSON forms.
Must not know: where their content comes from.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.route import (
    BrokerData,
    broker_addrs_from_json,
    broker_data_from_json,
    broker_data_json,
)
from cosmodrome.protocol.json_dialects import JsonDialect, encode_json, integer_keyed, parse_integer_keyed, to_text


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of GET_BROKER_CLUSTER_INFO: brokers by name, broker names by cluster."""

    broker_addr_table: Mapping[str, BrokerData]
    cluster_addr_table: Mapping[str, tuple[str, ...]]


class BrokerMemberGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of GET_BROKER_MEMBER_GROUP; an unknown broker has no addresses."""

    cluster: str | None
    broker_name: str | None
    broker_addrs: Mapping[int, str]


class TopicList(msgspec.Struct, frozen=True, kw_only=True):
    """Topic names; with `broker_addr`, if there is a broker, in the answer of GET_SYSTEM_TOPIC_LIST_FROM_NS."""

    topic_list: tuple[str, ...]
    broker_addr: str | None = None


class _ClusterInfoJson(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    broker_addr_table: dict[str, Any]
    cluster_addr_table: Mapping[str, list[str]]


class _BrokerMemberGroupJson(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    broker_addrs: msgspec.Raw
    broker_name: str | None = None
    cluster: str | None = None


class _TopicListJson(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    broker_addr: str | None = None
    topic_list: list[str]


def encode_cluster_info(broker_datas: Iterable[BrokerData], clusters: Mapping[str, Iterable[str]]) -> bytes:
    """Write the answer of GET_BROKER_CLUSTER_INFO, in standard JSON, which every reader knows."""
    return encode_json(
        _ClusterInfoJson(
            broker_addr_table={data.broker_name: broker_data_json(data, JsonDialect.STANDARD) for data in broker_datas},
            cluster_addr_table={name: list(brokers) for name, brokers in clusters.items()},
        )
    )


def encode_broker_member_group(cluster: str | None, broker_name: str | None, addrs: Mapping[int, str]) -> bytes:
    """Write the answer of GET_BROKER_MEMBER_GROUP, in standard JSON."""
    group = _BrokerMemberGroupJson(
        broker_addrs=integer_keyed(addrs, JsonDialect.STANDARD), broker_name=broker_name, cluster=cluster
    )
    return encode_json({"brokerMemberGroup": group})


def encode_topic_list(topics: Iterable[str], broker_addr: str | None = None) -> bytes:
    """Write a TopicList; `broker_addr` is only in that of GET_SYSTEM_TOPIC_LIST_FROM_NS."""
    return encode_json(_TopicListJson(broker_addr=broker_addr, topic_list=list(topics)))


def encode_kv_table(table: Mapping[str, str]) -> bytes:
    """Write a KVTable."""
    return encode_json({"table": table})


def encode_group_list(groups: Iterable[str]) -> bytes:
    """Write a GroupList, a broker's answer."""
    return encode_json({"groupList": list(groups)})


def decode_cluster_info(body: bytes) -> ClusterInfo:
    """Read the answer of GET_BROKER_CLUSTER_INFO of any release.

    Raises:
        MalformedBodyError: Not a ClusterInfo.
    """
    document = _object(parse_integer_keyed(body), "a ClusterInfo")
    brokers = _object(document.get("brokerAddrTable") or {}, "brokerAddrTable")
    clusters = _object(document.get("clusterAddrTable") or {}, "clusterAddrTable")
    return ClusterInfo(
        broker_addr_table={name: broker_data_from_json(data) for name, data in brokers.items()},
        cluster_addr_table={name: _texts(names, "a cluster") for name, names in clusters.items()},
    )


def decode_broker_member_group(body: bytes) -> BrokerMemberGroup:
    """Read the answer of GET_BROKER_MEMBER_GROUP.

    Raises:
        MalformedBodyError: Not a BrokerMemberGroup.
    """
    document = _object(parse_integer_keyed(body), "the body")
    group = _object(document.get("brokerMemberGroup"), "brokerMemberGroup")
    return BrokerMemberGroup(
        cluster=to_text(group.get("cluster")),
        broker_name=to_text(group.get("brokerName")),
        broker_addrs=broker_addrs_from_json(group.get("brokerAddrs")),
    )


def decode_topic_list(body: bytes) -> TopicList:
    """Read a TopicList.

    Raises:
        MalformedBodyError: Not a TopicList.
    """
    document = _object(parse_integer_keyed(body), "a TopicList")
    return TopicList(
        topic_list=_texts(document.get("topicList"), "topicList"), broker_addr=to_text(document.get("brokerAddr"))
    )


def decode_kv_table(body: bytes) -> Mapping[str, str]:
    """Read a KVTable; entries that are null are left out.

    Raises:
        MalformedBodyError: Not a KVTable.
    """
    table = _object(_object(parse_integer_keyed(body), "a KVTable").get("table") or {}, "table")
    return {key: text for key, value in table.items() if (text := to_text(value)) is not None}


def decode_group_list(body: bytes) -> tuple[str, ...]:
    """Read a GroupList, a broker's answer.

    Raises:
        MalformedBodyError: Not a GroupList.
    """
    return _texts(_object(parse_integer_keyed(body), "a GroupList").get("groupList"), "groupList")


def _object(document: Any, name: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise MalformedBodyError(f"{name} is not an object")
    return document


def _texts(items: Any, name: str) -> tuple[str, ...]:
    if items is None:
        return ()
    if not isinstance(items, list):
        raise MalformedBodyError(f"{name} is not a list")
    return tuple(text for item in items if (text := to_text(item)) is not None)
