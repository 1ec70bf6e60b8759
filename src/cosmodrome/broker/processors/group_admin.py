"""Administration of consumer groups and what is known of clients: 200, 201, 203, 204, 207, 208, 222, 225, 314, 328, 343, 345, 352.

Owns: what of a group may be changed; what goes with one that is deleted; a group's progress.
Must not know: files. A change is answered when it is kept.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.groups import SYSTEM_GROUPS, Groups
from cosmodrome.broker.locks import QueueLocks
from cosmodrome.broker.members import Client, Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.statistics import GROUP_GET_NUMS, Statistics
from cosmodrome.broker.topics import Topics, retry_topic
from cosmodrome.errors import MessageError
from cosmodrome.protocol.bodies.cluster import TopicList, encode_topic_list
from cosmodrome.protocol.bodies.consumers import (
    Connection,
    ConsumerConnection,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
    QuerySubscriptionResponseBody,
)
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupList
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.offsets import (
    ConsumeStats,
    OffsetWrapper,
    ResetOffsetBody,
    encode_reset_offset_list,
)
from cosmodrome.protocol.codes import ClientRequestCode, LanguageCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields, require
from cosmodrome.protocol.headers.group_admin import (
    DeleteSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
    GetConsumeStatsRequestHeader,
    GroupRequestHeader,
)
from cosmodrome.protocol.headers.members import (
    ConsumerGroupRequestHeader,
    GetProducerConnectionListRequestHeader,
    GroupTopicRequestHeader,
)
from cosmodrome.protocol.headers.offsets import CloneGroupOffsetRequestHeader
from cosmodrome.protocol.headers.relays import ResetOffsetRequestHeader
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.messages.checks import check_group
from cosmodrome.protocol.versions import V5_0_0
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import Peer

Keep = Callable[[], Awaitable[None]]
"""Returns when groups and offsets are on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdminParts:
    """What groups are administered with."""

    topics: Topics
    groups: Groups
    offsets: Offsets
    members: Members
    locks: QueueLocks
    reader: Reader
    statistics: Statistics


