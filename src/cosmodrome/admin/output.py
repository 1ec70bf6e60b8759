"""What a command says.

Owns: the three forms (text laid out as Java's mqadmin does, one JSON document, JSON lines); notes and errors.
Must not know: what the rows are about.
"""

import os
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TextIO

import msgspec

from cosmodrome.admin.progress import Progress, Rates
from cosmodrome.errors import AdminError, OperatorError, RefusedError

Row = Mapping[str, Any]


class OutputForm(Enum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"


class Verbosity(Enum):
    """What is said beside results and errors."""

    QUIET = 0
    USUAL = 1
    DETAILED = 2


class Output:
    """Writes the results of one command to `stdout`, notes and errors to `stderr`.

    Rows go out as they come, so that a long listing needs no memory; a JSON document is written by `end`.
    When the reader of `stdout` is gone, the rest is dropped.
    """

    def __init__(self, form: OutputForm, stdout: TextIO, stderr: TextIO, verbosity: Verbosity) -> None:
        self._form = form
        self._stdout: TextIO | None = stdout
        self._stderr = stderr
        self._verbosity = verbosity
        self._rows: list[Row] = []
        self._progress: Progress | None = None

    @property
    def is_text(self) -> bool:
        """Whether a person or a script for mqadmin reads it."""
        return self._form is OutputForm.TEXT

    @property
    def is_detailed(self) -> bool:
        """Whether nothing may be left out for brevity."""
        return self._verbosity is Verbosity.DETAILED

    def text(self, *lines: str) -> None:
        """Write lines that only the text form has."""
        if self.is_text:
            for line in lines:
                self._write(line)

    def confirm(self, *lines: str) -> None:
        """Write lines of the text form that say no more than the exit code; left out when quiet."""
        if self._verbosity is not Verbosity.QUIET:
            self.text(*lines)

    def row(self, row: Row, *lines: str) -> None:
        """Write one of several results; `lines` are its text form."""
        if self.is_text:
            self.text(*lines)
        elif self._form is OutputForm.NDJSON:
            self._write(msgspec.json.encode(row).decode())
        else:
            self._rows.append(row)

    def end(self, name: str, **facts: Any) -> None:
        """Write the JSON document: the rows so far, under `name`, after the facts about all of them."""
        if self._form is OutputForm.JSON:
            self._write_document({**facts, name: self._rows})
            self._rows = []

    def document(self, document: Row) -> None:
        """Write a result that is one object; its text form is written with `text`."""
        if self._form is OutputForm.NDJSON:
            self._write(msgspec.json.encode(document).decode())
        elif self._form is OutputForm.JSON:
            self._write_document(document)

    def progress(self, noun: str, total: int, clock: Callable[[], float] = time.monotonic) -> Progress:
        """Give what shows how far long work is: on a terminal, unless quiet. Only the last one given is shown."""
        shows = self._verbosity is not Verbosity.QUIET and self._stderr.isatty()
        self._progress = Progress(self._stderr if shows else None, noun, total, clock)
        return self._progress

    def rates(self, verb: str) -> Rates:
        """Give what counts messages and shows how fast they go: on a terminal, unless quiet."""
        shows = self._verbosity is not Verbosity.QUIET and self._stderr.isatty()
        rates = Rates(self._stderr if shows else None, verb)
        self._progress = rates
        return rates

    @property
    def has_reader(self) -> bool:
        """Whether somebody reads standard output, as far as is known."""
        return self._stdout is not None

    def note(self, text: str) -> None:
        """Tell a person something on standard error that is no result and no error."""
        if self._verbosity is not Verbosity.QUIET:
            self._tell(f"note: {text}")

    def detail(self, text: str) -> None:
        """Tell a person who wants details."""
        if self._verbosity is Verbosity.DETAILED:
            self._tell(f"detail: {text}")

    def error(self, error: OperatorError) -> None:
        """Report an error in three parts."""
        self._tell(error.render())

    def flush(self) -> None:
        """Pass on what was written."""
        try:
            if self._stdout is not None:
                self._stdout.flush()
            self._stderr.flush()
        except (BrokenPipeError, ValueError):
            self._drop()

    def _tell(self, text: str) -> None:
        self._make_room()
        try:
            self._stderr.write(f"{text}\n")
        except (BrokenPipeError, ValueError):
            self._drop()

    def _write_document(self, document: Row) -> None:
        self._write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())

    def _make_room(self) -> None:
        if self._progress is not None:
            self._progress.clear()

    def _write(self, line: str) -> None:
        self._make_room()
        try:
            if self._stdout is not None:
                self._stdout.write(f"{line}\n")
        except (BrokenPipeError, ValueError):
            self._drop()

    def _drop(self) -> None:
        """Send what is still buffered nowhere: the interpreter flushes at its end, and would complain."""
        stream, self._stdout = self._stdout, None
        if stream is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def error_facts(error: AdminError) -> Row:
    """Give an error as JSON; `code` and `remark` are there when a server refused."""
    facts: dict[str, Any] = {"id": error.ERROR_ID, "what": error.what, "why": error.why, "do": error.remedy}
    cause = error.__cause__
    return facts | ({"code": cause.code, "remark": cause.remark} if isinstance(cause, RefusedError) else {})


def snake_case(value: Any) -> Any:
    """Give a wire value as JSON with the names of its fields here; keys of maps become text."""
    if isinstance(value, msgspec.Struct):
        return {name: snake_case(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): snake_case(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [snake_case(each) for each in value]
    return value
