"""Commands that change topics on brokers: updateTopic, updateTopicPerm, updateTopicList, deleteTopic.

Owns: their texts; the order configuration that goes with an ordered topic.
Must not know: how brokers are found and asked (brokers.py).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers, tell_each
from cosmodrome.admin.config_files import read_list
from cosmodrome.admin.name_servers import NameServers, Outcome, conclude
from cosmodrome.admin.output import Output
from cosmodrome.admin.settings_text import attributes_text, topic_config_text
from cosmodrome.client.admin.topics import create_topic_header
from cosmodrome.client.name_server import ORDER_TOPIC_CONFIG, NameServerClient
from cosmodrome.errors import MessageError, MissingError, NotFoundError, UsageError
from cosmodrome.protocol.bodies.route import MASTER_ID, TopicRouteData
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, CreateTopicListRequestBody
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.topic_admin import TopicRequestHeader
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.protocol.messages.checks import check_topic
from cosmodrome.shown_text import shown

DEFAULT_QUEUES: Final = 8
_UNIT: Final = 1
_UNIT_SUB: Final = 2


async def update_topic(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Make a topic, or give one that there is these settings, at one broker or all masters of a cluster.

    `given` has topic, attributes, read_queue_nums, write_queue_nums, perm, order, unit, has_unit_sub.

    Raises:
        UsageError: A value is none that a topic can have.
        MissingError: There is no such cluster.
    """
    config = _config(given)
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each(places, lambda place: _create(brokers, place.address, config))
    is_whole = all(outcome.error is None for outcome in outcomes)
    code = 0
    if config.order and is_whole and broker_addr is not None:
        code = await _write_order(servers, output, brokers, places, config)
    code = tell_each(output, places, outcomes, "create topic to {} success.") or code
    if config.order and is_whole and broker_addr is None:
        code = await _write_order(servers, output, brokers, places, config)
    if is_whole:
        output.confirm(shown(topic_config_text(config)))
    output.end("brokers", topic=config.topic_name)
    return code


def _config(given: Mapping[str, Any]) -> BrokerTopicConfig:
    config = BrokerTopicConfig(
        topic_name=_checked_name(given["topic"]),
        read_queue_nums=DEFAULT_QUEUES if given["read_queue_nums"] is None else given["read_queue_nums"],
        write_queue_nums=DEFAULT_QUEUES if given["write_queue_nums"] is None else given["write_queue_nums"],
        perm=6 if given["perm"] is None else given["perm"],
        topic_sys_flag=(_UNIT if given["unit"] else 0) | (_UNIT_SUB if given["has_unit_sub"] else 0),
        order=bool(given["order"]),
        attributes=given["attributes"],
    )
    if config.read_queue_nums < 1 or config.write_queue_nums < 1:
        raise UsageError("a topic has at least one queue to read (-r) and one to write (-w).")
    return config


def _checked_name(topic: str) -> str:
    try:
        check_topic(topic)
    except MessageError as error:
        raise UsageError(f"{error}.") from error
    return topic


async def _create(brokers: Brokers, address: str, config: BrokerTopicConfig) -> None:
    header = create_topic_header(config, attributes_text(config.attributes or {}))
    await brokers.ask(address, BrokerRequestCode.UPDATE_AND_CREATE_TOPIC, header)


async def _write_order(
    servers: NameServers, output: Output, brokers: Brokers, places: Sequence[Place], config: BrokerTopicConfig
) -> int:
    """Write down at all NameServers how many queues each broker has; at one broker, beside what is there."""
    is_one = not places[0].name
    names = [await _name_of(servers, brokers, places[0].address)] if is_one else [place.name for place in places]
    conf = ";".join(f"{name}:{config.write_queue_nums}" for name in names)

    async def put(server: NameServerClient) -> None:
        text = await _merged(server, config.topic_name, names[0], conf) if is_one else conf
        await server.kv_put(ORDER_TOPIC_CONFIG, config.topic_name, text)

    outcomes = await servers.each(put)
    code = conclude(output, outcomes)
    if code == 0:
        kind = "broker" if is_one else "cluster"
        output.confirm(f"set {kind} orderConf. isOrder=true, orderConf=[{conf}]")
    return code


async def _name_of(servers: NameServers, brokers: Brokers, address: str) -> str:
    for place in await brokers.registered():
        if place.address == address:
            return place.name
    raise MissingError(
        f"no broker is registered with the address {address}, so its order cannot be written down.",
        why="the topic is made; the order of queues is kept by the name of the broker.",
        remedy=f"see the addresses: {servers.command('admin clusterList')}",
    )


async def _merged(server: NameServerClient, topic: str, name: str, conf: str) -> str:
    try:
        known = await server.kv_get(ORDER_TOPIC_CONFIG, topic)
    except NotFoundError:
        return conf
    table = {part.partition(":")[0]: part for part in known.split(";") if part} | {name: conf}
    return ";".join(table.values())


