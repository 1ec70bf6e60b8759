"""Bodies that clients and brokers send each other, and the keys and references in them."""

from typing import Final

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies import (
    broker_stats,
    consumer_running_info,
    consumers,
    groups,
    heartbeat,
    locks,
    offsets,
    pop,
    topics,
)
from cosmodrome.protocol.json_dialects import JsonDialect, encode_json
from cosmodrome.protocol.json_keys import MAX_REFERRED_VALUES, parse_keyed
from cosmodrome.protocol.json_structs import BodyFields, decode_body, encode_body
from fuzz.script import Script
from fuzz.values import item_count, text_size

_GROWTH: Final = 8
"""A number of few characters may become text of more, as may a broken character."""
_KINDS: Final[tuple[type[BodyFields], ...]] = (
    heartbeat.HeartbeatData, locks.LockBatchRequestBody, locks.LockBatchResponseBody, offsets.ResetOffsetBody,
    offsets.GetConsumerStatusBody, offsets.TopicStatsTable, offsets.ConsumeStats, offsets.ConsumeStatsList,
    offsets.QueryConsumeTimeSpanBody, offsets.QueryCorrectionOffsetBody, offsets.ConsumerOffsetTable,
    consumers.GetConsumerListByGroupResponseBody, consumers.ConsumerConnection, consumers.ProducerTableInfo,
    consumer_running_info.ConsumerRunningInfo, consumer_running_info.ConsumeMessageDirectlyResult,
    topics.BrokerTopicTable, groups.SubscriptionGroupTable, groups.SubscriptionGroupConfig,
    broker_stats.QueryConsumeQueueResponseBody, broker_stats.HaRuntimeInfo, broker_stats.BrokerStatsData,
    pop.QueryAssignmentResponseBody, pop.SetMessageRequestModeRequestBody, pop.BatchAckMessageRequestBody,
    heartbeat.CheckClientRequestBody,
)  # fmt: skip


def broker_bodies(data: bytes) -> None:
    """A document is read or refused; it grows by its references alone; what is read as a body survives writing."""
    script = Script(data)
    kind = script.choice(_KINDS)
    body = script.rest()
    try:
        document = parse_keyed(body)
        assert item_count(document) <= len(body) + MAX_REFERRED_VALUES
        assert text_size(document) <= _GROWTH * len(body) * (MAX_REFERRED_VALUES if b'"$ref"' in body else 1)
        value = decode_body(kind, body)
    except MalformedBodyError as error:
        assert len(str(error)) <= 200
        return
    for dialect in JsonDialect:
        encoded = encode_body(value, dialect)
        assert decode_body(kind, encoded) == value
    if b'"$ref"' not in body:
        assert parse_keyed(encode_json(document)) == document
