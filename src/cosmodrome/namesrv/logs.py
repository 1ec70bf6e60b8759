"""One line for each event, for a person or for a program.

Owns: both line formats, quoting, what happens when nobody reads; that records of `logging` do not flood it.
Must not know: why an event happened (events.py has its name, level and fields); which events are held back (repeats.py).
"""

import contextlib
import dataclasses
import datetime as dt
import enum
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.repeats import REPEAT_WINDOW_S, Repeats, Told

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
    return " ".join([head, *fields_text(entry.fields)])


def fields_text(fields: Mapping[str, object]) -> Iterator[str]:
    """Write fields as `key=value`, so that the line stays one line and its parts can be told apart."""
    return (f"{name}={_quoted(_plain(name, value))}" for name, value in fields.items())


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


class EventLog:
    """Prints events; `publish` is what the server is given."""

    def __init__(
        self,
        writer: LineWriter,
        line: Callable[[Entry], str],
        level: int = logging.INFO,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """Print events of at least `level`, as `line` writes them; `clock_s` gives seconds since the epoch."""
        self._writer = writer
        self._line = line
        self._level = level
        self._clock_s = clock_s

    def publish(self, event: Event) -> None:
        """Print an event. Never fails."""
        if self._level <= event.LEVEL:
            entry = Entry(time_s=self._clock_s(), level=event.LEVEL, event=event.NAME, fields=event.fields())
            self._writer.write(self._line(entry))


class LibraryLogHandler(logging.Handler):
    """Prints records of `logging` in the same form as events.

    The event is what the record has as `event` (given as `extra`), else the last part of the logger's name.

    Records of one place in the code are one noisy kind, as most are about what a peer did; DEBUG is not counted. Those
    with a traceback are the same when it ends at the same place: one is printed in a minute, the others are counted.
    What was counted is printed with the next record after the minute, and when the handler is flushed.
    """

    def __init__(
        self, writer: LineWriter, line: Callable[[Entry], str], steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Print through `writer`, as `line` writes it; `steady` is a clock in seconds."""
        super().__init__()
        self._writer = writer
        self._line = line
        self._steady = steady
        self._repeats: Repeats[Entry] = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, or count it."""
        message = record.getMessage()
        event = str(getattr(record, "event", "")) or record.name.rpartition(".")[2]
        fields = {"message": message[: LONGEST_VALUE + 1]}
        entry = Entry(time_s=record.created, level=record.levelno, event=event, fields=fields)
        if record.levelno > logging.DEBUG:
            now_s = self._steady()
            self._print_held(now_s)
            told = self._repeats.admit(_kind_of(record), _subject_of(record, message), event, entry, now_s)
            if told is None:
                return
            entry = _counted(told)
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            entry = dataclasses.replace(entry, fields={**entry.fields, "trace": trace})
        self._writer.write(self._line(entry))

    def flush(self) -> None:
        """Print what was counted and not printed."""
        with self.lock or contextlib.nullcontext():
            self._print_held(self._steady(), 0)

    def _print_held(self, now_s: float, window_s: float = REPEAT_WINDOW_S) -> None:
        for told in self._repeats.due(now_s, window_s):
            self._writer.write(self._line(_counted(told)))


def _kind_of(record: logging.LogRecord) -> str:
    return f"{record.pathname}:{record.lineno}"


def _subject_of(record: logging.LogRecord, message: str) -> tuple[str, ...]:
    trace = record.exc_info[2] if record.exc_info else None
    if trace is None:
        return (_ADDRESS.sub(r"\1", message[:LONGEST_VALUE]),)
    while trace.tb_next is not None:
        trace = trace.tb_next
    return (trace.tb_frame.f_code.co_filename, str(trace.tb_lineno))


def _counted(told: Told[Entry]) -> Entry:
    counts = {name: count for name, count in (("repeated", told.repeated), ("others", told.others)) if count}
    return dataclasses.replace(told.item, fields={**told.item.fields, **counts}) if counts else told.item


def configure_logging(level: int, log_format: LogFormat, stream: LineStream | None) -> EventLog:
    """Send events and the records of `logging` to a stream, and give the log for events.

    Records of this package are printed from `level` on, those of other libraries from WARNING on. A second
    call replaces what the first one set up.
    """
    line = line_of(log_format, stream)
    writer = LineWriter(stream)
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LibraryLogHandler)]:
        root.removeHandler(handler)
    root.addHandler(LibraryLogHandler(writer, line))
    logging.getLogger("cosmodrome").setLevel(level)
    return EventLog(writer, line, level)


def end_logging() -> None:
    """Print what was counted and not printed yet; call it before the stream is closed."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LibraryLogHandler):
            handler.flush()


def line_of(log_format: LogFormat, stream: LineStream | None) -> Callable[[Entry], str]:
    """Give what writes a line for a stream."""
    is_text = log_format is LogFormat.TEXT or (log_format is LogFormat.AUTO and _is_terminal(stream))
    return text_line if is_text else json_line


def _is_terminal(stream: LineStream | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _level_name(level: int) -> str:
    return _LEVELS.get(level) or logging.getLevelName(level)


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
