"""Reads an audit log, the newest line first, as far as somebody wants to see.

Owns: the order of lines across full files; which lines are wanted; pages.
Must not know: how lines are written (log.py); who reads.
"""

import contextlib
import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from cosmodrome.audit.log import id_of_number
from cosmodrome.errors import StorageError

_BLOCK_BYTES: Final = 64 * 1024
_LONGEST_LINE: Final = 1024 * 1024
"""Of a line that is read; ours are far shorter, and a file of something else may be one line."""
_MOST_FILES: Final = 1000

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lines; what is empty or None chooses nothing.

    `event`, `request` and `line_id` are whole words, requests by name or number; `peer` is an address with or without its port;
    `text` is somewhere in what was changed; `since` and `until` are Unix times.
    """

    event: str = ""
    request: str = ""
    peer: str = ""
    text: str = ""
    line_id: str = ""
    since: float | None = None
    until: float | None = None

    def holds(self, line: Line) -> bool:
        """Whether a line is wanted."""
        peer = str(line.get("peer", ""))
        return (
            self.event in ("", line.get("event"))
            and self.line_id in ("", id_of(line))
            and (not self.request or self.request.upper() in (str(line.get("request")).upper(), str(line.get("code"))))
            and self.peer in ("", peer, peer.rpartition(":")[0], peer.rpartition(":")[0].strip("[]"))
            and (not self.text or self.text in json.dumps(_about(line), ensure_ascii=False))
            and self._is_in_time(line)
        )

    def _is_in_time(self, line: Line) -> bool:
        if self.since is None and self.until is None:
            return True
        time_s = time_of(line)
        if time_s is None:
            return False
        return (self.since is None or time_s >= self.since) and (self.until is None or time_s <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage:
    """Lines, the newest first; the cursor of the next page, None for the last; how many lines could not be read."""

    lines: list[Line]
    next_cursor: str | None
    unreadable: int


def read_page(path: Path, wanted: Wanted, limit: int, cursor: str = "") -> LinePage:
    """Read lines that are older than `cursor` (the id of a line; empty: all), from the file and the full ones before it.

    Raises:
        StorageError: A file cannot be read. A log that has no file yet has no lines.
    """
    found: list[Line] = []
    unreadable = 0
    is_reached = not cursor
    try:
        for line in _newest_first(path):
            if line is None:
                unreadable += 1
            elif not is_reached:
                is_reached = id_of(line) == cursor
            elif wanted.holds(line):
                found.append(line)
                if len(found) > limit:
                    break
    except OSError as error:
        raise StorageError(
            f"cannot read the audit log {path}: {error.strerror or error}.",
            remedy="it is readable by its owner only: read it as the user of the server, or ask the server with --http",
        ) from error
    more = len(found) > limit
    shown = found[:limit]
    return LinePage(lines=shown, next_cursor=id_of(shown[-1]) if more and shown else None, unreadable=unreadable)


def id_of(line: Line) -> str:
    """Give the id of a line; that of a line of a release without ids follows from its time."""
    line_id = line.get("id")
    if isinstance(line_id, str):
        return line_id
    return id_of_number(int((time_of(line) or 0) * 1_000_000))


def time_of(line: Line) -> float | None:
    """Give when a line was written, Unix time; None when it does not say."""
    try:
        when = dt.datetime.fromisoformat(line["time"])
    except (KeyError, TypeError, ValueError):
        return None
    return (when if when.tzinfo is not None else when.replace(tzinfo=dt.UTC)).timestamp()


def _about(line: Line) -> list[Any]:
    return [line.get(name) for name in ("target", "cluster", "broker", "addr", "reason", "access_key", "user")]


def _newest_first(path: Path) -> Iterator[Line | None]:
    """Give lines, and None for what is none. Files are opened before any is read: a file may become full meanwhile."""
    with contextlib.ExitStack() as opened:
        files: dict[tuple[int, int], BinaryIO] = {}
        for number in range(_MOST_FILES):
            each = path if number == 0 else path.with_name(f"{path.name}.{number}")
            try:
                file: BinaryIO = opened.enter_context(each.open("rb"))
            except FileNotFoundError:
                if number:
                    break
                continue
            status = os.fstat(file.fileno())
            files.setdefault((status.st_dev, status.st_ino), file)
        for file in files.values():
            yield from map(_parsed, _lines_backwards(file))


def _lines_backwards(file: BinaryIO) -> Iterator[bytes]:
    """Give the whole lines of a file, the last one first; what is behind the last line end is still being written."""
    end = file.seek(0, os.SEEK_END)
    rest = b""
    is_torn = True
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        file.seek(start)
        *lines, last = ((file.read(end - start)) + rest).split(b"\n")[::-1]
        if is_torn and lines:
            lines, is_torn = lines[1:], False
        yield from filter(None, lines)
        rest = last if len(last) <= _LONGEST_LINE else b""
        end = start
    if rest and not is_torn:
        yield rest


def _parsed(data: bytes) -> Line | None:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
