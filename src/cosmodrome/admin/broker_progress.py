"""Commands about offsets that concern all groups of a broker, or two groups: brokerConsumeStats, cloneGroupOffset.

Owns: their layouts and texts.
Must not know: how brokers are found and asked (brokers.py).
"""

from typing import Any, Final

from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers
from cosmodrome.admin.moments import local_second, rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.client.admin.reach import read_with
from cosmodrome.protocol.bodies.offsets import ConsumeStats, ConsumeStatsList
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.group_admin import GetConsumeStatsRequestHeader
from cosmodrome.protocol.headers.offsets import UpdateConsumerOffsetRequestHeader
from cosmodrome.protocol.headers.statistics import GetConsumeStatsInBrokerHeader
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.shown_text import shown

_DEFAULT_TIMEOUT_MS: Final = 50_000
_MS_PER_S: Final = 1000


async def broker_consume_stats(servers: NameServers, output: Output, *, broker_addr: str, **given: Any) -> int:
    """Print how far all groups of a broker are.

    `given` has timeout_ms, level (the least difference that is printed) and order (only ordered topics).
    """
    brokers = Brokers(servers, output)
    (place,) = await brokers.chosen(broker_addr, None)
    header = GetConsumeStatsInBrokerHeader(is_order=bool(given["order"]))
    timeout_s = (given["timeout_ms"] or _DEFAULT_TIMEOUT_MS) / _MS_PER_S

    async def read() -> ConsumeStatsList:
        code = BrokerRequestCode.GET_BROKER_CONSUME_STATS
        answer = await brokers.ask(place.address, code, header, timeout_s=timeout_s)
        return read_with(place.address, lambda body: decode_body(ConsumeStatsList, body), answer)

    stats = await brokers.one(place.address, read())
    output.text(
        f"{'#Topic':<64}  {'#Group':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  "
        f"{'#Consumer Offset':<20}  {'#Diff':<20}  #LastTime"
    )
    for group, found in (entry for table in stats.consume_stats_list for entry in table.items()):
        for each in found:
            _print_group(output, group, each, given["level"] or 0)
    output.text("", f"Diff Total: {stats.total_diff}")
    output.end("queues", broker_addr=place.address, diff_total=stats.total_diff)
    return 0


def _print_group(output: Output, group: str, stats: ConsumeStats, level: int) -> None:
    for queue, offsets in sorted(stats.offset_table.items(), key=lambda entry: entry[0]):
        diff = offsets.broker_offset - offsets.consumer_offset
        if diff < level or offsets.last_timestamp <= 0:
            continue
        row = {
            "topic": queue.topic,
            "group": group,
            "broker_name": queue.broker_name,
            "queue_id": queue.queue_id,
            "broker_offset": offsets.broker_offset,
            "consumer_offset": offsets.consumer_offset,
            "diff": diff,
            "last_time": rfc3339(offsets.last_timestamp),
        }
        output.row(
            row,
            f"{shown(queue.topic):<64}  {shown(group):<64}  {shown(queue.broker_name):<32}  "
            f"{queue.queue_id:<4}  {offsets.broker_offset:<20}  {offsets.consumer_offset:<20}  {diff:<20}  "
            f"{local_second(offsets.last_timestamp)}",
        )


async def clone_group_offset(servers: NameServers, output: Output, *, topic: str, **given: Any) -> int:
    """Give one group the offsets of another, in one topic.

    `given` has source and target, and offline, which mqadmin does not use either. mqadmin gives the offsets of all
    topics of the source, as far as their brokers are those of this topic; this gives those of the topic alone.

    Raises:
        MissingError: The topic does not exist.
    """
    source, target = given["source"], given["target"]
    brokers = Brokers(servers, output)
    places = await brokers.of_topic(topic)
    header = GetConsumeStatsRequestHeader(consumer_group=source, topic=topic)

    async def clone(place: Place) -> int:
        stats = await brokers.read(place.address, BrokerRequestCode.GET_CONSUME_STATS, header, ConsumeStats)
        offsets = {queue: each.consumer_offset for queue, each in stats.offset_table.items()}
        wanted = {queue: offset for queue, offset in offsets.items() if offset >= 0}
        for queue, offset in wanted.items():
            commit = UpdateConsumerOffsetRequestHeader(
                consumer_group=target, topic=queue.topic, queue_id=queue.queue_id, commit_offset=offset
            )
            await brokers.ask(place.address, BrokerRequestCode.UPDATE_CONSUMER_OFFSET, commit)
        return len(wanted)

    outcomes = await brokers.each(places, clone)
    for place, outcome in zip(places, outcomes, strict=True):
        output.row(outcome.row(broker_name=place.name, queues=outcome.value))
    code = conclude_brokers(output, outcomes)
    if code == 0 and not any(outcome.value for outcome in outcomes):
        output.note(f"group {source} has no offsets in topic {topic}: there was nothing to clone")
    if code == 0:
        output.confirm(f"clone group offset success. srcGroup[{source}], destGroup=[{target}], topic[{topic}]")
    output.end("brokers", topic=topic, source=source, target=target)
    return code