async def update_topic_perm(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Change what may be done with a topic; its other settings are taken from its route, as mqadmin does.

    `given` has topic and perm.

    Raises:
        MissingError: There is no such topic, cluster, or broker with the topic.
    """
    topic, perm = given["topic"], given["perm"]
    brokers = Brokers(servers, output)
    route = await brokers.route(topic)
    places = await _places_of(brokers, route, broker_addr, cluster)
    old = {data.broker_name: data for data in route.queue_datas}
    queues = next(iter(route.queue_datas), None)
    if queues is None:
        raise MissingError(f"the route of {topic} has no queues.", remedy="make it anew: mqadmin updateTopic")
    config = BrokerTopicConfig(
        topic_name=topic,
        read_queue_nums=queues.read_queue_nums,
        write_queue_nums=queues.write_queue_nums,
        perm=perm,
        topic_sys_flag=queues.topic_sys_flag,
    )
    if broker_addr is not None and places[0].name in old and old[places[0].name].perm == perm:
        output.confirm("new perm equals to the old one!")
        unchanged: Outcome[None] = Outcome(address=places[0].address)
        output.row(unchanged.row(old_perm=perm, perm=perm))
        output.end("brokers", topic=topic)
        return 0
    outcomes = await brokers.each(places, lambda place: _create(brokers, place.address, config))
    for place, outcome in zip(places, outcomes, strict=True):
        before = old[place.name].perm if place.name in old else queues.perm
        output.row(outcome.row(broker_name=place.name, old_perm=before, perm=perm))
        if outcome.error is None:
            output.confirm(f"update topic perm from {before} to {perm} in {place.address} success.")
            output.confirm(*([f"{shown(topic_config_text(config))}."] if broker_addr is not None else []))
    output.end("brokers", topic=topic)
    return conclude_brokers(output, outcomes)


async def _places_of(
    brokers: Brokers, route: TopicRouteData, broker_addr: str | None, cluster: str | None
) -> Sequence[Place]:
    if broker_addr is None:
        return await brokers.chosen(None, cluster)
    broker_addr = await brokers.address(broker_addr)
    masters = {data.broker_addrs[MASTER_ID]: data for data in route.broker_datas if MASTER_ID in data.broker_addrs}
    if broker_addr not in masters:
        raise MissingError(
            f"{broker_addr} is no master with this topic.",
            why=f"the topic is at: {', '.join(sorted(masters)) or 'no master'}.",
        )
    data = masters[broker_addr]
    return [Place(data.cluster or "", data.broker_name, MASTER_ID, broker_addr)]


async def update_topic_list(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, file: str
) -> int:
    """Make all topics of a file, a JSON list of TopicConfig, at one broker or all masters of a cluster (5.x).

    Raises:
        UsageError: The file cannot be read or used.
        MissingError: There is no such cluster.
    """
    configs = read_list(Path(file), BrokerTopicConfig)
    for config in configs:
        _checked_name(config.topic_name)
    body = encode_body(CreateTopicListRequestBody(topic_config_list=configs))
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)
    code = tell_each(
        output, places, outcomes, "submit batch of topic config to {} success, please check the result later."
    )
    output.end("brokers", topics=len(configs))
    return code


async def delete_topic(
    servers: NameServers, output: Output, topic: str, cluster: str, *, name_servers_only: bool = False
) -> int:
    """Take a topic away: from all masters of a cluster, then from all NameServers.

    Nothing is taken from NameServers while a master still has it: it would bring it back.

    Raises:
        MissingError: There is no such cluster.
    """
    brokers = Brokers(servers, output)
    places = [] if name_servers_only else [each for each in await brokers.registered(cluster) if each.id == MASTER_ID]
    code = await delete_at_brokers(brokers, output, places, topic)
    if code:
        output.note("NameServers still have it, as long as a broker has")
        output.end("servers", topic=topic, cluster=cluster)
        return code
    if not name_servers_only:
        output.confirm(f"delete topic [{topic}] from cluster [{cluster}] success.")
    outcomes = await servers.each(lambda server: server.delete_topic(topic, cluster))
    for outcome in outcomes:
        output.row(outcome.row())
    code = conclude(output, outcomes)
    if code == 0:
        output.confirm(f"delete topic [{topic}] from NameServer success.")
    output.end("servers", topic=topic, cluster=cluster)
    return code


async def delete_at_brokers(brokers: Brokers, output: Output, places: Sequence[Place], topic: str) -> int:
    """Take a topic away from brokers; say what each did, and give the exit code."""
    header = TopicRequestHeader(topic=topic)
    outcomes = await brokers.each_asked(places, BrokerRequestCode.DELETE_TOPIC_IN_BROKER, header)
    for place, outcome in zip(places, outcomes, strict=True):
        output.row(outcome.row(broker_name=place.name))
    return conclude_brokers(output, outcomes)
