"""Settings that are shown and changed, and cleaning that is asked for: 25, 26, 306, 316, 329.

Owns: what is shown; what is answered; which topics nobody uses.
Must not know: who may ask (gate.py); which messages go (store/retention.py); how a setting comes into force.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.live_config import Change, ForbiddenSettingError, LiveConfig
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.topics import Topics
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.bodies.data_version import encode_data_version
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.statistics import GetBrokerConfigResponseHeader
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import Peer

LARGEST_CHANGE_BYTES: Final = 64 * 1024
_READ_BY_TOOLS: Final = {
    "filterServerNums": "0",
    "msgTraceTopicName": "RMQ_SYS_TRACE_TOPIC",
    "traceTopicEnable": "false",
    "useTLS": "false",
}
"""Settings that are none here: `mqadmin exportConfigs` of 4.9 fails without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceParts:
    """What is kept in order. `sweep_now` deletes what is old enough, and raises StorageError when it cannot."""

    topics: Topics
    offsets: Offsets
    reader: Reader
    remove_queues: Callable[[str], int]
    sweep_now: Callable[[], Awaitable[object]]


class MaintenanceProcessor:
    """Shows and changes settings, and deletes old messages now instead of at the hour."""

    def __init__(self, live: LiveConfig, clock: Clock, parts: MaintenanceParts) -> None:
        """Use these."""
        self._live = live
        self._clock = clock
        self._parts = parts

    async def update_broker_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """25. All of a request or nothing; in the file before it is answered."""
        if not request.body:
            return response_to(request, ResponseCode.SUCCESS)
        if len(request.body) > LARGEST_CHANGE_BYTES:
            raise refused(ResponseCode.SYSTEM_ERROR, "string2Properties error")
        try:
            change = await self._live.change(request.body.decode("utf-8", "replace"), self._clock.wall_ms())
        except ForbiddenSettingError as error:
            raise refused(ResponseCode.NO_PERMISSION, f"Can not update config in black list. {error.what}") from error
        except ConfigError as error:
            raise refused(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {error.what}") from error
        return response_to(request, ResponseCode.SUCCESS, _told(change))

    def get_broker_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """26. What waits for the next start is shown as it will be; of a secret only that there is one."""
        shown = _READ_BY_TOOLS | self._live.shown.listing()
        text = "".join(f"{key}={value}\n" for key, value in sorted(shown.items()))
        fields = encode_ext_fields(
            GetBrokerConfigResponseHeader(version=encode_data_version(self._live.version).decode())
        )
        return response_to(request, ResponseCode.SUCCESS, None, fields, text.encode())

    def clean_expired_consumequeue(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """306. There is nothing to do: queues go with the messages to which they point."""
        return response_to(request, ResponseCode.SUCCESS)

    def clean_unused_topic(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """316: queues of topics that are not in the table; those of the broker itself stay, whatever the table says."""
        parts = self._parts
        unused = [
            name for name in parts.reader.queues() if name not in parts.topics and not parts.topics.is_system(name)
        ]
        for name in unused:
            parts.offsets.forget_topic(name)
            parts.remove_queues(name)
        return response_to(request, ResponseCode.SUCCESS)

    async def delete_expired_commitlog(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """329: files that are old enough, whatever the hour."""
        await self._parts.sweep_now()
        return response_to(request, ResponseCode.SUCCESS)


def _told(change: Change) -> str | None:
    """Say which keys did not take effect now; nothing when all did, as in Java."""
    parts = []
    if change.restart:
        parts.append(f"in effect after a restart: {', '.join(change.restart)}")
    if change.overridden:
        parts.append(f"environment or command line will override at the next start: {', '.join(change.overridden)}")
    return "; ".join(parts) or None
