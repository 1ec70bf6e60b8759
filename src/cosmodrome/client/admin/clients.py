"""Who is connected: producers, consumers, and what consumers are doing.

Owns: the requests about clients; which refusals mean that nobody is there.
Must not know: how brokers are found and asked (reach.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.client.admin.answers import Answers, Partial, checked
from cosmodrome.client.admin.reach import RELAYED_S, Reach, read_with
from cosmodrome.client.message import MessageQueue
from cosmodrome.errors import NotFoundError, RefusedError
from cosmodrome.protocol.bodies.consumer_running_info import ConsumerRunningInfo
from cosmodrome.protocol.bodies.consumers import Connection, ConsumerConnection, ProducerConnection, ProducerTableInfo
from cosmodrome.protocol.bodies.heartbeat import ConsumeType, MessageModel
from cosmodrome.protocol.bodies.offsets import GetConsumerStatusBody
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader, GetProducerConnectionListRequestHeader
from cosmodrome.protocol.headers.relays import GetConsumerRunningInfoRequestHeader, GetConsumerStatusRequestHeader
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.protocol.subscription import SubscriptionData

_NO_PRODUCERS: Final = "not exist"
"""What the remark ends in when a producer group has no member; the code is SYSTEM_ERROR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMembers(Partial):
    """A consumer group's members; none when it is offline.

    Attributes:
        members: By client id; a member is connected to every broker, and counts once.
        connections: By broker, every connection that it has.
        subscriptions: By topic, as brokers have them.
    """

    members: Mapping[str, Connection]
    connections: Mapping[str, tuple[Connection, ...]]
    subscriptions: Mapping[str, SubscriptionData]
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMembers(Partial):
    """A producer group's members, by client id, and its connections by broker."""

    members: Mapping[str, Connection]
    connections: Mapping[str, tuple[Connection, ...]]


class Clients:
    """`admin.clients`.

    Every method raises, beside what it names: RemotingError and RefusedError of the only broker that was asked,
    BrokersFailedError when all of several failed, ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def consumers(self, group: str) -> ConsumerMembers:
        """Give the members of a consumer group, of all brokers."""
        header = ConsumerGroupRequestHeader(consumer_group=group)

        async def ask(address: str) -> ConsumerConnection:
            code = BrokerRequestCode.GET_CONSUMER_CONNECTION_LIST
            try:
                return await self._reach.read(address, code, header, ConsumerConnection)
            except RefusedError as error:
                if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
                return ConsumerConnection()

        targets = await self._reach.targets(None, None)
        answers = checked(f"members of {group} were not read", await self._reach.each(targets, ask))
        online = [each for each in answers.values.values() if each.connection_set]
        return ConsumerMembers(
            members=_members(answers.values),
            connections={name: each.connection_set for name, each in answers.values.items() if each.connection_set},
            subscriptions={topic: data for each in online for topic, data in each.subscription_table.items()},
            consume_type=online[0].consume_type if online else None,
            message_model=online[0].message_model if online else None,
            failures=answers.failures,
        )

    async def producers(self, group: str) -> ProducerMembers:
        """Give the members of a producer group, of all brokers."""
        header = GetProducerConnectionListRequestHeader(producer_group=group)

        async def ask(address: str) -> ProducerConnection:
            code = BrokerRequestCode.GET_PRODUCER_CONNECTION_LIST
            try:
                return await self._reach.read(address, code, header, ProducerConnection)
            except RefusedError as error:
                if error.code != ResponseCode.SYSTEM_ERROR or _NO_PRODUCERS not in error.remark:
                    raise
                return ProducerConnection()

        targets = await self._reach.targets(None, None)
        answers = checked(f"members of {group} were not read", await self._reach.each(targets, ask))
        return ProducerMembers(
            members=_members(answers.values),
            connections={name: each.connection_set for name, each in answers.values.items() if each.connection_set},
            failures=answers.failures,
        )

    async def all_producers(
        self, *, cluster: str | None = None, broker: str | None = None
    ) -> Answers[ProducerTableInfo]:
        """Give the connections of all producer groups of each broker.

        Raises:
            ValueError: There is no such cluster or broker.
        """

        async def ask(address: str) -> ProducerTableInfo:
            return await self._reach.read(address, BrokerRequestCode.GET_ALL_PRODUCER_INFO, None, ProducerTableInfo)

        targets = await self._reach.targets(cluster, broker)
        return checked("producers were not read", await self._reach.each(targets, ask))

    async def running_info(self, group: str, client_id: str, *, with_stacks: bool = False) -> ConsumerRunningInfo:
        """Give what a consumer that is online says about itself.

        Raises:
            NotFoundError: No broker knows this client in this group.
            RefusedError: It does not answer (207).
        """
        members = await self.consumers(group)
        holding = [
            name for name, each in members.connections.items() if any(one.client_id == client_id for one in each)
        ]
        if not holding:
            members.whole()
            known = ", ".join(sorted(members.members)) or "none"
            remark = f"no member {client_id} of group {group} is online; there are: {known}"
            raise NotFoundError(self._reach.config.servers_shown, ResponseCode.CONSUMER_NOT_ONLINE, remark)
        address = (await self._reach.targets(None, holding[0]))[0].address
        header = GetConsumerRunningInfoRequestHeader(
            consumer_group=group, client_id=client_id, jstack_enable=with_stacks
        )
        code = BrokerRequestCode.GET_CONSUMER_RUNNING_INFO
        answer = await self._reach.requests.ask(address, code, header, timeout_s=RELAYED_S)
        return read_with(address, lambda body: decode_body(ConsumerRunningInfo, body), answer)

    async def held_offsets(
        self, group: str, topic: str, *, client_id: str | None = None
    ) -> Answers[Mapping[str, Mapping[MessageQueue, int]]]:
        """Give the offsets that members hold in memory, by client id, as each broker learned them.

        Raises:
            NoRouteError: The topic does not exist.
        """
        header = GetConsumerStatusRequestHeader(topic=topic, group=group, client_addr=client_id)

        async def ask(address: str) -> Mapping[str, Mapping[MessageQueue, int]]:
            code = BrokerRequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
            answer = await self._reach.requests.ask(address, code, header, timeout_s=RELAYED_S)
            found = read_with(address, lambda body: decode_body(GetConsumerStatusBody, body), answer)
            return found.consumer_table

        targets = await self._reach.targets_of_topic(topic)
        return checked(f"offsets of members of {group} were not read", await self._reach.each(targets, ask))


def _members(answers: Mapping[str, ConsumerConnection] | Mapping[str, ProducerConnection]) -> dict[str, Connection]:
    return {each.client_id: each for answer in answers.values() for each in answer.connection_set}
