"""PROCESSORS: which function answers which request; the protocol surface at a glance."""

from collections.abc import Mapping
from dataclasses import dataclass

from cosmodrome.broker.processors.group_admin import GroupAdminProcessor
from cosmodrome.broker.processors.info import InfoProcessor
from cosmodrome.broker.processors.maintenance import MaintenanceProcessor
from cosmodrome.broker.processors.members import LockProcessor, MemberProcessor
from cosmodrome.broker.processors.offsets import OffsetProcessor
from cosmodrome.broker.processors.pull import PullProcessor
from cosmodrome.broker.processors.queries import QueryProcessor
from cosmodrome.broker.processors.relays import RelayProcessor
from cosmodrome.broker.processors.replies import ReplyProcessor
from cosmodrome.broker.processors.send import SendProcessor
from cosmodrome.broker.processors.send_back import SendBackProcessor
from cosmodrome.broker.processors.topic_admin import TopicAdminProcessor
from cosmodrome.broker.processors.transactions import TransactionProcessor
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.transport.dispatch import Processor


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """The families, each with the parts that it uses."""

    send: SendProcessor
    send_back: SendBackProcessor
    pull: PullProcessor
    members: MemberProcessor
    locks: LockProcessor
    offsets: OffsetProcessor
    queries: QueryProcessor
    transactions: TransactionProcessor
    topic_admin: TopicAdminProcessor
    group_admin: GroupAdminProcessor
    info: InfoProcessor
    maintenance: MaintenanceProcessor
    replies: ReplyProcessor
    relays: RelayProcessor

    def by_code(self) -> Mapping[BrokerRequestCode, Processor]:
        """Give the table of everything that a broker answers."""
        return {
            BrokerRequestCode.SEND_MESSAGE: self.send.send_message,
            BrokerRequestCode.SEND_MESSAGE_V2: self.send.send_message,
            BrokerRequestCode.SEND_BATCH_MESSAGE: self.send.send_message,
            BrokerRequestCode.CONSUMER_SEND_MSG_BACK: self.send_back.consumer_send_msg_back,
            BrokerRequestCode.PULL_MESSAGE: self.pull.pull_message,
            BrokerRequestCode.LITE_PULL_MESSAGE: self.pull.pull_message,
            BrokerRequestCode.HEART_BEAT: self.members.heart_beat,
            BrokerRequestCode.UNREGISTER_CLIENT: self.members.unregister_client,
            BrokerRequestCode.GET_CONSUMER_LIST_BY_GROUP: self.members.get_consumer_list_by_group,
            BrokerRequestCode.CHECK_CLIENT_CONFIG: self.members.check_client_config,
            BrokerRequestCode.LOCK_BATCH_MQ: self.locks.lock_batch_mq,
            BrokerRequestCode.UNLOCK_BATCH_MQ: self.locks.unlock_batch_mq,
            BrokerRequestCode.QUERY_CONSUMER_OFFSET: self.offsets.query_consumer_offset,
            BrokerRequestCode.UPDATE_CONSUMER_OFFSET: self.offsets.update_consumer_offset,
            BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self.offsets.search_offset_by_timestamp,
            BrokerRequestCode.GET_MAX_OFFSET: self.offsets.get_max_offset,
            BrokerRequestCode.GET_MIN_OFFSET: self.offsets.get_min_offset,
            BrokerRequestCode.GET_EARLIEST_MSG_STORETIME: self.offsets.get_earliest_msg_storetime,
            BrokerRequestCode.QUERY_MESSAGE: self.queries.query_message,
            BrokerRequestCode.VIEW_MESSAGE_BY_ID: self.queries.view_message_by_id,
            BrokerRequestCode.QUERY_CONSUME_QUEUE: self.queries.query_consume_queue,
            BrokerRequestCode.END_TRANSACTION: self.transactions.end_transaction,
            BrokerRequestCode.SEND_REPLY_MESSAGE: self.replies.send_reply_message,
            BrokerRequestCode.SEND_REPLY_MESSAGE_V2: self.replies.send_reply_message,
            BrokerRequestCode.GET_CONSUMER_RUNNING_INFO: self.relays.get_consumer_running_info,
            BrokerRequestCode.CONSUME_MESSAGE_DIRECTLY: self.relays.consume_message_directly,
            **self._administration(),
        }

    def _administration(self) -> Mapping[BrokerRequestCode, Processor]:
        code, topics, groups, info = BrokerRequestCode, self.topic_admin, self.group_admin, self.info
        return {
            code.UPDATE_AND_CREATE_TOPIC: topics.update_and_create_topic,
            code.UPDATE_AND_CREATE_TOPIC_LIST: topics.update_and_create_topic_list,
            code.DELETE_TOPIC_IN_BROKER: topics.delete_topic_in_broker,
            code.GET_ALL_TOPIC_CONFIG: topics.get_all_topic_config,
            code.GET_TOPIC_CONFIG: topics.get_topic_config,
            code.GET_TOPIC_STATS_INFO: topics.get_topic_stats_info,
            code.QUERY_TOPIC_CONSUME_BY_WHO: topics.query_topic_consume_by_who,
            code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: topics.get_system_topic_list_from_broker,
            code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: groups.update_and_create_subscriptiongroup,
            code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: groups.update_and_create_subscriptiongroup_list,
            code.DELETE_SUBSCRIPTIONGROUP: groups.delete_subscriptiongroup,
            code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: groups.get_all_subscriptiongroup_config,
            code.GET_SUBSCRIPTIONGROUP_CONFIG: groups.get_subscriptiongroup_config,
            code.GET_CONSUMER_CONNECTION_LIST: groups.get_consumer_connection_list,
            code.GET_PRODUCER_CONNECTION_LIST: groups.get_producer_connection_list,
            code.GET_ALL_PRODUCER_INFO: groups.get_all_producer_info,
            code.GET_CONSUME_STATS: groups.get_consume_stats,
            code.QUERY_TOPICS_BY_CONSUMER: groups.query_topics_by_consumer,
            code.QUERY_SUBSCRIPTION_BY_CONSUMER: groups.query_subscription_by_consumer,
            code.CLONE_GROUP_OFFSET: groups.clone_group_offset,
            code.INVOKE_BROKER_TO_RESET_OFFSET: groups.invoke_broker_to_reset_offset,
            code.GET_BROKER_RUNTIME_INFO: info.get_broker_runtime_info,
            code.GET_BROKER_CONFIG: self.maintenance.get_broker_config,
            code.CLEAN_EXPIRED_CONSUMEQUEUE: self.maintenance.clean_expired_consumequeue,
            code.DELETE_EXPIRED_COMMITLOG: self.maintenance.delete_expired_commitlog,
            code.VIEW_BROKER_STATS_DATA: info.view_broker_stats_data,
            code.GET_ALL_CONSUMER_OFFSET: info.get_all_consumer_offset,
            code.GET_ALL_DELAY_OFFSET: info.get_all_delay_offset,
        }
