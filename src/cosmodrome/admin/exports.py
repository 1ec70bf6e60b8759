"""exportMetadata and exportConfigs: what is set on brokers, as one JSON document.

Owns: the form of these documents, which is mqadmin's; what of a broker belongs to users.
Must not know: how brokers are found and asked (brokers.py).
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from cosmodrome.admin.broker_settings import config_of
from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers
from cosmodrome.admin.config_files import write_export
from cosmodrome.admin.java_json import java_pretty
from cosmodrome.admin.moments import rfc3339
from cosmodrome.admin.name_servers import NameServers, Outcome
from cosmodrome.admin.output import Output, snake_case
from cosmodrome.admin.topics import TopicKind, kind_of
from cosmodrome.client.admin.reach import read_with
from cosmodrome.protocol.bodies.cluster import decode_topic_list
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupTable
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, BrokerTopicTable
from cosmodrome.protocol.codes import BrokerRequestCode

_SYSTEM_GROUPS: Final = "CID_RMQ_SYS_"
_PREDEFINED_GROUPS: Final = frozenset(
    {
        "DEFAULT_CONSUMER", "DEFAULT_PRODUCER", "TOOLS_CONSUMER", "SCHEDULE_CONSUMER", "FILTERSRV_CONSUMER",
        "__MONITOR_CONSUMER", "CLIENT_INNER_PRODUCER", "SELF_TEST_P_GROUP", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS",
    }
)  # fmt: skip
_SYSTEM_TOPICS: Final = frozenset(
    {"CHECKPOINT_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"}
)
"""Those of 5.5 that the listing of topics does not count as RocketMQ's own."""
_PERMS: Final = range(8)
_CONFIG_KEYS: Final = (
    "brokerClusterName", "brokerId", "brokerName", "brokerRole", "fileReservedTime", "filterServerNums",
    "flushDiskType", "maxMessageSize", "messageDelayLevel", "msgTraceTopicName", "slaveReadEnable", "traceOn",
    "traceTopicEnable", "useTLS", "autoCreateTopicEnable", "autoCreateSubscriptionGroup",
)  # fmt: skip


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """What users have made at one broker."""

    topics: Mapping[str, BrokerTopicConfig]
    groups: Mapping[str, SubscriptionGroupConfig]


