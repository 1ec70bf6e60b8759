"""Readings as lines of text.

Owns: the layout of a frame on a terminal.
Must not know: how it was read.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from cosmodrome.recordings.readable import Reading
from cosmodrome.shown_text import shown

_WIDEST: Final = 160


def lines_of(reading: Reading, most_body_lines: int | None) -> Iterator[str]:
    """Give the head line, the fields, and the body, of which `most_body_lines` are shown (all with None)."""
    yield _head(reading)
    if reading.remark:
        yield f"    remark: {shown(reading.remark)}"
    for name, value in reading.ext_fields.items():
        yield f"    {shown(name)}={'null' if value is None else shown(value)}"
    if reading.fault is not None:
        yield f"    unreadable: {shown(reading.fault)}"
    if reading.form is not None:
        yield from _body(reading, most_body_lines)


def _head(reading: Reading) -> str:
    arrow = "->" if reading.direction == "request" else "<-"
    parts = [f"{reading.t_ms / 1000:10.3f}", f"#{reading.connection}", arrow, reading.kind]
    if reading.code is not None:
        parts += [str(reading.code), reading.name or "", f"opaque={reading.opaque}"]
        if reading.question is not None:
            parts.append(f"to {reading.question}")
        parts += [reading.language or "OTHER", reading.version or "", reading.serialize_type or ""]
    parts.append(f"{reading.bytes} bytes")
    return " ".join(filter(None, parts))


def _body(reading: Reading, most: int | None) -> Iterator[str]:
    if reading.form == "redacted":
        yield f"    body: {reading.body_bytes} bytes, taken out of the recording"
        return
    lines = list(_body_lines(reading.body))
    yield f"    body: {reading.form}, {reading.body_bytes or reading.bytes} bytes"
    for line in lines[:most]:
        yield f"      {_cut(line, most)}"
    if most is not None and len(lines) > most:
        yield f"      and {len(lines) - most} lines more (--full shows them)"


def _body_lines(body: Any) -> list[str]:
    if isinstance(body, str):
        return [shown(line) for line in body.splitlines()]
    text = msgspec.json.format(msgspec.json.encode(body), indent=2).decode()
    return [shown(line) for line in text.splitlines()]


def _cut(line: str, most: int | None) -> str:
    return line if most is None or len(line) <= _WIDEST else f"{line[:_WIDEST]}..."
