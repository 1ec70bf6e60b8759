"""Consumer groups, as administrators make, change and look at them.

Owns: the requests about groups.
Must not know: how brokers are found and asked (reach.py); what groups have consumed (offsets.py).
"""

from collections.abc import Mapping

import msgspec

from cosmodrome.client.admin.answers import Answers, checked, done
from cosmodrome.client.admin.reach import Reach, Target
from cosmodrome.client.admin.topics import Names
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupTable
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.group_admin import DeleteSubscriptionGroupRequestHeader
from cosmodrome.protocol.headers.topic_admin import TopicRequestHeader
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.protocol.messages.checks import DLQ_PREFIX, RETRY_PREFIX, check_group


class Groups:
    """`admin.groups`. Changes are made at all masters of a cluster, of all clusters, or at one broker.

    Every method raises, beside what it names: RemotingError and RefusedError of the only server that was asked,
    BrokersFailedError when several failed (a change: when any did), ValueError for an unknown cluster or broker,
    ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def create(
        self,
        group: str | SubscriptionGroupConfig,
        *,
        retry_max_times: int | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> Answers[None]:
        """Make a group, or give one that there is these settings; a name alone means the defaults.

        Raises:
            MessageError: The name cannot be one.
        """
        config = group if isinstance(group, SubscriptionGroupConfig) else SubscriptionGroupConfig(group_name=group)
        if retry_max_times is not None:
            config = msgspec.structs.replace(config, retry_max_times=retry_max_times)
        check_group(config.group_name)
        body = encode_body(config)

        async def create(address: str) -> None:
            code = BrokerRequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
            await self._reach.requests.ask(address, code, None, body)

        targets = await self._reach.targets(cluster, broker)
        return done(f"group {config.group_name} was not made", await self._reach.each(targets, create))

    async def delete(
        self, group: str, *, clean_offsets: bool = True, cluster: str | None = None, broker: str | None = None
    ) -> Answers[None]:
        """Take a group away, with its retry and dead-letter topics; a group that does not exist is no error.

        With `clean_offsets` False a group that is made anew under this name goes on where this one was.
        """
        header = DeleteSubscriptionGroupRequestHeader(
            group_name=group, clean_offset=clean_offsets, remove_offset=clean_offsets
        )
        topics = (RETRY_PREFIX + group, DLQ_PREFIX + group)

        async def delete(address: str) -> None:
            await self._reach.requests.ask(address, BrokerRequestCode.DELETE_SUBSCRIPTIONGROUP, header)
            for topic in topics:
                code = BrokerRequestCode.DELETE_TOPIC_IN_BROKER
                await self._reach.requests.ask(address, code, TopicRequestHeader(topic=topic))

        targets = await self._reach.targets(cluster, broker)
        answers = done(f"group {group} was not deleted", await self._reach.each(targets, delete))
        if broker is None:
            await self._forget(group, topics, cluster)
        return answers

    async def configs(
        self, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[Mapping[str, SubscriptionGroupConfig]]:
        """Give the settings of all groups of each broker."""
        targets = await self._reach.targets(cluster, broker)
        return checked("groups were not read", await self._reach.each(targets, self._all_configs))

    async def config(
        self, group: str, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[SubscriptionGroupConfig | None]:
        """Give the settings of a group at each broker, None where it does not exist; asking creates nothing."""

        async def ask(address: str) -> SubscriptionGroupConfig | None:
            # COMPAT: 352 makes the group that it is asked for.
            return (await self._all_configs(address)).get(group)

        targets = await self._reach.targets(cluster, broker)
        return checked(f"group {group} was not read", await self._reach.each(targets, ask))

    async def names(self, *, cluster: str | None = None) -> Names:
        """Give the groups that brokers know."""
        answers = await self.configs(cluster=cluster)
        names = {name for each in answers.values.values() for name in each}
        return Names(names=tuple(sorted(names)), failures=answers.failures)

    async def _all_configs(self, address: str) -> Mapping[str, SubscriptionGroupConfig]:
        code = BrokerRequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        return (await self._reach.read(address, code, None, SubscriptionGroupTable)).subscription_group_table

    async def _forget(self, group: str, topics: tuple[str, ...], cluster: str | None) -> None:
        servers = {each.address: each for each in await self._reach.name_servers()}

        async def forget(address: str) -> None:
            for topic in topics:
                await servers[address].delete_topic(topic, cluster)

        places = [Target(address, address) for address in servers]
        done(f"topics of group {group} were not taken from NameServers", await self._reach.each(places, forget))
