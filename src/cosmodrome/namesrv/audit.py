"""Who did what, as JSON lines that are on disk before it is done.

Owns: the form of the lines, what of a value is shown, how many refusals are worth a line.
Must not know: which requests are changes (policy/changes.py); how the file is kept (audit_file.py).
"""

import asyncio
import datetime as dt
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.errors import StorageError
from cosmodrome.namesrv.audit_file import AuditFile
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import AuditFailed, BrokerIdentityMoved, Event, Publish, RequestDenied
from cosmodrome.protocol.codes import RequestCode

OFF: Final = "off"
"""The value of `auditLog` that means none."""
LONGEST_TEXT: Final = 1000
MOST_ITEMS: Final = 50
NOTES_PER_MINUTE: Final = 60
"""Lines about what was not done. A peer can cause any number; it must not push the changes out of the files."""

Line = Mapping[str, Any]


class AuditLog:
    """Writes lines in the order in which they come.

    `record` is for what is about to be done, `note` for what was then not done, and `note_some` for what peers may
    cause at will.
    """

    def __init__(
        self,
        file: AuditFile,
        publish: Publish,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.time, time.monotonic),
    ) -> None:
        """Write to `file`; `publish` is told when it cannot be written; `clocks` are wall and steady, in seconds."""
        self._file = file
        self._publish = publish
        self._wall, self._steady = clocks
        self._writing = asyncio.Lock()
        self._notes: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._minute_began_s = float("-inf")
        self._noted = 0
        self._others = 0

    def start(self) -> None:
        """Mend what a crash left behind. A file that cannot be used is told of, and does not keep the server down."""
        try:
            self._file.mend()
        except StorageError as error:
            self._publish(AuditFailed(reason=error.what))

    async def record(self, line: Line) -> None:
        """Write a line; it is on disk when this returns.

        Raises:
            StorageError: It is not. What it says must not be done.
        """
        data = self._encoded(line)
        async with self._writing:
            try:
                await asyncio.to_thread(self._file.append, data)
            except StorageError as error:
                self._publish(AuditFailed(reason=error.what))
                raise

    def note(self, line: Line) -> None:
        """Write a line soon."""
        self._notes.append(self._encoded(line))
        if len(self._notes) == 1:
            task = asyncio.ensure_future(self._write_notes())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def note_some(self, line: Line) -> None:
        """Write a line soon, if it is one of the first of this minute; the others are counted in the next one."""
        now_s = self._steady()
        if now_s - self._minute_began_s >= 60:
            self._minute_began_s, self._noted = now_s, 0
        if self._noted >= NOTES_PER_MINUTE:
            self._others += 1
            return
        self._noted += 1
        others, self._others = self._others, 0
        self.note({**line, "others": others} if others else line)

    def take(self, event: Event) -> None:
        """Note the events that belong here: refusals by policy, and brokers that took the place of others."""
        match event:
            case RequestDenied():
                fields = {**event.fields(), "request": request_name(event.code)}
                self.note_some({"event": "denied", **fields})
            case BrokerIdentityMoved():
                self.note_some({"event": "broker_moved", **event.fields()})

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
                self._publish(AuditFailed(reason=error.what))

    def _encoded(self, line: Line) -> bytes:
        when = dt.datetime.fromtimestamp(self._wall(), tz=dt.UTC).replace(tzinfo=None)
        whole = {"time": f"{when.isoformat(timespec='milliseconds')}Z", **line}
        return json.dumps(_bounded(whole)).encode("ascii") + b"\n"


def audit_log(config: NamesrvConfig, publish: Publish) -> AuditLog | None:
    """Give the audit log of a configuration; None when it is off."""
    if config.audit_log == OFF:
        return None
    path = Path(config.audit_log)
    return AuditLog(
        AuditFile(path, max_bytes=config.audit_file_bytes, files_kept=config.audit_files_kept),
        publish,
    )


def request_name(code: int) -> str:
    """Give the name of a request code, as the Java sources have it."""
    try:
        return RequestCode(code).name
    except ValueError:
        return str(code)


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
