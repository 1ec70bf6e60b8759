"""HeartbeatData: what a client tells every broker about its groups, 34, and the body of CHECK_CLIENT_CONFIG, 46.

Owns: the values and their enumerations.
Must not know: when heartbeats are sent, or what a broker makes of one.
"""

from enum import StrEnum

import msgspec

from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields
from cosmodrome.protocol.subscription import SubscriptionData


class ConsumeType(StrEnum):
    """How a group gets its messages. In order of the ordinals that C++ clients send."""

    CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
    """Pull."""
    CONSUME_PASSIVELY = "CONSUME_PASSIVELY"
    """Push."""
    CONSUME_POP = "CONSUME_POP"
    """Pop (5.x)."""


class MessageModel(StrEnum):
    """Who of a group gets a message. In order of ordinals."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(StrEnum):
    """Where a group begins in a queue that is new to it. In order of ordinals; 1 to 3 are not used any more."""

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class ProducerData(BodyFields, frozen=True, kw_only=True):
    """A producer group."""

    group_name: str


class ConsumerData(BodyFields, frozen=True, kw_only=True):
    """A consumer group as one member knows it."""

    group_name: str
    consume_type: ConsumeType = ConsumeType.CONSUME_ACTIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


class HeartbeatData(BodyFields, frozen=True, kw_only=True):
    """34. `heartbeat_fingerprint` is 0 of clients that send everything each time."""

    client_id: str = msgspec.field(name="clientID")
    producer_data_set: tuple[ProducerData, ...] = ()
    consumer_data_set: tuple[ConsumerData, ...] = ()
    heartbeat_fingerprint: Int32 = 0
    without_sub: bool = False


class CheckClientRequestBody(BodyFields, frozen=True, kw_only=True):
    """46: whether a broker can use a subscription."""

    client_id: str | None = None
    group: str | None = None
    subscription_data: SubscriptionData | None = None
    namespace: str | None = None
