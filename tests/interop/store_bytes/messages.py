"""A story of messages of every kind, told to a broker one after another.

Owns: what is sent, in which order; waiting for what a broker does later, so that the order on disk is that of the story.
Must not know: which broker it is; what its files hold then.
"""

import zlib
from collections.abc import Mapping
from typing import Final

from tests.support.broker_load import end_of, read_queue
from tests.support.faulty_broker.records import encode_batch, encode_properties, offset_of
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Wire

SIZES: Final = {
    "mappedFileSizeCommitLog": 65_536,
    "mappedFileSizeConsumeQueue": 200,
    "maxHashSlotNum": 50,
    "maxIndexNum": 40,
}
BORN_MS: Final = 1_700_000_000_000
TOPIC: Final = "Bytes"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
REPLY_TOPIC: Final = "RigCluster_REPLY_TOPIC"
NOBODY_THERE: Final = 1
GROUP: Final = "bytes-group"
PREPARED: Final = "4"
COMMIT, ROLLBACK = "8", "12"
SEND, SEND_LONG, SEND_BATCH, SEND_REPLY = 310, 10, 320, 325
SEND_BACK, END_TRANSACTION, QUERY = 36, 37, 12
LONG_NAMES: Final = {
    "a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId", "f": "sysFlag",
    "g": "bornTimestamp", "h": "flag", "i": "properties", "j": "reconsumeTimes", "k": "unitMode", "m": "batch",
}  # fmt: skip
LAST_KEY: Final = "the-last-key"
EVER: Final = str(1 << 62)


def play(address: str) -> None:
    """Tell a broker the story, and return when its files say all of it."""
    with Wire(address, timeout=30) as connection:
        story = _Story(connection)
        story.ordinary()
        story.batches()
        story.delayed()
        story.replies()
        story.transactions()
        story.failed()
        story.many()
        story.settle()


def unique(number: int) -> str:
    """Give the id that a client gives to a message."""
    return f"7F000001{number:024X}"


