"""The file of what is popped in order, consumerOrderInfo.json (5.x; Java: QueueLevelConsumerManager.OrderInfo).

Owns: the values under their names of one or two letters.
Must not know: what blocks a queue.
"""

from collections.abc import Mapping

import msgspec

from cosmodrome.protocol.json_structs import BodyFields


class OrderInfo(BodyFields, frozen=True, kw_only=True):
    """The batch of one queue that a group has. Times are wall-clock milliseconds.

    Attributes:
        offset_list: The first offset, then the distance of each other one from it.
        next_visible: When a message may be had again, of those of which that was changed, by offset.
        consumed: How often a message was had before, by offset.
        commit_bits: A bit for each message that is acknowledged.
    """

    pop_time: int = 0
    invisible_time: int | None = msgspec.field(default=None, name="i")
    offset_list: tuple[int, ...] | None = msgspec.field(default=None, name="o")
    next_visible: Mapping[int, int] | None = msgspec.field(default=None, name="ot")
    consumed: Mapping[int, int] | None = msgspec.field(default=None, name="oc")
    last_consumed: int = msgspec.field(default=0, name="l")
    commit_bits: int = msgspec.field(default=0, name="cm")
    attempt_id: str | None = msgspec.field(default=None, name="a")


class OrderInfoTable(BodyFields, frozen=True, kw_only=True):
    """The file: batches by `topic@group` and queue."""

    order_info_count: int = 0
    ordered_consumption_level: str | None = None
    table: Mapping[str, Mapping[int, OrderInfo]] = {}
