"""Differences that are wanted: docs/compatibility.md names them, this module recognises them.

Owns: for each name, when it explains that two answers are not equal. A rule counts only while its name stands in the
table "Deliberate differences of the broker" of that document.
Must not know: how histories are made.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tests.interop.broker_differential.generator import RELAYED_GROUP
from tests.interop.broker_differential.history import Request
from tests.interop.broker_differential.reading import Seen

TAKES_NOTHING_FOR_A_NAME: Final = frozenset({14, 29, 30, 31, 32, 208, 300, 314, 321, 343, 345})
HEADING: Final = "## Deliberate differences of the broker"
_JAVA_TEXT: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b|^Cannot (?:invoke|read) ")
_NO_FIELD: Final = re.compile(r"the custom field <\w+> is null$|.* is no number")
_NO_QUEUE: Final = re.compile(r"\d+@\S+ is not exist!$")


@dataclass(frozen=True, slots=True)
class Rule:
    """Which fields of an answer a wanted difference explains, and when."""

    fields: frozenset[str]
    applies: Callable[[Request, Seen, Seen], bool]


def explained(names: frozenset[str], step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    """Give the fields of two answers that may differ, by the rules of these names."""
    rules = (rule for name, rule in RULES.items() if name in names)
    return frozenset().union(*(rule.fields for rule in rules if rule.applies(step, theirs, ours)))


def _is_java_text(step: Request, theirs: Seen, ours: Seen) -> bool:
    del step
    return theirs.code == ours.code == 1 and _JAVA_TEXT.match(theirs.remark or "") is not None and bool(ours.remark)


def _is_nothing(step: Request, theirs: Seen, ours: Seen) -> bool:
    del step
    return theirs.ext == {} and ours.ext is None


def _is_attribute_text(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 17 and theirs.code == ours.code == 1 and bool(step.get("attributes")) and bool(ours.remark)


def _is_type_before_text(step: Request, theirs: Seen, ours: Seen) -> bool:
    is_pull = step.code in (11, 361) and step.get("expressionType") not in ("", "TAG", "SQL92")
    return is_pull and (theirs.code, ours.code) == (23, 1)


def _is_body_missed(step: Request, theirs: Seen, ours: Seen) -> bool:
    return isinstance(step.body, bytes) and not step.ext and theirs.code == 0 and ours.code == 1


def _is_name_checked(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 215 and theirs.code == 0 and ours.code == 29


def _is_silent(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code in (11, 361) and theirs.failure == "no answer" and ours.code is not None


def _is_former_reader_listed(step: Request, theirs: Seen, ours: Seen) -> bool:
    if step.code != 300 or not isinstance(theirs.body, dict) or not isinstance(ours.body, dict):
        return False
    return set(ours.body["groupList"]) <= set(theirs.body["groupList"])


def _is_less_progress_shown(step: Request, theirs: Seen, ours: Seen) -> bool:
    if step.code != 208 or not isinstance(theirs.body, dict) or not isinstance(ours.body, dict):
        return False
    return bool(ours.body["offsetTable"].items() <= theirs.body["offsetTable"].items())


def _is_pull_remembered(step: Request, theirs: Seen, ours: Seen) -> bool:
    is_told = isinstance(theirs.body, dict) and "subscriptionData" in theirs.body
    return step.code in (321, 345) and is_told and isinstance(ours.body, dict) and "subscriptionData" not in ours.body


def _is_group_made(step: Request, theirs: Seen, ours: Seen) -> bool:
    """The group that only requests to pass on to a member have named: see the generator."""
    if step.code != 201 or theirs.code != ours.code or not isinstance(theirs.body, dict):
        return False
    groups = {name: each for name, each in theirs.body["subscriptionGroupTable"].items() if name != RELAYED_GROUP}
    return bool(theirs.body | {"subscriptionGroupTable": groups} == ours.body)


def _is_accident(step: Request, theirs: Seen, ours: Seen) -> bool:
    del step
    return theirs.code == 1 and _JAVA_TEXT.match(theirs.remark or "") is not None and ours.code not in (0, None)


def _is_field_missed(step: Request, theirs: Seen, ours: Seen) -> bool:
    return (
        (theirs.code != 0 or step.code in TAKES_NOTHING_FOR_A_NAME)
        and ours.code == 1
        and _NO_FIELD.match(ours.remark or "") is not None
    )


def _is_queue_made(step: Request, theirs: Seen, ours: Seen) -> bool:
    is_empty = (theirs.remark or "").startswith("Index ") or theirs.body == {"queueData": []}
    return step.code == 321 and is_empty and _NO_QUEUE.match(ours.remark or "") is not None


def _is_list_shorter(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 305 and set(ours.body["topicList"]) <= set(theirs.body["topicList"])


def _is_unset(step: Request, theirs: Seen, ours: Seen) -> bool:
    del step
    return theirs.code == ours.code == 0 and theirs.remark == "not set any response code" and ours.remark is None


_ALL: Final = frozenset({"code", "remark", "ext", "body"})
RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "broker-empty-fields-left-out": Rule(frozenset({"ext"}), _is_nothing),
        "broker-success-without-remark": Rule(frozenset({"remark"}), _is_unset),
        "broker-refusals-by-sense": Rule(_ALL, _is_accident),
        "broker-attribute-values": Rule(frozenset({"remark"}), _is_attribute_text),
        "broker-type-before-text": Rule(_ALL, _is_type_before_text),
        "broker-nothing-is-no-success": Rule(_ALL, _is_body_missed),
        "broker-names-are-checked": Rule(_ALL, _is_name_checked),
        "broker-always-an-answer": Rule(_ALL | {"failure", "flag", "language"}, _is_silent),
        "broker-former-readers": Rule(frozenset({"body"}), _is_former_reader_listed),
        "broker-progress-of-the-subscribed": Rule(frozenset({"body"}), _is_less_progress_shown),
        "broker-pulls-are-no-subscriptions": Rule(frozenset({"body"}), _is_pull_remembered),
        "broker-missing-fields-are-named": Rule(_ALL, _is_field_missed),
        "broker-reads-make-no-queue": Rule(_ALL, _is_queue_made),
        "broker-relays-make-nothing": Rule(frozenset({"body"}), _is_group_made),
        "broker-system-topics": Rule(frozenset({"body"}), _is_list_shorter),
        "broker-readable-errors": Rule(frozenset({"remark", "ext"}), _is_java_text),
    }
)
