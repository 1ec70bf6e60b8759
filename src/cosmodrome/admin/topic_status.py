"""topicStatus: where the queues of a topic begin and end.

Owns: its layout.
Must not know: how brokers are found and asked (brokers.py).
"""

from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers
from cosmodrome.admin.moments import local_ms, rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.admin.settings_text import java_double
from cosmodrome.errors import MissingError
from cosmodrome.protocol.bodies.offsets import TopicStatsTable
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.topic_admin import TopicRequestHeader
from cosmodrome.shown_text import shown


async def topic_status(servers: NameServers, output: Output, *, topic: str, cluster: str | None) -> int:
    """Print the first and the next offset of each queue, and when its last message came.

    `cluster` is, as in mqadmin, the topic whose route says which brokers are asked: each cluster has a topic of its
    name.

    Raises:
        MissingError: The topic does not exist.
    """
    brokers = Brokers(servers, output)
    places = await brokers.of_topic(topic if cluster is None else cluster)
    header = TopicRequestHeader(topic=topic)

    async def read(place: Place) -> TopicStatsTable:
        return await brokers.read(place.address, BrokerRequestCode.GET_TOPIC_STATS_INFO, header, TopicStatsTable)

    outcomes = await brokers.each(places, read)
    tables = [each.value for each in outcomes if each.value is not None]
    queues = sorted((entry for table in tables for entry in table.offset_table.items()), key=lambda entry: entry[0])
    if tables and not queues:
        raise MissingError(
            f"no queue of topic {topic} was found.", remedy=f"check the spelling: {servers.command('admin topicList')}"
        )
    if tables:
        output.text(f"{'#Broker Name':<32}  {'#QID':<4}  {'#Min Offset':<20}  {'#Max Offset':<20}    #Last Updated")
    for queue, offsets in queues:
        last = offsets.last_update_timestamp
        row = {
            "broker_name": queue.broker_name,
            "queue_id": queue.queue_id,
            "min_offset": offsets.min_offset,
            "max_offset": offsets.max_offset,
            "last_update_time": rfc3339(last) if last > 0 else None,
        }
        output.row(
            row,
            f"{shown(queue.broker_name):<32}  {queue.queue_id:<4}  {offsets.min_offset:<20}  "
            f"{offsets.max_offset:<20}    {local_ms(last) if last > 0 else ''}",
        )
    put_tps = sum(table.topic_put_tps or 0.0 for table in tables)
    if tables:
        output.text("", f"Topic Put TPS: {java_double(float(put_tps))}")
    output.end("queues", topic=topic, put_tps=put_tps)
    return conclude_brokers(output, outcomes, is_change=False)
