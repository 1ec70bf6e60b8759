"""Commands about who is connected to brokers: producer, producerConnection, consumerConnection.

Owns: their layouts.
Must not know: how brokers are found and asked (brokers.py).
"""

from collections.abc import Sequence

from cosmodrome.admin.brokers import Brokers, Place
from cosmodrome.admin.moments import rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row
from cosmodrome.admin.settings_text import java
from cosmodrome.errors import AdminError, MissingError
from cosmodrome.protocol.bodies.consumers import Connection, ConsumerConnection, ProducerConnection, ProducerTableInfo
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader, GetProducerConnectionListRequestHeader
from cosmodrome.protocol.messages.checks import RETRY_PREFIX
from cosmodrome.protocol.versions import version_name
from cosmodrome.shown_text import shown


async def producer(servers: NameServers, output: Output, *, broker_addr: str) -> int:
    """Print all producers that are connected to one broker."""
    brokers = Brokers(servers, output)
    (place,) = await brokers.chosen(broker_addr, None)
    reading = brokers.read(place.address, BrokerRequestCode.GET_ALL_PRODUCER_INFO, None, ProducerTableInfo)
    table = await brokers.one(place.address, reading)
    for group, instances in sorted(table.data.items()):
        if not instances:
            output.text(f"producer group ({shown(group)}) instances are empty")
        for each in instances:
            row = {
                "group": group,
                "client_id": each.client_id,
                "address": each.remote_ip.removeprefix("/"),
                "language": each.language,
                "version": version_name(each.version),
                "last_update_time": rfc3339(each.last_update_timestamp),
            }
            output.row(
                row,
                f"producer group ({shown(group)}) instance : clientId={shown(each.client_id)},"
                f"remoteIP={shown(each.remote_ip)}, language={shown(each.language)}, version={each.version}, "
                f"lastUpdateTimestamp={each.last_update_timestamp}",
            )
    output.end("producers", broker_addr=place.address)
    return 0


async def producer_connection(servers: NameServers, output: Output, *, group: str, topic: str) -> int:
    """Print the producers of a group, as the brokers of a topic know them.

    mqadmin asks one broker of the topic at random, this asks them in turn until one knows the group.

    Raises:
        MissingError: The topic does not exist, or no producer of the group is online.
    """
    brokers = Brokers(servers, output)
    places = await brokers.of_topic(topic)
    header = GetProducerConnectionListRequestHeader(producer_group=group)

    async def read(place: Place) -> ProducerConnection:
        code = BrokerRequestCode.GET_PRODUCER_CONNECTION_LIST
        return await brokers.read(place.address, code, header, ProducerConnection)

    outcomes = await brokers.each(places, read)
    found = next((each.value for each in outcomes if each.value is not None and each.value.connection_set), None)
    if found is None:
        raise _nobody("producer", group, [each.error for each in outcomes if each.error is not None])
    for number, each in enumerate(found.connection_set, 1):
        line = (
            f"{number:04d}  {shown(each.client_id):<32} {shown(each.client_addr):<22} {shown(each.language):<8} "
            f"{version_name(each.version)}"
        )
        output.row(connection_row(each), line)
    output.end("connections", group=group, topic=topic)
    return 0


async def consumer_connection(servers: NameServers, output: Output, *, group: str, broker_addr: str | None) -> int:
    """Print the consumers of a group and what they subscribe to.

    Raises:
        MissingError: No consumer of the group is online.
    """
    _, found = await online_consumers(Brokers(servers, output), group, broker_addr)
    output.text(f"{'#ClientId':<36} {'#ClientAddr':<22} {'#Language':<10} #Version")
    for each in found.connection_set:
        output.text(
            f"{shown(each.client_id):<36} {shown(each.client_addr):<22} {shown(each.language):<10} "
            f"{version_name(each.version)}"
        )
    output.text("", "Below is subscription:", f"{'#Topic':<20} #SubExpression")
    for data in found.subscription_table.values():
        output.text(f"{shown(data.topic or ''):<20} {shown(data.sub_string or '')}")
    output.text(
        "",
        f"ConsumeType: {java(found.consume_type)}",
        f"MessageModel: {java(found.message_model)}",
        f"ConsumeFromWhere: {java(found.consume_from_where)}",
    )
    output.document(
        {
            "group": group,
            "connections": [connection_row(each) for each in found.connection_set],
            "subscriptions": [
                {"topic": topic, "expression": data.sub_string, "expression_type": data.expression_type}
                for topic, data in found.subscription_table.items()
            ],
            "consume_type": found.consume_type,
            "message_model": found.message_model,
            "consume_from_where": found.consume_from_where,
        }
    )
    return 0


def connection_row(connection: Connection) -> Row:
    """Give a connection as JSON."""
    return {
        "client_id": connection.client_id,
        "address": connection.client_addr,
        "language": connection.language,
        "version": version_name(connection.version),
    }


async def online_consumers(brokers: Brokers, group: str, broker_addr: str | None) -> tuple[str, ConsumerConnection]:
    """Give the consumers of a group, and the address of the broker that told of them.

    That is the named one, or the first of the group's retry topic that knows some.

    Raises:
        MissingError: No consumer of the group is online.
        AdminError: No broker answered.
    """
    retry = RETRY_PREFIX + group
    places = await (brokers.chosen(broker_addr, None) if broker_addr is not None else brokers.of_topic(retry))
    header = ConsumerGroupRequestHeader(consumer_group=group)

    async def read(place: Place) -> ConsumerConnection:
        code = BrokerRequestCode.GET_CONSUMER_CONNECTION_LIST
        return await brokers.read(place.address, code, header, ConsumerConnection)

    outcomes = await brokers.each(places, read)
    found = next(
        ((each.address, each.value) for each in outcomes if each.value is not None and each.value.connection_set), None
    )
    if found is None:
        raise _nobody("consumer", group, [each.error for each in outcomes if each.error is not None])
    return found


def _nobody(kind: str, group: str, errors: Sequence[AdminError]) -> AdminError:
    """Give the error when nobody was found: why a broker could not say, or that nobody is there."""
    silent = [error for error in errors if error.exit_code not in (MissingError.exit_code, AdminError.exit_code)]
    if silent:
        return silent[0]
    return MissingError(
        f"no {kind} of group {group!r} is online.",
        why=" ".join(dict.fromkeys(error.why for error in errors if error.why)) or None,
        remedy="check the spelling, or whether the client runs and reaches this cluster",
    )
