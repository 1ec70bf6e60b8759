"""Random histories, determined by a seed and a number.

Owns: which requests clients and tools send, with what is usual and what is wrong in them.
Must not know: how either broker answers. What is not played at all, because chance or time decides the answer, is
left out here: queues that the broker draws, messages that are due, and the second end of a half message.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Any, Final

from tests.interop.broker_differential.history import Close, History, Request, Step
from tests.support.faulty_broker.records import encode_batch

BORN: Final = "1700000000000"
EVER: Final = str(1 << 62)
TOPICS: Final = ("t1~", "t2~", "t3~", "unmade~")
RELAYED_GROUP: Final = "direct~"
GROUPS: Final = ("g1~", "g2~", "g3~")
CONNECTIONS: Final = ("a", "a", "a", "b", "c")
CLIENT_IDS: Final = MappingProxyType({"a": "c1~", "b": "c2~", "c": "c1~"})
ODD_NUMBERS: Final = (
    "",
    "abc",
    "-1",
    "9",
    "2147483648",
    "9223372036854775807",
    "1.5",
    " 1",
    "+1",
    "-9223372036854775808",
)
ODD_NAMES: Final = ("", " ", "with blank~", "a" * 130, "a" * 260, "slash/~", "uml\u00e4ut~", "%RETRY%g1~", "%DLQ%g1~")  # fmt: skip
EXPRESSIONS: Final = ("*", "*", "", "TagA", "TagA || TagB", "TagC", "||", " TagA ||", "TagA||TagA")
STEPS: Final = (6, 26)

Make = Callable[["_Writer"], Step]


@dataclass
class _Writer:
    """Writes one history."""

    random: Random
    labels: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    """Groups that are there for certain."""
    sent_to: tuple[str, str] = ("t1~", "0")
    """Topic and queue of the last send."""
    halves: list[str] = field(default_factory=list)
    """Labels of half messages that nobody has ended."""

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def is_rare(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def topic(self) -> str:
        return str(self.random.choice(TOPICS[:3] if self.random.randrange(12) else TOPICS))

    def group(self) -> str:
        return str(self.random.choice(GROUPS))

    def queue(self) -> str:
        return (
            str(self.random.choice((0, 0, 0, 1, 1, 2, 3, 7))) if self.random.randrange(20) else self.one("9", "-1", "x")
        )

    def label(self) -> str:
        self.labels.append(f"m{len(self.labels)}")
        return self.labels[-1]

    def old_label(self) -> str:
        return str(self.random.choice(self.labels)) if self.labels else "none"

    def request(self, code: int, ext: Mapping[str, str] | None = None, body: Any = b"", **more: Any) -> Request:
        return Request(code=code, ext={} if ext is None else ext, body=body, connection=self.one(*CONNECTIONS), **more)


def generate(seed: int, number: int) -> History:
    """Give the history of a seed with this number."""
    writer = _Writer(Random(f"{seed}-{number}"))
    count = writer.random.randint(*STEPS)
    steps: list[Step] = [_topic(writer, f"t{at}~", at * at) for at in range(1, writer.random.randrange(4))]
    makes, weights = list(FAMILIES), list(FAMILIES.values())
    while len(steps) < count:
        step = writer.random.choices(makes, weights)[0](writer)
        if isinstance(step, Request) and writer.is_rare(14):
            step = _spoilt(writer, step)
        if isinstance(step, Request) and writer.is_rare(10):
            step = replace(step, codec="ROCKETMQ")
        steps.append(step)
    return History(seed=seed, number=number, steps=tuple(steps))


def _spoilt(writer: _Writer, step: Request) -> Request:
    """Leave out a field, or put something odd into it."""
    if step.code in FIXED:
        return step
    ext = dict(step.ext or {})
    if not ext:
        return replace(step, ext=writer.one(None, {}), body=writer.one(b"", b"{", b"[]", b"null", step.body))
    name = writer.random.choice(sorted(ext))
    if name in KEPT or name in map(_SHORT.get, KEPT):
        return step
    if writer.is_rare(2):
        del ext[name]
    else:
        ext[name] = writer.random.choice(ODD_NUMBERS if ext[name].lstrip("-").isdigit() else ODD_NAMES)
    if ext.get("e") == "-1" or ext.get("queueId") == "-1" or ext.get("d") in ("0", "-1", ""):
        return step  # chance decides, or a topic without queues is made
    return replace(step, ext=ext)


FIXED: Final = frozenset({11, 36, 37, 207, 324, 325, 352, 361})
"""Requests that are wrong in ways of their own, or not at all: of some Apache's broker makes a group or topic and fails then."""
KEPT: Final = frozenset(
    {
        "sysFlag", "flag", "bornTimestamp", "reconsumeTimes", "batch", "properties", "maxReconsumeTimes", "timestamp", "defaultTopic",
        "defaultTopicQueueNums", "commitOffset", "queueId", "topicFilterType",
    }
)  # fmt: skip
"""Fields that are never odd: of sends, for which Apache's broker makes the topic and fails then; the time of a reset; and
the offset that a pull commits, for without it there is no answer."""

