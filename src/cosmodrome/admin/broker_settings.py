"""Commands about brokers' settings and state: updateBrokerConfig, getBrokerConfig, brokerStatus, getConsumerConfig.

Owns: their layouts and texts.
Must not know: how brokers are found and asked (brokers.py).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers, tell_each
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.namesrv_config import with_key_advice
from cosmodrome.admin.output import Output, snake_case
from cosmodrome.admin.settings_text import group_config_members
from cosmodrome.client.admin.reach import read_with
from cosmodrome.client.properties_text import properties_from, properties_text
from cosmodrome.errors import MissingError
from cosmodrome.protocol.bodies.cluster import decode_kv_table
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupTable
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.shown_text import shown

NO_MASTER: Final = "NO_MASTER"
_RULE: Final = "=" * 12
_LONG_RULE: Final = "=" * 29


async def update_broker_config(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, **given: Any
) -> int:
    """Change one setting, at one broker or all masters of a cluster.

    `given` has key, value and update_all; as in mqadmin, any value of the last means slaves, too.

    Raises:
        MissingError: There is no such cluster.
    """
    key, value = given["key"], given["value"]
    body = properties_text({key: value}).encode()
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster, with_slaves=given["update_all"] is not None)

    async def change(place: Place) -> None:
        await brokers.ask(place.address, BrokerRequestCode.UPDATE_BROKER_CONFIG, None, body)

    outcomes = [
        each if each.error is None else dataclasses.replace(each, error=with_key_advice(each.error, key))
        for each in await brokers.each(places, change)
    ]
    code = tell_each(output, places, outcomes, "update broker config success, {}")
    output.end("brokers", key=key, value=value)
    return code


async def config_of(brokers: Brokers, address: str) -> Mapping[str, str]:
    """Give the settings of a broker. Raises as Brokers.ask."""
    answer = await brokers.ask(address, BrokerRequestCode.GET_BROKER_CONFIG)
    return properties_from(answer.body.decode("utf-8", "replace"))


async def runtime_of(brokers: Brokers, address: str) -> Mapping[str, str]:
    """Give the state of a broker. Raises as Brokers.read."""
    answer = await brokers.ask(address, BrokerRequestCode.GET_BROKER_RUNTIME_INFO)
    return read_with(address, decode_kv_table, answer)


async def get_broker_config(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None
) -> int:
    """Print the settings of one broker, or of all brokers of a cluster, slaves below their masters.

    Raises:
        MissingError: There is no such cluster.
    """
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster, with_slaves=True)
    masters = {(place.cluster, place.name): place.address for place in places if place.id == MASTER_ID}
    outcomes = await brokers.each(places, lambda place: config_of(brokers, place.address))
    headed: set[tuple[str, str]] = set(masters)
    for place, outcome in zip(places, outcomes, strict=True):
        master = masters.get((place.cluster, place.name), NO_MASTER)
        if place[:2] not in headed:
            headed.add(place[:2])
            output.text(f"{_RULE}Master: {NO_MASTER}{_RULE}")
        output.row(outcome.row(broker_name=place.name or None, broker_id=place.id, config=outcome.value))
        if outcome.value is not None:
            output.text(_heading(place, master, is_one=broker_addr is not None))
            output.text(*(f"{shown(key):<50}=  {shown(value)}" for key, value in outcome.value.items()), "")
    output.end("brokers")
    return conclude_brokers(output, outcomes, is_change=False)


def _heading(place: Place, master: str, *, is_one: bool) -> str:
    if is_one:
        return f"{_RULE}{place.address}{_RULE}"
    if place.id == MASTER_ID:
        return f"{_RULE}Master: {place.address}{_RULE}"
    return f"{_RULE}My Master: {master}=====Slave: {place.address}{_RULE}"


async def broker_status(servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None) -> int:
    """Print the state of one broker, or of all brokers of a cluster.

    Raises:
        MissingError: There is no such cluster.
    """
    brokers = Brokers(servers, output)
    places = await brokers.chosen(broker_addr, cluster, with_slaves=True)
    outcomes = await brokers.each(places, lambda place: runtime_of(brokers, place.address))
    for place, outcome in zip(places, outcomes, strict=True):
        output.row(outcome.row(broker_name=place.name or None, broker_id=place.id, runtime=outcome.value))
        before = "" if broker_addr is not None else f"{place.address:<24} "
        for key, value in sorted((outcome.value or {}).items()):
            output.text(f"{before}{shown(key):<32}: {shown(value)}")
    output.end("brokers")
    return conclude_brokers(output, outcomes, is_change=False)


async def get_consumer_config(servers: NameServers, output: Output, *, group: str) -> int:
    """Print the settings of a group at every broker that has it.

    Raises:
        MissingError: No broker has it.
    """
    brokers = Brokers(servers, output)

    async def read(place: Place) -> SubscriptionGroupConfig | None:
        code = BrokerRequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        table = await brokers.read(place.address, code, None, SubscriptionGroupTable)
        return table.subscription_group_table.get(group)

    places = await brokers.readers()
    outcomes = await brokers.each(places, read)
    found = False
    for place, outcome in zip(places, outcomes, strict=True):
        if outcome.value is None and outcome.error is None:
            continue
        config = outcome.value
        output.row(outcome.row(cluster=place.cluster, broker_name=place.name, config=snake_case(config)))
        if config is not None:
            found = True
            output.text(f"{_LONG_RULE}{shown(place.cluster)}:{shown(place.name)}{_LONG_RULE}")
            members = group_config_members(config)
            output.text(*(f"{key:<40}=  {'' if value == 'null' else shown(value)}" for key, value in members.items()))
    output.end("brokers", group=group)
    code = conclude_brokers(output, outcomes, is_change=False)
    if code == 0 and not found:
        raise MissingError(
            f"no broker has a consumer group {group!r}.",
            remedy=f"check the spelling: {servers.command('admin consumerProgress')}",
        )
    return code
