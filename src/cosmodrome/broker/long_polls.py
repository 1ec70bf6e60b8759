"""Pulls that wait for messages (Java: PullRequestHoldService).

Owns: which pulls wait at which queue, and until when.
Must not know: how a pull is answered; sockets; the clock.
"""

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from cosmodrome.broker.filters.subscriptions import Wanted
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.store.reading import ReadLimits
from cosmodrome.transport.dispatch import Peer

SWEEP_MS: Final = 5000
"""A pull that was passed by messages which it does not want is told of them after this time."""
AGAIN_MS: Final = 500
"""When a pull is looked at again whose peer takes nothing."""
MOST_OF_ONE_CONNECTION: Final = 8192

QueueKey = tuple[str, int]
KeyT = TypeVar("KeyT")


@dataclass(slots=True, eq=False)
class HeldPull:
    """One pull that waits.

    Attributes:
        key: Topic and number of the queue.
        asked_offset: From where it was asked.
        offset: From where it looks on: everything before was looked at.
        limits: How much it takes.
        wanted: Its filter.
        deadline_ms: When it is answered whatever came.
        is_over: Whether it waits no more.
    """

    request: RemotingCommand
    peer: Peer
    key: QueueKey
    asked_offset: int
    offset: int
    deadline_ms: int
    limits: ReadLimits
    wanted: Wanted
    is_over: bool = False


class LongPolls:
    """All pulls that wait, by queue and by connection; deadlines in one heap."""

    def __init__(self) -> None:
        """Begin without any."""
        self._by_queue: dict[QueueKey, dict[HeldPull, None]] = {}
        self._by_connection: dict[int, dict[HeldPull, None]] = {}
        self._deadlines: list[tuple[int, int, HeldPull]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return sum(map(len, self._by_connection.values()))

    def hold(self, pull: HeldPull) -> bool:
        """Have a pull wait; False when its connection has too many that wait."""
        if len(self._by_connection.get(pull.peer.connection_id, ())) >= MOST_OF_ONE_CONNECTION:
            return False
        self._keep(pull)
        return True

    def _keep(self, pull: HeldPull) -> None:
        self._by_queue.setdefault(pull.key, {})[pull] = None
        self._by_connection.setdefault(pull.peer.connection_id, {})[pull] = None
        self._push(pull)

    def postpone(self, pull: HeldPull, offset: int, now_ms: int) -> None:
        """Note that messages came which a pull does not want: it is told soon, and need not look at them again."""
        pull.offset = offset
        if pull.deadline_ms > now_ms + SWEEP_MS:
            pull.deadline_ms = now_ms + SWEEP_MS
            self._push(pull)

    def later(self, pull: HeldPull, now_ms: int) -> None:
        """Look at a pull again soon: its peer takes nothing now. It may be one that is due."""
        deadline_ms = now_ms + AGAIN_MS
        if pull.is_over:
            pull.is_over = False
            pull.deadline_ms = deadline_ms
            self._keep(pull)
        elif pull.deadline_ms > deadline_ms:
            pull.deadline_ms = deadline_ms
            self._push(pull)

    def at(self, keys: Iterable[QueueKey]) -> list[HeldPull]:
        """Give the pulls that wait at these queues."""
        return [pull for key in keys for pull in self._by_queue.get(key, ())]

    def of_topic(self, topic: str) -> list[HeldPull]:
        """Give the pulls that wait at any queue of a topic."""
        return [pull for key, pulls in self._by_queue.items() if key[0] == topic for pull in pulls]

    def due(self, now_ms: int) -> list[HeldPull]:
        """Give, once, the pulls whose time is over; they wait no more."""
        found = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, _, pull = heapq.heappop(self._deadlines)
            if not pull.is_over and pull.deadline_ms <= now_ms:
                self.release(pull)
                found.append(pull)
        return found

    def next_deadline_ms(self) -> int | None:
        """Give when the next pull is due; None when none waits."""
        while self._deadlines and self._deadlines[0][2].is_over:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def release(self, pull: HeldPull) -> None:
        """Let a pull wait no more."""
        pull.is_over = True
        _drop(self._by_queue, pull.key, pull)
        _drop(self._by_connection, pull.peer.connection_id, pull)

    def connection_lost(self, connection: int) -> None:
        """Drop the pulls of a connection that has ended."""
        for pull in list(self._by_connection.get(connection, ())):
            self.release(pull)

    def release_all(self) -> list[HeldPull]:
        """Give all that wait; they wait no more."""
        found = [pull for pulls in self._by_connection.values() for pull in pulls]
        for pull in found:
            self.release(pull)
        return found

    def _push(self, pull: HeldPull) -> None:
        heapq.heappush(self._deadlines, (pull.deadline_ms, next(self._numbers), pull))


def _drop(table: dict[KeyT, dict[HeldPull, None]], key: KeyT, pull: HeldPull) -> None:
    pulls = table.get(key, {})
    pulls.pop(pull, None)
    if not pulls:
        table.pop(key, None)
