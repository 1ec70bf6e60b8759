"""PROCESSORS: which function answers which request; the protocol surface at a glance."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cosmodrome.broker.processors.assignments import AssignmentProcessor
from cosmodrome.broker.processors.auth import AuthProcessor
from cosmodrome.broker.processors.group_admin import GroupAdminProcessor
from cosmodrome.broker.processors.info import InfoProcessor
from cosmodrome.broker.processors.maintenance import MaintenanceProcessor
from cosmodrome.broker.processors.members import LockProcessor, MemberProcessor
from cosmodrome.broker.processors.offsets import OffsetProcessor
from cosmodrome.broker.processors.plain_acl import PlainAclProcessor
from cosmodrome.broker.processors.pop import PopProcessor
from cosmodrome.broker.processors.pop_acks import PopAckProcessor
from cosmodrome.broker.processors.progress import ProgressProcessor
from cosmodrome.broker.processors.pull import PullProcessor
from cosmodrome.broker.processors.queries import QueryProcessor
from cosmodrome.broker.processors.recall import RecallProcessor
from cosmodrome.broker.processors.relays import RelayProcessor
from cosmodrome.broker.processors.replication import ReplicationProcessor
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
    recall: RecallProcessor
    replication: ReplicationProcessor
    auth: AuthProcessor
    plain_acl: PlainAclProcessor
    progress: ProgressProcessor
    pop: PopProcessor
    pop_acks: PopAckProcessor
    assignments: AssignmentProcessor

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
            BrokerRequestCode.RECALL_MESSAGE: self.recall.recall_message,
            BrokerRequestCode.SEND_REPLY_MESSAGE: self.replies.send_reply_message,
            BrokerRequestCode.SEND_REPLY_MESSAGE_V2: self.replies.send_reply_message,
            BrokerRequestCode.GET_CONSUMER_RUNNING_INFO: self.relays.get_consumer_running_info,
            BrokerRequestCode.CONSUME_MESSAGE_DIRECTLY: self.relays.consume_message_directly,
            **self._administration(),
            **self._for_slaves(),
            **self._accounts(),
            **self._popping(),
        }

    def _popping(self) -> Mapping[BrokerRequestCode, Processor]:
        code = BrokerRequestCode
        return {
            code.POP_MESSAGE: self.pop.pop_message,
            code.NOTIFICATION: self.pop.notification,
            code.POLLING_INFO: self.pop.polling_info,
            code.ACK_MESSAGE: self.pop_acks.ack_message,
            code.BATCH_ACK_MESSAGE: self.pop_acks.batch_ack_message,
            code.CHANGE_MESSAGE_INVISIBLETIME: self.pop_acks.change_invisible_time,
            code.QUERY_ASSIGNMENT: self.assignments.query_assignment,
            code.SET_MESSAGE_REQUEST_MODE: self.assignments.set_message_request_mode,
            code.GET_ALL_MESSAGE_REQUEST_MODE: self.assignments.get_all_message_request_mode,
        }

    def _accounts(self) -> Mapping[BrokerRequestCode, Processor]:
        code, auth, plain = BrokerRequestCode, self.auth, self.plain_acl
        return {
            code.UPDATE_AND_CREATE_ACL_CONFIG: plain.update_and_create_acl_config,
            code.DELETE_ACL_CONFIG: plain.delete_acl_config,
            code.GET_BROKER_CLUSTER_ACL_INFO: plain.get_broker_cluster_acl_info,
            code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: plain.update_global_white_addrs_config,
            code.GET_BROKER_CLUSTER_ACL_CONFIG: plain.get_broker_cluster_acl_config,
            code.AUTH_CREATE_USER: auth.create_user,
            code.AUTH_UPDATE_USER: auth.update_user,
            code.AUTH_DELETE_USER: auth.delete_user,
            code.AUTH_GET_USER: auth.get_user,
            code.AUTH_LIST_USER: auth.list_user,
            code.AUTH_CREATE_ACL: auth.create_acl,
            code.AUTH_UPDATE_ACL: auth.create_acl,
            code.AUTH_DELETE_ACL: auth.delete_acl,
            code.AUTH_GET_ACL: auth.get_acl,
            code.AUTH_LIST_ACL: auth.list_acl,
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
            code.UPDATE_BROKER_CONFIG: self.maintenance.update_broker_config,
            code.GET_BROKER_CONFIG: self.maintenance.get_broker_config,
            code.CLEAN_UNUSED_TOPIC: self.maintenance.clean_unused_topic,
            code.QUERY_CONSUME_TIME_SPAN: self.progress.query_consume_time_span,
            code.QUERY_CORRECTION_OFFSET: self.progress.query_correction_offset,
            code.GET_BROKER_CONSUME_STATS: self.progress.get_broker_consume_stats,
            code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self.progress.invoke_broker_to_get_consumer_status,
            code.RESUME_CHECK_HALF_MESSAGE: self.transactions.resume_check_half_message,
            code.CLEAN_EXPIRED_CONSUMEQUEUE: self.maintenance.clean_expired_consumequeue,
            code.DELETE_EXPIRED_COMMITLOG: self.maintenance.delete_expired_commitlog,
            code.VIEW_BROKER_STATS_DATA: info.view_broker_stats_data,
            code.GET_ALL_CONSUMER_OFFSET: info.get_all_consumer_offset,
            code.GET_ALL_DELAY_OFFSET: info.get_all_delay_offset,
        }

    def _for_slaves(self) -> Mapping[BrokerRequestCode, Processor]:
        code, replication = BrokerRequestCode, self.replication
        return {
            code.GET_TIMER_CHECK_POINT: replication.get_timer_check_point,
            code.GET_TIMER_METRICS: replication.get_timer_metrics,
            code.EXCHANGE_BROKER_HA_INFO: replication.exchange_broker_ha_info,
            code.GET_BROKER_HA_STATUS: replication.get_broker_ha_status,
        }


NOT_ON_FAST_PORT: Final = frozenset(
    {
        BrokerRequestCode.PULL_MESSAGE,
        BrokerRequestCode.LITE_PULL_MESSAGE,
        BrokerRequestCode.POP_MESSAGE,
        BrokerRequestCode.PEEK_MESSAGE,
        BrokerRequestCode.NOTIFICATION,
        BrokerRequestCode.POLLING_INFO,
    }
)
"""What is answered on the main port only. Slaves ask for some tables on the fast one only."""

READS_MESSAGES: Final = MappingProxyType(
    {
        BrokerRequestCode.PULL_MESSAGE: "pull",
        BrokerRequestCode.LITE_PULL_MESSAGE: "litePull",
        BrokerRequestCode.POP_MESSAGE: "pop",
        BrokerRequestCode.QUERY_MESSAGE: "query",
        BrokerRequestCode.VIEW_MESSAGE_BY_ID: "query",
        BrokerRequestCode.QUERY_CONSUME_QUEUE: "query",
        BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP: "offset",
        BrokerRequestCode.GET_EARLIEST_MSG_STORETIME: "offset",
        BrokerRequestCode.CONSUMER_SEND_MSG_BACK: "sendBack",
    }
)
"""What looks for messages that may be on disk only, and may be asked again when it found one that is; with a word for it."""
