"""Bodies of offsets by queue: 43, 45, 202, 208, 220, 221, 222, 223, 303, 308, 317.

Owns: the values; the form in which C++ clients get a reset.
Must not know: what an offset is worth.
"""

from collections.abc import Mapping
from typing import Any

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.json_dialects import encode_json, to_int64
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import BodyFields, from_json, to_json


class ResetOffsetBody(BodyFields, frozen=True, kw_only=True):
    """222, answer, and what 220 tells a client: new offsets by queue."""

    offset_table: Mapping[MessageQueue, int] = {}


class GetConsumerStatusBody(BodyFields, frozen=True, kw_only=True):
    """221, answer: a client's offsets. 223, answer: those of each client, by its id."""

    message_queue_table: Mapping[MessageQueue, int] = {}
    consumer_table: Mapping[str, Mapping[MessageQueue, int]] = {}


class TopicOffset(BodyFields, frozen=True, kw_only=True):
    """Where a queue begins and ends; the time of its newest message, 0 when there is none."""

    min_offset: int = 0
    max_offset: int = 0
    last_update_timestamp: int = 0


class TopicStatsTable(BodyFields, frozen=True, kw_only=True):
    """202, answer. The rate is 5.x."""

    offset_table: Mapping[MessageQueue, TopicOffset] = {}
    topic_put_tps: float | None = None


class OffsetWrapper(BodyFields, frozen=True, kw_only=True):
    """A group's progress in a queue; `last_timestamp` is the store time of the newest message consumed, 0 for none."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    pull_offset: int | None = None


class ConsumeStats(BodyFields, frozen=True, kw_only=True):
    """208, answer."""

    offset_table: Mapping[MessageQueue, OffsetWrapper] = {}
    consume_tps: float = 0.0


class ConsumeStatsList(BodyFields, frozen=True, kw_only=True):
    """317, answer: in each element the statistics of each topic of one group."""

    broker_addr: str | None = None
    consume_stats_list: tuple[Mapping[str, tuple[ConsumeStats, ...]], ...] = ()
    total_diff: int = 0
    total_inflight_diff: int | None = None


class QueueTimeSpan(BodyFields, frozen=True, kw_only=True):
    """Store times in one queue, -1 in an empty one; the texts are the same times as people read them."""

    message_queue: MessageQueue
    min_time_stamp: int = 0
    max_time_stamp: int = 0
    consume_time_stamp: int = 0
    delay_time: int = 0
    min_time_stamp_str: str | None = None
    max_time_stamp_str: str | None = None
    consume_time_stamp_str: str | None = None


class QueryConsumeTimeSpanBody(BodyFields, frozen=True, kw_only=True):
    """303, answer."""

    consume_time_span_set: tuple[QueueTimeSpan, ...] = ()


class QueryCorrectionOffsetBody(BodyFields, frozen=True, kw_only=True):
    """308, answer: offsets by number of the queue."""

    correction_offsets: Mapping[int, int] = {}


class ConsumerOffsetTable(BodyFields, frozen=True, kw_only=True):
    """43, answer: committed offsets by `topic@group` and number of the queue; all but the first member are 5.x."""

    offset_table: Mapping[str, Mapping[int, int]] = {}
    pull_offset_table: Mapping[str, Mapping[int, int]] | None = None
    group_topic_map: Mapping[str, tuple[str, ...]] | None = None
    data_version: DataVersion | None = None


class DelayOffsetTable(BodyFields, frozen=True, kw_only=True):
    """45, answer: offsets by delay level; the version is 5.x."""

    offset_table: Mapping[int, int] = {}
    data_version: DataVersion | None = None


def decode_reset_offset_body(body: bytes) -> ResetOffsetBody:
    """Read the body of 220, in the form for Java or that for C++ clients.

    Raises:
        MalformedBodyError: Neither of both.
    """
    document = parse_keyed(body)
    if isinstance(document, dict) and isinstance(items := document.get("offsetTable"), list):
        return ResetOffsetBody(offset_table=dict(_listed_offset(item) for item in items))
    return from_json(ResetOffsetBody, document)


def encode_reset_offset_list(offsets: Mapping[MessageQueue, int]) -> bytes:
    """Write the body of 220 for C++ clients, which read no map with objects as keys."""
    return encode_json({"offsetTable": [to_json(queue) | {"offset": offset} for queue, offset in offsets.items()]})


def _listed_offset(item: Any) -> tuple[MessageQueue, int]:
    queue = from_json(MessageQueue, item)
    if item.get("offset") is None:
        raise MalformedBodyError("a queue has no offset")
    return queue, to_int64(item["offset"])
