"""Beside 4.9.7: what differs by generation, each thing once and by name.

Owns: the rules that docs/compatibility.md lists under "By generation", and the form in which answers
of 4.9.7 and ours are compared.
Must not know: what the tables hold; model.py leaves out, or translates, what the generations do
differently to them.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from tests.interop.differential.history import Request
from tests.interop.differential.json_text import rewritten
from tests.interop.differential.reading import Seen, misread, unescaped

HEADING: Final = "## By generation"
NO_ANSWER: Final = "no answer, and later requests are answered"

_SERVED: Final = frozenset(
    {100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327}
)
_NEW_MEMBERS: Final = frozenset({'"enableActingMaster"', '"zoneName"', '"stateVersion"'})
_FAQ: Final = re.compile(r"See https?://rocketmq\.apache\.org/docs/\S+ for")

Rule = Callable[[Request, Seen, Seen], frozenset[str]]
"""The fields of two answers that may differ."""

_NOTHING: Final[frozenset[str]] = frozenset()


def is_unanswered(step: Request) -> bool:
    """Return whether 4.9.7 gives no answer to a request of this code."""
    return step.code not in _SERVED


def same_form(seen: Seen) -> Seen:
    """Return an answer as both generations would have written it."""
    remark = None if seen.remark is None else _FAQ.sub("See the FAQ for", seen.remark)
    return replace(seen, remark=remark, body=None if seen.body is None else rewritten(seen.body, _NEW_MEMBERS, _plain))


def _plain(token: str) -> str:
    """Return a string token in the one form: fastjson 1 escapes more than fastjson 2."""
    return json.dumps(json.loads(token), ensure_ascii=False) if token.startswith('"') else token


def _is_unanswered(step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    if theirs.failure != NO_ANSWER or not is_unanswered(step):
        return _NOTHING
    is_refused = ours.code == 3 and ours.remark == f" request type {step.code} not supported"
    is_known = step.code in (217, 901, 904) and ours.code in (0, 1)
    return frozenset(
        {"failure", "code", "flag", "language", "remark", "ext", "body", "codec"} if is_refused or is_known else ()
    )


def _config_keys(step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    """4.9.7 lists the keys that it has, in no order; ours has them all."""
    if step.code != 319 or not (isinstance(theirs.body, list) and isinstance(ours.body, list)):
        return _NOTHING
    lines = {unescaped(str(line)) for line in ours.body}
    lines |= {misread(line) for line in lines}
    is_part = all(str(line) in lines for line in theirs.body)
    return frozenset({"body"}) if is_part else _NOTHING


def _path_remark(step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    is_it = (theirs.remark, ours.remark) == ("Can not update config path", "Can not update config in black list.")
    return frozenset({"remark"}) if step.code == 318 and is_it else _NOTHING


def _query_without_version(step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    """No version is another version for 5.x and a null pointer for 4.9.7; fastjson 1 reads more as no version."""
    is_object = step.body.text.startswith("{") and step.body.text.endswith("}")
    is_it = step.code == 322 and not is_object and {theirs.code, ours.code} == {0, 1}
    return frozenset({"code", "remark", "ext", "body"}) if is_it else _NOTHING


RULES: Final[Mapping[str, Rule]] = {
    "old-unanswered-codes": _is_unanswered,
    "old-config-keys": _config_keys,
    "old-path-remark": _path_remark,
    "old-query-without-version": _query_without_version,
}
"""Rules about answers."""

FORMS: Final = frozenset({"old-members", "old-json-escapes", "old-faq-address"})
"""What `same_form` takes away."""

TABLE_RULES: Final = frozenset(
    {
        "old-unregister-by-id",
        "old-single-topic",
        "old-unchanged-version",
        "old-address-keys",
        "old-plain-brokers",
        "old-odd-numbers",
    }
)
"""What model.py leaves out of histories or translates."""


def explained(names: frozenset[str], step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    """Return the fields whose difference is one of the generations."""
    return frozenset().union(*(rule(step, theirs, ours) for name, rule in RULES.items() if name in names))
