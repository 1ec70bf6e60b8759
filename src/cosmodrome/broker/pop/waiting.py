"""Pops and notifications that wait for messages (Java: PopLongPollingService).

Owns: which of them wait for which topic and group, and until when.
Must not know: how they are answered; sockets; the clock.
"""

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.pop.names import topics_of
from cosmodrome.broker.pop.taking import PopAsk
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer

NEVER: Final = 2**63
QueueKey = tuple[str, int]
GroupKey = tuple[str, str]
"""Topic and group."""


@dataclass(slots=True, eq=False)
class Waiting:
    """One request that waits.

    Attributes:
        is_notification: Whether it only asks whether there is something.
        deadline_ms: When it is answered whatever came.
        look_ms: When it is looked at again.
        is_over: Whether it waits no more.
    """

    request: RemotingCommand
    peer: Peer
    ask: PopAsk
    is_notification: bool
    deadline_ms: int
    look_ms: int = NEVER
    is_over: bool = False

    @property
    def group(self) -> GroupKey:
        """The topic and the group for which it waits."""
        return self.ask.topic, self.ask.group

    @property
    def kind(self) -> tuple[int, str, bool, bool]:
        """What it has in common with others that find what it finds."""
        return self.ask.queue_id, self.ask.wanted_text, self.ask.is_in_order, self.is_notification


@dataclass(frozen=True, slots=True)
class WaitingLimits:
    """How many may wait: for one queue of a group, and in all."""

    of_queue: int
    in_all: int


class WaitingPops:
    """All that wait. Times are of a clock that never steps."""

    def __init__(self, limits: WaitingLimits) -> None:
        """Begin without any."""
        self._limits = limits
        self._by_group: dict[GroupKey, dict[Waiting, None]] = {}
        self._by_topic: dict[str, dict[GroupKey, None]] = {}
        self._by_connection: dict[int, dict[Waiting, None]] = {}
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: list[tuple[int, int, Waiting]] = []
        self._numbers = itertools.count()
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def hold(self, waiting: Waiting) -> bool:
        """Have a request wait; False when there are too many."""
        queue = (*waiting.group, waiting.ask.queue_id)
        if self._total >= self._limits.in_all or self._counts.get(queue, 0) > self._limits.of_queue:
            return False
        if waiting.group not in self._by_group:
            self._by_group[waiting.group] = {}
            for topic, _ in topics_of(*waiting.group):
                self._by_topic.setdefault(topic, {})[waiting.group] = None
        self._by_group[waiting.group][waiting] = None
        self._by_connection.setdefault(waiting.peer.connection_id, {})[waiting] = None
        self._counts[queue] = self._counts.get(queue, 0) + 1
        self._total += 1
        self._push(min(waiting.deadline_ms, waiting.look_ms), waiting)
        return True

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Give how many wait for a queue; -1 is any."""
        return self._counts.get((topic, group, queue_id), 0)

    def look_at(self, waiting: Waiting, look_ms: int) -> None:
        """Have a request looked at again then."""
        waiting.look_ms = look_ms
        self._push(look_ms, waiting)

    def at(self, queues: Iterable[QueueKey]) -> dict[GroupKey, list[Waiting]]:
        """Give, by topic and group, who waits for one of these queues, those first that have waited longest."""
        touched: dict[GroupKey, dict[str, set[int]]] = {}
        for topic, queue_id in queues:
            for group in self._by_topic.get(topic, ()):
                touched.setdefault(group, {}).setdefault(topic, set()).add(queue_id)
        return {
            group: [each for each in self._by_group[group] if _concerns(each, places)]
            for group, places in touched.items()
        }

    def of(self, topic: str, group: str) -> list[Waiting]:
        """Give who waits for a topic in a group."""
        return list(self._by_group.get((topic, group), ()))

    def of_topic(self, topic: str) -> list[Waiting]:
        """Give who waits for a topic in any group."""
        groups = [group for group in self._by_topic.get(topic, ()) if group[0] == topic]
        return [waiting for group in groups for waiting in self._by_group[group]]

    def take_timed(self, now_ms: int) -> list[Waiting]:
        """Give who is to be looked at, or answered, now. Those whose deadline is over are released."""
        found = []
        while self._times and self._times[0][0] <= now_ms:
            _, _, waiting = heapq.heappop(self._times)
            if waiting.is_over:
                continue
            if waiting.deadline_ms <= now_ms:
                self.release(waiting)
                found.append(waiting)
            elif waiting.look_ms <= now_ms:
                waiting.look_ms = NEVER
                self._push(waiting.deadline_ms, waiting)
                found.append(waiting)
        return found

    def next_ms(self) -> int | None:
        """Give when somebody is to be looked at, or answered; None when nobody waits."""
        while self._times and self._times[0][2].is_over:
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def release(self, waiting: Waiting) -> None:
        """Let a request wait no more."""
        if waiting.is_over or waiting not in self._by_group.get(waiting.group, ()):
            return
        waiting.is_over = True
        queue = (*waiting.group, waiting.ask.queue_id)
        self._total -= 1
        self._counts[queue] -= 1
        if not self._counts[queue]:
            del self._counts[queue]
        connection = self._by_connection[waiting.peer.connection_id]
        del connection[waiting]
        if not connection:
            del self._by_connection[waiting.peer.connection_id]
        del self._by_group[waiting.group][waiting]
        if not self._by_group[waiting.group]:
            self._forget(waiting.group)

    def connection_lost(self, connection: int) -> None:
        """Drop who waits over a connection that has ended."""
        for waiting in list(self._by_connection.get(connection, ())):
            self.release(waiting)

    def release_all(self) -> list[Waiting]:
        """Give all that wait; they wait no more."""
        found = [waiting for each in self._by_connection.values() for waiting in each]
        for waiting in found:
            self.release(waiting)
        return found

    def _forget(self, group: GroupKey) -> None:
        del self._by_group[group]
        for topic, _ in topics_of(*group):
            groups = self._by_topic[topic]
            del groups[group]
            if not groups:
                del self._by_topic[topic]

    def _push(self, time_ms: int, waiting: Waiting) -> None:
        heapq.heappush(self._times, (time_ms, next(self._numbers), waiting))


def _concerns(waiting: Waiting, places: dict[str, set[int]]) -> bool:
    if waiting.ask.queue_id < 0:
        return True
    of_topic = places.get(waiting.ask.topic, set())
    return waiting.ask.queue_id in of_topic or len(places) > bool(of_topic)
