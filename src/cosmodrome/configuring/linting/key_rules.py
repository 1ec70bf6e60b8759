"""Rules about keys and about values by themselves: what Java would skip without a word.

Owns: unknown and repeated keys, values that Java does not take.
Must not know: what a setting does.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from cosmodrome.configuring.described import broker_keys
from cosmodrome.configuring.files import SettingsFile
from cosmodrome.configuring.java_broker_keys import ENVIRONMENT_KEYS, JAVA_BROKER_KEYS, SYSTEM_PREFIXES, JavaType
from cosmodrome.configuring.linting.finding import Finding, Rule
from cosmodrome.namesrv.config_file import similar
from cosmodrome.namesrv.properties import Property

_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_LIMITS: Final = {JavaType.INT: 2**31, JavaType.LONG: 2**63}
_WORDS: Final = {
    "flushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
    "brokerRole": ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
}
"""Keys that take one of some words, the first of which is Java's default."""
_DELAYS: Final = re.compile(r"[0-9]+[smhd]( [0-9]+[smhd])*")


def unknown_keys(file: SettingsFile) -> Iterator[Finding]:
    """Find keys that no broker knows, and those that Apache's reads from elsewhere."""
    rule = Rule("unknown-key", file)
    ours = broker_keys()
    candidates = [*JAVA_BROKER_KEYS, *ours]
    for entry in file.entries:
        if entry.key in JAVA_BROKER_KEYS or entry.key in ENVIRONMENT_KEYS:
            continue
        if entry.key.startswith(SYSTEM_PREFIXES):
            text = f"{entry.key} is a Java system property; Apache's brokers do not read it from this file."
            yield rule.note(entry, text, f"For them give it to the start: -D{entry.key}=...")
        elif entry.key not in ours:
            yield _unknown(rule, entry, similar(entry.key, candidates))


def _unknown(rule: Rule, entry: Property, guess: str | None) -> Finding:
    shown = "".join(char if char.isprintable() else "?" for char in entry.key[:80])
    text = f"{shown} is no key of a broker; Apache's ignores it without a word, and its default is in force."
    if guess is None:
        return rule.warning(entry, text, "Remove it.")
    return rule.error(entry, text, f"Did you mean {guess}?")


def repeated_keys(file: SettingsFile) -> Iterator[Finding]:
    """Find keys that are there twice."""
    rule = Rule("repeated-key", file)
    for earlier, later in file.repeated():
        text = f"{later.key} is in line {earlier.line} too; this one counts."
        yield rule.warning(later, text, "Remove one of them.")


def untaken_values(file: SettingsFile) -> Iterator[Finding]:
    """Find values that Java cannot read, and so takes for others."""
    rule = Rule("bad-value", file)
    for entry in file.last().values():
        known = JAVA_BROKER_KEYS.get(entry.key)
        if entry.key in _WORDS:
            yield from _bad_word(rule, entry, _WORDS[entry.key])
        elif known is not None and known.type is JavaType.BOOLEAN:
            yield from _bad_boolean(rule, entry)
        elif known is not None and known.type in _LIMITS:
            yield from _bad_number(rule, entry, known.type)
        elif entry.key == "messageDelayLevel" and not _DELAYS.fullmatch(entry.value.strip()):
            text = f'messageDelayLevel "{entry.value[:60]}" is no list of times; the start of Apache\'s broker fails.'
            yield rule.error(entry, text, "Write times with one blank between, such as: 1s 5s 10s 30s 1m")


def _bad_word(rule: Rule, entry: Property, words: tuple[str, ...]) -> Iterator[Finding]:
    if entry.value.strip() not in words:
        text = f'{entry.key}="{entry.value[:60]}" is none of {", ".join(words)}; Apache\'s broker takes {words[0]}.'
        yield rule.error(entry, text, f"Write one of them, for example {entry.key}={_meant(entry.value, words)}")


def _meant(text: str, words: tuple[str, ...]) -> str:
    """Give the word that begins with what was written, holds it, or is like it; else the first."""
    given = re.sub("[^A-Z]+", "_", text.upper()).strip("_")
    near = [*(word for word in words if word.startswith(given)), *(word for word in words if given in word)]
    return (near or difflib.get_close_matches(given, words, n=1) or words)[0]


def _bad_boolean(rule: Rule, entry: Property) -> Iterator[Finding]:
    if entry.value.lower() in ("true", "false"):
        return
    if entry.value.strip().lower() == "true":
        text = f"{entry.key} has a blank after true; Java reads that as false."
        yield rule.error(entry, text, f"Remove the blank: {entry.key}=true")
    elif entry.value.strip().lower() != "false":
        text = f'{entry.key}="{entry.value[:60]}" is neither true nor false; Java reads it as false.'
        yield rule.error(entry, text, f"Write {entry.key}=true or {entry.key}=false")


def _bad_number(rule: Rule, entry: Property, java_type: JavaType) -> Iterator[Finding]:
    limit = _LIMITS[java_type]
    text = entry.value
    if _WHOLE.fullmatch(text) and len(text) < 21 and -limit <= int(text) < limit:
        return
    if _WHOLE.fullmatch(text.strip()) and text != text.strip():
        said = f"{entry.key} has a blank after its number; Java cannot read that, and keeps its default."
        yield rule.error(entry, said, f"Remove the blank: {entry.key}={text.strip()[:20]}")
    else:
        said = f'{entry.key}="{text[:60]}" is no {java_type.value}; Java keeps its default.'
        yield rule.error(entry, said, "Write a whole number without a unit.")


def permissions(file: SettingsFile) -> Iterator[Finding]:
    """Find a permission with which nobody can send, or read."""
    entry = file.last().get("brokerPermission")
    if entry is None or not _WHOLE.fullmatch(entry.value.strip()) or len(entry.value) > 10:
        return
    permission = int(entry.value)
    lacking = [word for bit, word in ((2, "sent to"), (4, "read")) if not permission & bit]
    if lacking:
        text = f"brokerPermission={permission}: no topic of this broker can be {' or '.join(lacking)}."
        yield Rule("permission", file).warning(entry, text, "6 allows both.")
