"""Taking a timer message back: 370 (Java: RecallMessageProcessor).

Owns: what is refused and with which words.
Must not know: how timers are kept; when anything is delivered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.messages import born_host, properties_of
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.timer_messages import Handle, decode_handle, recall
from cosmodrome.broker.topics import WRITE, Topics
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.replies import RecallMessageRequestHeader
from cosmodrome.protocol.messages.properties import MSG_REGION
from cosmodrome.store.appending import NewMessage
from cosmodrome.transport.dispatch import LATER, Peer

_NO_SERVICE: Final = "recall failed, broker service not available"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallParts:
    """What recalls are decided with. `timed` gives a timer message as it waits, or refuses it."""

    topics: Topics
    intake: Intake
    timed: Callable[[NewMessage, Mapping[str, str]], NewMessage]


class RecallProcessor:
    """Stores what takes a message back. Nobody looks whether it waits: two recalls of one message succeed."""

    def __init__(self, config: BrokerConfig, clock: Clock, parts: RecallParts) -> None:
        """Use these parts."""
        self._config = config
        self._clock = clock
        self._parts = parts
        self._fields = {MSG_REGION: config.region_id}

    def configure(self, config: BrokerConfig) -> None:
        """Use these settings from now on."""
        self._config = config

    def recall_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """370: have a message that waits for its time not delivered."""
        try:
            self._recalled(request, peer)
        except RequestRefusedError as error:
            raise refused(error.code, error.remark, self._fields) from error
        return LATER

    def _recalled(self, request: RemotingCommand, peer: Peer) -> None:
        if not self._config.recall_message_enable:
            raise refused(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
        header = decode_ext_fields(RecallMessageRequestHeader, request.ext_fields)
        require(header, "topic")
        now_ms = self._clock.wall_ms()
        self._check(header.topic or "", now_ms)
        handle = self._handle(header, now_ms)
        message = recall(handle, header.producer_group or "", now_ms, born_host(peer.address))
        parked = self._parts.timed(message, properties_of(message))
        fields: dict[str, str | None] = {"msgId": handle.msg_id, **self._fields}
        self._parts.intake.put(parked, self._parts.intake.answering(request, peer, lambda: fields))

    def _check(self, topic: str, now_ms: int) -> None:
        config = self._config
        if now_ms < config.start_accept_send_request_time_stamp or not config.broker_permission & WRITE:
            raise refused(ResponseCode.SERVICE_NOT_AVAILABLE, _NO_SERVICE)
        if topic not in self._parts.topics:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{topic}] not exist")

    def _handle(self, header: RecallMessageRequestHeader, now_ms: int) -> Handle:
        try:
            handle = decode_handle(header.recall_handle or "")
        except ValueError as error:
            raise refused(ResponseCode.ILLEGAL_OPERATION, str(error)) from error
        if handle.topic != header.topic:
            raise refused(ResponseCode.ILLEGAL_OPERATION, "recall failed, topic not match")
        if handle.broker_name != self._config.broker_name:
            raise refused(ResponseCode.ILLEGAL_OPERATION, _NO_SERVICE)
        text = handle.deliver_ms
        left_ms = int(text) - now_ms if text.isascii() and text.isdigit() and len(text) < 19 else 0
        if not 0 < left_ms < self._config.timer_max_delay_sec * 1000:
            raise refused(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
        return handle
