"""Messages that are popped: handed out for a time, and again when nobody says that they are done.

Owns: assignments (400, 401), pops (200050), acknowledgements (200051, 200151, 200053), what is invisible and when it
comes back.
Must not know: how messages arrive; which queues stand still in orderly pops (orderly_pops.py).
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support import wire
from tests.support.faulty_broker.groups import Groups, Subscription
from tests.support.faulty_broker.journal import Reply
from tests.support.faulty_broker.line import Under
from tests.support.faulty_broker.orderly_pops import REVIVE_QUEUE, OrderlyPops
from tests.support.faulty_broker.pulling import Pulls
from tests.support.faulty_broker.records import Record
from tests.support.faulty_broker.rules import RETRY, RefusedError, Release
from tests.support.faulty_broker.store import MemoryStore, Topic
from tests.support.faulty_broker.surroundings import Surroundings

_MOST: Final = 32
_REVIVE_QUEUES: Final = 8
_OLDEST_MS: Final = 20_000
_NOTHING: Final = {"popTime": "0", "invisibleTime": "0", "reviveQid": "0", "restNum": "0"}
_UNASKED: Final = "not set any response code"

Place = tuple[str, str, int, int]
"""Group, topic from which it was read, queue id, queue offset."""


@dataclass(slots=True)
class Invisible:
    """A message that a client has; it comes back at `due_ms` unless it is acknowledged."""

    record: Record
    topic: str
    first_pop_ms: int
    due_ms: int


@dataclass(slots=True, eq=False)
class Waiting:
    """A pop that found nothing and waits."""

    under: Under
    topics: tuple[str, str]


class Pops:
    """Pops of one broker of 5.x."""

    def __init__(
        self, store: MemoryStore, release: Release, groups: Groups, pulls: Pulls, surroundings: Surroundings
    ) -> None:
        self._store = store
        self._release = release
        self._groups = groups
        self._pulls = pulls
        self._around = surroundings
        self.modes: dict[tuple[str, str], str] = {}
        """(topic, group) → POP or PULL, as 401 set it."""
        self.invisible: dict[Place, Invisible] = {}
        self.invisible_s: float | None = None
        """How long a popped message is invisible; None takes what the client says."""
        self.orderly = OrderlyPops()
        self.waiting: list[Waiting] = []
        self._has_batch_acks = True
        self.acknowledged_together = 0
        self._next: dict[tuple[str, str, int], int] = {}
        self._counter = -1
        store.on_append.append(self._appended)

    def set_mode(self, under: Under) -> Reply:
        """401."""
        body = self._body(under)
        if body["topic"] not in self._store.topics:
            raise RefusedError(17, f"topic[{body['topic']}] not exist")
        self.modes[body["topic"], body["consumerGroup"]] = body["mode"]
        return Reply(0)

    def assignment(self, under: Under) -> Reply:
        """400: all queues by POP, or the client's average share of them by PULL."""
        body = self._body(under)
        topic, group = body["topic"], body["consumerGroup"]
        members = sorted(set(self._groups.groups[group].client_ids())) if group in self._groups.groups else []
        if body["clientId"] not in members:
            return Reply(0, None, None, b"{}")
        if self.modes.get((topic, group)) == "POP":
            ids, mode = [-1], "POP"
        else:
            ids, mode = _share(self._store.topics[topic].read, members, body["clientId"]), "PULL"
        name = self._around.broker_name
        queues = [{"brokerName": name, "queueId": queue_id, "topic": topic} for queue_id in ids]
        assigned = [{"messageQueue": queue, "mode": mode} for queue in queues]
        return Reply(0, None, None, wire.dump({"messageQueueAssignments": assigned}))

    def pop(self, under: Under) -> Reply | None:
        """200050."""
        ext = self._ext(under)
        topic = self._checked_topic(ext, under.line.peer)
        reply = self._found(ext, topic)
        poll_s = int(ext["pollTime"]) / 1000
        if reply.code == 0 or poll_s <= 0:
            return reply
        waiting = Waiting(under, (topic.name, self._retry_topic(ext)))
        self.waiting.append(waiting)
        self._around.later(poll_s, lambda: self._wake(waiting))
        return None

    def ack(self, under: Under) -> Reply:
        """200051: it is done, whoever has it and how often it is said."""
        ext = self._ext(under)
        place = self._place(ext)
        if ext["extraInfo"].split(" ")[3] == str(REVIVE_QUEUE):
            self.orderly.done(place[:3], place[3])
            self._appear(place[1])
        self.invisible.pop(place, None)
        return Reply(0)

    def ack_many(self, under: Under) -> Reply:
        """200151: the same of many, by bit sets; offsets that are not there are passed over."""
        body = self._body(under)
        if not self._has_batch_acks:
            raise RefusedError(3, f" request type {under.arrival.code} not supported")
        if body["brokerName"] != self._around.broker_name:
            raise ValueError(f"another broker: {body['brokerName']}")
        for ack in body["acks"]:
            name = f"{RETRY}{ack['c']}_{ack['t']}" if ack["r"] == "1" else ack["t"]
            for offset in _set_bits(ack["b"], ack["so"]):
                if ack["rq"] == REVIVE_QUEUE:
                    self.orderly.done((ack["c"], name, ack["q"]), offset)
                    self._appear(name)
                self.invisible.pop((ack["c"], name, ack["q"], offset), None)
                self.acknowledged_together += 1
        return Reply(0)

    def change(self, under: Under) -> Reply:
        """200053: it stays invisible for another time from now on."""
        ext = self._ext(under)
        now_ms, place = self._around.now_ms(), self._place(ext)
        if ext["extraInfo"].split(" ")[3] == str(REVIVE_QUEUE):
            self.orderly.hide(place[:3], place[3], now_ms + int(ext["invisibleTime"]))
            self._around.later(int(ext["invisibleTime"]) / 1000 + 0.001, lambda: self._appear(place[1]))
        if place in self.invisible:
            self._hide(place, self.invisible[place], int(ext["invisibleTime"]))
        told = {
            "popTime": str(now_ms),
            "invisibleTime": ext["invisibleTime"],
            "reviveQid": ext["extraInfo"].split(" ")[3],
        }
        return Reply(0, _UNASKED, told)

    def notification(self, under: Under) -> Reply:
        """200054: is there something to pop?"""
        ext = self._ext(under)
        topic = self._store.topics[ext["topic"]]
        has = any(self._rest(ext.get("consumerGroup", ""), topic.name, queue_id) for queue_id in range(topic.read))
        has = has and "consumerGroup" in ext
        return Reply(0, _UNASKED, {"hasMsg": str(has).lower(), "pollingFull": "false"})

    def polling(self, under: Under) -> Reply:
        """200055: how many wait."""
        topic = self._ext(under)["topic"]
        return Reply(0, _UNASKED, {"pollingNum": str(sum(topic in each.topics for each in self.waiting))})

    def lack_batch_acks(self) -> None:
        """Be an early 5.0, which knows no 200151."""
        self._has_batch_acks = False

    def revive(self, due_ms: int | None = None) -> None:
        """Let what is due by this time (None: all that is invisible) come back."""
        for place, hidden in list(self.invisible.items()):
            if due_ms is None or hidden.due_ms <= due_ms:
                self._come_back(place, hidden)

    def forget(self, number: int) -> None:
        """Drop the pops of a connection that ended."""
        self.waiting = [each for each in self.waiting if each.under.line.number != number]

    def _ext(self, under: Under) -> Mapping[str, str]:
        if not self._release.is_5:
            raise RefusedError(3, f" request type {under.arrival.code} not supported")
        return under.arrival.ext

    def _body(self, under: Under) -> Mapping[str, Any]:
        self._ext(under)
        body: Mapping[str, Any] = under.arrival.json()
        return body

    def _checked_topic(self, ext: Mapping[str, str], peer: str) -> Topic:
        if self._around.now_ms() - int(ext["bornTime"]) - int(ext["pollTime"]) > _OLDEST_MS:
            raise RefusedError(
                210, f"the broker[{self._store.store_host[0]}] pop message is timeout too much", _NOTHING
            )
        if int(ext["maxMsgNums"]) > _MOST:
            remark = f"the broker[{self._store.store_host[0]}] pop message's num is greater than {_MOST}"
            raise RefusedError(29, remark, _NOTHING)
        topic = self._store.topics.get(ext["topic"])
        if topic is None:
            raise RefusedError(
                17, f"topic[{ext['topic']}] not exist, apply first please! {self._release.faq}", _NOTHING
            )
        if int(ext["queueId"]) >= topic.read:
            remark = (
                f"queueId[{ext['queueId']}] is illegal, topic:[{topic.name}] topicConfig.readQueueNums:[{topic.read}] "
                f"consumer:[/{peer}]"
            )
            raise RefusedError(29, remark, _NOTHING)
        return topic

    def _found(self, ext: Mapping[str, str], topic: Topic) -> Reply:
        if ext.get("order") == "true":
            return self._found_in_order(ext, topic)
        self._counter += 1
        asked, retry = int(ext["queueId"]), self._retry_topic(ext)
        places = [(retry, 0)] if asked < 0 and retry in self._store.topics else []
        places += [(topic.name, queue_id) for queue_id in (range(topic.read) if asked < 0 else [asked])]
        wanted = Subscription.parse(topic.name, ext.get("exp"), ext.get("expType"))
        bodies: list[bytes] = []
        starts: list[str] = []
        offsets: list[str] = []
        for name, queue_id in places:
            taken = self._take(ext, (name, queue_id), wanted, int(ext["maxMsgNums"]) - len(bodies))
            if taken:
                mark = f"{int(name == retry)} {queue_id}"
                starts.append(f"{mark} {taken[0].queue_offset}")
                offsets.append(f"{mark} {','.join(str(each.queue_offset) for each in taken)}")
                bodies += [self._shown(ext, each, topic.name).encode() for each in taken]
        told = {
            "popTime": str(self._around.now_ms()),
            "invisibleTime": ext["invisibleTime"],
            "reviveQid": str(self._counter % _REVIVE_QUEUES),
            "restNum": str(sum(self._rest(ext["consumerGroup"], *place) for place in places)),
            "startOffsetInfo": ";".join(starts),
            "msgOffsetInfo": ";".join(offsets),
        }
        return Reply(0, "FOUND", told, b"".join(bodies)) if bodies else Reply(210, "NO_MESSAGE_IN_QUEUE", told)

    def _found_in_order(self, ext: Mapping[str, str], topic: Topic) -> Reply:
        now_ms, asked = self._around.now_ms(), int(ext["queueId"])
        until_ms = now_ms + int(ext["invisibleTime"])
        bodies: list[bytes] = []
        starts, offsets, counts = [], [], []
        for queue_id in range(topic.read) if asked < 0 else [asked]:
            place = (ext["consumerGroup"], topic.name, queue_id)
            if self.orderly.is_blocked(place, ext.get("attemptId"), now_ms):
                continue
            queue = self._store.queue(topic.name, queue_id)
            begin = queue.end if ext.get("initMode") == "1" else queue.first
            first = self.orderly.first(place)
            at = self._next.setdefault(place, begin) if first is None else first
            taken = list(self._store.read(topic.name, queue_id, at))[: int(ext["maxMsgNums"]) - len(bodies)]
            if taken:
                numbers = [each.queue_offset for each in taken]
                self._next[place] = numbers[-1] + 1
                counts.append(self.orderly.give(place, numbers, ext.get("attemptId"), until_ms))
                starts.append(f"0 {queue_id} {numbers[0]}")
                offsets.append(f"0 {queue_id} {','.join(map(str, numbers))}")
                bodies += [each.encode() for each in taken]
        told = {
            "popTime": str(now_ms), "invisibleTime": ext["invisibleTime"], "reviveQid": str(REVIVE_QUEUE),
            "restNum": "0", "startOffsetInfo": ";".join(starts), "msgOffsetInfo": ";".join(offsets),
            "orderCountInfo": ";".join(counts),
        }  # fmt: skip
        return Reply(0, "FOUND", told, b"".join(bodies)) if bodies else Reply(210, "NO_MESSAGE_IN_QUEUE", told)

    def _take(self, ext: Mapping[str, str], place: tuple[str, int], wanted: Subscription, most: int) -> list[Record]:
        group, (name, queue_id) = ext["consumerGroup"], place
        queue = self._store.queue(name, queue_id)
        start = queue.end if ext.get("initMode") == "1" else queue.first
        at = self._next.setdefault((group, name, queue_id), start)
        taken: list[Record] = []
        for record in self._store.read(name, queue_id, at):
            if len(taken) >= most:
                break
            at = record.queue_offset + 1
            if self._pulls.accepts(record, wanted):
                taken.append(record)
                hidden = Invisible(record, ext["topic"], self._around.now_ms(), 0)
                self._hide((group, name, queue_id, record.queue_offset), hidden, int(ext["invisibleTime"]))
        self._next[group, name, queue_id] = at
        return taken

    def _hide(self, place: Place, hidden: Invisible, invisible_ms: int) -> None:
        wait_s = invisible_ms / 1000 if self.invisible_s is None else self.invisible_s
        due_ms = self._around.now_ms() + invisible_ms
        hidden.due_ms = due_ms
        self.invisible[place] = hidden

        def due() -> None:
            if self.invisible.get(place) is hidden and hidden.due_ms == due_ms:
                self._come_back(place, hidden)

        self._around.later(wait_s, due)

    def _come_back(self, place: Place, hidden: Invisible) -> None:
        del self.invisible[place]
        group, name = place[0], f"{RETRY}{place[0]}_{hidden.topic}"
        if name not in self._store.topics:
            self._store.topics[name] = Topic(name=name, read=1, write=1)
            self._around.topics_changed()
        first_ms = hidden.record.named.get("1ST_POP_TIME", str(hidden.first_pop_ms))
        again = hidden.record.with_properties(ORIGIN_GROUP=group, **{"1ST_POP_TIME": first_ms})
        times = hidden.record.reconsume_times + 1
        self._store.append(again.changed(topic=name, queue_id=0, reconsume_times=times), self._around.now_ms())

    def _shown(self, ext: Mapping[str, str], record: Record, topic: str) -> Record:
        """Give a record as a pop shows it: a retried one with its topic and its handle."""
        if record.topic == topic:
            return record
        handle = (
            record.queue_offset, self._around.now_ms(), ext["invisibleTime"], self._counter % _REVIVE_QUEUES, 1,
            self._around.broker_name, record.queue_id, record.queue_offset,
        )  # fmt: skip
        return record.changed(topic=topic).with_properties(POP_CK=" ".join(map(str, handle)))

    def _place(self, ext: Mapping[str, str]) -> Place:
        handle = ext["extraInfo"].split(" ")
        if len(handle) < 8:
            raise ValueError(f"getBrokerName fail, extraInfoStrs length {len(handle)}")
        # 5.5.0 takes the header's word for where it was read from, and answers 0 also when that is not so: nothing is done.
        read_from = name = ext["topic"]
        queue_id, offset = int(ext["queueId"]), int(ext["offset"])
        queue = self._store.queue(read_from, queue_id)
        if not queue.first <= offset < queue.end:
            remark = f"offset is illegal, key:{name}@{queue_id}, commit:{offset}, store:{queue.first}~{queue.end}"
            raise RefusedError(208, remark)
        return ext["consumerGroup"], read_from, queue_id, offset

    def _retry_topic(self, ext: Mapping[str, str]) -> str:
        return f"{RETRY}{ext.get('consumerGroup', '')}_{ext['topic']}"

    def _rest(self, group: str, name: str, queue_id: int) -> int:
        queue = self._store.queue(name, queue_id)
        return queue.end - self._next.get((group, name, queue_id), queue.first)

    def _appended(self, record: Record) -> None:
        self._appear(record.topic)

    def _appear(self, topic: str) -> None:
        """Something of a topic may be popped now: let those look again who wait for it."""
        for waiting in list(self.waiting):
            if topic in waiting.topics:
                self._around.later(0, lambda waiting=waiting: self._wake(waiting))  # type: ignore[misc]  # bound early

    def _wake(self, waiting: Waiting) -> None:
        if waiting not in self.waiting:
            return
        self.waiting.remove(waiting)
        ext = waiting.under.arrival.ext
        waiting.under.answer(self._found(ext, self._store.topics[ext["topic"]]))


def _set_bits(text: str, first: int) -> list[int]:
    """Read what Java's BitSet.toByteArray writes, in Base64."""
    bits = int.from_bytes(base64.b64decode(text, validate=True), "little")
    return [first + place for place in range(bits.bit_length()) if bits >> place & 1]


def _share(queues: int, members: list[str], client_id: str) -> list[int]:
    """Give the average share of one member, as the strategy AVG does."""
    index, count = members.index(client_id), len(members)
    size, more = divmod(queues, count)
    start = index * size + min(index, more)
    return list(range(start, start + size + (index < more)))