_SHORT: Final = {
    "producerGroup": "a", "topic": "b", "defaultTopic": "c", "defaultTopicQueueNums": "d", "queueId": "e",
    "sysFlag": "f", "bornTimestamp": "g", "flag": "h", "properties": "i", "reconsumeTimes": "j", "unitMode": "k",
    "maxReconsumeTimes": "l", "batch": "m",
}  # fmt: skip


def _send(writer: _Writer) -> Step:
    code = writer.one(310, 310, 310, 10)
    fields = {
        "producerGroup": "pg~", "topic": writer.topic(), "defaultTopic": writer.one("TBW102", "TBW102", "TBW102", "none"),
        "defaultTopicQueueNums": writer.one("4", "4", "1", "100"), "queueId": writer.queue(),
        "sysFlag": writer.one("1", "2", "4", "8", "12", "64", "128", "256") if writer.is_rare(12) else "0",
        "bornTimestamp": BORN, "flag": writer.one("0", "0", "7", "-1"), "properties": _properties(writer),
        "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
    }  # fmt: skip
    if not fields["queueId"].isdigit():
        fields["queueId"] = "0"
    if fields["sysFlag"] != "0":
        fields["properties"] = fields["properties"].replace("DELAY", "DELAX")
    writer.sent_to = (fields["topic"], fields["queueId"])
    if writer.is_rare(25):
        fields["topic"] = writer.random.choice(ODD_NAMES)
        fields["queueId"] = "0"
    body = writer.one(b"body", b"x" * writer.random.randrange(1, 3000), "b\u00f6dy".encode(), b"\x00\xff")
    return writer.request(code, _named(fields, code), body, label=writer.label(), is_oneway=writer.is_rare(12))


def _named(fields: Mapping[str, str], code: int) -> dict[str, str]:
    return dict(fields) if code == 10 else {_SHORT[name]: value for name, value in fields.items()}


def _properties(writer: _Writer) -> str:
    named: dict[str, str] = {}
    for name, values in _PROPERTIES.items():
        if writer.is_rare(4):
            named[name] = writer.random.choice(values)
    if writer.is_rare(2):
        named["UNIQ_KEY"] = f"U{len(writer.labels)}~"
    text = "".join(f"{name}\x01{value}\x02" for name, value in named.items())
    if writer.is_rare(4):
        text = text[:-1]
    return text + (writer.one("odd", "\x02\x02", "\x02odd\x02") if writer.is_rare(20) else "")


_PROPERTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "KEYS": ("K1~", "K1~ K2~", "  K3~", ""), "TAGS": ("TagA", "TagB", "TagA", "\u706b", ""), "WAIT": ("true", "false", "x"),
    "DELAY": ("1", "2", "99", "0", "-1", "x", ""), "own": ("value", "\u706b", ""), "CLUSTER": ("other",), "POP_CK": ("1",),
    "MSG_REGION": ("here",), "TRACE_ON": ("false",), "INSTANCE_ID": ("i",),
}  # fmt: skip


def _batch(writer: _Writer) -> Step:
    code = writer.one(320, 320, 310, 10)
    count = writer.random.randrange(1, 5)
    entries = [
        (writer.one(0, 5), b"entry %d" % at, f"UNIQ_KEY\x01B{len(writer.labels)}-{at}~\x02TAGS\x01TagA\x02".encode())
        for at in range(count)
    ]
    properties = writer.one(
        "", f"UNIQ_KEY\x01B{len(writer.labels)}~\x02", "WAIT\x01false\x02", "KEYS\x01K1~\x02TAGS\x01TagB\x02"
    )
    fields = {
        "producerGroup": "pg~", "topic": writer.topic(), "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": "0", "sysFlag": "0", "bornTimestamp": BORN, "flag": "0", "properties": properties,
        "reconsumeTimes": "0", "unitMode": "false", "batch": "true",
    }  # fmt: skip
    body = encode_batch(entries)
    return writer.request(code, _named(fields, code), body, label=writer.label())


