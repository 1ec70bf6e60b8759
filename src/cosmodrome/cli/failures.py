"""How a command ends: exit codes, error texts, and the report of a bug.

Owns: what a person reads when something failed, and the exit code that goes with it.
Must not know: what the command was doing.
"""

import datetime as dt
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from cosmodrome import __version__
from cosmodrome.errors import OperatorError
from cosmodrome.namesrv.logs import LineWriter

EXIT_OK: Final = 0
EXIT_BUG: Final = 70


def end_with(action: Callable[[], int], *, shows_traces: bool) -> NoReturn:
    """Run an action and end the process with its exit code, or with that of the error it raised."""
    end(exit_code_of(action, shows_traces=shows_traces))


def exit_code_of(action: Callable[[], int], *, shows_traces: bool) -> int:
    """Run an action; report an error of it on standard error, and give the exit code."""
    stderr = LineWriter(sys.stderr)
    try:
        return action()
    except OperatorError as error:
        stderr.write(error.render())
        if shows_traces:
            stderr.write(traceback.format_exc().rstrip())
        return error.exit_code
    except Exception as error:  # noqa: BLE001  # outermost: every bug ends in a report
        stderr.write(_bug_text(error, _write_report(error)))
        if shows_traces:
            stderr.write(traceback.format_exc().rstrip())
        return EXIT_BUG


def end(code: int) -> NoReturn:
    """End the process with this code, even if nobody reads its output any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            # The interpreter flushes once more at its end, and would change the exit code when that fails.
            _discard(stream.fileno())
    sys.exit(code)


def _discard(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _bug_text(error: Exception, report: Path | None) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    remedy = f"please report it with the file {report}" if report else "please report it; -vv shows the trace"
    return f"error[NS-BUG]: {what}\n  why: this is a fault of cosmodrome, not of its use.\n  do:  {remedy}"


def _write_report(error: Exception) -> Path | None:
    """Write what a developer needs to know, without arguments and environment, which may hold secrets."""
    head = (
        f"cosmodrome {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{dt.datetime.now(tz=dt.UTC).isoformat(timespec='seconds')}\n\n"
    )
    try:
        descriptor, name = tempfile.mkstemp(prefix="cosmodrome-report-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123  # a descriptor
            file.write(head + "".join(traceback.format_exception(error)))
    except OSError:
        return None
    return Path(name)
