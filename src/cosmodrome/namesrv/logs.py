"""One line for each event, for a person or for a program.

Owns: both line formats, quoting, which repeats are counted instead of printed, what happens when nobody reads.
Must not know: why an event happened (events.py has its name, level and fields).
"""

import datetime as dt
import enum
import json
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from cosmodrome.namesrv.events import Event

REPEAT_WINDOW_S: Final = 60.0
# Distinct subjects of one noisy kind that are printed within the window; a flood of new ones is counted too.
SUBJECTS_PER_KIND: Final = 100
LONGEST_VALUE: Final = 1000
# A traceback says most at its end, and it is our own text.
LONGEST_TRACE: Final = 20_000

_LEVELS: Final[Mapping[int, str]] = {
    logging.DEBUG: "DEBUG",
    logging.INFO: "INFO",
    logging.WARNING: "WARN",
    logging.ERROR: "ERROR",
    logging.CRITICAL: "ERROR",
}
_ESCAPES: Final[Mapping[str, str]] = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

_SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "broker.cluster_conflict": ("broker", "cluster", "other_cluster"),
    "broker.refused": ("cluster", "broker", "addr"),
    "connection.refused": ("peer", "reason"),
    "connections.exhausted": ("open_descriptors_limit",),
    "heartbeat.unknown": ("cluster", "addr"),
    "notice.failed": ("addr",),
    "request.denied": ("code", "peer"),
    "request.failed": ("code", "peer", "reason"),
    "route.missed": ("topic",),
    "shadow.difference": ("code", "question"),
}
"""Kinds that a peer can repeat at will, and the fields that make two of them the same."""

# An address with its port; every connection of a peer has another one.
_ADDRESS: Final = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|\[[0-9A-Za-z:.%]+\]):[0-9]+")


class LogFormat(enum.StrEnum):
    """How lines look."""

    AUTO = "auto"
    """Text on a terminal, else JSON."""
    TEXT = "text"
    JSON = "json"