def _half(writer: _Writer) -> Step:
    label = writer.label()
    writer.halves.append(label)
    properties = f"TRAN_MSG\x01true\x02PGROUP\x01pg~\x02UNIQ_KEY\x01H{label}~\x02KEYS\x01K1~\x02"
    fields = {
        "producerGroup": "pg~", "topic": writer.topic(), "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": "0", "sysFlag": writer.one("4", "4", "0"), "bornTimestamp": BORN, "flag": "0",
        "properties": properties, "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
    }  # fmt: skip
    return writer.request(310, _named(fields, 310), b"half", label=label)


def _end(writer: _Writer) -> Step:
    is_known = bool(writer.halves) and not writer.is_rare(5)
    label = writer.halves.pop(writer.random.randrange(len(writer.halves))) if is_known else "none"
    ext = {
        "producerGroup": writer.one("pg~", "pg~", "pg~", "other~"), "tranStateTableOffset": f"@{{{label}.queue}}",
        "commitLogOffset": f"@{{{label}.offset}}", "commitOrRollback": writer.one("8", "8", "12"),
        "fromTransactionCheck": writer.one("false", "true"), "msgId": f"H{label}~", "transactionId": f"H{label}~",
    }  # fmt: skip
    return writer.request(37, ext)


def _send_back(writer: _Writer) -> Step:
    ext = {
        "offset": f"@{{{writer.old_label()}.offset}}", "group": writer.group(), "delayLevel": writer.one("0", "3", "99", "-1"),
        "originMsgId": "o", "originTopic": "t1~", "unitMode": "false",
    }  # fmt: skip
    if writer.is_rare(3):
        ext["maxReconsumeTimes"] = writer.one("0", "1", "16", "-1")
    return writer.request(36, ext)


def _to_retry(writer: _Writer) -> Step:
    """Give what a client sends when it cannot send a message back."""
    times = writer.one("0", "1", "3", "17")
    properties = f"RETRY_TOPIC\x01t1~\x02UNIQ_KEY\x01R{len(writer.labels)}~\x02DELAY\x01{writer.one('3', '4')}\x02"
    fields = {
        "producerGroup": "CLIENT_INNER_PRODUCER", "topic": f"%RETRY%{writer.group()}", "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0", "bornTimestamp": BORN, "flag": "0",
        "properties": properties, "reconsumeTimes": times, "unitMode": "false", "batch": "false",
    }  # fmt: skip
    if writer.is_rare(2):
        fields["maxReconsumeTimes"] = writer.one("2", "3", "16")
    return writer.request(310, _named(fields, 310), b"again", label=writer.label())


def _pull(writer: _Writer) -> Step:
    ext = {
        "consumerGroup": writer.group(), "topic": writer.one(writer.topic(), writer.topic(), f"%RETRY%{writer.group()}", f"%DLQ%{writer.group()}"),
        "queueId": writer.queue(), "queueOffset": writer.one("0", "0", "0", "1", "2", "100", "-1"),
        "maxMsgNums": writer.one("32", "32", "1", "64", "0", "-1"), "sysFlag": writer.one("4", "4", "4", "0", "5"),
        "commitOffset": writer.one("0", "1", "5", "-1"), "suspendTimeoutMillis": "15000", "subVersion": writer.one("0", "0", "5"),
        "subscription": writer.random.choice(EXPRESSIONS),
    }  # fmt: skip
    if writer.is_rare(2):
        ext["expressionType"] = writer.one("TAG", "TAG", "FOO")
    if not ext["queueId"].isdigit():
        ext["queueId"] = "9"
    if writer.is_rare(8):
        ext["maxMsgBytes"] = "262144"
    if writer.is_rare(2):
        ext |= {"sysFlag": "4", "subscription": "*"} | dict(zip(("topic", "queueId"), writer.sent_to, strict=True))
    return writer.request(writer.one(11, 11, 361), ext)


def _offsets(writer: _Writer) -> Step:
    place = {"topic": writer.topic(), "queueId": writer.queue()}
    group = {"consumerGroup": writer.group()}
    code = writer.one(14, 14, 15, 15, 29, 30, 31, 32)
    if code == 14:
        more = group | ({"setZeroIfNotFound": writer.one("true", "false")} if writer.is_rare(3) else {})
    elif code == 15:
        more = group | {"commitOffset": writer.one("0", "1", "2", "99", "-1")}
    elif code == 29:
        more = {
            "timestamp": writer.one("0", "1", EVER, "-1"),
            "boundaryType": writer.one("LOWER", "UPPER", "lower", "ODD"),
        }
        if writer.is_rare(2):
            del more["boundaryType"]
    else:
        more = {"committed": writer.one("true", "false")} if code == 30 and writer.is_rare(3) else {}
    return writer.request(code, place | more, is_oneway=code == 15 and writer.is_rare(3))


