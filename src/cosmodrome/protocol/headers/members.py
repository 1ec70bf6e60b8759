"""Headers of the requests about clients and groups: 34, 35, 38, 40, 203, 204, 345."""

import msgspec

from cosmodrome.protocol.ext_fields import HeaderFields


class HeartbeatResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """34, answer of 5.x."""

    is_support_heart_beat_v2: bool | None = msgspec.field(default=None, name="IS_SUPPORT_HEART_BEAT_V2")
    is_sub_change: bool | None = msgspec.field(default=None, name="IS_SUB_CHANGE")


class UnregisterClientRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """35. The client leaves the groups that are named."""

    client_id: str | None = msgspec.field(default=None, name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class ConsumerGroupRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """38, 40 and 203, each of which names a consumer group and nothing else."""

    consumer_group: str | None = None


class GetProducerConnectionListRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """204."""

    producer_group: str | None = None


class GroupTopicRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """221, 303 and 345, each of which names a consumer group and a topic."""

    group: str | None = None
    topic: str | None = None
