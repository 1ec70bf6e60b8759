"""How `cosmodrome config` and `cosmodrome lint` show what they found.

Owns: their layouts as text and as JSON.
Must not know: how it was found (cosmodrome.configuring).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from cosmodrome.admin.output import Output, Row
from cosmodrome.configuring.changing import FileChange
from cosmodrome.configuring.checking import CheckedFile
from cosmodrome.configuring.described import PROGRAMS, KeyDescription, Program
from cosmodrome.configuring.importing import Fate, ImportedKey
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS
from cosmodrome.configuring.linting.lint import Report, is_same
from cosmodrome.configuring.settings import KeyValue
from cosmodrome.errors import ConfigFault
from cosmodrome.namesrv.config import KEYS
from cosmodrome.namesrv.config_keys import Effect
from cosmodrome.shown_text import shown


def table(output: Output, rows: Sequence[tuple[str, str, str]]) -> None:
    """Write keys, values and sources in columns."""
    widths = [max((len(shown(row[column])) for row in rows), default=0) for column in range(2)]
    for key, value, source in rows:
        output.text(f"{shown(key):<{widths[0]}}  {shown(value):<{widths[1]}}  {shown(source)}".rstrip())


def _row(output: Output, facts: Row, *lines: str) -> None:
    output.row(_plain(facts), *lines)


def _plain(value: Any) -> Any:
    """Give facts as JSON can have them: a file may hold half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def show_values(output: Output, values: Sequence[KeyValue]) -> None:
    """Write settings in force, each with its source."""
    table(output, [("#Key", "#Value", "#Source"), *((each.key.name, each.value, each.source) for each in values)])
    for each in values:
        _row(output, each.facts())
    output.end("settings")


def show_explained(output: Output, key: KeyDescription, value: KeyValue | None) -> None:
    """Write all that is known of one key."""
    change = key.effect.value + ("" if key.by_request else "; never by a request")
    lines = {
        "value": value.value if value else "",
        "source": value.source if value else "",
        "default": key.default,
        "type": key.type,
        "meaning": key.meaning,
        "change": change,
        "variable": key.environment or "",
        "Java": _java(key),
    }
    output.text(
        f"{key.name} ({PROGRAMS[key.program]})", *(f"  {name:<9} {shown(text)}" for name, text in lines.items())
    )
    facts = {
        "key": key.name,
        "program": key.program.value,
        "value": value.value if value else None,
        "source": value.source if value else None,
        "default": key.default,
        "type": key.type,
        "meaning": key.meaning,
        "effect": key.effect.value,
        "is_live": key.effect is Effect.LIVE,
        "by_request": key.by_request,
        "environment": key.environment,
        "java": _java(key),
    }
    _row(output, facts)


def _java(key: KeyDescription) -> str:
    if not key.is_java:
        return "does not have it"
    if key.effect is Effect.NONE:
        return f"{key.meaning}; here it is accepted and does nothing"
    if key.program is Program.NAMESRV:
        return f"the same, of {KEYS[key.name].family.value}"
    known = JAVA_BROKER_KEYS.get(key.name)
    return f"the same, in {', '.join(known.releases)}" if known else "the same, as a system property (-D)"


def show_checked(output: Output, checked: CheckedFile) -> None:
    """Write what is wrong in one file."""
    whose = PROGRAMS[checked.program] if checked.program else "unreadable"
    lines = [f"{_at(checked.shown, fault)}" for fault in checked.faults]
    lines += [f"{'' if text.startswith(checked.shown) else f'{checked.shown}: '}{text}" for text in checked.warnings]
    verdict = f"{len(checked.faults)} wrong" if checked.faults else "configuration OK"
    if checked.fits_both:
        whose = f"fits both; checked as {whose}: --kind {Program.BROKER} for the other"
    _row(
        output,
        {
            "file": checked.shown,
            "program": checked.program.value if checked.program else None,
            "fits_both": checked.fits_both,
            "ok": not checked.faults,
            "faults": [_facts(fault) for fault in checked.faults],
            "warnings": list(checked.warnings),
        },
        *map(shown, lines),
        f"{checked.shown}: {verdict} ({whose})",
    )


def _at(file: str, fault: ConfigFault) -> str:
    guess = f" (did you mean {fault.guess}?)" if fault.guess else ""
    return f"{fault.place or file}: error {fault.text}{guess}"


def _facts(fault: ConfigFault) -> dict[str, str | int | None]:
    line = fault.place.rpartition(":")[2]
    return {
        "line": int(line) if line.isdecimal() else None,
        "key": fault.key or None,
        "text": fault.text,
        "did_you_mean": fault.guess,
    }


def show_imported(output: Output, file: str, keys: Sequence[ImportedKey], defaults: Sequence[str]) -> None:
    """Write what became of each key of a file."""
    counts = {fate: sum(each.fate is fate for each in keys) for fate in Fate}
    said = ", ".join(f"{count} {fate.value}" for fate, count in counts.items() if count) or "no settings"
    output.text(f"{file}: {said}")
    for fate in Fate:
        found = [each for each in keys if each.fate is fate]
        output.text(*([f"{fate.value}:"] if found else []), *(shown(f"  {_imported_line(each)}") for each in found))
    output.text(*(f"note: {text}" for text in defaults))
    for each in keys:
        _row(
            output,
            {
                "key": each.key,
                "line": each.line,
                "value": each.text,
                "fate": each.fate.value,
                "reason": each.reason or None,
                "new_key": each.new_key,
                "new_value": each.new_text if each.new_key is not None else None,
            },
        )


def _imported_line(each: ImportedKey) -> str:
    line = f"{each.line:>4} {each.key}={each.text}"
    if each.new_key is not None and not each.is_kept:
        line += f"  ->  {each.new_key}={each.new_text}"
    return f"{line}    {each.reason}".rstrip()


def show_change(output: Output, file: str, change: FileChange) -> None:
    """Write what was done to a file."""
    name = change.key.name
    if change.backup is None:
        output.text(f"{file}: {name}={change.value} is there already; nothing was written")
    else:
        before = "added" if change.before is None else f"was {change.before}"
        when = "by a server of it at once" if change.key.effect is Effect.LIVE else change.key.effect.value
        output.text(
            shown(f"{file}: {name}={change.value} ({before})"),
            f"  counts     {when}{', when it reads the file again' if change.key.effect is Effect.LIVE else ''}",
            f"  as it was  {change.backup}",
        )
    output.document(
        _plain(
            {
                "file": file,
                "key": name,
                "before": change.before,
                "value": change.value,
                "effect": change.key.effect.value,
                "is_changed": change.backup is not None,
                "backup": str(change.backup) if change.backup else None,
            }
        )
    )


def show_report(output: Output, report: Report) -> None:
    """Write what lint found; of notes that all of several files have, one line for people."""
    everywhere = report.everywhere()
    for each in report.findings:
        facts = {
            "file": each.file,
            "line": each.line or None,
            "severity": each.severity.value,
            "rule": each.rule,
            "key": each.key or None,
            "text": each.text,
            "do": each.remedy or None,
        }
        is_folded = any(is_same(each, other) for other in everywhere)
        _row(output, facts, *([] if is_folded else map(shown, each.lines())))
    for each in everywhere:
        folded = dataclasses.replace(each, file=f"all {report.files} files", line=0)
        output.text(*map(shown, folded.lines()))
    output.confirm(report.summary)
    output.end("findings", summary=report.summary)
