"""Bodies about the state of a broker: 61, 315, 321, 907.

Owns: the values.
Must not know: how they are counted. Runtime info, 28, is a KVTable (cluster.py).
"""

from collections.abc import Mapping

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields
from cosmodrome.protocol.subscription import SubscriptionData


class BrokerStatsItem(BodyFields, frozen=True, kw_only=True):
    """One counter over one span: total, rate per second, mean of what was counted at once."""

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


class BrokerStatsData(BodyFields, frozen=True, kw_only=True):
    """315, answer."""

    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None


class ConsumeQueueData(BodyFields, frozen=True, kw_only=True):
    """One entry of a queue: where its message is, and its tag's number."""

    physic_offset: int = 0
    physic_size: Int32 = 0
    tags_code: int = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


class QueryConsumeQueueResponseBody(BodyFields, frozen=True, kw_only=True):
    """321, answer. `filter_data` is JSON, or the text `null`."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: tuple[ConsumeQueueData, ...] = ()
    max_queue_index: int = 0
    min_queue_index: int = 0


class HaClientRuntimeInfo(BodyFields, frozen=True, kw_only=True):
    """A slave's side of replication."""

    master_addr: str | None = None
    transferred_byte_in_second: int = 0
    max_offset: int = 0
    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_flush_offset: int = 0
    is_activated: bool | None = None


class HaConnectionRuntimeInfo(BodyFields, frozen=True, kw_only=True):
    """A master's side of replication to one slave."""

    addr: str | None = None
    slave_ack_offset: int = 0
    diff: int = 0
    in_sync: bool = False
    transferred_byte_in_second: int = 0
    transfer_from_where: int = 0


class HaRuntimeInfo(BodyFields, frozen=True, kw_only=True):
    """907, answer (5.x)."""

    master: bool = False
    master_commit_log_max_offset: int = 0
    in_sync_slave_nums: Int32 = 0
    ha_connection_info: tuple[HaConnectionRuntimeInfo, ...] = ()
    ha_client_runtime_info: HaClientRuntimeInfo | None = None


class TimerMetric(BodyFields, frozen=True, kw_only=True):
    """Timer messages of one topic."""

    count: int = 0
    time_stamp: int = 0


class TimerMetrics(BodyFields, frozen=True, kw_only=True):
    """61, answer (5.x)."""

    data_version: DataVersion | None = None
    timing_count: Mapping[str, TimerMetric] = {}
