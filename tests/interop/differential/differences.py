"""Differences that are wanted: docs/compatibility.md names them, this module recognises them.

Owns: for each name, when it explains that two answers are not equal. A rule counts only while its
name stands in the table "Deliberate differences" of that document.
Must not know: what the tables hold (model.py ends a history before wanted differences spread).
"""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.differential.history import FULL_REGISTRATION, UNREGISTER, Request, Step
from tests.interop.differential.json_text import Tree, quoted
from tests.interop.differential.model import IDENTITY_FIELDS, LINGER_FACT, NOTICE_FACT, REGISTER_FIELDS
from tests.interop.differential.reading import Seen, misread, unescaped

DOCUMENT: Final = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"
HEADING: Final = "## Deliberate differences"

NOTICE_RULE: Final = "no-notice-for-unknown-address"

_NAME_CELL: Final = re.compile(r"^\|\s*`?([a-z0-9]+(?:-[a-z0-9]+)+)`?\s*\|", re.MULTILINE)
_EXCEPTION_TEXT: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b")
_REQUIRED: Final[Mapping[int, tuple[str, ...]]] = {
    FULL_REGISTRATION: (*REGISTER_FIELDS, "brokerId"),
    UNREGISTER: IDENTITY_FIELDS,
    322: IDENTITY_FIELDS,
    904: IDENTITY_FIELDS[:3],
}

