"""How far groups have come (Java: ConsumerOffsetManager).

Owns: committed offsets, pulled offsets, resets that wait for a group's next pull; their table as it is kept.
Must not know: what is in a queue; files.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.offsets import ConsumerOffsetTable

_SEPARATOR: Final = "@"
QueueOffsets = dict[int, int]


class Offsets:
    """Offsets by topic and group, then by number of the queue. `is_changed` is for whoever keeps them to take back."""

    def __init__(self, now_ms: int) -> None:
        """Begin without any."""
        self._committed: dict[tuple[str, str], QueueOffsets] = {}
        self._pulled: dict[tuple[str, str], QueueOffsets] = {}
        self._resets: dict[tuple[str, str], QueueOffsets] = {}
        self._version = DataVersion(counter=0, timestamp=now_ms)
        self.is_changed = False
        self.kept_ms = 0
        """When the table was kept that was taken over."""

    def load(self, table: ConsumerOffsetTable) -> None:
        """Take over a table that was kept."""
        self._committed |= _by_topic_and_group(table.offset_table)
        self._pulled |= _by_topic_and_group(table.pull_offset_table or {})
        if table.data_version is not None:
            self._version = table.data_version
            self.kept_ms = table.data_version.timestamp or 0

    def fit(self, ends: Mapping[tuple[str, int], int]) -> int:
        """Move what is committed beyond the end of a queue to that end, and say how often; other queues stay.

        A log that was cut, or a slave that had not everything, leaves such offsets. A group with one would not get what
        is stored before its offset is reached again.
        """
        moved = 0
        for (topic, _), offsets in self._committed.items():
            for queue_id, offset in offsets.items():
                end = ends.get((topic, queue_id))
                if end is not None and offset > end:
                    offsets[queue_id] = end
                    moved += 1
        self.is_changed = self.is_changed or moved > 0
        return moved

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Give topic and group of everything that is committed or was pulled."""
        return tuple(self._committed | self._pulled)

    def committed(self, topic: str, group: str, queue_id: int) -> int | None:
        """Give the offset that a group has committed; None when it has not, or has committed one below 0."""
        offset = self._committed.get((topic, group), {}).get(queue_id, -1)
        return offset if offset >= 0 else None

    def commit(self, topic: str, group: str, queue_id: int, offset: int) -> bool:
        """Commit an offset, whatever it is. Tell whether it counts: not while a reset waits."""
        if queue_id in self._resets.get((topic, group), {}):
            return False
        self._committed.setdefault((topic, group), {})[queue_id] = offset
        self.is_changed = True
        return True

    def pulled(self, topic: str, group: str, queue_id: int) -> int:
        """Give the offset behind what a group has pulled last, 0 when it has not."""
        return self._pulled.get((topic, group), {}).get(queue_id, 0)

    def note_pull(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        """Note behind what a group has pulled."""
        self._pulled.setdefault((topic, group), {})[queue_id] = offset

    def reset(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        """Have a group go on from another offset: its next pull is told, and until then it commits nothing."""
        self._committed.setdefault((topic, group), {})[queue_id] = offset
        self._resets.setdefault((topic, group), {})[queue_id] = offset
        self.is_changed = True

    def take_reset(self, topic: str, group: str, queue_id: int) -> int | None:
        """Give, once, where a group is to go on; None when nothing waits."""
        resets = self._resets.get((topic, group))
        if resets is None or queue_id not in resets:
            return None
        offset = resets.pop(queue_id)
        if not resets:
            del self._resets[topic, group]
        return offset

    def of(self, topic: str, group: str) -> Mapping[int, int]:
        """Give the committed offsets of a group in a topic, by number of the queue."""
        return self._committed.get((topic, group), {})

    def topics_of(self, group: str) -> tuple[str, ...]:
        """Give the topics in which a group has committed something."""
        return tuple(sorted(topic for topic, each in self._committed if each == group))

    def groups_of(self, topic: str) -> tuple[str, ...]:
        """Give the groups that have committed something in a topic."""
        return tuple(sorted(group for each, group in self._committed if each == topic))

    def copy(self, topic: str, source: str, target: str) -> None:
        """Give a group what another has committed in a topic; nothing when that is nothing."""
        offsets = self._committed.get((topic, source))
        if offsets:
            self._committed[topic, target] = dict(offsets)
            self.is_changed = True

    def forget_topic(self, topic: str) -> None:
        """Forget everything about a topic, resets that wait too."""
        self._forget(lambda key: key[0] == topic)

    def forget_group(self, group: str) -> None:
        """Forget everything about a group, resets that wait too."""
        self._forget(lambda key: key[1] == group)

    def forget_resets(self, group: str) -> None:
        """Forget the resets of a group that wait."""
        for key in [key for key in self._resets if key[1] == group]:
            del self._resets[key]

    def _forget(self, is_gone: Callable[[tuple[str, str]], bool]) -> None:
        for table in (self._committed, self._pulled, self._resets):
            for key in [key for key in table if is_gone(key)]:
                del table[key]
        self.is_changed = True

    def table(self, now_ms: int | None = None) -> ConsumerOffsetTable:
        """Give the table as it is shown; with a time, as it is kept, which moves its version."""
        if now_ms is not None:
            counter = (self._version.counter or 0) + 1
            self._version = DataVersion(counter=counter, state_version=self._version.state_version, timestamp=now_ms)
        groups: dict[str, list[str]] = {}
        for topic, group in sorted(self._committed):
            groups.setdefault(group, []).append(topic)
        return ConsumerOffsetTable(
            offset_table=_joined(self._committed),
            pull_offset_table=_joined(self._pulled),
            group_topic_map={group: tuple(topics) for group, topics in groups.items()},
            data_version=self._version,
        )


def _joined(table: Mapping[tuple[str, str], QueueOffsets]) -> dict[str, QueueOffsets]:
    return {f"{topic}{_SEPARATOR}{group}": dict(offsets) for (topic, group), offsets in table.items()}


def _by_topic_and_group(table: Mapping[str, Mapping[int, int]]) -> dict[tuple[str, str], QueueOffsets]:
    found = {}
    for key, offsets in table.items():
        topic, separator, group = key.partition(_SEPARATOR)
        if separator and topic and group:
            found[topic, group] = dict(offsets)
    return found
