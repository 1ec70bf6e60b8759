"""PROCESSORS: which function answers which request; the protocol surface at a glance."""

from collections.abc import Mapping
from dataclasses import dataclass

from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.processors.kv_config import KVConfigProcessor
from cosmodrome.namesrv.processors.listing import ListingProcessor
from cosmodrome.namesrv.processors.namesrv_config import NamesrvConfigProcessor
from cosmodrome.namesrv.processors.route import RouteProcessor
from cosmodrome.namesrv.processors.topic import TopicProcessor
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.transport.dispatch import Processor


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """The families, each with the parts that it uses."""

    route: RouteProcessor
    broker: BrokerProcessor
    topic: TopicProcessor
    listing: ListingProcessor
    kv_config: KVConfigProcessor
    namesrv_config: NamesrvConfigProcessor

    def by_code(self) -> Mapping[RequestCode, Processor]:
        """Give the table of everything that a NameServer answers."""
        return {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self.route.get_route_info_by_topic,
            RequestCode.REGISTER_BROKER: self.broker.register_broker,
            RequestCode.UNREGISTER_BROKER: self.broker.unregister_broker,
            RequestCode.BROKER_HEARTBEAT: self.broker.broker_heartbeat,
            RequestCode.QUERY_DATA_VERSION: self.broker.query_data_version,
            RequestCode.GET_BROKER_CLUSTER_INFO: self.listing.get_broker_cluster_info,
            RequestCode.GET_BROKER_MEMBER_GROUP: self.broker.get_broker_member_group,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self.broker.wipe_write_perm_of_broker,
            RequestCode.ADD_WRITE_PERM_OF_BROKER: self.broker.add_write_perm_of_broker,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self.listing.get_all_topic_list_from_nameserver,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self.topic.delete_topic_in_namesrv,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV: self.topic.register_topic_in_namesrv,
            RequestCode.GET_TOPICS_BY_CLUSTER: self.listing.get_topics_by_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self.listing.get_system_topic_list_from_ns,
            RequestCode.GET_UNIT_TOPIC_LIST: self.listing.get_unit_topic_list,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: self.listing.get_has_unit_sub_topic_list,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: self.listing.get_has_unit_sub_ununit_topic_list,
            RequestCode.PUT_KV_CONFIG: self.kv_config.put_kv_config,
            RequestCode.GET_KV_CONFIG: self.kv_config.get_kv_config,
            RequestCode.DELETE_KV_CONFIG: self.kv_config.delete_kv_config,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self.kv_config.get_kvlist_by_namespace,
            RequestCode.UPDATE_NAMESRV_CONFIG: self.namesrv_config.update_namesrv_config,
            RequestCode.GET_NAMESRV_CONFIG: self.namesrv_config.get_namesrv_config,
        }
