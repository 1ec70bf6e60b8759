"""Brokers themselves: where they are, how they are, what they are set to.

Owns: the requests about brokers.
Must not know: how brokers are found and asked (reach.py).
"""

from collections.abc import Mapping

from cosmodrome.client.admin.answers import Answers, checked, done
from cosmodrome.client.admin.reach import Broker, Reach, read_with
from cosmodrome.client.properties_text import properties_from, properties_text
from cosmodrome.errors import RefusedError
from cosmodrome.protocol.bodies.broker_stats import BrokerStatsData
from cosmodrome.protocol.bodies.cluster import ClusterInfo, decode_kv_table
from cosmodrome.protocol.bodies.offsets import ConsumeStatsList
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.headers.statistics import GetConsumeStatsInBrokerHeader, ViewBrokerStatsDataRequestHeader


class Brokers:
    """`admin.brokers`. The masters of a cluster, of all clusters, or one broker by its name or address.

    Every method raises, beside what it names: RemotingError and RefusedError of the only broker that was asked,
    BrokersFailedError when several failed (a change: when any did), ValueError for an unknown cluster or broker,
    ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def list(self, *, cluster: str | None = None) -> tuple[Broker, ...]:
        """Give all brokers that are registered, slaves included, in order of cluster, name and id."""
        return await self._reach.brokers(cluster)

    async def cluster_info(self) -> ClusterInfo:
        """Give the same as NameServers write it."""
        return await self._reach.cluster_info()

    async def runtime_info(
        self, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[Mapping[str, str]]:
        """Give version, load and totals by their Java names; which ones there are depends on the release."""

        async def ask(address: str) -> Mapping[str, str]:
            answer = await self._reach.requests.ask(address, BrokerRequestCode.GET_BROKER_RUNTIME_INFO)
            return read_with(address, decode_kv_table, answer)

        targets = await self._reach.targets(cluster, broker)
        return checked("runtime info was not read", await self._reach.each(targets, ask))

    async def config(self, *, cluster: str | None = None, broker: str | None = None) -> Answers[Mapping[str, str]]:
        """Give the configuration of each broker."""

        async def ask(address: str) -> Mapping[str, str]:
            answer = await self._reach.requests.ask(address, BrokerRequestCode.GET_BROKER_CONFIG)
            return properties_from(answer.body.decode("utf-8", "replace"))

        targets = await self._reach.targets(cluster, broker)
        return checked("the configuration was not read", await self._reach.each(targets, ask))

    async def update_config(
        self, values: Mapping[str, str], *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[None]:
        """Change some settings. Apache's brokers accept settings that they do not know, and pass over them."""
        if not values:
            raise ValueError("no setting is given")
        body = properties_text(values).encode()

        async def ask(address: str) -> None:
            await self._reach.requests.ask(address, BrokerRequestCode.UPDATE_BROKER_CONFIG, None, body)

        targets = await self._reach.targets(cluster, broker)
        return done("the configuration was not changed", await self._reach.each(targets, ask))

    async def counter(
        self, name: str, key: str, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[BrokerStatsData | None]:
        """Give a counter of each broker over a minute, an hour and a day; None where nothing was counted yet.

        Names are for example TOPIC_PUT_NUMS with a topic as key, GROUP_GET_NUMS with `topic@group`.
        """
        header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
        missing = f"<{name}> <{key}> not exist"

        async def ask(address: str) -> BrokerStatsData | None:
            code = BrokerRequestCode.VIEW_BROKER_STATS_DATA
            try:
                return await self._reach.read(address, code, header, BrokerStatsData)
            except RefusedError as error:
                if error.code != ResponseCode.SYSTEM_ERROR or missing not in error.remark:
                    raise
                return None

        targets = await self._reach.targets(cluster, broker)
        return checked(f"counter {name} was not read", await self._reach.each(targets, ask))

    async def consume_stats(
        self, *, only_ordered: bool = False, cluster: str | None = None, broker: str | None = None
    ) -> Answers[ConsumeStatsList]:
        """Give the progress of all groups of each broker."""
        header = GetConsumeStatsInBrokerHeader(is_order=only_ordered)

        async def ask(address: str) -> ConsumeStatsList:
            code = BrokerRequestCode.GET_BROKER_CONSUME_STATS
            return await self._reach.read(address, code, header, ConsumeStatsList)

        targets = await self._reach.targets(cluster, broker)
        return checked("progress of groups was not read", await self._reach.each(targets, ask))