class _Story:
    def __init__(self, connection: Wire) -> None:
        self._connection = connection
        self._number = 0

    def ordinary(self) -> None:
        """Messages that are stored as they are sent."""
        self._sent()
        self._sent(TAGS="TagA")
        self._sent(TAGS="TagB", KEYS="key-1 key-2", WAIT="true")
        self._sent(TAGS="Größe", KEYS="ключ", user="值", other="a b")
        self._sent(code=SEND_LONG, TAGS="TagA", KEYS="long-names")
        self._sent(body=zlib.compress(b"compressed " * 500), f="769", TAGS="TagC")
        self._sent(body=bytes(range(256)) * 100, h="77", KEYS="big")
        self._sent(body="текст".encode(), e="3", h="-1")
        self._sent(topic="Another_topic-of%others", e="1", KEYS="key-1")
        self._sent(text=f"TAGS\x01cut\x02UNIQ_KEY\x01{unique(999)}")
        self._sent(
            CORRELATION_ID="c-1",
            REPLY_TO_CLIENT="c@1",
            TTL="3000",
            MSG_TYPE="request",
            INSTANCE_ID="i",
            __SHARDINGKEY="s",
        )
        self._sent(codec="ROCKETMQ", TAGS="TagA", KEYS="binary")

    def batches(self) -> None:
        """Several messages in one request, in both forms of it."""
        for code in (SEND_BATCH, SEND):
            entries = []
            for at in range(3):
                named = {"TAGS": f"Tag{at}", "KEYS": f"batch-{at}", "UNIQ_KEY": self._next_id(), "WAIT": "true"}
                entries.append((at, b"entry %d" % at, encode_properties(named)))
            self._request(code, _fields(TOPIC, {"WAIT": "true"}, e="2", m="true"), encode_batch(entries))

    def delayed(self) -> None:
        """Messages that wait for their level or their time, one after the other in a queue that has no others yet."""
        for at, level in enumerate(("1", "2", "99"), 1):
            self._sent(e="1", DELAY=level, TAGS="Late", KEYS=f"late-{level}")
            self._until(TOPIC, 1, at)
        self._sent(e="1", DELAY="0", TAGS="AtOnce")
        self._sent(e="1", TIMER_DELAY_SEC="2", TAGS="Timed", KEYS="timed")
        self._until(TOPIC, 1, 5)
        self._sent(e="1", TIMER_DELIVER_MS=str(BORN_MS), KEYS="long-ago")

    def replies(self) -> None:
        """Replies whose asker is gone are stored all the same, and one without an id gets none."""
        named = {"MSG_TYPE": "reply", "CORRELATION_ID": "c", "REPLY_TO_CLIENT": "gone@1", "TTL": "3000"}
        for more in ({"UNIQ_KEY": self._next_id()}, {}):
            fields = _fields(REPLY_TOPIC, named | more)
            assert self._connection.request(SEND_REPLY, fields, b"reply").code == NOBODY_THERE

    def transactions(self) -> None:
        """Half messages, committed and rolled back; the record of each end is there before the next one."""
        ends = ((COMMIT, "half other"), (ROLLBACK, None))
        for at, (decision, keys) in enumerate(ends, 1):
            answer = self._sent(f=PREPARED, TRAN_MSG="true", PGROUP="bytes-producer", TAGS="TagT", KEYS=keys)
            fields = answer.ext or {}
            end = {
                "producerGroup": "bytes-producer", "tranStateTableOffset": fields["queueOffset"],
                "commitLogOffset": str(offset_of(fields["msgId"])), "commitOrRollback": decision, "msgId": unique(self._number),
                "transactionId": unique(self._number), "topic": TOPIC,
            }  # fmt: skip
            assert self._connection.request(END_TRANSACTION, end).code == 0
            self._until(OP_TOPIC, 0, at)

    def failed(self) -> None:
        """Messages that a consumer gives back, at first and again, and one that is dead at once."""
        retry, dead = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"
        first = self._sent(TAGS="Bad", KEYS="bad")
        self._back(offset_of((first.ext or {})["msgId"]), "1")
        self._until(retry, 0, 1)
        again = self._offset_in(retry, 0)
        self._back(again, "1")
        self._until(retry, 0, 2)
        self._back(again, "-1")
        self._until(dead, 0, 1)
        self._sent(topic=retry, j="1", RECONSUME_TIME="1", RETRY_TOPIC=TOPIC)

    def many(self) -> None:
        """So many that files are filled."""
        for at in range(60):
            self._sent(e=str(at % 4), body=b"b" * (at * 97 % 3000 + 1), TAGS=f"Tag{at % 3}", KEYS=f"key-{at % 7} every")

    def settle(self) -> None:
        """Send messages for which the broker makes ids, at the very end, and wait until the last is in the index."""
        self._sent(text="")
        self._sent(UNIQ_KEY=None, KEYS=LAST_KEY)
        question = {"topic": TOPIC, "key": LAST_KEY, "maxNum": "8", "beginTimestamp": "0", "endTimestamp": EVER}
        wait_until(lambda: self._connection.request(QUERY, question).code == 0, "the last one by its key")

    def _sent(
        self, *, topic: str = TOPIC, body: bytes = b"body", code: int = SEND, codec: str = "JSON", text: str | None = None,
        **more: str | None,
    ) -> Answer:  # fmt: skip
        """Send a message; names of one letter are fields, others are properties."""
        named: dict[str, str | None] = {"UNIQ_KEY": self._next_id()}
        named |= {name: value for name, value in more.items() if len(name) > 1}
        fields = _fields(topic, {name: value for name, value in named.items() if value is not None})
        fields |= {name: value or "" for name, value in more.items() if len(name) == 1}
        if text is not None:
            fields["i"] = text
        return self._request(code, fields, body, codec=codec)

    def _request(self, code: int, fields: Mapping[str, str], body: bytes, codec: str = "JSON") -> Answer:
        if code == SEND_LONG:
            fields = {LONG_NAMES[name]: value for name, value in fields.items()}
        answer = self._connection.request(code, fields, body, codec=codec)
        assert answer.code == 0, answer
        return answer

    def _next_id(self) -> str:
        self._number += 1
        return unique(self._number)

    def _back(self, offset: int, level: str) -> None:
        fields = {"offset": str(offset), "group": GROUP, "delayLevel": level, "originTopic": TOPIC, "unitMode": "false"}
        answer = self._connection.request(SEND_BACK, fields)
        assert answer.code == 0, answer

    def _until(self, topic: str, queue_id: int, end: int) -> None:
        wait_until(lambda: end_of(self._connection, topic, queue_id) >= end, f"{end} in {topic}")

    def _offset_in(self, topic: str, queue_offset: int) -> int:
        (record, *_) = read_queue(self._connection, topic, 0, queue_offset).records
        return record.offset


def _fields(topic: str, named: Mapping[str, str], **more: str) -> dict[str, str]:
    return {
        "a": "bytes-producer", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": str(BORN_MS), "h": "0",
        "i": encode_properties(named).decode(), "j": "0", "k": "false", "m": "false",
    } | more  # fmt: skip
