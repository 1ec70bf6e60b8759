"""Messages that producers send: 10, 310, 320 (Java: SendMessageProcessor).

Owns: what is refused and with which words; which form a message is stored in; the answer's fields.
Must not know: when it is written; who reads.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cosmodrome.broker.arrivals import kind_of
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.locks import QueueLocks
from cosmodrome.broker.messages import OwnProperties, born_host, delayed, half, properties_of, with_properties
from cosmodrome.broker.refusals import bad_queue_for_send, no_group_for_send, no_topic_for_send, refused
from cosmodrome.broker.statistics import BROKER_PUT_NUMS, DLQ_PUT_NUMS, TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, Statistics
from cosmodrome.broker.timer_messages import DELAYS, TimerRules, deliver_ms, encode_handle, is_timer, out_ms, parked
from cosmodrome.broker.topics import HALF_TOPIC, TEMPLATE_TOPIC, TIMER_TOPIC, WRITE, Topics, dead_letter_topic
from cosmodrome.errors import MessageError, RequestRefusedError
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import require
from cosmodrome.protocol.headers.send import SendMessageRequestHeader, decode_send_header
from cosmodrome.protocol.messages.batch import NOT_IN_A_BATCH, BatchEntry, decode_batch
from cosmodrome.protocol.messages.checks import (
    CLOSED_TOPICS,
    DLQ_PREFIX,
    RETRY_PREFIX,
    REVIVE_PREFIX,
    check_stored_sizes,
    check_topic,
    check_topic_is_open,
)
from cosmodrome.protocol.messages.properties import (
    DELAY,
    POP_CK,
    RETRY_TOPIC,
    TIMER_DEL_UNIQKEY,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
    decode_properties,
    properties_bytes,
    properties_text,
)
from cosmodrome.protocol.messages.sys_flag import INNER_BATCH
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.transport.dispatch import LATER, Peer

_SPECIAL: Final = re.compile(r"DELAY|TIMER_|TRAN_MSG|POP_CK")
"""Texts without any of these need not be read: nothing in them decides anything."""
_NO_WAIT: Final = f"{WAIT}\x01false"
_UNIQUE_KEY: Final = re.compile("(?:^|\x02)UNIQ_KEY\x01([^\x01\x02]+)(?=\x02|$)")
_COUNTS_IN_HEADER: Final = 121
"""Clients from this version on say themselves how often a message may fail."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SendParts:
    """What sends are decided with."""

    topics: Topics
    groups: Groups
    locks: QueueLocks
    intake: Intake
    own: OwnProperties
    store_host: bytes
    next_id: Callable[[], str]
    half_stored: Callable[[NewMessage, Position], None]
    statistics: Statistics


@dataclass(slots=True)
class _Draft:
    """A message on its way into the store, and what the answer says of it."""

    message: NewMessage
    queue_id: int
    unique_key: str | None
    waits: bool = True
    recall_handle: str | None = None


