"""Lines of an audit log, for people.

Owns: how a line looks in a terminal.
Must not know: where lines come from.
"""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Final

from cosmodrome.audit.reading import id_of, time_of

_LONGEST: Final = 200
_NOTHING: Final = "none"


def text_of(line: Mapping[str, Any], now: dt.datetime) -> str:
    """Write a line: when (with the date when it is not today), id, event, request, who, and what; `now` is local time."""
    parts = [_when(time_of(line), now), id_of(line), str(line.get("event", "?"))]
    parts += [str(line[name]) for name in ("request",) if name in line]
    parts.append(_who(line))
    parts += _what(line)
    return _on_one_line(" ".join(part for part in parts if part))


def _when(time_s: float | None, now: dt.datetime) -> str:
    if time_s is None:
        return "-"
    when = dt.datetime.fromtimestamp(time_s, tz=dt.UTC).astimezone(now.tzinfo)
    return when.strftime("%H:%M:%S" if when.date() == now.date() else "%Y-%m-%d %H:%M:%S")


def _who(line: Mapping[str, Any]) -> str:
    who = str(line.get("peer") or "")
    for name, text in (("access_key", "as"), ("user", "as"), ("proxy", "through")):
        if line.get(name):
            who += f" {text} {line[name]}"
    return f"by {who}" if who else ""


def _what(line: Mapping[str, Any]) -> list[str]:
    parts = [f"{name}={_value(value)}" for name, value in (line.get("target") or {}).items()]
    if line.get("event") == "change" and ("before" in line or "after" in line):
        parts.append(f"{_value(line.get('before'))} -> {_value(line.get('after'))}")
    if "undoes" in line:
        parts.append(f"(undoes {line['undoes']})")
    told = {
        "event",
        "id",
        "time",
        "code",
        "request",
        "peer",
        "access_key",
        "user",
        "proxy",
        "target",
        "before",
        "after",
    }
    return parts + [f"{name}={_value(value)}" for name, value in line.items() if name not in told | {"undoes"}]


def _value(value: Any) -> str:
    if value is None:
        return _NOTHING
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
