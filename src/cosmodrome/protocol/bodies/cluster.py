"""Listings: ClusterInfo, BrokerMemberGroup, TopicList, KVTable.

Owns: their JSON forms.
Must not know: where their content comes from.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cosmodrome.protocol.bodies.route import BrokerData, broker_data_json
from cosmodrome.protocol.json_dialects import JsonDialect, encode_json, integer_keyed


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
    """Write the answer of GET_BROKER_CLUSTER_INFO, in the plain dialect for everyone, as the reference does."""
    return encode_json(
        _ClusterInfoJson(
            broker_addr_table={data.broker_name: broker_data_json(data, JsonDialect.PLAIN) for data in broker_datas},
            cluster_addr_table={name: list(brokers) for name, brokers in clusters.items()},
        )
    )


def encode_broker_member_group(cluster: str | None, broker_name: str | None, addrs: Mapping[int, str]) -> bytes:
    """Write the answer of GET_BROKER_MEMBER_GROUP, in the plain dialect."""
    group = _BrokerMemberGroupJson(
        broker_addrs=integer_keyed(addrs, JsonDialect.PLAIN), broker_name=broker_name, cluster=cluster
    )
    return encode_json({"brokerMemberGroup": group})


def encode_topic_list(topics: Iterable[str], broker_addr: str | None = None) -> bytes:
    """Write a TopicList; `broker_addr` is only in that of GET_SYSTEM_TOPIC_LIST_FROM_NS."""
    return encode_json(_TopicListJson(broker_addr=broker_addr, topic_list=list(topics)))


def encode_kv_table(table: Mapping[str, str]) -> bytes:
    """Write a KVTable."""
    return encode_json({"table": table})
