"""Locks of queues, for consumption in order (Java: RebalanceLockManager).

Owns: who holds a queue of a group, and until when.
Must not know: who is connected; whether a queue exists.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cosmodrome.protocol.bodies.message_queue import MessageQueue

LOCK_MS: Final = 60_000


class _Lock(NamedTuple):
    client_id: str
    since_ms: int


class QueueLocks:
    """Locks by group. Times are of a clock that never steps."""

    def __init__(self) -> None:
        """Begin without any."""
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue], now_ms: int) -> tuple[MessageQueue, ...]:
        """Lock queues, or renew locks, and give those that the client holds now."""
        locks = self._groups.setdefault(group, {})
        granted = []
        for queue in queues:
            held = locks.get(queue)
            if held is None or held.client_id == client_id or now_ms - held.since_ms >= LOCK_MS:
                locks[queue] = _Lock(client_id, now_ms)
                granted.append(queue)
        if not locks:
            del self._groups[group]
        return tuple(granted)

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Give locks back; those of others stay."""
        locks = self._groups.get(group, {})
        for queue in queues:
            held = locks.get(queue)
            if held is not None and held.client_id == client_id:
                del locks[queue]
        if not locks:
            self._groups.pop(group, None)

    def is_any_held(self, group: str, now_ms: int) -> bool:
        """Whether somebody consumes in order in this group."""
        return any(now_ms - held.since_ms < LOCK_MS for held in self._groups.get(group, {}).values())

    def forget_group(self, group: str) -> None:
        """Forget the locks of a group."""
        self._groups.pop(group, None)

    def forget_topic(self, topic: str) -> None:
        """Forget the locks of a topic's queues."""
        for group, locks in list(self._groups.items()):
            for queue in [queue for queue in locks if queue.topic == topic]:
                del locks[queue]
            if not locks:
                del self._groups[group]

    def forget_expired(self, now_ms: int) -> None:
        """Forget locks that nobody holds any more."""
        for group, locks in list(self._groups.items()):
            for queue in [queue for queue, held in locks.items() if now_ms - held.since_ms >= LOCK_MS]:
                del locks[queue]
            if not locks:
                del self._groups[group]
