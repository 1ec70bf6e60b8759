"""Who is connected (Java: ConsumerManager, ProducerManager).

Owns: producers and consumers by group and connection, subscriptions of groups; who is told when a group changes.
Must not know: sockets; how a notice is sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cosmodrome.protocol.bodies.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, MessageModel
from cosmodrome.protocol.subscription import SubscriptionData

SILENCE_LIMIT_MS: Final = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client over one connection. `last_ms` is when it was heard last."""

    connection: int
    client_id: str
    address: str
    language: str
    version: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """What the member that spoke last said of its group."""

    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere


@dataclass(slots=True)
class _Consumers:
    state: GroupState
    members: dict[int, Client] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)


Notices = dict[str, tuple[int, ...]]
"""Group → connections that are to be told that it has changed."""


class Members:
    """All connected clients. Methods that change a group give whom to tell."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._consumers: dict[str, _Consumers] = {}
        self._producers: dict[str, dict[int, Client]] = {}

    def producer_seen(self, group: str, client: Client) -> None:
        """Note a producer."""
        self._producers.setdefault(group, {})[client.connection] = client

    def consumer_seen(self, data: ConsumerData, client: Client, *, is_notifying: bool) -> Notices:
        """Note a consumer and its subscriptions: who spoke last speaks for the group, with newer versions first."""
        state = GroupState(
            consume_type=data.consume_type,
            message_model=data.message_model,
            consume_from_where=data.consume_from_where,
        )
        group = self._consumers.get(data.group_name)
        if group is None:
            group = self._consumers[data.group_name] = _Consumers(state)
        group.state = state
        is_new = client.connection not in group.members
        group.members[client.connection] = client
        before = group.subscriptions.keys()
        told = {each.topic: each for each in data.subscription_data_set}
        group.subscriptions = {
            topic: each
            if (kept := group.subscriptions.get(topic)) is None or each.sub_version > kept.sub_version
            else kept
            for topic, each in told.items()
        }
        if is_notifying and (is_new or before != told.keys()):
            return self._notices(data.group_name, group)
        return {}

    def refresh(self, group: str, client: Client) -> None:
        """Note that a member was heard of which says nothing new."""
        found = self._consumers.get(group)
        if found is not None and client.connection in found.members:
            found.members[client.connection] = client

    def leave(
        self, connection: int, producer_group: str | None, consumer_group: str | None, *, is_notifying: bool
    ) -> Notices:
        """Take a client out of the groups that are named. COMPAT: the others are told even if it was no member."""
        if producer_group is not None:
            self._drop_producer(producer_group, connection)
        group = self._consumers.get(consumer_group or "")
        if group is None or consumer_group is None:
            return {}
        group.members.pop(connection, None)
        return self._after_leaving(consumer_group, group, is_notifying=is_notifying)

    def connection_lost(self, connection: int, *, is_notifying: bool = True) -> Notices:
        """Take a client whose connection has ended out of everything."""
        for name in list(self._producers):
            self._drop_producer(name, connection)
        notices: Notices = {}
        for name, group in list(self._consumers.items()):
            if group.members.pop(connection, None) is not None:
                notices |= self._after_leaving(name, group, is_notifying=is_notifying)
        return notices

    def silent(self, now_ms: int) -> tuple[int, ...]:
        """Give the connections of clients that were not heard of for too long."""
        heard: dict[int, int] = {}
        for client in self._everybody():
            heard[client.connection] = max(client.last_ms, heard.get(client.connection, 0))
        return tuple(connection for connection, last_ms in heard.items() if now_ms - last_ms > SILENCE_LIMIT_MS)

    def consumers(self, group: str) -> tuple[Client, ...]:
        """Give the members of a consumer group."""
        found = self._consumers.get(group)
        return tuple(found.members.values()) if found is not None else ()

    def state(self, group: str) -> GroupState | None:
        """Give what is known of a consumer group; None when nobody of it is connected."""
        found = self._consumers.get(group)
        return found.state if found is not None and found.members else None

    def subscriptions(self, group: str) -> dict[str, SubscriptionData]:
        """Give the subscriptions of a consumer group by topic."""
        found = self._consumers.get(group)
        return dict(found.subscriptions) if found is not None else {}

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Give the subscription of one topic."""
        found = self._consumers.get(group)
        return found.subscriptions.get(topic) if found is not None else None

    def groups_of(self, topic: str) -> tuple[str, ...]:
        """Give the consumer groups that are connected and subscribe to a topic."""
        return tuple(
            sorted(name for name, each in self._consumers.items() if each.members and topic in each.subscriptions)
        )

    def consumer_groups(self) -> tuple[str, ...]:
        """Give the names of the consumer groups that are connected."""
        return tuple(sorted(self._consumers))

    def producers(self, group: str) -> tuple[Client, ...]:
        """Give the producers of a group."""
        return tuple(self._producers.get(group, {}).values())

    def producer_groups(self) -> tuple[str, ...]:
        """Give the names of the producer groups that are connected."""
        return tuple(sorted(self._producers))

    def producer_by_id(self, client_id: str) -> Client | None:
        """Give the producer with this client id that was heard last; None when there is none."""
        found = [each for group in self._producers.values() for each in group.values() if each.client_id == client_id]
        return max(found, key=lambda client: client.last_ms, default=None)

    def consumer_by_id(self, group: str, client_id: str) -> Client | None:
        """Give the member of a consumer group with this client id; None when there is none."""
        return next((each for each in self.consumers(group) if each.client_id == client_id), None)

    def _everybody(self) -> Iterator[Client]:
        for group in self._consumers.values():
            yield from group.members.values()
        for producers in self._producers.values():
            yield from producers.values()

    def _drop_producer(self, name: str, connection: int) -> None:
        producers = self._producers.get(name, {})
        producers.pop(connection, None)
        if not producers:
            self._producers.pop(name, None)

    def _after_leaving(self, name: str, group: _Consumers, *, is_notifying: bool) -> Notices:
        if not group.members:
            del self._consumers[name]
            return {}
        return self._notices(name, group) if is_notifying else {}

    @staticmethod
    def _notices(name: str, group: _Consumers) -> Notices:
        """Of a group that broadcasts nobody depends on the others."""
        if group.state.message_model is MessageModel.BROADCASTING:
            return {}
        return {name: tuple(group.members)}