async def user_holdings(brokers: Brokers, address: str, *, with_special: bool) -> Holdings:
    """Give topics and groups of users; with the topics of retries and dead letters if `with_special`.

    Raises as Brokers.read.
    """
    topics = await brokers.read(address, BrokerRequestCode.GET_ALL_TOPIC_CONFIG, None, BrokerTopicTable)
    answer = await brokers.ask(address, BrokerRequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    system = frozenset(read_with(address, decode_topic_list, answer).topic_list) | _SYSTEM_TOPICS
    kinds = {TopicKind.USER, TopicKind.RETRY, TopicKind.DLQ} if with_special else {TopicKind.USER}
    groups = await brokers.read(
        address, BrokerRequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, None, SubscriptionGroupTable
    )
    return Holdings(
        topics={
            name: config
            for name, config in topics.topic_config_table.items()
            if kind_of(name, system) in kinds and name not in system and config.perm in _PERMS
        },
        groups={
            name: config
            for name, config in groups.subscription_group_table.items()
            if not name.startswith(_SYSTEM_GROUPS) and name not in _PREDEFINED_GROUPS
        },
    )


async def export_metadata(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Write topics and groups of one broker, or of all masters of a cluster with their queues added up.

    `given` has folder (None: standard output), topics_only, groups_only and special_topics.

    Raises:
        MissingError: There is no such cluster.
        StorageError: The file cannot be written.
    """
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each(
        places, lambda place: user_holdings(brokers, place.address, with_special=given["special_topics"])
    )
    code = conclude_brokers(output, outcomes, is_change=False)
    if code:
        return code
    found = [outcome.value for outcome in outcomes if outcome.value is not None]
    parts: dict[str, Any] = {"exportTime": time.time_ns() // 1_000_000}
    name = "metadata.json"
    if not given["topics_only"]:
        parts["subscriptionGroupTable"] = _added_groups([each.groups for each in found])
        name = "subscriptionGroup.json" if given["groups_only"] else name
    if given["topics_only"] or not given["groups_only"]:
        parts["topicConfigTable"] = _added_topics([each.topics for each in found])
        name = "topic.json" if given["topics_only"] else name
    told = {snake(key): snake_case(value) for key, value in parts.items()}
    told["export_time"] = rfc3339(parts["exportTime"])
    write_document(output, given["folder"], name, (parts, told))
    return 0


def write_document(
    output: Output, folder: str | None, name: str, forms: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> None:
    """Write a document into a file of a folder, or on standard output.

    `forms` are the document as mqadmin writes it, which files and the text form have, and that of `-o json`.

    Raises:
        StorageError: The file cannot be written.
    """
    text = java_pretty(forms[0])
    if folder is None:
        output.text(text)
        output.document(forms[1])
        return
    path = write_export(folder, name, text)
    output.confirm(f"export {path} success")
    output.document({"path": path})


def snake(name: str) -> str:
    """Give a Java name in snake case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def snake_keys(value: Any) -> Any:
    """Give a document whose keys are all names, with these in snake case."""
    return {snake(key): snake_keys(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _added_topics(tables: Sequence[Mapping[str, BrokerTopicConfig]]) -> dict[str, BrokerTopicConfig]:
    added: dict[str, BrokerTopicConfig] = {}
    for name, config in (entry for table in tables for entry in table.items()):
        known = added.get(name)
        added[name] = (
            config
            if known is None
            else msgspec.structs.replace(
                config,
                read_queue_nums=known.read_queue_nums + config.read_queue_nums,
                write_queue_nums=known.write_queue_nums + config.write_queue_nums,
            )
        )
    return dict(sorted(added.items()))


def _added_groups(tables: Sequence[Mapping[str, SubscriptionGroupConfig]]) -> dict[str, SubscriptionGroupConfig]:
    added: dict[str, SubscriptionGroupConfig] = {}
    for name, config in (entry for table in tables for entry in table.items()):
        known = added.get(name)
        sum_of = config.retry_queue_nums + (known.retry_queue_nums if known else 0)
        added[name] = msgspec.structs.replace(config, retry_queue_nums=sum_of)
    return dict(sorted(added.items()))


async def export_configs(servers: NameServers, output: Output, *, cluster: str, folder: str | None) -> int:
    """Write the most important settings of the masters of a cluster, and how many servers it has.

    Raises:
        MissingError: There is no such cluster.
        StorageError: The file cannot be written.
    """
    brokers = Brokers(servers, output)
    known = await brokers.registered(cluster)
    masters = [place for place in known if place.id == MASTER_ID]
    outcomes: list[Outcome[Mapping[str, str]]] = await brokers.each(
        masters, lambda place: config_of(brokers, place.address)
    )
    code = conclude_brokers(output, outcomes, is_change=False)
    if code:
        return code
    configs = {
        outcome.value.get("brokerName", place.name): {
            key: outcome.value[key] for key in sorted(_CONFIG_KEYS) if key in outcome.value
        }
        for place, outcome in zip(masters, outcomes, strict=True)
        if outcome.value is not None
    }
    scale = {
        "masterBrokerSize": len(masters),
        "namesrvSize": len(servers.addresses),
        "slaveBrokerSize": _slaves(known, masters),
    }
    told = {"broker_configs": configs, "cluster_scale": snake_keys(scale)}
    write_document(output, folder, "configs.json", ({"brokerConfigs": configs, "clusterScale": scale}, told))
    return 0


def _slaves(known: Sequence[Place], masters: Sequence[Place]) -> int:
    names = {place[:2] for place in masters}
    return sum(place.id != MASTER_ID and place[:2] in names for place in known)