class LineStream(Protocol):
    """What lines are written to: a text file such as `sys.stderr`."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> object:
        """Pass on what was taken."""

    def isatty(self) -> bool:
        """Tell whether a person reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one line says. `time_s` is seconds since the epoch, `level` one of `logging`."""

    time_s: float
    level: int
    event: str
    fields: Mapping[str, object]


def text_line(entry: Entry) -> str:
    """Write a line for a person: local time, level, event, `key=value`; it never holds a line break."""
    when = dt.datetime.fromtimestamp(entry.time_s, tz=dt.UTC).astimezone()
    head = f"{when.isoformat(timespec='milliseconds')} {_level_name(entry.level)} {entry.event}"
    return " ".join([head, *(f"{name}={_quoted(_plain(name, value))}" for name, value in entry.fields.items())])


def json_line(entry: Entry) -> str:
    """Write a line for a program: one JSON object in ASCII, with `time` in RFC 3339 UTC, `level` and `event`."""
    when = dt.datetime.fromtimestamp(entry.time_s, tz=dt.UTC)
    values: dict[str, object] = {
        "time": f"{when.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z",
        "level": _level_name(entry.level),
        "event": entry.event,
    }
    for name, value in entry.fields.items():
        is_number = isinstance(value, int | float)
        values.setdefault(name, value if is_number else _plain(name, value))
    return json.dumps(values)


class LineWriter:
    """Writes whole lines and never fails: a lost reader or a full disk must not end the server."""

    def __init__(self, stream: LineStream | None) -> None:
        """Take the stream; None (a process without that stream) swallows everything."""
        self._stream = stream

    def write(self, line: str) -> None:
        """Write one line, given without its end; once the stream is gone, do nothing."""
        if self._stream is None:
            return
        try:
            self._write(self._stream, line)
        except (BrokenPipeError, ValueError):
            self._stream = None
        except OSError:
            pass  # such as a full disk: the next line may find room

    @staticmethod
    def _write(stream: LineStream, line: str) -> None:
        try:
            stream.write(f"{line}\n")
        except UnicodeEncodeError:
            stream.write(f"{ascii(line)[1:-1]}\n")
        stream.flush()


@dataclass(slots=True)
class _Subject:
    """When an event about this was last printed, and how many were not since."""

    printed_s: float
    held: int = 0


@dataclass(slots=True)
class _Kind:
    """The subjects of one noisy kind, that printed longest ago first, and events of forgotten ones."""

    subjects: OrderedDict[tuple[str, ...], _Subject] = field(default_factory=OrderedDict)
    others: int = 0


class Repeats:
    """Decides which events of noisy kinds are printed: each subject once a minute, and not too many subjects.

    Holds at most `SUBJECTS_PER_KIND` subjects of each kind; there must be a fixed number of kinds.
    """

    def __init__(self) -> None:
        """Start with nothing printed."""
        self._kinds: dict[str, _Kind] = {}

    def admit(self, kind_name: str, subject: tuple[str, ...], now_s: float) -> Mapping[str, int] | None:
        """Give fields to add to the line of an event, or None when the event is only counted.

        `repeated` are events about the same subject since its last line; `others` are events about subjects
        that got no line at all.
        """
        kind = self._kinds.setdefault(kind_name, _Kind())
        seen = kind.subjects.get(subject)
        if seen is None:
            return _admit_new(kind, subject, now_s)
        if now_s - seen.printed_s < REPEAT_WINDOW_S:
            seen.held += 1
            return None
        kind.subjects[subject] = _Subject(now_s)
        kind.subjects.move_to_end(subject)
        return {"repeated": seen.held} if seen.held else {}


def _admit_new(kind: _Kind, subject: tuple[str, ...], now_s: float) -> Mapping[str, int] | None:
    if len(kind.subjects) >= SUBJECTS_PER_KIND:
        oldest = next(iter(kind.subjects))
        if now_s - kind.subjects[oldest].printed_s < REPEAT_WINDOW_S:
            kind.others += 1
            return None
        kind.others += kind.subjects.pop(oldest).held
    kind.subjects[subject] = _Subject(now_s)
    others, kind.others = kind.others, 0
    return {"others": others} if others else {}


class EventLog:
    """Prints events; `publish` is what the server is given."""

    def __init__(
        self,
        writer: LineWriter,
        line: Callable[[Entry], str],
        level: int = logging.INFO,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.time, time.monotonic),
    ) -> None:
        """Print events of at least `level`, as `line` writes them; `clocks` are wall and steady, in seconds."""
        self._writer = writer
        self._line = line
        self._level = level
        self._wall, self._steady = clocks
        self._repeats = Repeats()

    def publish(self, event: Event) -> None:
        """Print an event, or count it when the same was printed a short while ago. Never fails."""
        if self._level > event.LEVEL:
            return
        fields = event.fields()
        names = _SUBJECTS.get(event.NAME)
        added: Mapping[str, int] | None = {}
        if names is not None:
            subject = tuple(_subject_part(name, fields.get(name)) for name in names)
            added = self._repeats.admit(event.NAME, subject, self._steady())
        if added is not None:
            self._print(event.LEVEL, event.NAME, {**fields, **added})

    def _print(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        self._writer.write(self._line(Entry(time_s=self._wall(), level=level, event=event, fields=fields)))


class LibraryLogHandler(logging.Handler):
    """Prints records of `logging` in the same form as events; the event is the last part of the logger's name.

    Records of one place in the code are one noisy kind, as most are about what a peer did; DEBUG is not counted.
    """

    def __init__(
        self, writer: LineWriter, line: Callable[[Entry], str], steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Print through `writer`, as `line` writes it; `steady` is a clock in seconds."""
        super().__init__()
        self._writer = writer
        self._line = line
        self._steady = steady
        self._repeats = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, or count it."""
        message = record.getMessage()
        fields: dict[str, object] = {"message": message}
        if record.levelno > logging.DEBUG:
            subject = (_ADDRESS.sub(r"\1", message[:LONGEST_VALUE]),)
            added = self._repeats.admit(f"{record.pathname}:{record.lineno}", subject, self._steady())
            if added is None:
                return
            fields |= added
        if record.exc_info:
            fields["trace"] = logging.Formatter().formatException(record.exc_info)
        event = record.name.rpartition(".")[2]
        self._writer.write(self._line(Entry(time_s=record.created, level=record.levelno, event=event, fields=fields)))


def configure_logging(level: int, log_format: LogFormat, stream: LineStream | None) -> EventLog:
    """Send events and the records of `logging` to a stream, and give the log for events.

    Records of this package are printed from `level` on, those of other libraries from WARNING on. A second
    call replaces what the first one set up.
    """
    is_text = log_format is LogFormat.TEXT or (log_format is LogFormat.AUTO and _is_terminal(stream))
    line = text_line if is_text else json_line
    writer = LineWriter(stream)
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LibraryLogHandler)]:
        root.removeHandler(handler)
    root.addHandler(LibraryLogHandler(writer, line))
    logging.getLogger("cosmodrome").setLevel(level)
    return EventLog(writer, line, level)


def _is_terminal(stream: LineStream | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _level_name(level: int) -> str:
    return _LEVELS.get(level) or logging.getLevelName(level)


def _subject_part(name: str, value: object) -> str:
    """Give what counts of a field: of a peer its host."""
    text = str(value)[:LONGEST_VALUE]
    return _ADDRESS.sub(r"\1", text) if name == "peer" else text


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if name == "trace":
        return text[-LONGEST_TRACE:]
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _quoted(text: str) -> str:
    """Show a value so that the line stays one line and its parts can be told apart."""
    if text and text.isprintable() and not any(char in ' "=' for char in text):
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else ascii(char)[1:-1]
