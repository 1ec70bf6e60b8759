"""Messages that go out.

Owns: pulls (11, 361), those that are held, filters.
Must not know: how messages arrive; where subscriptions come from, but by asking `Groups`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.support.faulty_broker.groups import Groups, Subscription
from tests.support.faulty_broker.journal import Reply
from tests.support.faulty_broker.line import Under
from tests.support.faulty_broker.records import Record, tag_hash
from tests.support.faulty_broker.rules import RefusedError, Release
from tests.support.faulty_broker.store import SCHEDULE, MemoryStore, Topic
from tests.support.faulty_broker.surroundings import Surroundings

_COMMIT: Final = 1
_SUSPEND: Final = 2
_WITH_SUBSCRIPTION: Final = 4
_MOST_MESSAGES: Final = 32
_MOST_BYTES: Final = 262_144


@dataclass(slots=True, kw_only=True)
class PullSettings:
    """How the double answers pulls. All may be changed at any time."""

    suggested_broker_id: int = 0
    is_holding: bool = True
    """Whether long polling is on."""
    longest_hold_s: float = 1000.0
    """Held no longer than this, whatever the request says."""
    extra_hold_s: float = 0.0
    """Held so much longer than the request says, as the sweep of a real broker does."""
    sweep_s: float = 5.0
    """How long after messages that do not match a held pull is told of them."""


@dataclass(slots=True, eq=False)
class Held:
    """One pull that waits."""

    under: Under
    topic: Topic
    queue_id: int
    offset: int
    wanted: Subscription
    is_over: bool = False


class Pulls:
    """Pulls of one broker."""

    def __init__(self, store: MemoryStore, release: Release, groups: Groups, surroundings: Surroundings) -> None:
        self._store = store
        self._release = release
        self._groups = groups
        self._around = surroundings
        self.settings = PullSettings()
        self.held: list[Held] = []
        store.on_append.append(self._appended)

    def pull(self, under: Under) -> Reply | None:
        """11 and 361."""
        ext = under.arrival.ext
        if under.arrival.code == 361 and not self._release.is_5:
            raise RefusedError(3, " request type 361 not supported")
        topic = self._topic(ext["topic"])
        queue_id, offset, flags = int(ext["queueId"]), int(ext["queueOffset"]), int(ext["sysFlag"])
        self._groups.add_group(ext["consumerGroup"])
        if not 0 <= queue_id < topic.read:
            remark = (
                f"queueId[{queue_id}] is illegal, topic:[{topic.name}] topicConfig.readQueueNums:[{topic.read}] "
                f"consumer:[/{under.line.peer}]"
            )
            raise RefusedError(self._release.illegal, remark)
        wanted = self._wanted(ext, topic.name, is_own=bool(flags & _WITH_SUBSCRIPTION))
        if wanted.kind != "TAG" and (self._groups.sql is None or wanted.kind != "SQL92"):
            raise RefusedError(1, f"The broker does not support consumer to filter message by {wanted.kind}")
        if flags & _COMMIT:
            self._groups.commit((ext["consumerGroup"], topic.name, queue_id), int(ext["commitOffset"]))
        if int(ext["maxMsgNums"]) < 0 and not self._release.is_5:
            raise ValueError("maxMsgNums")
        reply = self._read(topic.name, queue_id, offset, int(ext["maxMsgNums"]), wanted)
        if reply.code != 19 or not flags & _SUSPEND or not self.settings.is_holding:
            return reply
        held = Held(under, topic, queue_id, offset, wanted)
        self.held.append(held)
        asked_s = int(ext["suspendTimeoutMillis"]) / 1000
        hold_s = min(asked_s, self.settings.longest_hold_s) + self.settings.extra_hold_s
        self._around.later(hold_s, lambda: self._end(held))
        return None

    def _topic(self, name: str) -> Topic:
        topic = self._store.topics.get(name)
        if topic is None:
            raise RefusedError(17, f"topic[{name}] not exist, apply first please! {self._release.faq}")
        if not topic.perm & 4:
            raise RefusedError(16, f"the topic[{name}] pulling message is forbidden", self._forbidden(3))
        return topic

    def _forbidden(self, kind: int) -> dict[str, str] | None:
        return {"forbiddenType": str(kind)} if self._release.is_5 else None

    def _wanted(self, ext: Mapping[str, str], topic: str, *, is_own: bool) -> Subscription:
        if is_own:
            return Subscription.parse(topic, ext.get("subscription"), ext.get("expressionType"))
        group = self._groups.groups.get(ext["consumerGroup"])
        if group is None or not group.members:
            raise RefusedError(24, f"the consumer's group info not exist{self._release.faq}")
        wanted = group.subscriptions.get(topic)
        if wanted is None:
            raise RefusedError(24, f"the consumer's subscription not exist{self._release.faq}")
        if wanted.version < int(ext.get("subVersion", "0")):
            raise RefusedError(25, "the consumer's subscription not latest")
        return wanted

    def _read(self, topic: str, queue_id: int, offset: int, most: int, wanted: Subscription) -> Reply:
        queue = self._store.queue(topic, queue_id)
        if not queue.records and queue.first == 0:
            return self._reply((topic, queue_id), 19 if offset == 0 else 21, "NO_MESSAGE_IN_QUEUE", 0)
        if offset > queue.end:
            return self._reply((topic, queue_id), 21, "OFFSET_OVERFLOW_BADLY", queue.end)
        if offset == queue.end:
            return self._reply((topic, queue_id), 19, "OFFSET_OVERFLOW_ONE", offset)
        if offset < queue.first:
            return self._reply((topic, queue_id), 21, "OFFSET_TOO_SMALL", queue.first)
        found, next_offset = self._matching(self._store.read(topic, queue_id, offset), most, wanted)
        if not found:
            return self._reply((topic, queue_id), 20, "NO_MATCHED_MESSAGE", next_offset)
        return self._reply((topic, queue_id), 0, "FOUND", next_offset, b"".join(found))

    def _matching(self, records: list[Record], most: int, wanted: Subscription) -> tuple[list[bytes], int]:
        found: list[bytes] = []
        size, next_offset = 0, records[0].queue_offset
        for record in records:
            if self.accepts(record, wanted):
                data = record.encode()
                if found and (len(found) >= min(max(most, 1), _MOST_MESSAGES) or size + len(data) > _MOST_BYTES):
                    break
                found.append(data)
                size += len(data)
            next_offset = record.queue_offset + 1
        return found, next_offset

    def accepts(self, record: Record, wanted: Subscription) -> bool:
        """Say whether a group that wants this is given a message."""
        if wanted.kind == "SQL92":
            return self._groups.sql is not None and self._groups.sql(wanted.text, record.named)
        if wanted.text.strip() in ("", "*") or not wanted.codes:
            return True
        tag = record.tag
        return (tag_hash(tag) if tag else 0) in wanted.codes

    def _reply(self, place: tuple[str, int], code: int, status: str, next_offset: int, body: bytes = b"") -> Reply:
        queue = self._store.queue(*place)
        ext = {
            "suggestWhichBrokerId": str(self.settings.suggested_broker_id),
            "nextBeginOffset": str(next_offset),
            "minOffset": str(queue.first),
            "maxOffset": str(queue.end),
        }
        own = {"topicSysFlag": "0", "groupSysFlag": "0"} if self._release.is_5 else {}
        return Reply(code, status, ext | own, body)

    def _appended(self, record: Record) -> None:
        if record.topic == SCHEDULE:
            return
        for held in list(self.held):
            if (held.topic.name, held.queue_id) != (record.topic, record.queue_id):
                continue
            if self.accepts(record, held.wanted):
                self._end(held)
            else:
                self._around.later(self.settings.sweep_s, lambda held=held: self._end(held))  # type: ignore[misc]  # bound early

    def release(self) -> None:
        """Answer all that wait."""
        for held in list(self.held):
            self._end(held)

    def forget(self, number: int) -> None:
        """Drop the pulls of a connection that ended."""
        self.held = [held for held in self.held if held.under.line.number != number]

    def _end(self, held: Held) -> None:
        if held not in self.held:
            return
        self.held.remove(held)
        ext = held.under.arrival.ext
        held.under.answer(self._read(held.topic.name, held.queue_id, held.offset, int(ext["maxMsgNums"]), held.wanted))
