"""Who is connected, and what groups own.

Owns: producers and consumers by connection (34, 35, 38, 40, 46), committed offsets (14, 15), locks (41, 42).
Must not know: messages; pulls.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support import wire
from tests.support.faulty_broker.journal import Reply
from tests.support.faulty_broker.line import Line, Under
from tests.support.faulty_broker.records import tag_hash
from tests.support.faulty_broker.rules import RETRY, RefusedError, Release
from tests.support.faulty_broker.store import MemoryStore, Topic
from tests.support.faulty_broker.surroundings import Surroundings

_MODELS: Final = ("BROADCASTING", "CLUSTERING")
LOCK_S: Final = 60.0

QueueKey = tuple[str, str, int]
"""Group, topic, queue id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a group wants of a topic. `codes` is empty for everything, and for SQL92."""

    topic: str
    text: str = "*"
    version: int = 0
    kind: str = "TAG"
    codes: frozenset[int] = frozenset()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Subscription":
        """Read a subscription of a heartbeat."""
        return cls(
            topic=data["topic"],
            text=data.get("subString") or "*",
            version=int(data.get("subVersion", 0)),
            kind=data.get("expressionType") or "TAG",
            codes=frozenset(int(code) for code in data.get("codeSet") or ()),
        )

    @classmethod
    def parse(cls, topic: str, text: str | None, kind: str | None) -> "Subscription":
        """Read the expression of a pull.

        Raises:
            RefusedError: It does not compile.
        """
        if (kind or "TAG") != "TAG":
            return cls(topic=topic, text=text or "", kind=kind or "TAG")
        if not text or text.strip() == "*":
            return cls(topic=topic)
        tags = [part.strip() for part in text.split("||") if part.strip()]
        if not tags:
            raise RefusedError(23, "parse the consumer's subscription failed")
        return cls(topic=topic, text=text, codes=frozenset(map(tag_hash, tags)))


@dataclass(slots=True)
class Group:
    """A consumer group: its members by connection, and the subscriptions of whoever spoke last."""

    members: dict[int, tuple[Line, str]] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    is_broadcasting: bool = False

    def client_ids(self) -> list[str]:
        """Give the ids of the members."""
        return [client_id for _, client_id in self.members.values()]


class Groups:
    """Members, offsets and locks of one broker."""

    def __init__(self, store: MemoryStore, release: Release, surroundings: Surroundings) -> None:
        self._store = store
        self._release = release
        self._around = surroundings
        self.groups: dict[str, Group] = {}
        self.producers: dict[str, dict[int, tuple[Line, str]]] = {}
        self.offsets: dict[QueueKey, int] = {}
        self.offset_history: list[tuple[QueueKey, int]] = []
        self.locks: dict[QueueKey, tuple[str, float]] = {}
        self.lock_s = LOCK_S
        self.is_notifying = True
        self.sql: Callable[[str, Mapping[str, str]], bool] | None = None
        """Stands for SQL92: expression and properties → does it match. None refuses SQL92 as a default broker does."""
        self.notices_sent: Counter[str] = Counter()

    def heartbeat(self, under: Under) -> Reply:
        """34. One whose connection has ended meanwhile makes nobody a member: nothing would ever end it."""
        if not under.line.is_open:
            return Reply(0)
        body = under.arrival.json()
        client_id = body["clientID"]
        for producer in body.get("producerDataSet") or ():
            self.producers.setdefault(producer["groupName"], {})[under.line.number] = (under.line, client_id)
        for consumer in body.get("consumerDataSet") or ():
            self._join(under.line, client_id, consumer)
        if not self._release.is_5:
            return Reply(0)
        is_changed = str(not body.get("heartbeatFingerprint")).lower()
        return Reply(0, None, {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": is_changed})

    def _join(self, line: Line, client_id: str, data: Mapping[str, Any]) -> None:
        name = data["groupName"]
        group = self.groups.setdefault(name, Group())
        model = data.get("messageModel", "CLUSTERING")
        group.is_broadcasting = (_MODELS[model] if isinstance(model, int) else model) == "BROADCASTING"
        self.add_group(name)
        before = set(group.subscriptions)
        is_new = line.number not in group.members
        group.members[line.number] = (line, client_id)
        told = [Subscription.read(each) for each in data.get("subscriptionDataSet") or ()]
        group.subscriptions = {
            each.topic: max(each, group.subscriptions.get(each.topic, each), key=lambda one: one.version)
            for each in told
        }
        if is_new or set(group.subscriptions) != before:
            self.notify(name)

    def add_group(self, name: str) -> None:
        """Make the retry topic of a group that is seen first."""
        retry = RETRY + name
        if retry not in self._store.topics:
            self._store.topics[retry] = Topic(name=retry, read=1, write=1)
            self._around.topics_changed()

    def notify(self, name: str, times: int = 1) -> None:
        """Send NOTIFY_CONSUMER_IDS_CHANGED to every member of a group, so many times."""
        group = self.groups.get(name, Group())
        if not self.is_notifying or (group.is_broadcasting and self._release.is_5):
            return
        for line, _ in list(group.members.values()):
            for _ in range(times):
                line.send(40, {"consumerGroup": name})
                self.notices_sent[name] += 1

    def unregister(self, under: Under) -> Reply:
        """35. Others of the group are told, whether the sender was a member or not."""
        ext, number = under.arrival.ext, under.line.number
        self.producers.get(ext.get("producerGroup", ""), {}).pop(number, None)
        name = ext.get("consumerGroup", "")
        if name in self.groups:
            self.groups[name].members.pop(number, None)
            self.notify(name)
        return Reply(0)

    def lost(self, line: Line) -> None:
        """Forget a connection that ended."""
        for producers in self.producers.values():
            producers.pop(line.number, None)
        for name, group in self.groups.items():
            if group.members.pop(line.number, None) is not None:
                self.notify(name)

    def forget_members(self) -> None:
        """Know nobody any more, as after a restart; offsets stay, locks go."""
        self.groups.clear()
        self.producers.clear()
        self.locks.clear()

    def line_of(self, client_id: str) -> Line | None:
        """Give a connection of a client, producer or consumer."""
        sides = [*self.producers.values(), *(group.members for group in self.groups.values())]
        found = [line for side in sides for line, each in side.values() if each == client_id and line.is_open]
        return found[-1] if found else None

    def members(self, under: Under) -> Reply:
        """38."""
        name = under.arrival.ext["consumerGroup"]
        ids = self.groups.get(name, Group()).client_ids()
        if not ids:
            raise RefusedError(1, f"no consumer for this group, {name}")
        return Reply(0, None, None, wire.dump({"consumerIdList": ids}))

    def check_config(self, under: Under) -> Reply:
        """46: fine, unless `sql` is not there or raises ValueError for the expression."""
        data = (under.arrival.json() or {}).get("subscriptionData") or {}
        kind = data.get("expressionType") or "TAG"
        if kind != "TAG" and (self.sql is None or kind != "SQL92"):
            raise RefusedError(1, f"The broker does not support consumer to filter message by {kind}")
        if kind == "SQL92" and self.sql is not None:
            try:
                self.sql(data["subString"], {})
            except ValueError as error:
                raise RefusedError(23, str(error)) from None
        return Reply(0)

    def query_offset(self, under: Under) -> Reply:
        """14."""
        ext = under.arrival.ext
        key = (ext["consumerGroup"], ext["topic"], int(ext["queueId"]))
        stored = self.offsets.get(key, -1)
        if stored >= 0:
            return Reply(0, None, {"offset": str(stored)})
        if ext.get("setZeroIfNotFound") == "false" and self._release.is_5:
            raise RefusedError(22, "Not found, do not set to zero, maybe this group boot first")
        queue = self._store.queue(key[1], key[2])
        if queue.first <= 0 and (queue.records or not self._release.is_5):
            return Reply(0, None, {"offset": "0"})
        raise RefusedError(22, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")

    def update_offset(self, under: Under) -> Reply:
        """15."""
        ext = under.arrival.ext
        group, topic, queue_id = ext["consumerGroup"], ext["topic"], int(ext["queueId"])
        if self._release.is_5 and RETRY + group not in self._store.topics:
            raise RefusedError(26, f"Group {group} not exist!")
        if self._release.is_5 and topic not in self._store.topics:
            raise RefusedError(17, f"Topic {topic} not exist!")
        self.commit((group, topic, queue_id), int(ext["commitOffset"]))
        return Reply(0)

    def commit(self, key: QueueKey, offset: int) -> None:
        """Store the offset of a group; a lower one is accepted."""
        self.offsets[key] = offset
        self.offset_history.append((key, offset))

    def lock(self, under: Under) -> Reply:
        """41."""
        body, now_s, granted = under.arrival.json(), under.now_s(), []
        for queue in body.get("mqSet") or ():
            key = (body["consumerGroup"], queue["topic"], int(queue["queueId"]))
            owner, since_s = self.locks.get(key, ("", 0.0))
            if owner in ("", body["clientId"]) or now_s - since_s >= self.lock_s:
                self.locks[key] = (body["clientId"], now_s)
                granted.append(queue)
        return Reply(0, None, None, wire.dump({"lockOKMQSet": granted}))

    def expire_locks(self) -> None:
        """Take the locks of clients that are no members any more, as if their time were over."""
        self.locks = {
            key: (owner, since_s)
            for key, (owner, since_s) in self.locks.items()
            if key[0] in self.groups and owner in self.groups[key[0]].client_ids()
        }

    def unlock(self, under: Under) -> Reply:
        """42: only the owner's locks go."""
        body = under.arrival.json()
        for queue in body.get("mqSet") or ():
            key = (body["consumerGroup"], queue["topic"], int(queue["queueId"]))
            if self.locks.get(key, ("", 0.0))[0] == body["clientId"]:
                del self.locks[key]
        return Reply(0)


def queue_table(offsets: Mapping[tuple[str, str, int], int]) -> bytes:
    """Write `{"offsetTable":{{mq}:offset}}` as 220 carries it; keys are topic, broker name, queue id."""
    entries = (
        json.dumps({"brokerName": broker, "queueId": queue_id, "topic": topic}, separators=(",", ":")) + f":{offset}"
        for (topic, broker, queue_id), offset in offsets.items()
    )
    return ('{"offsetTable":{' + ",".join(entries) + "}}").encode()