def _heartbeat(writer: _Writer) -> Step:
    connection = writer.one(*CONNECTIONS)
    names = writer.random.sample(TOPICS[:3], writer.random.randrange(1, 4))
    subscriptions = [
        {
            "topic": name, "subString": writer.random.choice(EXPRESSIONS), "subVersion": writer.one(1, 2, 5),
            "expressionType": "TAG", "classFilterMode": False, "tagsSet": [], "codeSet": [],
        }
        for name in [*names, f"%RETRY%{GROUPS[0]}"][: writer.random.randrange(1, 5)]
    ]  # fmt: skip
    consumer = {
        "groupName": writer.group(), "consumeType": writer.one("CONSUME_PASSIVELY", "CONSUME_PASSIVELY", "CONSUME_ACTIVELY"),
        "messageModel": writer.one("CLUSTERING", "CLUSTERING", "BROADCASTING"),
        "consumeFromWhere": writer.one("CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET"), "unitMode": False,
        "subscriptionDataSet": subscriptions,
    }  # fmt: skip
    body = {
        "clientID": writer.one("c1~", "c2~"), "producerDataSet": [{"groupName": "pg~"}][: writer.random.randrange(2)],
        "consumerDataSet": [consumer][: writer.random.randrange(5)],
    }  # fmt: skip
    return replace(writer.request(34, {}, body), connection=connection)


def _members(writer: _Writer) -> Step:
    group = writer.group()
    code = writer.one(35, 38, 38, 203, 203, 204, 328, 343, 345, 300)
    ext = {
        35: {"clientID": writer.one("c1~", "c2~"), "consumerGroup": group},
        38: {"consumerGroup": group},
        203: {"consumerGroup": group},
        204: {"producerGroup": writer.one("pg~", "other~")},
        328: {},
        343: {"group": group},
        345: {"group": group, "topic": writer.topic()},
        300: {"topic": writer.topic()},
    }[code]
    if code == 35 and writer.is_rare(3):
        ext = {"clientID": "c1~", "producerGroup": "pg~"}
    return writer.request(code, ext)


def _locks(writer: _Writer) -> Step:
    queues = [
        {"brokerName": "broker-diff", "queueId": writer.random.randrange(3), "topic": writer.topic()}
        for _ in range(writer.random.randrange(4))
    ]
    unique = list({tuple(each.items()): each for each in queues}.values())
    body = {
        "clientId": writer.one("c1~", "c2~"),
        "consumerGroup": writer.group(),
        "mqSet": unique,
        "onlyThisBroker": False,
    }
    return writer.request(writer.one(41, 41, 42), {}, body)


def _topic(writer: _Writer, topic: str, queues: int) -> Request:
    ext = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues), "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    return writer.request(17, ext)


def _topic_admin(writer: _Writer) -> Step:
    topic = writer.topic()
    code = writer.one(17, 17, 17, 18, 215, 351, 351, 202, 202, 21)
    if code == 17:
        step = _topic(writer, topic, writer.one(1, 2, 4))
        more = writer.one(
            {}, {}, {"perm": writer.one("2", "4", "0", "7")}, {"order": "true"}, {"writeQueueNums": "2", "readQueueNums": "1"},
            {"attributes": writer.one("+message.type=FIFO", "+message.type=ODD", "message.type=FIFO", "+own=1", "-message.type", "")},
            {"topicFilterType": writer.one("MULTI_TAG", "ODD")}, {"topicSysFlag": "1"},
        )  # fmt: skip
        return replace(step, ext={**(step.ext or {}), **more})
    if code == 18:
        config = {
            "topicName": topic, "readQueueNums": 2, "writeQueueNums": 3, "perm": 6, "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0, "order": False, "attributes": {},
        }  # fmt: skip
        return writer.request(18, {}, {"topicConfigList": [config]})
    return writer.request(code, {} if code == 21 else {"topic": topic})


