"""Topics, as administrators make, change and look at them.

Owns: the requests about topics.
Must not know: how brokers are found and asked (reach.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from cosmodrome.client.admin.answers import Answers, Partial, checked, done
from cosmodrome.client.admin.reach import Reach, Target, read_with
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.name_server import ORDER_TOPIC_CONFIG
from cosmodrome.errors import NotFoundError, NotSupportedError
from cosmodrome.protocol.bodies.cluster import decode_group_list
from cosmodrome.protocol.bodies.offsets import TopicOffset, TopicStatsTable
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, BrokerTopicTable
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.headers.topic_admin import CreateTopicRequestHeader, TopicRequestHeader
from cosmodrome.protocol.messages.checks import check_topic

DEFAULT_QUEUES: Final = 8
_TEMPLATE: Final = "TBW102"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStats(Partial):
    """Where the queues of a topic begin and end.

    Attributes:
        queues: Every queue that may be read or written, at every broker that answered.
    """

    queues: Mapping[MessageQueue, TopicOffset]

    @property
    def message_count(self) -> int:
        """How many messages the queues hold."""
        return sum(each.max_offset - each.min_offset for each in self.queues.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Names(Partial):
    """Names that several brokers know, each once, in order."""

    names: tuple[str, ...]


class Topics:
    """`admin.topics`. Changes are made at all masters of a cluster, of all clusters, or at one broker.

    Every method raises, beside what it names: RemotingError and RefusedError of the only server that was asked,
    BrokersFailedError when several failed (a change: when any did), ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def names(self, *, cluster: str | None = None) -> tuple[str, ...]:
        """Give the topics that NameServers know, those of a cluster or all, in order."""
        if cluster is None:
            return tuple(sorted(await self._reach.name_server(lambda server: server.all_topics())))
        wanted = cluster
        return tuple(sorted(await self._reach.name_server(lambda server: server.topics_of_cluster(wanted))))

    async def route(self, topic: str) -> TopicRouteData:
        """Give where a topic is.

        Raises:
            NoRouteError: Nowhere.
        """
        return await self._reach.route(topic)

    async def clusters_of(self, topic: str) -> tuple[str, ...]:
        """Give the clusters whose brokers have a topic. Raises as `route`."""
        data = await self._reach.route(topic)
        return tuple(sorted({each.cluster for each in data.broker_datas if each.cluster}))

    async def create(
        self,
        topic: str,
        *,
        queues: int = DEFAULT_QUEUES,
        attributes: Mapping[str, str] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> Answers[None]:
        """Make a topic with so many queues to read and to write, or give one that there is these numbers.

        It may be read and written; `update` sets the rest. `attributes` are those of 5.x, for example
        {"message.type": "FIFO"}; older brokers pass over them.

        Raises:
            MessageError: The name cannot be one.
            ValueError: There is no such cluster or broker.
        """
        config = BrokerTopicConfig(
            topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, attributes=attributes
        )
        return await self.update(config, cluster=cluster, broker=broker)

    async def update(
        self, config: BrokerTopicConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[None]:
        """Give a topic exactly these numbers; it is made where it does not exist. Raises as `create`.

        An ordered topic also gets its queues written down in the NameServers, unless one broker is meant.
        """
        check_topic(config.topic_name)
        if config.read_queue_nums <= 0 or config.write_queue_nums <= 0:
            raise ValueError("a topic has at least one queue to read and one to write")
        targets = await self._reach.targets(cluster, broker)
        answers = done(
            f"topic {config.topic_name} was not made", await self._reach.each(targets, self._updating(config))
        )
        if config.order and broker is None:
            await self._write_order(config, targets)
        return answers

    async def set_perm(
        self, topic: str, perm: int, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[None]:
        """Change what may be done with a topic (2 writing, 4 reading, 6 both) where it exists; the rest stays.

        Raises:
            NotFoundError: No broker of those has it.
        """
        if perm not in range(8):
            raise ValueError(f"perm {perm} is none: 2 writing, 4 reading, 6 both")
        targets = await self._reach.targets(cluster, broker)
        found = done(f"topic {topic} was not read", await self._reach.each(targets, lambda at: self._config(at, topic)))
        configs = {name: config for name, config in found.values.items() if config is not None}
        if not configs:
            raise NotFoundError(targets[0].address, ResponseCode.TOPIC_NOT_EXIST, f"no broker has the topic {topic}")
        new = {each.address: configs[each.name] for each in targets if each.name in configs}

        async def change(address: str) -> None:
            await self._updating(msgspec.structs.replace(new[address], perm=perm, attributes=None))(address)

        having = [each for each in targets if each.name in configs]
        return done(f"topic {topic} was not changed", await self._reach.each(having, change))

    async def delete(self, topic: str, *, cluster: str | None = None) -> Answers[None]:
        """Take a topic away, with its messages: from the masters, then from the NameServers.

        A topic that does not exist is no error. Nothing is taken from the NameServers while a broker still has it.

        Raises:
            ValueError: There is no such cluster.
        """
        targets = await self._reach.targets(cluster, None)
        header = TopicRequestHeader(topic=topic)

        async def delete(address: str) -> None:
            await self._reach.requests.ask(address, BrokerRequestCode.DELETE_TOPIC_IN_BROKER, header)

        answers = done(f"topic {topic} was not deleted", await self._reach.each(targets, delete))
        clusters = {each.cluster for each in await self._reach.brokers(cluster)} if cluster is None else {cluster}
        servers = {each.address: each for each in await self._reach.name_servers()}

        async def forget(address: str) -> None:
            for name in sorted(clusters):
                await servers[address].delete_topic(topic, name)
            await servers[address].kv_delete(ORDER_TOPIC_CONFIG, topic)

        places = [Target(address, address) for address in servers]
        done(f"topic {topic} was not taken from NameServers", await self._reach.each(places, forget))
        return answers

    async def stats(self, topic: str, *, cluster: str | None = None) -> TopicStats:
        """Give where each queue begins and ends. Raises as `route`."""
        header = TopicRequestHeader(topic=topic)

        async def ask(address: str) -> TopicStatsTable:
            return await self._reach.read(address, BrokerRequestCode.GET_TOPIC_STATS_INFO, header, TopicStatsTable)

        targets = await self._reach.targets_of_topic(topic, cluster)
        answers = checked(f"topic {topic} was not read", await self._reach.each(targets, ask))
        queues = {queue: found for table in answers.values.values() for queue, found in table.offset_table.items()}
        return TopicStats(queues=dict(sorted(queues.items())), failures=answers.failures)

    async def configs(
        self, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[Mapping[str, BrokerTopicConfig]]:
        """Give the settings of all topics of each broker. Raises as `create`."""
        targets = await self._reach.targets(cluster, broker)
        return checked("topics were not read", await self._reach.each(targets, self._all_configs))

    async def config(
        self, topic: str, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[BrokerTopicConfig | None]:
        """Give the settings of a topic at each broker, None where it does not exist. Raises as `create`."""
        targets = await self._reach.targets(cluster, broker)
        answers = await self._reach.each(targets, lambda at: self._config(at, topic))
        return checked(f"topic {topic} was not read", answers)

    async def groups(self, topic: str) -> Names:
        """Give the consumer groups that read a topic: those online, and those with offsets. Raises as `route`."""
        header = TopicRequestHeader(topic=topic)

        async def ask(address: str) -> tuple[str, ...]:
            answer = await self._reach.requests.ask(address, BrokerRequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
            return read_with(address, decode_group_list, answer)

        targets = await self._reach.targets_of_topic(topic)
        answers = checked(f"groups of {topic} were not read", await self._reach.each(targets, ask))
        names = {name for each in answers.values.values() for name in each}
        return Names(names=tuple(sorted(names)), failures=answers.failures)

    def _updating(self, config: BrokerTopicConfig) -> "_Update":
        return _Update(self._reach, config)

    async def _config(self, address: str, topic: str) -> BrokerTopicConfig | None:
        header = TopicRequestHeader(topic=topic)
        try:
            return await self._reach.read(address, BrokerRequestCode.GET_TOPIC_CONFIG, header, BrokerTopicConfig)
        except NotSupportedError:  # 4.9
            return (await self._all_configs(address)).get(topic)
        except NotFoundError:
            return None

    async def _all_configs(self, address: str) -> Mapping[str, BrokerTopicConfig]:
        table = await self._reach.read(address, BrokerRequestCode.GET_ALL_TOPIC_CONFIG, None, BrokerTopicTable)
        return table.topic_config_table

    async def _write_order(self, config: BrokerTopicConfig, targets: tuple[Target, ...]) -> None:
        text = ";".join(f"{each.name}:{config.write_queue_nums}" for each in targets)
        servers = {each.address: each for each in await self._reach.name_servers()}

        async def put(address: str) -> None:
            await servers[address].kv_put(ORDER_TOPIC_CONFIG, config.topic_name, text)

        places = [Target(address, address) for address in servers]
        done(f"the order of {config.topic_name} was not written", await self._reach.each(places, put))


def create_topic_header(config: BrokerTopicConfig, attributes: str | None) -> CreateTopicRequestHeader:
    """Give the header that makes a topic, or changes it: `attributes` as `+name=value,-name`."""
    return CreateTopicRequestHeader(
        topic=config.topic_name,
        default_topic=_TEMPLATE,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm,
        topic_filter_type=config.topic_filter_type,
        topic_sys_flag=config.topic_sys_flag,
        order=config.order,
        attributes=attributes,
    )


class _Update:
    """What gives a topic its numbers at one broker."""

    def __init__(self, reach: Reach, config: BrokerTopicConfig) -> None:
        self._reach = reach
        attributes = config.attributes
        self._header = create_topic_header(
            config, ",".join(f"+{key}={value}" for key, value in attributes.items()) if attributes else None
        )

    async def __call__(self, address: str) -> None:
        await self._reach.requests.ask(address, BrokerRequestCode.UPDATE_AND_CREATE_TOPIC, self._header)
