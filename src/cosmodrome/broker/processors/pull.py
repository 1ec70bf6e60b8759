"""Pulls: 11, 361 (Java: PullMessageProcessor).

Owns: what is refused and with which words; the answer to what was read; which pulls wait, and what ends it.
Must not know: how messages are stored; the event loop.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from cosmodrome.broker.filters.subscriptions import Wanted, wanted_by
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.holding import HoldingProcessor
from cosmodrome.broker.long_polls import HeldPull, LongPolls, QueueKey
from cosmodrome.broker.members import Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import FAQ, bad_queue_for_pull, no_group_for_pull, no_topic_for_pull, refused
from cosmodrome.broker.slow_readers import SlowReaders
from cosmodrome.broker.statistics import BROKER_GET_NUMS, GROUP_GET_NUMS, GROUP_GET_SIZE, Statistics
from cosmodrome.broker.topics import READ, Topics
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig
from cosmodrome.protocol.bodies.heartbeat import MessageModel
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.pull import (
    PULL_COMMIT_OFFSET,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    PullMessageRequestHeader,
)
from cosmodrome.protocol.subscription import TAG, SubscriptionData, subscription_to_tags
from cosmodrome.store.reading import Reader, ReadLimits, ReadResult, ReadStatus
from cosmodrome.transport.dispatch import LATER, Peer

_CODES: Final = {
    ReadStatus.FOUND: ResponseCode.SUCCESS,
    ReadStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    ReadStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}
_MIN_SCAN_BYTES: Final = 16_000
_UNIT_BYTES: Final = 20
_BROKER, _GROUP, _TOPIC, _BROADCAST = ({"forbiddenType": str(kind)} for kind in range(1, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class PullParts:
    """What pulls are decided with."""

    topics: Topics
    groups: Groups
    members: Members
    offsets: Offsets
    polls: LongPolls
    reader: Reader
    statistics: Statistics
    slow_readers: SlowReaders


class _Asked(NamedTuple):
    """A pull that may be."""

    header: PullMessageRequestHeader
    topic: BrokerTopicConfig
    group: SubscriptionGroupConfig
    wanted: Wanted


class PullProcessor(HoldingProcessor[PullParts]):
    """Hands messages out."""

    def pull_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """11 and 361: messages of a queue, now or when some come."""
        asked = self._asked(request, peer)
        header, parts = asked.header, self._parts
        topic, group, queue_id = header.topic or "", header.consumer_group or "", header.queue_id or 0
        flags, offset = header.sys_flag or 0, header.queue_offset or 0
        if flags & PULL_COMMIT_OFFSET and header.commit_offset is not None:
            parts.offsets.commit(topic, group, queue_id, header.commit_offset)
        moved = parts.offsets.take_reset(topic, group, queue_id)
        if moved is not None:
            return self._reset_answer(request, (topic, queue_id), moved)
        limits = self._limits(header.max_msg_nums or 0)
        began_ms = self._clock.steady_ms()
        result = self._parts.reader.read((topic, queue_id), offset, limits, *asked.wanted)
        parts.statistics.times.got(self._clock.steady_ms() - began_ms)
        parts.offsets.note_pull(topic, group, queue_id, result.next_offset)
        if _code_of(result, offset) == ResponseCode.PULL_NOT_FOUND and flags & PULL_SUSPEND:
            hold_ms = header.suspend_timeout_millis or 0
            if not self._config.long_polling_enable:
                hold_ms = self._config.short_polling_time_mills
            deadline_ms = self._clock.steady_ms() + max(0, hold_ms)
            pull = HeldPull(
                request, peer, (topic, queue_id), offset, offset, deadline_ms, limits, asked.wanted
            )  # fmt: skip
            if parts.polls.hold(pull):
                return LATER
        return self._answer(request, result, offset, asked)

    def _asked(self, request: RemotingCommand, peer: Peer) -> _Asked:
        """Check a pull, in Java's order."""
        header = decode_ext_fields(PullMessageRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id", "queue_offset", "max_msg_nums", "sys_flag")
        config, name = self._config, header.consumer_group or ""
        if not config.broker_permission & READ:
            remark = f"the broker[{config.broker_ip1}] pulling message is forbidden"
            raise refused(ResponseCode.NO_PERMISSION, remark, _BROKER)
        group = self._parts.groups.find(name, self._clock.wall_ms())
        if group is None:
            raise no_group_for_pull(name)
        if not group.consume_enable:
            raise refused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {name}", _GROUP)
        topic = self._topic(header.topic or "")
        if not 0 <= (header.queue_id or 0) < topic.read_queue_nums:
            raise bad_queue_for_pull(topic, header.queue_id or 0, peer.address)
        subscription = self._subscription(header, group)
        is_own = bool((header.sys_flag or 0) & PULL_SUBSCRIPTION)
        wanted = wanted_by(subscription, is_sql_enabled=config.enable_property_filter, is_own=is_own)
        return _Asked(header, topic, group, wanted)

    def _topic(self, name: str) -> BrokerTopicConfig:
        topic = self._parts.topics.get(name)
        if topic is None:
            raise no_topic_for_pull(name)
        if not topic.perm & READ:
            remark = f"the topic[{name}] pulling message is forbidden"
            raise refused(ResponseCode.NO_PERMISSION, remark, _TOPIC)
        return topic

    def _subscription(self, header: PullMessageRequestHeader, group: SubscriptionGroupConfig) -> SubscriptionData:
        if (header.sys_flag or 0) & PULL_SUBSCRIPTION:
            return _own_subscription(header)
        members, topic = self._parts.members, header.topic or ""
        state = members.state(group.group_name)
        if state is None:
            raise refused(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}")
        if state.message_model is MessageModel.BROADCASTING and not group.consume_broadcast_enable:
            remark = f"the consumer group[{group.group_name}] can not consume by broadcast way"
            raise refused(ResponseCode.NO_PERMISSION, remark, _BROADCAST)
        subscription = members.subscription(group.group_name, topic)
        if subscription is None:
            raise refused(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}")
        if subscription.sub_version < (header.sub_version or 0):
            raise refused(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
        return subscription

    def _limits(self, messages: int) -> ReadLimits:
        most = self._config.max_transfer_count_on_message_in_memory
        return ReadLimits(
            messages=min(max(messages, 1), most),
            size_bytes=self._config.max_transfer_bytes_on_message_in_memory,
            units=max(_MIN_SCAN_BYTES // _UNIT_BYTES, min(messages, most)),
        )

    def arrived(self, keys: Iterable[QueueKey]) -> None:
        """Look again at the pulls that wait at these queues.

        Those whose peers take nothing now stay: what such a peer is owed is bounded.
        """
        for pull in self._parts.polls.at(keys):
            if not self._is_writable(pull.peer.connection_id):
                self._parts.polls.later(pull, self._clock.steady_ms())
                continue
            result = self._parts.reader.read(pull.key, pull.offset, pull.limits, *pull.wanted)
            code = _code_of(result, pull.offset)
            if code == ResponseCode.PULL_RETRY_IMMEDIATELY:
                self._parts.polls.postpone(pull, result.next_offset, self._clock.steady_ms())
            elif code != ResponseCode.PULL_NOT_FOUND:
                self._end(pull, result)

    def due(self) -> None:
        """Answer the pulls whose time is over, but those whose peers take nothing now."""
        now_ms = self._clock.steady_ms()
        for pull in self._parts.polls.due(now_ms):
            if not self._is_writable(pull.peer.connection_id):
                self._parts.polls.later(pull, now_ms)
                continue
            self._end(pull, self._parts.reader.read(pull.key, pull.offset, pull.limits, *pull.wanted))

    def topic_removed(self, topic: str) -> None:
        """Refuse the pulls that wait for a topic that is gone."""
        for pull in self._parts.polls.of_topic(topic):
            self._parts.polls.release(pull)
            self._refuse(pull, no_topic_for_pull(topic))

    def end_all(self) -> None:
        """Answer all that wait, with what there is."""
        for pull in self._parts.polls.release_all():
            self._end(pull, self._parts.reader.read(pull.key, pull.offset, pull.limits, *pull.wanted))

    def _end(self, pull: HeldPull, result: ReadResult) -> None:
        self._parts.polls.release(pull)
        header = decode_ext_fields(PullMessageRequestHeader, pull.request.ext_fields)
        topic = self._parts.topics.get(pull.key[0])
        group = self._parts.groups.get(header.consumer_group or "")
        if topic is None or group is None:
            self._refuse(pull, no_topic_for_pull(pull.key[0]))
            return
        if not result.records and pull.offset > pull.asked_offset and result.status is ReadStatus.OFFSET_OVERFLOW_ONE:
            result = result._replace(status=ReadStatus.NO_MATCHED_MESSAGE)
        asked = _Asked(header, topic, group, pull.wanted)
        answer = self._answer(pull.request, result, pull.offset, asked)
        self._outbox.answer(pull.peer.connection_id, pull.request, answer)

    def _refuse(self, pull: HeldPull, error: RequestRefusedError) -> None:
        answer = response_to(pull.request, error.code, error.remark, error.ext_fields)
        self._outbox.answer(pull.peer.connection_id, pull.request, answer)

    def _answer(self, request: RemotingCommand, result: ReadResult, offset: int, asked: _Asked) -> RemotingCommand:
        status = result.status
        if result.records:
            self._count(asked, result)
        if status is ReadStatus.NO_MATCHED_LOGIC_QUEUE:
            status = ReadStatus.NO_MESSAGE_IN_QUEUE
        queue = (asked.topic.topic_name, asked.header.queue_id or 0)
        fields: dict[str, str | None] = {
            "suggestWhichBrokerId": str(self._parts.slow_readers.broker_id(queue, result, asked.group)),
            "nextBeginOffset": str(result.next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
            "topicSysFlag": str(asked.topic.topic_sys_flag),
            "groupSysFlag": str(asked.group.group_sys_flag),
        }
        return response_to(request, _code_of(result, offset), status.value, fields, b"".join(result.records))

    def _count(self, asked: _Asked, result: ReadResult) -> None:
        statistics, messages = self._parts.statistics, len(result.records)
        key = f"{asked.topic.topic_name}@{asked.group.group_name}"
        statistics.count(GROUP_GET_NUMS, key, messages)
        statistics.count(GROUP_GET_SIZE, key, result.size_bytes, messages)
        statistics.count(BROKER_GET_NUMS, self._config.broker_cluster_name, messages)

    def _reset_answer(self, request: RemotingCommand, key: QueueKey, offset: int) -> RemotingCommand:
        fields: dict[str, str | None] = {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(offset),
            "minOffset": str(self._parts.reader.min_offset(*key)),
            "maxOffset": str(self._parts.reader.max_offset(*key)),
            "topicSysFlag": "0",
            "groupSysFlag": "0",
        }
        return response_to(request, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_RESET", fields)


def _code_of(result: ReadResult, offset: int) -> ResponseCode:
    if result.status in (ReadStatus.NO_MESSAGE_IN_QUEUE, ReadStatus.NO_MATCHED_LOGIC_QUEUE):
        return ResponseCode.PULL_NOT_FOUND if offset == 0 else ResponseCode.PULL_OFFSET_MOVED
    return _CODES[result.status]


def _own_subscription(header: PullMessageRequestHeader) -> SubscriptionData:
    topic, kind = header.topic or "", header.expression_type or TAG
    if kind != TAG:
        return SubscriptionData(topic=topic, sub_string=header.subscription or "", expression_type=kind)
    try:
        return subscription_to_tags(topic, header.subscription, 0)
    except ValueError as error:
        raise refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed") from error
