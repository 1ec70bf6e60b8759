"""Bodies about the clients of groups: 38, 203, 204, 328, 345.

Owns: the values.
Must not know: how a broker keeps them. The answer of 300 is a GroupList (cluster.py).
"""

from collections.abc import Mapping

import msgspec

from cosmodrome.protocol.bodies.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields
from cosmodrome.protocol.subscription import SubscriptionData


class GetConsumerListByGroupResponseBody(BodyFields, frozen=True, kw_only=True):
    """38, answer: client ids in no order; two connections with one id give it twice."""

    consumer_id_list: tuple[str, ...] = ()


class Connection(BodyFields, frozen=True, kw_only=True):
    """A client's connection. `language` is a name that need not be one we know."""

    client_id: str = ""
    client_addr: str = ""
    language: str = "JAVA"
    version: Int32 = 0


class ConsumerConnection(BodyFields, frozen=True, kw_only=True):
    """203, answer: a consumer group, with its subscriptions by topic."""

    connection_set: tuple[Connection, ...] = ()
    subscription_table: Mapping[str, SubscriptionData] = {}
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


class ProducerConnection(BodyFields, frozen=True, kw_only=True):
    """204, answer."""

    connection_set: tuple[Connection, ...] = ()


class ProducerInfo(BodyFields, frozen=True, kw_only=True):
    """One connection of a producer group; `remote_ip` is `/ip:port`, the time is in wall-clock milliseconds."""

    client_id: str = ""
    remote_ip: str = msgspec.field(default="", name="remoteIP")
    language: str = "JAVA"
    version: Int32 = 0
    last_update_timestamp: int = 0


class ProducerTableInfo(BodyFields, frozen=True, kw_only=True):
    """328, answer: connections by producer group."""

    data: Mapping[str, tuple[ProducerInfo, ...]] = {}


class QuerySubscriptionResponseBody(BodyFields, frozen=True, kw_only=True):
    """345, answer; without a subscription when the group has none of this topic."""

    subscription_data: SubscriptionData | None = None
    group: str | None = None
    topic: str | None = None