class SendProcessor:
    """Takes messages. An answer leaves when its message is where the flush mode promises it."""

    def __init__(self, config: BrokerConfig, clock: Clock, parts: SendParts) -> None:
        """Use these parts."""
        self._config = config
        self._clock = clock
        self._parts = parts
        self._topics = parts.topics
        self._intake = parts.intake
        self._own = parts.own
        self._id_prefix = parts.store_host.hex().upper()
        self._fields = self._own.answer_fields
        self._levels = len(config.delays_ms)
        self._timers = _timer_rules(config)

    def configure(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config
        self._timers = _timer_rules(config)

    def send_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """10, 310, 320: one message, or a batch if the header says so."""
        header = decode_send_header(request.ext_fields)
        try:
            self._sent(request, header, peer)
        except RequestRefusedError as error:
            if error.is_fault or error.ext_fields is not None:
                raise
            # Java's clients read the region and the trace switch of every answer that is a decision.
            raise refused(error.code, error.remark, self._fields) from error
        except MessageError as error:
            raise refused(error.code, error.text, self._fields) from error
        return LATER

    def _sent(self, request: RemotingCommand, header: SendMessageRequestHeader, peer: Peer) -> None:
        require(header, "topic", "queue_id", "born_timestamp", "sys_flag", "flag")
        self._check_time()
        topic = header.topic or ""
        config = self._topics.get(topic)
        if config is None or topic in CLOSED_TOPICS or topic.startswith(REVIVE_PREFIX):
            check_topic(topic)
            check_topic_is_open(topic)
            config = self._made(header)
        if config.order and not self._config.broker_permission & WRITE:
            raise refused(
                ResponseCode.NO_PERMISSION, f"the broker[{self._config.broker_ip1}] sending message is forbidden"
            )
        message = NewMessage(
            topic, self._queue_id(config, header.queue_id or 0, peer), request.body,
            properties_bytes(header.properties or ""), header.born_timestamp or 0, born_host(peer.address),
            header.sys_flag or 0, header.flag or 0, header.reconsume_times or 0,
        )  # fmt: skip
        if message.sys_flag & INNER_BATCH:
            self._refuse_as_illegal()  # Java's consumers would take its body for a batch
        if header.batch:
            self._store_batch(request, message, peer)
        else:
            self._store_one(request, header, message, peer)

    def _check_time(self) -> None:
        begin_ms = self._config.start_accept_send_request_time_stamp
        if begin_ms and self._clock.wall_ms() < begin_ms:
            moment = datetime.fromtimestamp(begin_ms / 1000).astimezone()
            text = f"{moment:%Y-%m-%d %H:%M:%S},{begin_ms % 1000:03d}"
            raise refused(ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {text}")

    def _made(self, header: SendMessageRequestHeader) -> BrokerTopicConfig:
        """Make the topic of a send, or refuse."""
        require(header, "default_topic_queue_nums")
        topic, template = header.topic or "", header.default_topic or ""
        now_ms = self._clock.wall_ms()
        made = None
        if self._config.auto_create_topic_enable or template != TEMPLATE_TOPIC:
            made = self._topics.make_by_template(
                topic, template, header.default_topic_queue_nums or 0, now_ms, is_unit=bool(header.unit_mode)
            )
        if made is None and topic.startswith(RETRY_PREFIX):
            made = self._topics.ensure(topic, 1, now_ms)
        if made is None:
            raise no_topic_for_send(topic)
        return made

    def _queue_id(self, config: BrokerTopicConfig, queue_id: int, peer: Peer) -> int:
        if queue_id >= max(config.write_queue_nums, config.read_queue_nums):
            raise bad_queue_for_send(config, queue_id, peer.address)
        if queue_id >= 0:
            return queue_id
        return random.randrange(config.write_queue_nums) if config.write_queue_nums > 0 else 0  # noqa: S311

    def _store_one(
        self, request: RemotingCommand, header: SendMessageRequestHeader, message: NewMessage, peer: Peer
    ) -> None:
        if not message.body:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "the message body is empty", cause="no_body")
        draft = _Draft(message, message.queue_id, None)
        if message.topic.startswith(RETRY_PREFIX):
            draft.message = self._dead_or_alive(request, header, message)
        self._complete(draft, header.properties or "")
        message = draft.message
        answered = self._intake.answering(
            request, peer, lambda: self._answer_fields(draft, position), lambda: self._stored(message, position)
        )
        position = self._intake.put(message, answered, waits=draft.waits)

    def _stored(self, message: NewMessage, position: Position) -> None:
        self._count(message.topic, kind_of(message), (position.size,))
        if message.topic.startswith(DLQ_PREFIX):
            origin = properties_of(message).get(RETRY_TOPIC) or message.topic
            self._parts.statistics.count(DLQ_PUT_NUMS, f"{origin}@{message.topic.removeprefix(DLQ_PREFIX)}")
        if message.topic == HALF_TOPIC:
            self._parts.half_stored(message, position)

    def _count(self, topic: str, kind: str, sizes: Sequence[int]) -> None:
        statistics, messages, size = self._parts.statistics, len(sizes), sum(sizes)
        statistics.arrivals.add(topic, kind, sizes)
        statistics.count(TOPIC_PUT_NUMS, topic, messages)
        statistics.count(TOPIC_PUT_SIZE, topic, size, messages)
        statistics.count(BROKER_PUT_NUMS, self._config.broker_cluster_name, messages)

    def _dead_or_alive(
        self, request: RemotingCommand, header: SendMessageRequestHeader, message: NewMessage
    ) -> NewMessage:
        """Give a message that failed once more its retry topic, or the dead letters."""
        group = message.topic.removeprefix(RETRY_PREFIX)
        now_ms = self._clock.wall_ms()
        config = self._parts.groups.find(group, now_ms)
        if config is None:
            raise no_group_for_send(group)
        most = config.retry_max_times
        if header.max_reconsume_times is not None and request.version >= _COUNTS_IN_HEADER:
            most = header.max_reconsume_times
        is_ordered = self._parts.locks.is_any_held(group, self._clock.steady_ms())
        if message.reconsume_times <= most and not is_ordered:
            return message
        dead = self._topics.ensure_marked(dead_letter_topic(group), 1, now_ms)
        return with_properties(message, {DELAY: "-1"})._replace(topic=dead.topic_name, queue_id=0)

    def _complete(self, draft: _Draft, sent_text: str) -> None:
        """Add what the broker adds, and park what is not to be delivered now."""
        message, text = draft.message, sent_text
        is_special = _SPECIAL.search(text) is not None
        if is_special or message.topic.startswith(DLQ_PREFIX):
            message = with_properties(message, {POP_CK: None})
            text = properties_text(message.properties)
        found = _UNIQUE_KEY.search(text)
        draft.unique_key = found[1] if found is not None else self._parts.next_id()
        own = self._own.added_to(text) if found is not None else self._own.added_to(_keyed(text, draft.unique_key))
        message = message._replace(properties=properties_bytes(own))
        if is_special:
            message = self._parked(message)
            if message.topic == TIMER_TOPIC:
                draft.recall_handle = encode_handle(message, self._config.broker_name)
        draft.waits = _waits(text)
        check_stored_sizes(len(message.body), len(message.properties), self._config.max_message_size)
        draft.message = message

    def _parked(self, message: NewMessage) -> NewMessage:
        named = properties_of(message)
        level = _level(named.get(DELAY))
        if named.get(TRAN_MSG) == "true" and not (message.reconsume_times > 0 and level > 0):
            if self._config.reject_transaction_message:
                remark = f"the broker[{self._config.broker_ip1}] sending transaction message is forbidden"
                raise refused(ResponseCode.NO_PERMISSION, remark)
            if is_timer(named):
                raise refused(ResponseCode.MESSAGE_ILLEGAL, "a transaction message cannot be a timer message")
            return half(message)
        if level > 0:
            return delayed(with_properties(message, dict.fromkeys(DELAYS)), level, self._levels)
        is_dead = message.topic.startswith(DLQ_PREFIX)
        return self.timed(message, named) if is_timer(named) and not is_dead else message

    def timed(self, message: NewMessage, named: Mapping[str, str]) -> NewMessage:
        """Give a timer message as it waits; as it is when its time is past.

        Raises:
            RequestRefusedError: It cannot be one.
        """
        if not self._timers.is_enabled:
            remark = "accurate timer message is not enabled, timerWheelEnable is false"
            raise refused(ResponseCode.SYSTEM_ERROR, remark)
        now_ms = self._clock.wall_ms()
        try:
            deliver = deliver_ms(named, now_ms)
        except ValueError as error:
            raise refused(ResponseCode.MESSAGE_ILLEGAL, self._timers.refusal) from error
        is_past = deliver <= now_ms
        if deliver - now_ms > self._timers.max_delay_ms or (is_past and TIMER_DEL_UNIQKEY in named):
            raise refused(ResponseCode.MESSAGE_ILLEGAL, self._timers.refusal)
        return message if is_past else parked(message, out_ms(deliver, self._timers.precision_ms))

    def _answer_fields(self, draft: _Draft, position: Position) -> dict[str, str | None]:
        return {
            "msgId": self._msg_id(position),
            "queueId": str(draft.queue_id),
            "queueOffset": str(position.queue_offset),
            "transactionId": draft.unique_key,
            "recallHandle": draft.recall_handle,
            **self._fields,
        }

    def _msg_id(self, position: Position) -> str:
        return f"{self._id_prefix}{position.commit_log_offset:016X}"

    def _store_batch(self, request: RemotingCommand, whole: NewMessage, peer: Peer) -> None:
        """Store the messages of a batch one behind the other: all of them, or none."""
        if whole.topic.startswith(RETRY_PREFIX):
            remark = f"batch request does not support retry group {whole.topic}"
            raise refused(ResponseCode.MESSAGE_ILLEGAL, remark)
        named = properties_of(whole)
        if _level(named.get(DELAY)) > 0:
            self._refuse_as_illegal()
        if len(whole.body) > self._config.max_message_size:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "message body size exceeded", cause="over_limit")
        entries = decode_batch(whole.body)
        for entry in entries:
            self._check_entry(entry)
        waits = _waits(properties_text(whole.properties))
        positions: list[Position] = []
        answered = self._intake.answering(
            request,
            peer,
            lambda: self._batch_fields(whole, positions),
            lambda: self._count(whole.topic, kind_of(whole), [each.size for each in positions]),
        )
        for index, (body, properties, flag) in enumerate(entries):
            message = whole._replace(body=body, properties=properties, flag=flag)
            is_last = index == len(entries) - 1
            positions.append(self._intake.put(message, answered if is_last else None, waits=waits))

    def _check_entry(self, entry: BatchEntry) -> None:
        check_stored_sizes(len(entry.body), len(entry.properties), self._config.max_message_size)
        if b"\0" in entry.properties:
            raise MessageError("the properties hold a zero byte")
        text = properties_text(entry.properties)
        if _SPECIAL.search(text) and NOT_IN_A_BATCH & decode_properties(text).keys():
            self._refuse_as_illegal()

    def _refuse_as_illegal(self) -> None:
        limit = self._config.max_message_size
        check_stored_sizes(limit + 1, 0, limit)

    def _batch_fields(self, whole: NewMessage, positions: Sequence[Position]) -> dict[str, str | None]:
        return {
            "msgId": ",".join(map(self._msg_id, positions)),
            "queueId": str(whole.queue_id),
            "queueOffset": str(positions[0].queue_offset),
            **self._fields,
        }


def _timer_rules(config: BrokerConfig) -> TimerRules:
    return TimerRules(config.timer_wheel_enable, config.timer_max_delay_sec * 1000, config.timer_precision_ms)


def _keyed(text: str, unique_key: str) -> str:
    joint = "" if not text or text.endswith("\x02") else "\x02"
    return f"{text}{joint}{UNIQ_KEY}\x01{unique_key}\x02"


def _waits(text: str) -> bool:
    """Whether the sender wants to hear of the disk."""
    return _NO_WAIT not in text or decode_properties(text).get(WAIT) != "false"


def _level(text: str | None) -> int:
    if text is None:
        return 0
    if _NUMBER.fullmatch(text) is None:
        raise RequestRefusedError(
            ResponseCode.SYSTEM_ERROR, f"the delay level is no number: {text[:60]!r}", cause="bad_number"
        )
    return int(text)