def _group_admin(writer: _Writer) -> Step:
    group = writer.group()
    code = writer.one(200, 200, 225, 207, 352, 352, 201, 208, 208, 222, 222, 314)
    if code in (200, 225):
        config = {
            "groupName": group, "consumeEnable": writer.one(True, True, True, False), "consumeBroadcastEnable": writer.one(True, True, False),
            "retryMaxTimes": writer.one(16, 3, 0, -1), "retryQueueNums": writer.one(1, 1, 0), "brokerId": 0,
            "notifyConsumerIdsChangedEnable": writer.one(True, False), "consumeFromMinEnable": True, "whichBrokerWhenConsumeSlowly": 1,
        }  # fmt: skip
        kept = {name: value for name, value in config.items() if name == "groupName" or not writer.is_rare(3)}
        return writer.request(code, {}, kept if code == 200 else {"groupConfigList": [kept]})
    if code == 207 and group not in writer.made:
        code = 352  # deleting a group that is not there makes it at Apache's broker
    if code in (207, 352):
        (writer.made.discard if code == 207 else writer.made.add)(group)
    ext = {
        207: {"groupName": group, "cleanOffset": writer.one("true", "false")},
        352: {"group": group},
        201: {},
        208: {"consumerGroup": group} | ({"topic": writer.topic()} if writer.is_rare(2) else {}),
        222: {
            "topic": writer.topic(), "group": group, "timestamp": writer.one("-1", "0", EVER), "isForce": writer.one("true", "false"),
        },
        314: {"srcGroup": group, "destGroup": writer.group(), "topic": writer.topic(), "offline": "false"},
    }[code]  # fmt: skip
    if code == 222 and writer.is_rare(2):
        ext |= {"queueId": writer.one("0", "1", "-1", "9"), "offset": writer.one("0", "1", "50", "-1")}
    return writer.request(code, ext)


def _queries(writer: _Writer) -> Step:
    code = writer.one(12, 12, 33, 33, 321)
    if code == 12:
        key = writer.one("K1~", "K2~", "K3~", "TagA", "U1~", "U0~", "B1-0~", "none")
        ext = {
            "topic": writer.topic(), "key": key, "maxNum": writer.one("32", "1", "64"),
            "beginTimestamp": writer.one("0", "0", "0", EVER), "endTimestamp": writer.one(EVER, EVER, EVER, "1"),
        }  # fmt: skip
        more = writer.one({}, {}, {"_UNIQUE_KEY_QUERY": "true"}, {"indexType": writer.one("T", "K", "U")})
        return writer.request(12, ext | more)
    if code == 33:
        return writer.request(33, {"offset": writer.one(f"@{{{writer.old_label()}.offset}}", "-1", EVER)})
    ext = {
        "topic": writer.topic(),
        "queueId": writer.queue(),
        "index": writer.one("0", "1", "-1", "50"),
        "count": writer.one("10", "1", "0"),
    }
    return writer.request(321, ext | ({"consumerGroup": writer.group()} if writer.is_rare(2) else {}))


def _reply(writer: _Writer) -> Step:
    code = writer.one(324, 325)
    properties = (
        writer.one("", "REPLY_TO_CLIENT\x01nobody~\x02CORRELATION_ID\x01c\x02", "CORRELATION_ID\x01c\x02")
        + "MSG_TYPE\x01reply\x02"
    )
    fields = {
        "producerGroup": "pg~", "topic": "RigCluster_REPLY_TOPIC", "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0", "bornTimestamp": BORN, "flag": "0",
        "properties": properties, "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
    }  # fmt: skip
    return writer.request(code, _named(fields, 10 if code == 324 else 310), b"reply")


def _other(writer: _Writer) -> Step:
    code = writer.one(46, 305, 27, 29_999, 40, 39, 220, 326, 307, 309)
    ext = {
        307: {"consumerGroup": writer.group(), "clientId": "c1~", "jstackEnable": "false"},
        309: {"consumerGroup": RELAYED_GROUP, "clientId": "nobody~", "msgId": "x", "brokerName": "broker-diff"},
    }.get(code, {})
    if code == 46:
        data = {
            "topic": writer.topic(),
            "subString": "*",
            "expressionType": writer.one("TAG", "FOO", ""),
            "subVersion": 1,
        }
        return writer.request(46, {}, {"clientId": "c1~", "group": writer.group(), "subscriptionData": data})
    if code == 307 and ext["clientId"] == "c1~":
        ext["clientId"] = "nobody~"
    return writer.request(code, ext)


def _close(writer: _Writer) -> Step:
    return Close(writer.one("b", "c"))


FAMILIES: Final[Mapping[Make, int]] = {
    _send: 24, _batch: 6, _half: 5, _end: 4, _send_back: 6, _to_retry: 4, _pull: 18, _offsets: 14, _heartbeat: 8, _members: 8,
    _locks: 5, _topic_admin: 8, _group_admin: 9, _queries: 9, _reply: 2, _other: 3, _close: 1,
}  # fmt: skip