Predicate = Callable[[Request, Seen, Seen], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A wanted difference: which fields of an answer it explains, and when."""

    fields: frozenset[str]
    applies: Predicate


def listed_names(heading: str = HEADING) -> frozenset[str]:
    """Return the names in the first column of the table under a heading of the document."""
    _, _, section = DOCUMENT.read_text(encoding="utf-8").partition(heading)
    return frozenset(_NAME_CELL.findall(section.partition("\n## ")[0]))


def explained(names: frozenset[str], step: Request, theirs: Seen, ours: Seen) -> frozenset[str]:
    """Return the fields whose difference is wanted."""
    rules = [rule for name, rule in RULES.items() if name in names and rule.applies(step, theirs, ours)]
    return frozenset().union(*(rule.fields for rule in rules))


def notices_may_differ(names: frozenset[str], step: Step) -> bool:
    """Return whether brokers are told something else from here on.

    An unregistration names an address that is not under the id it gives, or several brokers leave
    in one step of ours and in several of Apache's.
    """
    return NOTICE_RULE in names and NOTICE_FACT in step.facts


def _mirrors_codec(step: Request, theirs: Seen, ours: Seen) -> bool:
    return (theirs.codec, ours.codec) == ("JSON", "ROCKETMQ") and step.codec == "ROCKETMQ"


def _empty_ext_in_binary(step: Request, theirs: Seen, ours: Seen) -> bool:
    return _mirrors_codec(step, theirs, ours) and theirs.ext == {} and ours.ext is None


def _names_missing_field(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Ours refuses and names the field; Apache's fails with a null pointer or half succeeds."""
    required = _REQUIRED.get(step.code, ())
    unusable = [name for name in required if not _is_usable(name, step.get(name))]
    return ours.code == 1 and theirs.code in (0, 1) and any(name in (ours.remark or "") for name in unusable)


def _is_usable(name: str, value: str | None) -> bool:
    if name == "brokerId" and value is not None:
        return re.fullmatch(r"[+-]?\d{1,18}", value) is not None
    return value is not None


def _refuses_null_value(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 100 and step.get("value") is None and (theirs.code, ours.code) == (0, 1) and bool(ours.remark)


def _refuses_nameless_queues(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 217 and "brokerName" not in step.body.text and (theirs.code, ours.code) == (0, 1)


def _says_it_readably(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Both refuse; Apache's remark is the text of an exception, ours is for people."""
    both = theirs.code == ours.code == 1
    return both and bool(_EXCEPTION_TEXT.match(theirs.remark or "")) and bool(ours.remark)


def _sniffs_compression(step: Request, theirs: Seen, ours: Seen) -> bool:
    is_mislabelled = (step.get("compressed") == "true") != (step.body.form == "zip")
    return step.code == FULL_REGISTRATION and is_mislabelled and (theirs.code, ours.code) == (1, 0)


def _refuses_null_wrapper(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == FULL_REGISTRATION and step.body.effect == "last" and (theirs.code, ours.code) == (0, 1)


def _zone_filter_keeps_dialect(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Same value; Apache's is in plain mode although standard JSON was due."""
    return _is_replained(step) and theirs.body is not None and quoted(theirs.body) == ours.body


def _is_replained(step: Request) -> bool:
    """Return whether Apache's server writes a standard route again in plain mode (F2)."""
    is_standard = step.effective_version >= 401 or (step.get("acceptStandardJsonOnly") or "").lower() == "true"
    is_filtered = (step.get("__ZONE_MODE") or "").lower() == "true" and bool((step.get("__ZONE_NAME") or "").strip())
    return step.code == 105 and is_standard and is_filtered


def _listings_are_standard(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Same value; ours quotes integer keys in the listings too."""
    return step.code in (106, 901) and theirs.body is not None and quoted(theirs.body) == ours.body


def _takes_any_language(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Apache's server closes the connection."""
    return theirs.failure == "closed" and ours.failure is None and "language" in dict(step.header)


def _refuses_bad_config(step: Request, theirs: Seen, ours: Seen) -> bool:
    return step.code == 318 and step.body.effect == "last" and (theirs.code, ours.code) == (0, 1) and bool(ours.remark)


def _says_what_needs_a_restart(step: Request, theirs: Seen, ours: Seen) -> bool:
    is_said = (ours.remark or "").startswith(
        ("in effect after a restart: ", "kept without effect: ", "unknown, not stored: ")
    )
    return step.code == 318 and theirs.code == ours.code == 0 and is_said


def _escapes_config(step: Request, theirs: Seen, ours: Seen) -> bool:
    """The same lines, but for the escapes."""
    return step.code == 319 and all(line == own for line, own in _config_lines(theirs, ours))


def _reads_config_as_utf8(step: Request, theirs: Seen, ours: Seen) -> bool:
    """The same lines, but for the escapes and for what Apache's server misread."""
    return step.code == 319 and all(line in (own, misread(own)) for line, own in _config_lines(theirs, ours))


def _config_lines(theirs: Seen, ours: Seen) -> list[tuple[str | None, str]]:
    """Return both servers' lines side by side, ours without escapes."""
    if not (isinstance(theirs.body, list) and isinstance(ours.body, list)):
        return [(None, "")]
    pairs = itertools.zip_longest(theirs.body, ours.body)
    return [(f"{line}", unescaped(f"{own}")) for line, own in pairs]


def _cleans_static_topics(step: Request, theirs: Seen, ours: Seen) -> bool:
    """Apache's route still shows mappings of what has left; the rest is equal."""
    if LINGER_FACT not in step.facts or theirs.body is None:
        return False
    route = quoted(theirs.body) if _is_replained(step) else theirs.body
    if not (isinstance(route, dict) and isinstance(ours.body, dict)):
        return False
    member = '"topicQueueMappingByBroker"'
    kept, lingering = ours.body.get(member, {}), route.get(member, {})
    if not (isinstance(kept, dict) and isinstance(lingering, dict)):
        return False
    is_part = all(lingering.get(name) == mapping for name, mapping in kept.items())
    return is_part and _without(route, member) == _without(ours.body, member)


def _without(body: dict[str, Tree], member: str) -> dict[str, Tree]:
    return {name: value for name, value in body.items() if name != member}


RULES: Final[Mapping[str, Rule]] = {
    "answers-mirror-codec": Rule(frozenset({"codec"}), _mirrors_codec),
    "empty-ext-in-binary": Rule(frozenset({"ext"}), _empty_ext_in_binary),
    "missing-fields-are-named": Rule(frozenset({"code", "remark", "ext", "body"}), _names_missing_field),
    "kv-value-required": Rule(frozenset({"code", "remark"}), _refuses_null_value),
    "queue-data-needs-broker": Rule(frozenset({"code", "remark"}), _refuses_nameless_queues),
    "readable-errors": Rule(frozenset({"remark"}), _says_it_readably),
    "compressed-body-sniffed": Rule(frozenset({"code", "remark", "ext", "body"}), _sniffs_compression),
    "null-wrapper-refused": Rule(frozenset({"code", "remark", "ext", "body"}), _refuses_null_wrapper),
    "zone-filter-keeps-dialect": Rule(frozenset({"body"}), _zone_filter_keeps_dialect),
    "listings-in-standard-json": Rule(frozenset({"body"}), _listings_are_standard),
    "any-language": Rule(frozenset(Seen.__slots__), _takes_any_language),
    "bad-config-refused": Rule(frozenset({"code", "remark"}), _refuses_bad_config),
    "restart-needed-is-said": Rule(frozenset({"remark"}), _says_what_needs_a_restart),
    "config-escaped": Rule(frozenset({"body"}), _escapes_config),
    "config-read-as-utf-8": Rule(frozenset({"body"}), _reads_config_as_utf8),
    "static-topics-cleaned": Rule(frozenset({"body"}), _cleans_static_topics),
}
