"""Messages that come in.

Owns: sends, batches, send back, what is parked (delay levels, timers), replies to requesters.
Must not know: who reads; transactions, but that a half message goes there.
"""

import base64
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.support.faulty_broker.journal import Arrival, Command, Reply
from tests.support.faulty_broker.line import Under
from tests.support.faulty_broker.records import Host, Record, decode_batch, encode_properties
from tests.support.faulty_broker.rules import DEAD, REGION, RETRY, RefusedError, Release
from tests.support.faulty_broker.store import READ_WRITE, SCHEDULE, TIMER, MemoryStore, Topic
from tests.support.faulty_broker.surroundings import Surroundings

LEVELS: Final = 18
_TIMERS: Final = (("TIMER_DELAY_SEC", 1000), ("TIMER_DELAY_MS", 1), ("TIMER_DELIVER_MS", 0))
_LONGEST_TIMER_MS: Final = 3 * 24 * 3600 * 1000
_MOST_PROPERTIES: Final = 32_767
_ROOM_FOR_PARKING: Final = 256
_TIMER_REFUSED: Final = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; "
    "or if set del msg, the delay time should be bigger than the current time"
)


@dataclass(slots=True, kw_only=True)
class SendSettings:
    """How the double takes messages. All may be changed at any time."""

    level_s: float = 0.05
    """How long every delay level waits."""
    level_times_s: dict[int, float] = field(default_factory=dict)
    """Levels that wait otherwise."""
    timer_s: float | None = None
    """How long every timer message waits; None takes the time that the message names."""
    max_message_bytes: int = 4_194_304
    retry_max_times: int = 16
    is_creating_topics: bool = True
    is_recall_enabled: bool = True
    is_storing: bool = True
    """False answers as ever and keeps nothing, for tests that measure memory."""


