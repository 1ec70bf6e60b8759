"""How a command ends: exit codes, error texts, and the report of a bug.

Owns: what a person reads when something failed, and the exit code that goes with it.
Must not know: what the command was doing.
"""

import contextlib
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
from cosmodrome.cli.outputs import in_background
from cosmodrome.errors import OperatorError
from cosmodrome.namesrv.log_output import LogOutput
from cosmodrome.namesrv.logs import LineWriter

EXIT_OK: Final = 0
EXIT_BUG: Final = 70
_REPORTS_KEPT: Final = 10
_REPORT_NAME: Final = "cosmodrome-report-"


def end_with(action: Callable[[], int], *, shows_traces: bool) -> NoReturn:
    """Run an action and end the process with its exit code, or with that of the error it raised."""
    end(exit_code_of(action, shows_traces=shows_traces))


def exit_code_of(action: Callable[[], int], *, shows_traces: bool) -> int:
    """Run an action; report an error of it on standard error, and give the exit code."""
    try:
        return action()
    except OperatorError as error:
        _say(error.render(), traceback.format_exc() if shows_traces else "")
        return error.exit_code
    except Exception as error:  # noqa: BLE001  # outermost: every bug ends in a report
        report = _write_report(error)
        _say(_bug_text(error, report), traceback.format_exc() if shows_traces or report is None else "")
        return EXIT_BUG


def _say(text: str, trace: str) -> None:
    """Write to standard error, but do not wait for ever for somebody to read it."""
    stderr = in_background(sys.stderr)
    LineWriter(stderr).write("\n".join(filter(None, (text, trace.rstrip()))))
    if isinstance(stderr, LogOutput):
        stderr.close()


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
    remedy = f"please report it with the file {report}" if report else "please report it with the trace below"
    return f"error[NS-BUG]: {what}\n  why: this is a fault of cosmodrome, not of its use.\n  do:  {remedy}"


def _write_report(error: Exception) -> Path | None:
    """Write what a developer needs to know, without arguments and environment, which may hold secrets."""
    head = (
        f"cosmodrome {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{dt.datetime.now(tz=dt.UTC).isoformat(timespec='seconds')}\n\n"
    )
    try:
        _remove_old_reports(Path(tempfile.gettempdir()))
        descriptor, name = tempfile.mkstemp(prefix=_REPORT_NAME, suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123  # a descriptor
            file.write(head + "".join(traceback.format_exception(error)))
    except OSError:
        return None
    return Path(name)


def _remove_old_reports(folder: Path) -> None:
    """Make room for one more: a supervisor that starts a faulty program again and again must not fill the disk."""
    reports = sorted(folder.glob(f"{_REPORT_NAME}*.txt"), key=lambda path: path.lstat().st_mtime)
    for path in reports[: max(0, len(reports) - _REPORTS_KEPT + 1)]:
        with contextlib.suppress(OSError):
            path.unlink()