class GroupAdminProcessor:
    """Shows and changes groups."""

    def __init__(self, broker: tuple[str, str], clock: Clock, parts: GroupAdminParts, keep: Keep) -> None:
        """Use these parts; `broker` is its name and its address."""
        self._broker_name, self._address = broker
        self._clock = clock
        self._parts = parts
        self._keep = keep
        self.tell: Callable[[int, int, Mapping[str, str | None], bytes], object] = lambda *_: None
        """Sends a oneway to a connection: code, fields, body."""
        self.on_removed: Callable[[str, bool], None] = lambda *_: None
        """Told of a group that is deleted, and whether its offsets are."""

    def update_and_create_subscriptiongroup(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """200."""
        return self._put(request, (decode_body(SubscriptionGroupConfig, request.body),))

    def update_and_create_subscriptiongroup_list(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """225: all of them or none."""
        return self._put(request, decode_body(SubscriptionGroupList, request.body).group_config_list)

    def _put(self, request: RemotingCommand, configs: Iterable[SubscriptionGroupConfig]) -> Awaitable[RemotingCommand]:
        for config in configs:
            try:
                check_group(config.group_name)
            except MessageError as error:
                raise refused(error.code, error.text) from error
        for config in configs:
            self._parts.groups.put(config, self._clock.wall_ms())
        return self._kept(request)

    def delete_subscriptiongroup(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """207. With `cleanOffset` its offsets go too; locks and resets that wait always do."""
        header = decode_ext_fields(DeleteSubscriptionGroupRequestHeader, request.ext_fields)
        require(header, "group_name")
        name, parts = header.group_name or "", self._parts
        if name in SYSTEM_GROUPS:
            raise refused(ResponseCode.INVALID_PARAMETER, f"The group[{name}] is one of the broker's own.")
        parts.groups.remove(name, self._clock.wall_ms())
        parts.locks.forget_group(name)
        parts.statistics.forget_group(name)
        if header.clean_offset or header.remove_offset:
            parts.offsets.forget_group(name)
        else:
            parts.offsets.forget_resets(name)
        self.on_removed(name, bool(header.clean_offset or header.remove_offset))
        return self._kept(request)

    async def _kept(self, request: RemotingCommand, body: bytes = b"") -> RemotingCommand:
        await self._keep()
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def get_all_subscriptiongroup_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """201."""
        table = self._parts.groups.table()
        count = len(table.subscription_group_table)
        fields = encode_ext_fields(GetAllSubscriptionGroupResponseHeader(total_group_num=count))
        return response_to(request, ResponseCode.SUCCESS, None, fields, encode_body(table))

    def get_subscriptiongroup_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """352. COMPAT: one that is unknown is made, as in 5.5.0."""
        header = decode_ext_fields(GroupRequestHeader, request.ext_fields)
        require(header, "group")
        config = self._parts.groups.find(header.group or "", self._clock.wall_ms())
        if config is None:
            raise refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(config))

    def get_consumer_connection_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """203."""
        header = decode_ext_fields(ConsumerGroupRequestHeader, request.ext_fields)
        require(header, "consumer_group")
        group, members = header.consumer_group or "", self._parts.members
        state = members.state(group)
        if state is None:
            raise refused(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
        body = ConsumerConnection(
            connection_set=_connections(members.consumers(group)),
            subscription_table=members.subscriptions(group),
            consume_type=state.consume_type,
            message_model=state.message_model,
            consume_from_where=state.consume_from_where,
        )
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(body))

    def get_producer_connection_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """204."""
        header = decode_ext_fields(GetProducerConnectionListRequestHeader, request.ext_fields)
        require(header, "producer_group")
        producers = self._parts.members.producers(header.producer_group or "")
        if not producers:
            raise refused(ResponseCode.SYSTEM_ERROR, f"the producer group[{header.producer_group}] not exist")
        body = encode_body(ProducerConnection(connection_set=_connections(producers)))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def get_all_producer_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """328."""
        members, skew_ms = self._parts.members, self._clock.wall_ms() - self._clock.steady_ms()
        data = {
            group: tuple(_producer_info(client, skew_ms) for client in members.producers(group))
            for group in members.producer_groups()
        }
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(ProducerTableInfo(data=data)))

    def get_consume_stats(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """208."""
        header = decode_ext_fields(GetConsumeStatsRequestHeader, request.ext_fields)
        require(header, "consumer_group")
        group = header.consumer_group or ""
        named = [
            name for name in ((header.topic_list or "").split(";") if header.topic_list else [header.topic]) if name
        ]
        online = self._parts.members.subscriptions(group)
        topics = [name for name in named or self._parts.offsets.topics_of(group) if not online or name in online]
        table: dict[MessageQueue, OffsetWrapper] = {}
        for topic in topics:
            table |= self._progress(topic, group)
        now_ms = self._clock.steady_ms()
        rate = sum(self._parts.statistics.rate(GROUP_GET_NUMS, f"{topic}@{group}", now_ms) for topic in topics)
        body = encode_body(ConsumeStats(offset_table=table, consume_tps=rate))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def _progress(self, topic: str, group: str) -> dict[MessageQueue, OffsetWrapper]:
        config, reader, offsets = self._parts.topics.get(topic), self._parts.reader, self._parts.offsets
        found = {}
        for queue_id in range(0 if config is None else config.read_queue_nums):
            queue = MessageQueue(topic=topic, broker_name=self._broker_name, queue_id=queue_id)
            done = offsets.committed(topic, group, queue_id) or 0
            found[queue] = OffsetWrapper(
                broker_offset=reader.max_offset(topic, queue_id),
                consumer_offset=done,
                last_timestamp=(reader.store_time_ms(topic, queue_id, done - 1) or 0) if done > 0 else 0,
                pull_offset=max(done, offsets.pulled(topic, group, queue_id)),
            )
        return found

    def query_topics_by_consumer(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """343."""
        header = decode_ext_fields(GroupRequestHeader, request.ext_fields)
        require(header, "group")
        found = TopicList(topic_list=self._parts.offsets.topics_of(header.group or ""), broker_addr=self._address)
        body = encode_topic_list(found.topic_list, found.broker_addr)
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def query_subscription_by_consumer(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """345."""
        header = decode_ext_fields(GroupTopicRequestHeader, request.ext_fields)
        require(header, "group", "topic")
        subscription = self._parts.members.subscription(header.group or "", header.topic or "")
        body = QuerySubscriptionResponseBody(subscription_data=subscription, group=header.group, topic=header.topic)
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(body))

    def clone_group_offset(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """314."""
        header = decode_ext_fields(CloneGroupOffsetRequestHeader, request.ext_fields)
        require(header, "src_group", "dest_group")
        source, target = header.src_group or "", header.dest_group or ""
        for topic in (header.topic,) if header.topic else self._parts.offsets.topics_of(source):
            if topic != retry_topic(source):
                self._parts.offsets.copy(topic, source, target)
        return self._kept(request)

    def invoke_broker_to_reset_offset(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """222, as 5.x does it: the group is told at its next pull, and nobody need be connected.

        Members that are older are told at once, too, as by 4.9 (220).
        """
        header = decode_ext_fields(ResetOffsetRequestHeader, request.ext_fields)
        require(header, "topic", "group", "timestamp")
        topic, group = header.topic or "", header.group or ""
        config = self._parts.topics.get(topic)
        if config is None:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} does not exist")
        if self._parts.groups.get(group) is None:
            raise refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} does not exist")
        only = header.queue_id if header.queue_id is not None and header.queue_id >= 0 else None
        queues = range(config.read_queue_nums) if only is None else (only,)
        targets = {queue_id: self._target(topic, queue_id, header) for queue_id in queues}
        for queue_id, offset in targets.items():
            self._parts.offsets.reset(topic, group, queue_id, offset)
        table = {
            MessageQueue(topic=topic, broker_name=self._broker_name, queue_id=queue_id): offset
            for queue_id, offset in targets.items()
        }
        self._tell_of_reset(header, table)
        return self._kept(request, encode_body(ResetOffsetBody(offset_table=table)))

    def _tell_of_reset(self, header: ResetOffsetRequestHeader, table: Mapping[MessageQueue, int]) -> None:
        fields = {"topic": header.topic, "group": header.group, "timestamp": str(header.timestamp), "isForce": "false"}
        for member in self._parts.members.consumers(header.group or ""):
            if member.version < V5_0_0:
                is_cpp = member.language == LanguageCode.CPP.name
                body = encode_reset_offset_list(table) if is_cpp else encode_body(ResetOffsetBody(offset_table=table))
                self.tell(member.connection, ClientRequestCode.RESET_CONSUMER_CLIENT_OFFSET, fields, body)

    def _target(self, topic: str, queue_id: int, header: ResetOffsetRequestHeader) -> int:
        reader, time_ms = self._parts.reader, header.timestamp or 0
        low, high = reader.min_offset(topic, queue_id), reader.max_offset(topic, queue_id)
        is_one_queue = header.queue_id is not None and header.queue_id >= 0
        if is_one_queue and header.offset is not None and header.offset != -1:
            if not low <= header.offset <= high + 1:
                remark = f"Target offset {header.offset} not in consume queue range [{low}-{high}]"
                raise refused(ResponseCode.SYSTEM_ERROR, remark)
            return header.offset
        return high if time_ms < 0 else reader.offset_by_time(topic, queue_id, time_ms)


_UNKNOWN: Final = "OTHER"


def _connections(clients: Iterable[Client]) -> tuple[Connection, ...]:
    return tuple(
        Connection(
            client_id=client.client_id,
            client_addr=client.address,
            language=client.language or _UNKNOWN,
            version=client.version,
        )
        for client in clients
    )


def _producer_info(client: Client, skew_ms: int) -> ProducerInfo:
    return ProducerInfo(
        client_id=client.client_id,
        remote_ip=f"/{client.address}",
        language=client.language,
        version=client.version,
        last_update_timestamp=client.last_ms + skew_ms,
    )
