"""Whether two servers say the same.

Owns: which parts of two answers count, and which are equal although they are written differently.
Must not know: where the answers come from; what is done about a difference.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.json_dialects import parse_lenient
from cosmodrome.protocol.versions import V5_0_0

ABSENT: Final = msgspec.UNSET
SHOWN_ELEMENTS: Final = 20

# What releases before 5.0.0 do not know; the first is absent without harm whatever a server calls itself.
_ACTING: Final = "enableActingMaster"
_SINCE_5: Final = frozenset({_ACTING, "zoneName", "topicQueueMappingByBroker"})
_FORMER_NAMES: Final = {"topicSynFlag": "topicSysFlag"}
_FORMER_BYTES: Final = tuple(name.encode() for name in _FORMER_NAMES)

# 17 ends with the address of a help page, which every few releases is another one.
_HELP_PAGE: Final = "\nSee http"
_JAVA_EXCEPTION: Final = re.compile(r"[a-z]\w*(\.\w+)+(Exception|Error)\b")

_MAY_HOLD_BARE_KEYS: Final = re.compile(rb"[{,]-?[0-9]+:")
_UP_TO_A_BARE_KEY: Final = re.compile(
    rb"""((?:[^"{,]++|"(?:[^"\\]++|\\.)*+"?|[{,](?!-?[0-9]+:))*+)(?:([{,])(-?[0-9]++)(?=:))?""", re.DOTALL
)


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One place where two answers differ, such as `body.queueDatas[broker-a].perm`, and what each says there.

    Of lists whose elements have no name, each side holds what the other has not.
    """

    where: str
    ours: Any = ABSENT
    theirs: Any = ABSENT


def differences(ours: RemotingCommand, theirs: RemotingCommand) -> list[Difference]:
    """Give what two answers to one question do not agree in; nothing when they say the same.

    Swapping the arguments swaps the sides of every difference, and changes nothing else. Left out is what two
    servers cannot or need not have in common (docs/compatibility.md): opaque, version, language and codec of the
    header; the order of lists and members; the JSON dialect; empty against missing; which broker 304 names; static
    topics of brokers that are gone; members that 4.x does not know; texts of Java exceptions. Bodies are compared
    when the codes are equal.
    """
    found = list(_compare("code", int(ours.code), int(theirs.code)))
    found += _compare("remark", *_remarks(ours, theirs))
    found += _compare("extFields", _ext_fields(ours), _ext_fields(theirs))
    if ours.code == theirs.code and ours.body != theirs.body:
        is_old = min(ours.version, theirs.version) < V5_0_0
        found += _compare("body", _document(ours.body, is_old=is_old), _document(theirs.body, is_old=is_old))
    return found


def body_value(body: bytes) -> Any:
    """Give a body as a JSON value, whichever dialect it is in; as text when it is no JSON, ABSENT when empty."""
    if not body:
        return ABSENT
    try:
        return parse_lenient(_with_quoted_keys(body))
    except MalformedBodyError:
        return body.decode("utf-8", "replace")


def _with_quoted_keys(body: bytes) -> bytes:
    """Make standard JSON of fastjson's plain dialect, in C: the tolerant reader is slow, and limited for that."""
    if _MAY_HOLD_BARE_KEYS.search(body) is None:
        return body
    return _UP_TO_A_BARE_KEY.sub(lambda match: b'%b%b"%b"' % match.groups() if match[3] else match[1], body)


def _remarks(ours: RemotingCommand, theirs: RemotingCommand) -> tuple[Any, Any]:
    remarks = [(side.remark or "").partition(_HELP_PAGE)[0] or ABSENT for side in (ours, theirs)]
    if ours.code == theirs.code == ResponseCode.SYSTEM_ERROR and any(map(_is_exception_text, remarks)):
        return ABSENT, ABSENT
    return remarks[0], remarks[1]


def _is_exception_text(remark: Any) -> bool:
    return isinstance(remark, str) and _JAVA_EXCEPTION.match(remark) is not None


def _ext_fields(side: RemotingCommand) -> dict[str, str]:
    """Give the fields that say something: the binary codec cannot tell an empty value from none."""
    return {name: value for name, value in (side.ext_fields or {}).items() if value}


def _document(body: bytes, *, is_old: bool) -> Any:
    document = body_value(body)
    if not isinstance(document, dict):
        return document
    if is_old or any(name in body for name in _FORMER_BYTES):
        document = _renamed(document, _SINCE_5 if is_old else frozenset())
    if "topicList" in document:
        document.pop("brokerAddr", None)
    if isinstance(document.get("topicQueueMappingByBroker"), dict):
        _leave_out_gone_brokers(document)
    return document


def _renamed(value: Any, unknown: frozenset[str]) -> Any:
    """Give a document in today's names, without members that one of the servers does not know."""
    if isinstance(value, dict):
        members = ((_FORMER_NAMES.get(name, name), member) for name, member in value.items() if name not in unknown)
        return {name: _renamed(member, unknown) for name, member in members}
    return [_renamed(each, unknown) for each in value] if isinstance(value, list) else value


def _leave_out_gone_brokers(route: dict[str, Any]) -> None:
    """COMPAT: Apache's routes keep static topics of brokers that are gone (static-topics-cleaned)."""
    datas = _by_name(route.get("brokerDatas")) or {}
    mappings = route.pop("topicQueueMappingByBroker")
    kept = {name: mapping for name, mapping in mappings.items() if name in datas}
    if kept:
        route["topicQueueMappingByBroker"] = kept


def _compare(where: str, ours: Any, theirs: Any) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        yield from _members((f"{where}.", ""), ours, theirs)
    elif isinstance(ours, list) and isinstance(theirs, list):
        yield from _elements(where, ours, theirs)
    elif ours != theirs:
        yield Difference(where, ours, theirs)


def _members(around: tuple[str, str], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[Difference]:
    """Compare what has the same name; `around` is what stands before and after a name in `where`."""
    if ours == theirs:
        return
    before, after = around
    for name in sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)):
        mine, others = _member(ours, name), _member(theirs, name)
        if name != _ACTING or (mine is not ABSENT and others is not ABSENT):
            yield from _compare(f"{before}{name}{after}", mine, others)


def _member(value: Mapping[str, Any], name: str) -> Any:
    """Give a member; one that is null is as good as absent."""
    member = value.get(name)
    return ABSENT if member is None else member


def _elements(where: str, ours: list[Any], theirs: list[Any]) -> Iterator[Difference]:
    """Compare lists as sets, which all lists of a NameServer are."""
    ours_by_name, theirs_by_name = _by_name(ours), _by_name(theirs)
    if ours_by_name is not None and theirs_by_name is not None:
        yield from _members((f"{where}[", "]"), ours_by_name, theirs_by_name)
        return
    key = str if _are_texts(ours) and _are_texts(theirs) else _canonical
    mine, others = {key(each): each for each in ours}, {key(each): each for each in theirs}
    if mine.keys() != others.keys():
        yield Difference(where, _only_in(mine, others), _only_in(others, mine))


def _are_texts(elements: list[Any]) -> bool:
    return all(isinstance(each, str) for each in elements)


def _by_name(elements: Any) -> dict[str, Any] | None:
    """Give BrokerDatas or QueueDatas by their broker's name; None for what is not that, or has a name twice."""
    if not isinstance(elements, list) or not all(isinstance(each, dict) for each in elements):
        return None
    named = {each["brokerName"]: each for each in elements if isinstance(each.get("brokerName"), str)}
    return named if len(named) == len(elements) else None


def _only_in(elements: Mapping[str, Any], others: Mapping[str, Any]) -> list[Any]:
    names = sorted(elements.keys() - others.keys())
    more = len(names) - SHOWN_ELEMENTS
    return [elements[name] for name in names[:SHOWN_ELEMENTS]] + ([f"and {more} more"] if more > 0 else [])


def _canonical(value: Any) -> str:
    """Give a text that is the same for values that are equal here."""
    return msgspec.json.encode(_sorted(value), order="sorted").decode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(member) for name, member in value.items() if member is not None}
    return sorted({_canonical(each) for each in value}) if isinstance(value, list) else value
