"""What slaves and tools ask about replication: 60, 61, 906, 907.

Owns: the forms of these answers; what slaves are told of what this broker does not have.
Must not know: connections of slaves; how they are served.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.replication.slave import SlaveState
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.timer_log import Check
from cosmodrome.transport.dispatch import Peer

_CHECK_POINT: Final = struct.Struct(">7q")
"""Times and places of the timer wheel: read to, log flushed to, queue offset, the master's; then a data version."""
_NO_CLIENT: Final = {
    "lastReadTimestamp": 0, "lastWriteTimestamp": 0, "masterFlushOffset": 0, "maxOffset": 0, "transferredByteInSecond": 0,
}  # fmt: skip
"""The part of 907 that is about a slave's own connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationParts:
    """What is told.

    Attributes:
        address: Of this broker.
        ha_address: Gives where slaves connect.
        store: The log.
        slaves: Gives what is known of slaves.
        most_behind_bytes: One that lacks as much is not in sync.
        timers: Gives what was saved last of timer messages, and the number of that save.
    """

    address: str
    ha_address: Callable[[], str]
    store: MessageStore
    slaves: Callable[[], tuple[SlaveState, ...]]
    most_behind_bytes: int
    timers: Callable[[], tuple[Check, int]]


class ReplicationProcessor:
    """Tells slaves what they copy beside the log, and tools how far slaves are."""

    def __init__(self, clock: Clock, parts: ReplicationParts) -> None:
        """Use these parts."""
        self._clock = clock
        self._parts = parts
        self._boot_ms = clock.wall_ms()

    def get_timer_check_point(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """60: up to when timer messages are delivered, and up to where they are known. Without any it is up to now."""
        now_ms = self._clock.wall_ms()
        check, version = self._parts.timers()
        read_ms = check.read_ms or now_ms // 1000 * 1000
        offset = check.queue_offset
        body = _CHECK_POINT.pack(
            read_ms, check.log_end, offset, offset, 0, now_ms if version else self._boot_ms, version
        )
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def get_timer_metrics(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """61: timer messages are not counted by topic."""
        version = {"counter": 0, "stateVersion": 0, "timestamp": self._boot_ms}
        body = encode_json({"dataVersion": version, "timingCount": {}})
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def exchange_broker_ha_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """906."""
        parts = self._parts
        fields: dict[str, str | None] = {
            "masterAddress": parts.address,
            "masterHaAddress": parts.ha_address(),
            "masterFlushOffset": str(parts.store.synced_to),
        }
        return response_to(request, ResponseCode.SUCCESS, None, fields)

    def get_broker_ha_status(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """907."""
        end = self._parts.store.end
        slaves = [self._status_of(each, end) for each in self._parts.slaves() if each.reported is not None]
        body = {
            "haClientRuntimeInfo": _NO_CLIENT,
            "haConnectionInfo": slaves,
            "inSyncSlaveNums": sum(each["inSync"] for each in slaves),
            "master": True,
            "masterCommitLogMaxOffset": end,
        }
        return response_to(request, ResponseCode.SUCCESS, body=encode_json(body))

    def _status_of(self, slave: SlaveState, end: int) -> dict[str, Any]:
        behind = slave.behind(end) or 0
        return {
            "addr": slave.address,
            "diff": behind,
            "inSync": behind < self._parts.most_behind_bytes,
            "slaveAckOffset": end - behind,
            "transferFromWhere": slave.sent_to,
            "transferredByteInSecond": slave.sent_per_second(self._clock.steady_ms()),
        }
