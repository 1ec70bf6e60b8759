"""What a broker says about itself: 28, 43, 45, 315.

Owns: the names that tools read, and how their values are written.
Must not know: who counts.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.statistics import BROKER_GET_NUMS, BROKER_PUT_NUMS, RATE_SPANS_MS, Statistics
from cosmodrome.broker.topics import SCHEDULE_TOPIC
from cosmodrome.protocol.bodies.cluster import encode_kv_table
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.statistics import ViewBrokerStatsDataRequestHeader
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.protocol.versions import SERVER_VERSION
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.dispatch import Peer

VERSION_TEXT: Final = "V5_5_0"
_IDLE_RATES: Final = "0.0 0.0 0.0"
_POOLS: Final = ("send", "pull", "query", "litePull", "ack")
_ZEROS: Final = (
    "pageCacheLockTimeMills",
    "dispatchMaxBuffer", "dispatchBehindBytes", "timerReadBehind", "timerOffsetBehind", "timerCongestNum",
    "EndTransactionQueueSize", "EndTransactionThreadPoolQueueCapacity",
    "remainTransientStoreBufferNumbs",
)  # fmt: skip
"""Numbers of what this broker does not have or count: tools fail without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoParts:
    """What is told."""

    offsets: Offsets
    delays: Delays
    statistics: Statistics
    accepts_from_ms: Callable[[], int] = lambda: 0
    """Gives the time before which sends are refused."""
    timers: Callable[[], Mapping[str, str]] = dict
    """Gives what is told of timer messages."""
    deletion: Callable[[], Mapping[str, str]] = dict
    """Gives when old messages go."""


class InfoProcessor:
    """Tells tools and slaves how things are."""

    def __init__(self, cluster: str, store: MessageStore, clock: Clock, parts: InfoParts) -> None:
        """Use these parts; `cluster` is the key of what is counted of the whole broker."""
        self._cluster = cluster
        self._store = store
        self._offsets = parts.offsets
        self._delays = parts.delays
        self._statistics = parts.statistics
        self._accepts_from_ms = parts.accepts_from_ms
        self._timers = parts.timers
        self._deletion = parts.deletion
        self._clock = clock
        self._boot_ms = clock.wall_ms()

    def get_broker_runtime_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """28."""
        table = dict.fromkeys(_ZEROS, "0") | {"getMissTps": _IDLE_RATES}
        for pool in _POOLS:
            table |= {
                f"{pool}ThreadPoolQueueSize": "0",
                f"{pool}ThreadPoolQueueCapacity": "0",
                f"{pool}ThreadPoolQueueHeadWaitTimeMills": "0",
            }
        table |= self._own() | self._statistics.times.table() | self._rates() | self._disk() | self._levels()
        return response_to(request, ResponseCode.SUCCESS, body=encode_kv_table(table))

    def _own(self) -> dict[str, str]:
        reader, now_ms = self._store.reader, self._clock.wall_ms()
        seconds = (now_ms - self._boot_ms) // 1000
        minutes, hours, days = seconds // 60 % 60, seconds // 3600 % 24, seconds // 86_400
        earliest_ms = reader.earliest_store_time_ms()
        put = self._statistics.total(BROKER_PUT_NUMS, self._cluster)
        return {
            "brokerVersionDesc": VERSION_TEXT,
            "brokerVersion": str(SERVER_VERSION),
            "brokerActive": "true",
            "bootTimestamp": str(self._boot_ms),
            "runtime": f"[ {days} days, {hours} hours, {minutes} minutes, {seconds % 60} seconds ]",
            "earliestMessageTimeStamp": str(-1 if earliest_ms is None else earliest_ms),
            "commitLogMinOffset": str(self._store.start),
            "commitLogMaxOffset": str(self._store.end),
            "remainHowManyDataToFlush": f"{self._store.end - self._store.synced_to} B",
            "msgPutTotalTodayNow": str(put),
            "msgGetTotalTodayNow": str(self._statistics.total(BROKER_GET_NUMS, self._cluster)),
            **self._timers(),
            **self._deletion(),
            "startAcceptSendRequestTimeStamp": str(self._accepts_from_ms()),
        }

    def _rates(self) -> dict[str, str]:
        put, get = self._rate(BROKER_PUT_NUMS), self._rate(BROKER_GET_NUMS)
        return {
            "putTps": put,
            "getTransferredTps": get,
            "getTransferedTps": get,
            "getFoundTps": get,
            "getTotalTps": get,
        }

    def _rate(self, name: str) -> str:
        now_ms = self._clock.steady_ms()
        return " ".join([f"{self._statistics.rate(name, self._cluster, now_ms, span):.2f}" for span in RATE_SPANS_MS])

    def view_broker_stats_data(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """315."""
        header = decode_ext_fields(ViewBrokerStatsDataRequestHeader, request.ext_fields)
        require(header, "stats_name", "stats_key")
        found = self._statistics.data(header.stats_name or "", header.stats_key or "", self._clock.steady_ms())
        if found is None:
            remark = f"The stats <{header.stats_name}> <{header.stats_key}> not exist"
            raise refused(ResponseCode.SYSTEM_ERROR, remark)
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(found))

    def _disk(self) -> dict[str, str]:
        root = self._store.settings.root
        ratio = f"{self._store.used_ratio():.2f}"
        usage = shutil.disk_usage(Path(root))
        return {
            "commitLogDiskRatio": ratio,
            f"commitLogDiskRatio_{self._store.settings.log_folder}": ratio,
            "consumeQueueDiskRatio": ratio,
            "commitLogDirCapacity": f"Total : {_size(usage.total)}, Free : {_size(usage.free)}.",
        }

    def _levels(self) -> dict[str, str]:
        return {
            f"scheduleMessageOffset_{level}": f"{offset},{self._store.reader.max_offset(SCHEDULE_TOPIC, level - 1)}"
            for level, offset in self._delays.offsets().items()
        }

    def get_all_consumer_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """43, without the offsets that were pulled: a 5.5.0 slave can read no more of the answer than an empty table of those.

        It does not know that member, and its reader passes over no table whose keys are bare numbers.
        """
        table = msgspec.structs.replace(self._offsets.table(), pull_offset_table={})
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(table))

    def get_all_delay_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """45."""
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(self._delays.table()))


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
