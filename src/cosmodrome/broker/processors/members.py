"""Clients that come, stay and go: 34, 35, 38, 46; notices of it, 40; locks, 41 and 42.

Owns: what a heartbeat changes; who is told.
Must not know: messages.
"""

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.filters.subscriptions import check_subscription
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.locks import QueueLocks
from cosmodrome.broker.members import Client, Members, Notices
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.topics import Topics, retry_topic
from cosmodrome.protocol.bodies.consumers import GetConsumerListByGroupResponseBody
from cosmodrome.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, HeartbeatData
from cosmodrome.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from cosmodrome.protocol.codes import ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader, UnregisterClientRequestHeader
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.transport.dispatch import Peer


class MemberProcessor:
    """Knows who is connected, and tells groups when that changes."""

    def __init__(self, members: Members, groups: Groups, topics: Topics, outbox: Outbox, clock: Clock) -> None:
        """Use these parts."""
        self._members = members
        self._groups = groups
        self._topics = topics
        self._outbox = outbox
        self._clock = clock
        self.is_notifying = True
        """Whether groups are told at all."""
        self.is_sql_enabled = False
        """Whether SQL92 can be subscribed to."""

    def heart_beat(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """34."""
        data = decode_body(HeartbeatData, request.body)
        client = Client(
            connection=peer.connection_id,
            client_id=data.client_id,
            address=peer.address,
            language=request.language.name if request.language is not None else "OTHER",
            version=request.version,
            last_ms=self._clock.steady_ms(),
        )
        for producer in data.producer_data_set:
            self._members.producer_seen(producer.group_name, client)
        is_same = data.heartbeat_fingerprint != 0
        for consumer in data.consumer_data_set:
            is_same = self._consumer_seen(consumer, data, client) and is_same
        fields = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "false" if is_same else "true"}
        return response_to(request, ResponseCode.SUCCESS, None, fields)

    def _consumer_seen(self, data: ConsumerData, heartbeat: HeartbeatData, client: Client) -> bool:
        """Note a consumer; tell whether its subscriptions are known now."""
        group = data.group_name
        config = self._groups.find(group, self._clock.wall_ms())
        if config is None:
            return True
        if heartbeat.without_sub and heartbeat.heartbeat_fingerprint != 0:
            if any(each.connection == client.connection for each in self._members.consumers(group)):
                self._members.refresh(group, client)
                return True
            return False
        if config.retry_queue_nums > 0:
            self._retry_topic(data, config.retry_queue_nums)
        is_notifying = self.is_notifying and config.notify_consumer_ids_changed_enable
        self.notify(self._members.consumer_seen(data, client, is_notifying=is_notifying))
        return True

    def _retry_topic(self, data: ConsumerData, queues: int) -> None:
        """See that there is one. It is marked as the last heartbeat says: whether an ordered topic is subscribed to."""
        is_ordered = any(self._topics.is_ordered(each.topic) for each in data.subscription_data_set)
        self._topics.ensure_marked(
            retry_topic(data.group_name), queues, self._clock.wall_ms(), is_ordered=is_ordered, is_unit=data.unit_mode
        )

    def unregister_client(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """35."""
        header = decode_ext_fields(UnregisterClientRequestHeader, request.ext_fields)
        is_notifying = self.is_notifying
        if header.consumer_group is not None:
            config = self._groups.find(header.consumer_group, self._clock.wall_ms())
            is_notifying = is_notifying and (config is None or config.notify_consumer_ids_changed_enable)
        notices = self._members.leave(
            peer.connection_id, header.producer_group, header.consumer_group, is_notifying=is_notifying
        )
        self.notify(notices)
        return response_to(request, ResponseCode.SUCCESS)

    def get_consumer_list_by_group(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """38."""
        header = decode_ext_fields(ConsumerGroupRequestHeader, request.ext_fields)
        require(header, "consumer_group")
        ids = tuple(each.client_id for each in self._members.consumers(header.consumer_group or ""))
        if not ids:
            raise refused(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {header.consumer_group}")
        body = encode_body(GetConsumerListByGroupResponseBody(consumer_id_list=ids))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def check_client_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """46: whether a subscription can be used here, and if not, why."""
        subscription = decode_body(CheckClientRequestBody, request.body).subscription_data if request.body else None
        if subscription is not None:
            check_subscription(subscription, is_sql_enabled=self.is_sql_enabled)
        return response_to(request, ResponseCode.SUCCESS)

    def connection_lost(self, connection: int) -> None:
        """Forget a client whose connection has ended, and tell its groups."""
        notices = self._members.connection_lost(connection, is_notifying=self.is_notifying)
        self.notify({group: told for group, told in notices.items() if self._is_told(group)})

    def _is_told(self, group: str) -> bool:
        config = self._groups.get(group)
        return config is None or config.notify_consumer_ids_changed_enable

    def notify(self, notices: Notices) -> None:
        """Send NOTIFY_CONSUMER_IDS_CHANGED."""
        for group, connections in notices.items():
            for connection in connections:
                fields: dict[str, str | None] = {"consumerGroup": group}
                self._outbox.tell(connection, ClientRequestCode.NOTIFY_CONSUMER_IDS_CHANGED, fields)


class LockProcessor:
    """Locks of queues."""

    def __init__(self, locks: QueueLocks, clock: Clock) -> None:
        """Use these parts."""
        self._locks = locks
        self._clock = clock

    def lock_batch_mq(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """41."""
        body = decode_body(LockBatchRequestBody, request.body)
        granted = self._locks.lock(body.consumer_group, body.client_id, body.mq_set, self._clock.steady_ms())
        answer = encode_body(LockBatchResponseBody(lock_ok_mq_set=granted))
        return response_to(request, ResponseCode.SUCCESS, body=answer)

    def unlock_batch_mq(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """42."""
        body = decode_body(LockBatchRequestBody, request.body)
        self._locks.unlock(body.consumer_group, body.client_id, body.mq_set)
        return response_to(request, ResponseCode.SUCCESS)
