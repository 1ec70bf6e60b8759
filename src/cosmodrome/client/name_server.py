"""What a NameServer can be asked, as functions with types.

Owns: the requests to a NameServer, and the reading of their answers.
Must not know: which of several servers to ask; connections (RemotingClient).
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.client.properties_text import properties_from, properties_text
from cosmodrome.client.route_source import RouteSource
from cosmodrome.protocol.bodies.cluster import (
    BrokerMemberGroup,
    ClusterInfo,
    TopicList,
    decode_broker_member_group,
    decode_cluster_info,
    decode_kv_table,
    decode_topic_list,
)
from cosmodrome.protocol.bodies.data_version import DataVersion, decode_data_version, encode_data_version
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.broker import (
    AddWritePermOfBrokerResponseHeader,
    GetBrokerMemberGroupRequestHeader,
    QueryDataVersionRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
    WritePermOfBrokerRequestHeader,
)
from cosmodrome.protocol.headers.kv_config import (
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    KVConfigKeyRequestHeader,
    PutKVConfigRequestHeader,
)
from cosmodrome.protocol.headers.topic import DeleteTopicFromNamesrvRequestHeader, GetTopicsByClusterRequestHeader

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"
"""KV namespace of ordered topics: topic → `broker:queues;broker:queues`."""


class NameServerClient(RouteSource):
    """One NameServer, of any release, and all that it can be asked. Errors are those of RouteSource."""

    async def all_topics(self) -> tuple[str, ...]:
        """Give all topic names, in no particular order.

        Raises:
            NotSupportedError: The server's `enableAllTopicList` is false.
        """
        answer = await self._ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        return self._read(decode_topic_list, answer).topic_list

    async def topics_of_cluster(self, cluster: str) -> tuple[str, ...]:
        """Give the topic names of a cluster; none for an unknown one.

        Raises:
            NotSupportedError: The server's `enableTopicList` is false.
        """
        header = GetTopicsByClusterRequestHeader(cluster=cluster)
        answer = await self._ask(RequestCode.GET_TOPICS_BY_CLUSTER, header)
        return self._read(decode_topic_list, answer).topic_list

    async def system_topics(self) -> TopicList:
        """Give the names of clusters and brokers, each of which is also the name of a topic, and a broker's address."""
        return self._read(decode_topic_list, await self._ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS))

    async def unit_topics(self) -> tuple[str, ...]:
        """Give the names of topics that are units'.

        Raises:
            NotSupportedError: The server's `enableTopicList` is false.
        """
        return await self._topics(RequestCode.GET_UNIT_TOPIC_LIST)

    async def unit_sub_topics(self) -> tuple[str, ...]:
        """Give the names of topics that units subscribe to. Raises as `unit_topics`."""
        return await self._topics(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)

    async def unit_sub_ununit_topics(self) -> tuple[str, ...]:
        """Give the names of topics that units subscribe to, and that are no units'. Raises as `unit_topics`."""
        return await self._topics(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)

    async def _topics(self, code: RequestCode) -> tuple[str, ...]:
        return self._read(decode_topic_list, await self._ask(code)).topic_list

    async def data_version(
        self, cluster: str, broker_name: str, broker_id: int, broker_addr: str
    ) -> DataVersion | None:
        """Give the version of the topics that a broker registered here; None when it is not registered.

        The question is put with a version that no broker has, so that it does not count as a sign of life.
        """
        header = QueryDataVersionRequestHeader(
            broker_name=broker_name, broker_addr=broker_addr, cluster_name=cluster, broker_id=broker_id
        )
        body = encode_data_version(DataVersion(counter=-1, state_version=-1, timestamp=-1))
        answer = await self._ask(RequestCode.QUERY_DATA_VERSION, header, body)
        return self._read(lambda data: decode_data_version(data, 0), answer) if answer.body else None

    async def cluster_info(self) -> ClusterInfo:
        """Give all clusters, brokers and addresses."""
        return self._read(decode_cluster_info, await self._ask(RequestCode.GET_BROKER_CLUSTER_INFO))

    async def member_group(self, cluster: str, broker_name: str) -> BrokerMemberGroup:
        """Give the addresses of a broker group (5.x); an unknown one has none, and the cluster is not checked."""
        header = GetBrokerMemberGroupRequestHeader(cluster_name=cluster, broker_name=broker_name)
        return self._read(decode_broker_member_group, await self._ask(RequestCode.GET_BROKER_MEMBER_GROUP, header))

    async def kv_get(self, namespace: str, key: str) -> str:
        """Give a KV value.

        Raises:
            NotFoundError: There is none.
        """
        answer = await self._ask(RequestCode.GET_KV_CONFIG, KVConfigKeyRequestHeader(namespace=namespace, key=key))
        # The binary header codec cannot carry an empty value.
        return decode_ext_fields(GetKVConfigResponseHeader, answer.ext_fields).value or ""

    async def kv_put(self, namespace: str, key: str, value: str) -> None:
        """Store a KV value."""
        header = PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
        await self._ask(RequestCode.PUT_KV_CONFIG, header)

    async def kv_delete(self, namespace: str, key: str) -> None:
        """Remove a KV value; none to remove is no error."""
        await self._ask(RequestCode.DELETE_KV_CONFIG, KVConfigKeyRequestHeader(namespace=namespace, key=key))

    async def kv_list(self, namespace: str) -> Mapping[str, str]:
        """Give all KV values of a namespace; an emptied one has none.

        Raises:
            NotFoundError: It never had any.
        """
        header = GetKVListByNamespaceRequestHeader(namespace=namespace)
        return self._read(decode_kv_table, await self._ask(RequestCode.GET_KVLIST_BY_NAMESPACE, header))

    async def wipe_write_perm(self, broker_name: str) -> int:
        """Take write permission from all topics of a broker, and give their number; 0 for an unknown broker."""
        header = WritePermOfBrokerRequestHeader(broker_name=broker_name)
        answer = await self._ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
        return decode_ext_fields(WipeWritePermOfBrokerResponseHeader, answer.ext_fields).wipe_topic_count or 0

    async def add_write_perm(self, broker_name: str) -> int:
        """Give permission to read and write back to all topics of a broker (4.9.2), and give their number."""
        header = WritePermOfBrokerRequestHeader(broker_name=broker_name)
        answer = await self._ask(RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
        return decode_ext_fields(AddWritePermOfBrokerResponseHeader, answer.ext_fields).add_topic_count or 0

    async def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Forget a topic, in one cluster (4.9.4, older servers everywhere) or everywhere; brokers keep theirs."""
        header = DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=cluster)
        await self._ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, header)

    async def get_config(self) -> Mapping[str, str]:
        """Give the configuration, in the order in which the server lists it."""
        answer = await self._ask(RequestCode.GET_NAMESRV_CONFIG)
        return properties_from(answer.body.decode("utf-8", "replace"))

    async def update_config(self, values: Mapping[str, str]) -> str | None:
        """Change configuration, all of it or nothing, and give what the server says about it, if anything.

        Raises:
            NotPermittedError: These keys may not be changed, or not from here.
        """
        answer = await self._ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, properties_text(values).encode())
        return answer.remark or None
