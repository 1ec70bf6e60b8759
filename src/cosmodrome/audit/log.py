"""Who did what, as JSON lines that are on disk before it is done.

Owns: the form of the lines, what of a value is shown, how many refusals are worth a line.
Must not know: which requests are changes; how the file is kept (file.py).
"""

import asyncio
import datetime as dt
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.audit.file import AuditFile
from cosmodrome.errors import StorageError

LONGEST_LINE: Final = 16 * 1024
"""Bytes of a line with its end. Peers choose most of it; a few large ones must not push the others out of the files."""
LONGEST_TEXT: Final = 1000
MOST_ITEMS: Final = 50
NOTES_PER_MINUTE: Final = 60
"""Lines of each kind about what was not done. A peer can cause any number; see LONGEST_LINE."""

_SHOWN_OF_CUT: Final = 500
_DIGEST_CHARACTERS: Final = 16
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_CHARACTERS: Final = 10

Line = Mapping[str, Any]


class AuditLog:
    """Writes lines in the order in which they come.

    `record` is for what is about to be done, `note` for what was then not done, and `note_some` for what peers may
    cause at will.
    """

    def __init__(
        self,
        file: AuditFile,
        on_failure: Callable[[str], None],
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.time, time.monotonic),
    ) -> None:
        """Write to `file`; `on_failure` is told why when it cannot be written; `clocks` are wall and steady, in seconds."""
        self._file = file
        self._on_failure = on_failure
        self._wall, self._steady = clocks
        self._writing = asyncio.Lock()
        self._notes: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._budgets: dict[str, _Budget] = {}
        self._last_id = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def start(self) -> None:
        """Mend what a crash left behind. A file that cannot be used is told of, and does not keep the server down."""
        try:
            self._file.mend()
        except StorageError as error:
            self._on_failure(error.what)

    async def record(self, line: Line) -> str:
        """Write a line; it is on disk when this returns. Gives its id.

        Raises:
            StorageError: It is not. What it says must not be done.
        """
        line_id, data = self._line(line)
        async with self._writing:
            try:
                await asyncio.to_thread(self._file.append, data)
            except StorageError as error:
                self._on_failure(error.what)
                raise
        return line_id

    def note(self, line: Line) -> None:
        """Write a line soon."""
        self._notes.append(self._line(line)[1])
        if len(self._notes) == 1:
            task = asyncio.ensure_future(self._write_notes())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def note_some(self, event: str, line: Line) -> None:
        """Write a line of this kind soon, if it is one of its first this minute; the next one counts those left out."""
        others = self._budgets.setdefault(event, _Budget()).take(self._steady())
        if others is not None:
            self.note({"event": event, **line} | ({"others": others} if others else {}))

    async def close(self) -> None:
        """Write what is noted, and close the file. May be called again."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        async with self._writing:
            await asyncio.to_thread(self._file.close)

    async def _write_notes(self) -> None:
        async with self._writing:
            data, self._notes = b"".join(self._notes), []
            try:
                await asyncio.to_thread(self._file.append, data, is_synced=False)
            except StorageError as error:
                self._on_failure(error.what)

    def _line(self, line: Line) -> tuple[str, bytes]:
        wall_s = self._wall()
        self._last_id = max(self._last_id + 1, int(wall_s * 1_000_000))
        line_id = id_of_number(self._last_id)
        return line_id, _encoded({"time": _rfc3339(wall_s), "id": line_id, **line})


def id_of_number(microseconds: int) -> str:
    """Give the id of a line: ids of one log are in order as texts, until the year 2085, and short enough to be typed."""
    digits: list[str] = []
    while microseconds:
        microseconds, digit = divmod(microseconds, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).rjust(_ID_CHARACTERS, _DIGITS[0])


def _rfc3339(unix_s: float) -> str:
    when = dt.datetime.fromtimestamp(unix_s, tz=dt.UTC).replace(tzinfo=None)
    return f"{when.isoformat(timespec='milliseconds')}Z"


class _Budget:
    """How many lines of one kind were written in this minute, and how many were left out since the last."""

    def __init__(self) -> None:
        self._minute_began_s = float("-inf")
        self._taken = 0
        self._left_out = 0

    def take(self, now_s: float) -> int | None:
        """Count a line: how many were left out before it if it is to be written, None if it is not."""
        if now_s - self._minute_began_s >= 60:
            self._minute_began_s, self._taken = now_s, 0
        if self._taken >= NOTES_PER_MINUTE:
            self._left_out += 1
            return None
        self._taken += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


def _encoded(line: Line) -> bytes:
    """Write a line; one that is too long is cut: what was and will be there first, then whatever is longest."""
    shown = {name: _bounded(value) for name, value in line.items()}
    data = _json(shown)
    if len(data) < LONGEST_LINE:
        return data + b"\n"
    rest = sorted(shown, key=lambda name: (name in {"before", "after"}, len(_json(shown[name]))), reverse=True)
    for name in rest:
        if len(data) < LONGEST_LINE:
            break
        shown[name] = _cut(line[name])
        data = _json(shown)
    return data + b"\n"


def _cut(value: Any) -> dict[str, Any]:
    """Give how a value begins as JSON, its length in bytes and a digest of the whole."""
    data = _json(value)
    digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARACTERS]
    return {"cut": data[:_SHOWN_OF_CUT].decode("ascii"), "bytes": len(data), "sha256": digest}


def _json(value: Any) -> bytes:
    return json.dumps(value, default=dict).encode("ascii")


def _bounded(value: Any) -> Any:
    """Cut what a peer may have made very long; a line is for people, and must fit the file."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        items = {_bounded(str(key)): _bounded(each) for key, each in list(value.items())[:MOST_ITEMS]}
        return items | ({"...": len(value) - MOST_ITEMS} if len(value) > MOST_ITEMS else {})
    if isinstance(value, list | tuple):
        items_ = [_bounded(each) for each in value[:MOST_ITEMS]]
        return items_ + ([f"... {len(value) - MOST_ITEMS} more"] if len(value) > MOST_ITEMS else [])
    return value
