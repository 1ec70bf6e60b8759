"""Which queues of a topic are whose: the strategies that the members of a group agree on (Java: rebalance/*).

Owns: the strategies and their names; every member computes the same from the same lists, in any language.
Must not know: where the lists come from; what is done with a queue that is gained or lost.

Queues are sorted by topic, broker name and id, members as texts, before a strategy sees them. A member that is not
in the list gets nothing. All results are those of Java 5.5.0 and 4.9.7 for the same lists.
"""

import bisect
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol, TypeVar

VIRTUAL_NODES: Final = 10


class Queue(Protocol):
    """What a strategy needs to know of a queue."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def broker_name(self) -> str:
        """The broker group that has it."""

    @property
    def queue_id(self) -> int:
        """Its number there."""


QueueT = TypeVar("QueueT", bound=Queue)


class AllocationStrategy(Protocol):
    """One rule; all members of a group must use the same."""

    @property
    def name(self) -> str:
        """Its name in Java."""

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member. Nothing when it is not a member or there is no queue."""


class Averagely:
    """Neighbouring queues, the same number for each member; the first members get what is left over."""

    name: Final = "AVG"

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member."""
        if own_id not in members:
            return []
        index = members.index(own_id)
        share, left_over = divmod(len(queues), len(members))
        has_one_more = index < left_over
        size = share + 1 if has_one_more else share
        start = index * size if has_one_more else index * size + left_over
        return list(queues[start : start + size])


class ByCircle:
    """Queues are dealt out like cards."""

    name: Final = "AVG_BY_CIRCLE"

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member."""
        if own_id not in members:
            return []
        return list(queues[members.index(own_id) :: len(members)])


class ConsistentHash:
    """A ring on which each member stands several times; few queues move when one comes or goes."""

    name: Final = "CONSISTENT_HASH"

    def __init__(self, virtual_nodes: int = VIRTUAL_NODES) -> None:
        """Let each member stand `virtual_nodes` times, at least once.

        Raises:
            ValueError: Fewer than one.
        """
        if virtual_nodes < 1:
            raise ValueError(f"a member stands at least once on the ring, not {virtual_nodes} times")
        self._virtual_nodes = virtual_nodes

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member."""
        if own_id not in members:
            return []
        ring = self._ring(members)
        places = sorted(ring)
        return [queue for queue in queues if ring[_at_or_after(places, _ring_place(_queue_text(queue)))] == own_id]

    def _ring(self, members: Iterable[str]) -> dict[int, str]:
        ring: dict[int, str] = {}
        standing: dict[str, int] = {}
        for member in members:
            # An id that is listed twice goes on counting its places, as in Java.
            first = standing.get(member, 0)
            standing[member] = first + self._virtual_nodes
            for number in range(first, first + self._virtual_nodes):
                ring[_ring_place(f"{member}-{number}")] = member
        return ring


class FixedQueues:
    """Always the queues of a list, whoever else is there (Java: CONFIG)."""

    name: Final = "CONFIG"

    def __init__(self, queues: Iterable[Queue]) -> None:
        self._queues = tuple(queues)

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:  # noqa: ARG002 -- the list decides alone
        """Give the queues of the list, in its order; one that the topic has not (now) is left out.

        COMPAT: Java pulls from a queue that does not exist for ever.
        """
        there = {_identity(queue): queue for queue in queues}
        return [there[_identity(queue)] for queue in self._queues if _identity(queue) in there]


class MachineRoom:
    """Only queues of brokers that are called `ROOM@NAME` with one of the rooms (Java: MACHINE_ROOM)."""

    name: Final = "MACHINE_ROOM"

    def __init__(self, rooms: Collection[str]) -> None:
        self._rooms = frozenset(rooms)

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member; those of other rooms are nobody's."""
        if own_id not in members:
            return []
        index = members.index(own_id)
        near = [queue for queue in queues if self._is_near(queue.broker_name)]
        share, left_over = divmod(len(near), len(members))
        own = near[index * share : (index + 1) * share]
        if index < left_over:
            own.append(near[share * len(members) + index])
        return own

    def _is_near(self, broker_name: str) -> bool:
        parts = broker_name.split("@")
        return len(parts) == 2 and parts[0] in self._rooms


class NearbyRooms:
    """Another strategy within each room; queues of rooms without a member go to all (Java: MACHINE_ROOM_NEARBY)."""

    def __init__(
        self, inner: AllocationStrategy, queue_room: Callable[[Queue], str], member_room: Callable[[str], str]
    ) -> None:
        self.name: Final = f"MACHINE_ROOM_NEARBY-{inner.name}"
        self._inner = inner
        self._queue_room = queue_room
        self._member_room = member_room

    def allocate(self, own_id: str, members: Sequence[str], queues: Sequence[QueueT]) -> list[QueueT]:
        """Give the queues of one member: those of its room first, then those of deserted rooms by their names."""
        if own_id not in members:
            return []
        queues_in: dict[str, list[QueueT]] = {}
        for queue in queues:
            queues_in.setdefault(self._queue_room(queue), []).append(queue)
        members_in: dict[str, list[str]] = {}
        for member in members:
            members_in.setdefault(self._member_room(member), []).append(member)
        room = self._member_room(own_id)
        own = self._inner.allocate(own_id, members_in[room], queues_in.get(room, []))
        for deserted in sorted(queues_in.keys() - members_in.keys()):
            own += self._inner.allocate(own_id, members, queues_in[deserted])
        return own


def _identity(queue: Queue) -> tuple[str, str, int]:
    return queue.topic, queue.broker_name, queue.queue_id


def _queue_text(queue: Queue) -> str:
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def _ring_place(text: str) -> int:
    """Give the first four bytes of the MD5 of a text: where it stands on the ring of all members, in Java too."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


def _at_or_after(places: Sequence[int], place: int) -> int:
    return places[bisect.bisect_left(places, place) % len(places)]
