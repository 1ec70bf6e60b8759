"""Commands that change consumer groups: updateSubGroup, updateSubGroupList, deleteSubGroup, setConsumeMode.

Owns: their texts.
Must not know: how brokers are found and asked (brokers.py).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.admin.brokers import Brokers, Place, tell_each
from cosmodrome.admin.config_files import read_list
from cosmodrome.admin.name_servers import NameServers, conclude
from cosmodrome.admin.output import Output
from cosmodrome.admin.settings_text import group_config_text
from cosmodrome.admin.topic_changes import delete_at_brokers
from cosmodrome.client.name_server import ORDER_TOPIC_CONFIG, NameServerClient
from cosmodrome.errors import MalformedBodyError, MessageError, UsageError
from cosmodrome.protocol.bodies.groups import (
    GroupRetryPolicy,
    GroupRetryPolicyType,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
)
from cosmodrome.protocol.bodies.pop import MessageRequestMode, SetMessageRequestModeRequestBody
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.group_admin import DeleteSubscriptionGroupRequestHeader
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import encode_body, from_json
from cosmodrome.protocol.messages.checks import DLQ_PREFIX, RETRY_PREFIX, check_group
from cosmodrome.shown_text import shown

_DEFAULTS: Final[Mapping[str, Any]] = {"consume_from_min_enable": False, "consume_broadcast_enable": False}
"""What mqadmin sends for settings that are not given, where it is not what a broker takes."""


def retry_policy(text: str) -> GroupRetryPolicy:
    """Read a retry policy as it is typed: JSON.

    Raises:
        ValueError: It is none.
    """
    try:
        document = parse_keyed(text.encode())
        policy = from_json(GroupRetryPolicy, document)
    except MalformedBodyError as error:
        raise ValueError(f"it is no retry policy: {error}") from None
    if document.get("type", policy.type) != policy.type:
        raise ValueError(f"its type is none of {', '.join(GroupRetryPolicyType)}")
    return policy


async def update_sub_group(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Make a group, or give one that there is these settings, at one broker or all masters of a cluster.

    `given` has fields of SubscriptionGroupConfig, None for those that were not given.

    Raises:
        UsageError: The name cannot be one.
        MissingError: There is no such cluster.
    """
    config = SubscriptionGroupConfig(
        **{**_DEFAULTS, **{name: value for name, value in given.items() if value is not None}}
    )
    _checked_name(config.group_name)
    body = encode_body(config)
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    code = tell_each(output, places, outcomes, "create subscription group to {} success.")
    if code == 0:
        output.confirm(shown(group_config_text(config)))
    output.end("brokers", group=config.group_name)
    return code


def _checked_name(group: str) -> None:
    try:
        check_group(group)
    except MessageError as error:
        raise UsageError(f"{error}.") from error


async def update_sub_group_list(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, file: str
) -> int:
    """Make all groups of a file, a JSON list of SubscriptionGroupConfig, at one broker or all masters of a cluster.

    Raises:
        UsageError: The file cannot be read or used.
        MissingError: There is no such cluster.
    """
    configs = read_list(Path(file), SubscriptionGroupConfig)
    for config in configs:
        _checked_name(config.group_name)
    body = encode_body(SubscriptionGroupList(group_config_list=configs))
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=body)
    what = "group config" if broker_addr is not None else "subscription group config"
    code = tell_each(
        output, places, outcomes, f"submit batch of {what} to {{}} success, please check the result later."
    )
    output.end("brokers", groups=len(configs))
    return code


async def delete_sub_group(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Take a group away: from one broker, or from all masters of a cluster with its retry and dead-letter topics.

    `given` has group and remove_offset.

    Raises:
        MissingError: There is no such cluster.
    """
    group, cleans = given["group"], bool(given["remove_offset"])
    header = DeleteSubscriptionGroupRequestHeader(group_name=group, clean_offset=cleans, remove_offset=cleans)
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.DELETE_SUBSCRIPTIONGROUP, header)
    within = "" if broker_addr is not None else f" in cluster [{cluster}]"
    line = f"delete subscription group [{group}] from broker [{{}}]{within} success."
    code = tell_each(output, places, outcomes, line)
    if code == 0 and broker_addr is None:
        everywhere = list(await brokers.registered(cluster))
        for topic in (RETRY_PREFIX + group, DLQ_PREFIX + group):
            code = code or await _forget(servers, output, brokers, everywhere, topic)
    output.end("brokers", group=group)
    return code


async def _forget(servers: NameServers, output: Output, brokers: Brokers, places: list[Place], topic: str) -> int:
    async def forget(server: NameServerClient) -> None:
        await server.delete_topic(topic)
        await server.kv_delete(ORDER_TOPIC_CONFIG, topic)

    return await delete_at_brokers(brokers, output, places, topic) or conclude(output, await servers.each(forget))


async def set_consume_mode(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Let a group have a topic by pull or by POP, at one broker or all masters of a cluster.

    `given` has topic, group, mode, pop_share_queue_num.

    Raises:
        MissingError: There is no such cluster.
    """
    topic, group, mode, share = (given[name] for name in ("topic", "group", "mode", "pop_share_queue_num"))
    body = encode_body(
        SetMessageRequestModeRequestBody(
            topic=topic, consumer_group=group, mode=MessageRequestMode(mode), pop_share_queue_num=share or 0
        )
    )
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.SET_MESSAGE_REQUEST_MODE, body=body)
    code = tell_each(output, places, outcomes, "set consume mode to {} success.")
    if code == 0:
        output.confirm(f"topic[{topic}] group[{group}] consume mode[{mode}] popShareQueueNum[{share or 0}]")
    output.end("brokers", topic=topic, group=group, mode=mode)
    return code