class Sends:
    """Sends and what becomes of them before they are read."""

    def __init__(
        self, store: MemoryStore, release: Release, surroundings: Surroundings, settings: SendSettings
    ) -> None:
        self._store = store
        self._release = release
        self._around = surroundings
        self.settings = settings
        self.parked: dict[int, Record] = {}
        """What waits with a delay level, by its commit log offset."""
        self._timers: dict[str, Record] = {}
        self.half: Callable[[Record], Record] = lambda draft: draft

    def send(self, under: Under) -> Reply:
        """10, 310, 320."""
        try:
            return self._sent(under)
        except RefusedError as error:
            raise RefusedError(error.reply.code, error.reply.remark, dict(REGION)) from error

    def _sent(self, under: Under) -> Reply:
        arrival = under.arrival
        self._check_names(arrival)
        ext, topic_name = arrival.ext, arrival.ext["topic"]
        self._release.check_topic(topic_name)
        topic = self._topic(topic_name, ext.get("defaultTopic", ""), int(ext["defaultTopicQueueNums"]))
        queue_id = self._queue_id(topic, int(ext["queueId"]), under.line.peer)
        draft = Record(
            topic=topic_name, queue_id=queue_id, body=arrival.body, properties=ext.get("properties", "").encode(),
            sys_flag=int(ext["sysFlag"]), flag=int(ext["flag"]), born_ms=int(ext["bornTimestamp"]), born_host=under.line.host,
            reconsume_times=int(ext.get("reconsumeTimes", "0")),
        )  # fmt: skip
        if ext.get("batch") == "true":
            return self._batch(draft)
        if not draft.body and self._release.is_5:
            raise ValueError("no body")
        if topic_name.startswith(RETRY):
            draft = self._dead_or_alive(draft, ext.get("maxReconsumeTimes"))
        return self._single(draft, queue_id)

    def _single(self, draft: Record, queue_id: int) -> Reply:
        draft = self._completed(draft)
        named = draft.named
        self._check_size(draft)
        handle = None
        level = int(named.get("DELAY", "0"))
        if named.get("TRAN_MSG") == "true" and level > 0:  # parked as a half message, and thrown away when due
            stored = self.keep(draft.changed(topic=SCHEDULE, queue_id=min(level, LEVELS) - 1))
        elif named.get("TRAN_MSG") == "true":
            stored = self.half(draft)
        elif level > 0:
            stored = self.park(draft)
        elif self._release.is_5 and any(name in named for name, _ in _TIMERS):
            stored, handle = self._timed(draft)
        else:
            stored = self.keep(draft)
        return _send_reply(
            stored, queue_id, stored.msg_id, named.get("UNIQ_KEY") if self._release.is_5 else None, handle
        )

    def _batch(self, draft: Record) -> Reply:
        if draft.topic.startswith(RETRY) and self._release.is_5:
            raise RefusedError(13, f"batch request does not support retry group {draft.topic}")
        if int(draft.named.get("DELAY", "0")) > 0:
            self._refuse_size()
        if not draft.body:
            raise ValueError("no body")
        own = b"" if self._release.is_5 else draft.with_properties(CLUSTER=self._around.cluster).properties
        entries = [
            draft.changed(flag=flag, body=body, properties=text + own) for flag, body, text in decode_batch(draft.body)
        ]
        for entry in entries:
            self._check_size(entry)
        stored = [self.keep(entry) for entry in entries]
        return _send_reply(stored[0], draft.queue_id, ",".join(each.msg_id for each in stored), None, None)

    def keep(self, draft: Record) -> Record:
        """Store a message in its queue."""
        if not self.settings.is_storing:
            return draft.changed(store_host=self._store.store_host)
        return self._store.append(draft, self._around.now_ms())

    def park(self, draft: Record) -> Record:
        """Store a message that has a delay level; it comes to its queue when the level's time has passed."""
        level = min(int(draft.named["DELAY"]), LEVELS)
        parked = draft.with_properties(DELAY=str(level), REAL_TOPIC=draft.topic, REAL_QID=str(draft.queue_id))
        stored = self.keep(parked.changed(topic=SCHEDULE, queue_id=level - 1))
        self.parked[stored.offset] = stored
        seconds = self.settings.level_times_s.get(level, self.settings.level_s)
        self._around.later(seconds, lambda: self._due(stored))
        return stored

    def deliver_parked(self, level: int | None = None) -> None:
        """Deliver what waits now with this delay level, or with any."""
        for parked in list(self.parked.values()):
            if level is None or parked.queue_id == level - 1:
                self._due(parked)

    def _due(self, parked: Record) -> None:
        if self.parked.pop(parked.offset, None) is None:
            return
        named = parked.named
        self.keep(parked.changed(topic=named["REAL_TOPIC"], queue_id=int(named["REAL_QID"])))

    def _timed(self, draft: Record) -> tuple[Record, str | None]:
        named, now_ms = draft.named, self._around.now_ms()
        name, scale = next((name, scale) for name, scale in _TIMERS if name in named)
        if not named[name].lstrip("-").isdigit():
            raise RefusedError(13, _TIMER_REFUSED)
        due_ms = now_ms + int(named[name]) * scale if scale else int(named[name])
        if due_ms - now_ms > _LONGEST_TIMER_MS:
            raise RefusedError(13, _TIMER_REFUSED)
        if due_ms <= now_ms:
            return self.keep(draft), None
        due_ms = (due_ms - 1) // 1000 * 1000
        parked = draft.with_properties(REAL_TOPIC=draft.topic, REAL_QID=str(draft.queue_id), TIMER_OUT_MS=str(due_ms))
        stored = self.keep(parked.changed(topic=TIMER, queue_id=0))
        self._timers[stored.unique_key] = stored
        seconds = (due_ms + 1 - now_ms) / 1000 if self.settings.timer_s is None else self.settings.timer_s
        self._around.later(max(0, seconds), lambda: self._timer_due(stored))
        words = f"v1 {draft.topic} {self._around.broker_name} {due_ms + 1} {draft.unique_key}"
        return stored, base64.urlsafe_b64encode(words.encode()).decode()

    def _timer_due(self, parked: Record) -> None:
        if self._timers.pop(parked.unique_key, None) is not None:
            named = parked.named
            self.keep(parked.changed(topic=named["REAL_TOPIC"], queue_id=int(named["REAL_QID"])))

    def recall(self, under: Under) -> Reply:
        """370: take back a timer message."""
        if not self._release.is_5:
            raise RefusedError(3, " request type 370 not supported")
        if not self.settings.is_recall_enabled:
            raise RefusedError(16, "recall failed, operation is forbidden")
        try:
            words = base64.urlsafe_b64decode(under.arrival.ext["recallHandle"]).decode().split(" ")
            unique_key = words[4]
        except (ValueError, IndexError):
            raise RefusedError(604, "recall handle is invalid") from None
        self._timers.pop(unique_key, None)
        return Reply(0, None, {"msgId": unique_key})

    def send_back(self, under: Under) -> Reply:
        """36: a message that a consumer could not handle."""
        ext = under.arrival.ext
        offset, group, level = int(ext["offset"]), ext["group"], int(ext["delayLevel"])
        found = self._store.at(offset)
        if found is None:
            raise RefusedError(1, f"look message by offset failed, {offset}")
        named = found.named
        copy = found.changed(reconsume_times=found.reconsume_times + 1, queue_id=0, sys_flag=found.sys_flag)
        copy = copy.with_properties(
            RETRY_TOPIC=named.get("RETRY_TOPIC", found.topic),
            ORIGIN_MESSAGE_ID=named.get("ORIGIN_MESSAGE_ID", found.msg_id),
            WAIT="false",
        )
        if len(copy.properties) > _MOST_PROPERTIES - _ROOM_FOR_PARKING:
            raise RefusedError(1, "MESSAGE_ILLEGAL")
        most = int(ext.get("maxReconsumeTimes", str(self.settings.retry_max_times)))
        if found.reconsume_times >= most or level < 0:
            self.keep(copy.changed(topic=self.own_topic(DEAD + group)).with_properties(DELAY="0"))
            return Reply(0)
        level = level or 3 + found.reconsume_times
        self.park(copy.changed(topic=self.own_topic(RETRY + group)).with_properties(DELAY=str(level)))
        return Reply(0)

    def reply_message(self, under: Under) -> Reply | None:
        """324, 325: store an answer and push it to whoever asked."""
        ext = under.arrival.ext
        draft = Record(
            topic=self.own_topic(ext["topic"]), body=under.arrival.body, properties=ext.get("properties", "").encode(),
            queue_id=int(ext["queueId"]),
            sys_flag=int(ext["sysFlag"]), flag=int(ext["flag"]), born_ms=int(ext["bornTimestamp"]), born_host=under.line.host,
        )  # fmt: skip
        stored = self.keep(draft)
        if self._release.is_5:
            draft = draft.with_properties(**REGION)
        asker = draft.named.get("REPLY_TO_CLIENT")
        line = None if asker is None else self._around.producer_line(asker)
        if line is None:
            remark = (
                "reply message properties[REPLY_TO_CLIENT] is null"
                if asker is None
                else f"push reply message fail, channel of <{asker}> not found."
            )
            return _send_reply(stored, 0, stored.msg_id, None, None)._replace(code=1, remark=remark)
        pushed = draft.with_properties(PUSH_REPLY_TIME=str(stored.store_ms)).properties
        fields = {name: value for name, value in ext.items() if name not in ("batch", "brokerName")} | {
            "properties": pushed.decode(),
            "bornHost": _address(stored.born_host),
            "storeHost": _address(stored.store_host),
            "storeTimestamp": str(stored.store_ms),
        }
        self._around.ask(line, 326, fields, draft.body, lambda heard: under.answer(_pushed(stored, asker, heard)))
        return None

    def own_topic(self, name: str) -> str:
        """Make a retry, dead letter or reply topic when it is needed first."""
        if name not in self._store.topics:
            self._store.topics[name] = Topic(name=name, read=1, write=1)
            self._around.topics_changed()
        return name

    def _check_names(self, arrival: Arrival) -> None:
        """A send is read by the names that its code asks for: short ones in 310, 320 and 325, long ones in 10 and 324."""
        raw = arrival.command.ext or {}
        if ("b" if arrival.code in (310, 320, 325) else "topic") in raw:
            return
        if self._release.is_5:
            raise ValueError("no topic under the name that this code asks for")
        self._release.check_topic("")

    def _topic(self, name: str, template_name: str, queues: int) -> Topic:
        topic = self._store.topics.get(name)
        if topic is not None:
            return topic
        template = self._store.topics.get(template_name)
        if self.settings.is_creating_topics and template is not None and template.perm & 1:
            queues = max(0, min(queues, template.write))
            self._store.topics[name] = topic = Topic(name=name, read=queues, write=queues, perm=template.perm & ~1)
        elif name.startswith(RETRY):
            self._store.topics[name] = topic = Topic(name=name, read=1, write=1, perm=READ_WRITE)
        else:
            raise RefusedError(17, f"topic[{name}] not exist, apply first please!{self._release.faq}")
        self._around.topics_changed()
        return topic

    def _queue_id(self, topic: Topic, queue_id: int, peer: str) -> int:
        if queue_id >= max(topic.write, topic.read):
            perm = f"{'R' if topic.perm & 4 else '-'}{'W' if topic.perm & 2 else '-'}{'X' if topic.perm & 1 else '-'}"
            attributes = ", attributes={}" if self._release.is_5 else ""
            remark = (
                f"request queueId[{queue_id}] is illegal, TopicConfig [topicName={topic.name}, readQueueNums={topic.read}, "
                f"writeQueueNums={topic.write}, perm={perm}, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false{attributes}] "
                f"Producer: {peer}"
            )
            raise RefusedError(self._release.illegal, remark)
        return random.randrange(topic.write) if queue_id < 0 else queue_id

    def _dead_or_alive(self, draft: Record, most_text: str | None) -> Record:
        group = draft.topic.removeprefix(RETRY)
        most = self.settings.retry_max_times if most_text is None else int(most_text)
        if draft.reconsume_times <= most - (not self._release.is_5):
            return draft
        dead = draft.changed(topic=self.own_topic(DEAD + group), queue_id=0)
        return dead.with_properties(DELAY="-1") if self._release.is_5 else dead

    def _completed(self, draft: Record) -> Record:
        named = draft.named
        named.pop("POP_CK", None)
        if self._release.is_5:
            named.setdefault("UNIQ_KEY", f"{random.getrandbits(128):032X}")
            named |= REGION
        elif named.get("TRAN_MSG") != "true" and int(named.get("DELAY", "0")) <= 0:
            named.pop("WAIT", None)
        return draft.changed(properties=encode_properties(named | {"CLUSTER": self._around.cluster}))

    def _check_size(self, draft: Record) -> None:
        if len(draft.body) > self.settings.max_message_bytes or len(draft.properties) > _MOST_PROPERTIES:
            self._refuse_size()

    def _refuse_size(self) -> None:
        remark = (
            "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
            f"{self.settings.max_message_bytes}B, msg properties length limit 32KB."
        )
        raise RefusedError(13, remark)


def _send_reply(stored: Record, queue_id: int, msg_id: str, transaction_id: str | None, handle: str | None) -> Reply:
    ext = {"msgId": msg_id, "queueId": str(queue_id), "queueOffset": str(stored.queue_offset)} | REGION
    if transaction_id is not None:
        ext["transactionId"] = transaction_id
    if handle is not None:
        ext["recallHandle"] = handle
    return Reply(0, None, ext)


def _address(host: Host) -> str:
    return f"{host[0]}:{host[1]}"


def _pushed(stored: Record, asker: str | None, heard: Command | None) -> Reply:
    reply = _send_reply(stored, 0, stored.msg_id, None, None)
    if heard is None or heard.code != 0:
        return reply._replace(code=1, remark=f"push reply message to {asker}fail.")
    return reply
