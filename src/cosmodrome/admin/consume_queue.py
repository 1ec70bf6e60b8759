"""queryCq: entries of a queue as a broker keeps them, and what a group's filter makes of them.

Owns: its layout.
Must not know: how brokers are found and asked (brokers.py).
"""

from typing import Any, Final

from cosmodrome.admin.brokers import Brokers
from cosmodrome.admin.java_json import java_pretty
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, snake_case
from cosmodrome.admin.settings_text import java
from cosmodrome.errors import MissingError
from cosmodrome.protocol.bodies.broker_stats import ConsumeQueueData, QueryConsumeQueueResponseBody
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.queries import QueryConsumeQueueRequestHeader
from cosmodrome.shown_text import shown

DEFAULT_COUNT: Final = 10
_RULE: Final = "=" * 38


async def query_cq(servers: NameServers, output: Output, *, topic: str, broker_addr: str | None, **given: Any) -> int:
    """Print entries of one queue, from an index on; of the first broker of the topic if none is named.

    `given` has queue_id, index, count and consumer_group.

    Raises:
        MissingError: There is no such topic, queue or broker.
    """
    brokers = Brokers(servers, output)
    address = await brokers.address(broker_addr) if broker_addr is not None else await _first_master(brokers, topic)
    index = given["index"]
    header = QueryConsumeQueueRequestHeader(
        topic=topic,
        queue_id=given["queue_id"],
        index=index,
        count=DEFAULT_COUNT if given["count"] is None else given["count"],
        consumer_group=given["consumer_group"],
    )
    reading = brokers.read(address, BrokerRequestCode.QUERY_CONSUME_QUEUE, header, QueryConsumeQueueResponseBody)
    found = await brokers.one(address, reading)
    if found.subscription_data is not None:
        output.text("Subscription data: ", java_pretty(found.subscription_data), _RULE)
    if found.filter_data is not None:
        output.text("Filter data: ", shown(found.filter_data), _RULE)
    output.text("Queue data: ", f"max: {found.max_queue_index}, min: {found.min_queue_index}", _RULE)
    for number, entry in enumerate(found.queue_data, index):
        output.text(f"idx: {number}", shown(_entry_text(entry)), _RULE)
    output.document({"topic": topic, "broker_addr": address, **snake_case(found)})
    return 0


async def _first_master(brokers: Brokers, topic: str) -> str:
    route = await brokers.route(topic)
    for data in route.broker_datas:
        if MASTER_ID in data.broker_addrs:
            return data.broker_addrs[MASTER_ID]
    raise MissingError(f"no master has the topic {topic}.", remedy="name a broker: -b HOST:PORT")


def _entry_text(entry: ConsumeQueueData) -> str:
    return (
        f"ConsumeQueueData{{physicOffset={entry.physic_offset}, physicSize={entry.physic_size}, "
        f"tagsCode={entry.tags_code}, extendDataJson='{java(entry.extend_data_json)}', bitMap='{java(entry.bit_map)}', "
        f"eval={java(entry.eval)}, msg='{java(entry.msg)}'}}"
    )
