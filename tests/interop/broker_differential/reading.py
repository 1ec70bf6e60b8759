"""What an answer says, without what each broker makes up for itself.

Owns: which parts of answers are times, ids and addresses, and what stands in their place.
Must not know: how an answer was got; which differences are wanted.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from tests.interop.broker_differential.history import Request
from tests.interop.broker_differential.json_value import read_json
from tests.support.faulty_broker.records import Record, decode_records
from tests.support.wire import Answer

SHARED_TOPICS: Final = frozenset({"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RigCluster_REPLY_TOPIC"})
HOUR_MS: Final = 3_600_000
ALL_PRODUCERS: Final = 328
SYSTEM_TOPICS: Final = 305
OWN_MARK: Final = "~"
RECORD_CODES: Final = frozenset({11, 361, 12, 33})
OWN_TABLES: Final = frozenset({"topicConfigTable", "subscriptionGroupTable", "data", "offsetTable", "forbiddenTable"})
OWN_TABLE_CODES: Final = frozenset({21, 201, 328, 43})
LEFT_OUT: Final = frozenset(
    {
        "dataVersion",
        "mappingDataVersion",
        "topicQueueMappingDetailMap",
        "topicQueueMappingInfoMap",
        "topicPutTps",
        "consumeTps",
    }
)
"""Of tables: versions, rates, and static topics, which ours does not have."""
SETS: Final = frozenset(
    {"consumerIdList", "lockOKMQSet", "groupList", "topicList", "connectionSet", "tagsSet", "codeSet"}
)
STORE_LOCAL: Final = frozenset({"physicOffset", "physicSize"})
STORE_LOCAL_EXT: Final = frozenset({"indexLastUpdatePhyoffset", "totalTopicNum", "totalGroupNum"})
_ADDRESS: Final = re.compile(r"/?127\.0\.0\.1(:\d+)?")
_MADE_ID: Final = re.compile(r"^(?:[0-9A-F]{32}|[0-9A-F]{56})$")

Unfill = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An answer that can be compared; `failure` says why there is none."""

    code: int | None = None
    flag: int | None = None
    language: str | None = None
    remark: str | None = None
    ext: Mapping[str, str] | None = None
    body: Any = None
    failure: str | None = None

    def __str__(self) -> str:
        """Show what there is."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)


def read(step: Request, answer: Answer, unfill: Unfill) -> Seen:
    """Give what an answer to a request says; `unfill` puts the tokens of a history back."""
    remark = _ADDRESS.sub("ADDR", unfill(answer.remark)) if answer.remark else None
    ext = None if answer.ext is None else {name: _ext(name, value, unfill) for name, value in answer.ext.items()}
    if ext and "queueOffset" in ext and _is_parked(step):
        ext["queueOffset"] = "PARKED"
    return Seen(
        code=answer.code, flag=answer.flag, language=answer.language, remark=remark, ext=ext,
        body=_body(step.code, answer, unfill),
    )  # fmt: skip


def _is_parked(step: Request) -> bool:
    """Whether a message may be in a queue that all histories share."""
    properties = step.get("i") + step.get("properties")
    return (
        "DELAY\x01" in properties or "TRAN_MSG\x01" in properties or "REPLY_TOPIC" in step.get("b") + step.get("topic")
    )


def differing(theirs: Seen, ours: Seen) -> frozenset[str]:
    """Give the names of the fields that are not equal."""
    return frozenset(each.name for each in fields(Seen) if getattr(theirs, each.name) != getattr(ours, each.name))


def _ext(name: str, value: str, unfill: Unfill) -> str:
    if name == "msgId":
        return ",".join("ID" if _MADE_ID.match(each) else each for each in value.split(","))
    if name == "transactionId" and _MADE_ID.match(value):
        return "MADE"
    if name in STORE_LOCAL_EXT:
        return "0" if value == "0" else "SOME"
    if name in ("timestamp", "indexLastUpdateTimestamp"):
        return str(_time(value))
    return unfill(value)


def _time(value: Any) -> Any:
    is_now = str(value).isdigit() and abs(int(value) - time.time() * 1000) < HOUR_MS
    return "NOW" if is_now else value


def _body(code: int, answer: Answer, unfill: Unfill) -> Any:
    if not answer.body:
        return None
    if code in RECORD_CODES and answer.code == 0:
        return [_record(each, unfill) for each in decode_records(answer.body)]
    text = answer.body.decode(errors="surrogateescape")
    return _value(code, read_json(text), unfill) if text[:1] in "{[" else unfill(text)


def _record(record: Record, unfill: Unfill) -> tuple[object, ...]:
    queue_offset = "PARKED" if record.topic in SHARED_TOPICS else record.queue_offset
    return (
        unfill(record.topic), record.queue_id, queue_offset, unfill(record.body.decode("latin-1")),
        {name: "MADE" if _MADE_ID.match(value) else unfill(value) for name, value in record.named.items()}, record.sys_flag, record.flag, _time(record.born_ms), record.born_host[0],
        _time(record.store_ms), record.reconsume_times, "PARKED" if record.prepared_offset else 0,
    )  # fmt: skip


def _value(code: int, value: Any, unfill: Unfill, name: str = "") -> Any:
    if isinstance(value, dict):
        members = {unfill(key): each for key, each in value.items() if key not in LEFT_OUT}
        if code in OWN_TABLE_CODES and name in OWN_TABLES:
            members = {key: each for key, each in members.items() if OWN_MARK in key}
        return {
            _ADDRESS.sub("ADDR", key): _value(code, each, unfill, key)
            for key, each in members.items()
            if key not in STORE_LOCAL
        }
    if isinstance(value, list):
        items = [_value(code, each, unfill, name) for each in value]
        if code == SYSTEM_TOPICS:
            items = [each for each in items if OWN_MARK not in each]
        return sorted(items, key=repr) if name in SETS or code == ALL_PRODUCERS else items
    return _ADDRESS.sub("ADDR", unfill(value)) if isinstance(value, str) else _time(value)
