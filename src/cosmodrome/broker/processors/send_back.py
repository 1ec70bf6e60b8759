"""Messages that a consumer could not handle: 36 (Java: SendMessageProcessor.consumerSendMsgBack).

Owns: whether it is delivered again, and when.
Must not know: how it is delivered again.
"""

import random
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.messages import delayed, failed
from cosmodrome.broker.refusals import no_group_for_send, refused
from cosmodrome.broker.statistics import DLQ_PUT_NUMS, SNDBCK_PUT_NUMS, Statistics
from cosmodrome.broker.topics import WRITE, Topics, dead_letter_topic, retry_topic
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from cosmodrome.protocol.messages.checks import DLQ_PREFIX
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import LATER, Peer

_FIRST_LEVEL: Final = 3
"""Of the first retry, when the broker chooses."""
_COUNTS_IN_HEADER: Final = 121


@dataclass(frozen=True, slots=True, kw_only=True)
class SendBackParts:
    """What is decided with."""

    topics: Topics
    groups: Groups
    reader: Reader
    intake: Intake
    statistics: Statistics


class SendBackProcessor:
    """Stores failed messages once more: with a delay for the group's retry topic, or among its dead letters."""

    def __init__(self, config: BrokerConfig, clock: Clock, parts: SendBackParts) -> None:
        """Use these parts."""
        self._config = config
        self._clock = clock
        self._parts = parts

    def configure(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config

    def consumer_send_msg_back(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """36."""
        header = decode_ext_fields(ConsumerSendMsgBackRequestHeader, request.ext_fields)
        require(header, "offset", "group", "delay_level")
        name, offset = header.group or "", header.offset or 0
        group = self._parts.groups.find(name, self._clock.wall_ms())
        if group is None:
            raise no_group_for_send(name)
        if not self._config.broker_permission & WRITE:
            remark = f"the broker[{self._config.broker_ip1}] sending message is forbidden"
            raise refused(ResponseCode.NO_PERMISSION, remark)
        if group.retry_queue_nums <= 0:
            return response_to(request, ResponseCode.SUCCESS)
        self._parts.topics.ensure_marked(retry_topic(name), group.retry_queue_nums, self._clock.wall_ms())
        record = self._record(offset)
        most = group.retry_max_times
        if header.max_reconsume_times is not None and request.version >= _COUNTS_IN_HEADER:
            most = header.max_reconsume_times
        message = self._again(record, name, group.retry_queue_nums, most, header.delay_level or 0)
        key = f"{record.topic}@{name}"
        answered = self._parts.intake.answering(request, peer, None, lambda: self._count(message, key))
        self._parts.intake.put(message, answered, waits=False)
        return LATER

    def _count(self, message: NewMessage, key: str) -> None:
        self._parts.statistics.count(SNDBCK_PUT_NUMS, key)
        if message.topic.startswith(DLQ_PREFIX):
            self._parts.statistics.count(DLQ_PUT_NUMS, key)

    def _record(self, offset: int) -> StoredMessage:
        view = self._parts.reader.record_at(offset) if offset >= 0 else None
        try:
            record = None if view is None else decode_record(view)[0]
        except MalformedBodyError:
            record = None
        if record is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
        return record

    def _again(self, record: StoredMessage, group: str, queues: int, most: int, level: int) -> NewMessage:
        now_ms = self._clock.wall_ms()
        if record.reconsume_times >= most or level < 0:
            dead = self._parts.topics.ensure_marked(dead_letter_topic(group), 1, now_ms)
            return failed(record, dead.topic_name, 0, 0)
        topic = self._parts.topics.ensure_marked(retry_topic(group), queues, now_ms)
        level = level or _FIRST_LEVEL + record.reconsume_times
        queue_id = random.randrange(queues)  # noqa: S311 -- spreads load
        highest = len(self._config.delays_ms)
        return delayed(failed(record, topic.topic_name, queue_id, level), level, highest)
