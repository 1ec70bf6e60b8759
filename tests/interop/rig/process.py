"""One process of the rig: started, watched through its output, and ended for certain.

Owns: the life of a child process; its output file; the text that explains a failed start.
Must not know: what program it is.
"""

import atexit
import contextlib
import os
import re
import signal
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from tests.support.waiting import NotInTimeError, wait_until

START_S: Final = 90.0
STOP_S: Final = 90.0
TAIL_LINES: Final = 40
_LOGS: Final = ("console.log", "broker.log", "namesrv.log", "rocketmq_client.log")
"""What the programs write below their folder that tells what they did."""

# What Logback says about itself, about 150 lines at each start of a 5.x program.
_LOGBACK_STATUS: Final = re.compile(r"^.*\|-.*\n?", re.MULTILINE)


class ProcessError(AssertionError):
    """A process did not do what it was started for; the message ends with its last output."""


class RigProcess:
    """A program that runs in the background and writes its output to `<folder>/console.log`.

    It may be started again after it has ended; output of all runs goes to the same file.
    A run that is still alive when the test session ends is killed.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Prepare a command whose working directory is `folder`; nothing is started yet."""
        self.command = list(command)
        self.folder = folder
        self._environment = {**os.environ, **environment}
        self._console = folder / "console.log"
        self._run_begins_at = 0
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the current run."""
        return self._running().pid

    @property
    def is_alive(self) -> bool:
        """Whether a run was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start a run. The caller waits for what it needs, see `wait_for_line`."""
        assert not self.is_alive, f"already running: {self.command}"
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._console.open("ab") as console:
            self._run_begins_at = console.tell()
            self._child = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        _ALIVE.add(self)

    def output(self) -> str:
        """Return what the current run has written so far, without Logback's status lines."""
        with self._console.open("rb") as console:
            console.seek(self._run_begins_at)
            return _LOGBACK_STATUS.sub("", console.read().decode(errors="replace"))

    def send_line(self, line: str) -> None:
        """Write one line to the standard input of the current run."""
        stdin = self._stdin()
        stdin.write(f"{line}\n".encode())
        stdin.flush()

    def wait_for_text(self, text: str, within_s: float = START_S, after: int = 0) -> str:
        """Wait until the output, from position `after` on, holds `text`; return that output.

        Raises:
            ProcessError: The process ended first, or the deadline passed.
        """
        seen = ""

        def found() -> bool:
            nonlocal seen
            seen = self.output()[after:]
            return text in seen or not self.is_alive

        try:
            wait_until(found, f"{text!r} in the output of {self.command[-1]}", within_s)
        except NotInTimeError as error:
            raise ProcessError(f"{error}\n{self.tail()}") from None
        if text not in (seen := self.output()[after:]):
            raise ProcessError(f"ended without writing {text!r}\n{self.tail()}")
        return seen

    def stop(self, within_s: float = STOP_S) -> int:
        """End the run with SIGTERM and return its exit status; a run that has ended is left alone.

        Raises:
            ProcessError: It is still alive after the deadline (it is killed then).
        """
        self.terminate()
        return self.wait_ended(within_s)

    def terminate(self) -> None:
        """Send SIGTERM and return at once, so that a test can watch the shutdown."""
        if self.is_alive:
            self._running().terminate()

    def wait_ended(self, within_s: float = STOP_S) -> int:
        """Wait for the end of the run and return its exit status.

        Raises:
            ProcessError: It is still alive after the deadline (it is killed then).
        """
        child = self._running()
        try:
            status = child.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProcessError(f"still alive after {within_s:g} s\n{self.tail()}") from None
        self._close_input()
        return status

    def kill(self) -> None:
        """End the run with SIGKILL, also one that is suspended; return when it is gone."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._close_input()

    def suspend(self) -> None:
        """Stop the run in its tracks (SIGSTOP): connections stay open, nothing answers."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a suspended run go on (SIGCONT)."""
        self._running().send_signal(signal.SIGCONT)

    def tail(self) -> str:
        """Return the command and the last lines of output, to explain a failure."""
        lines = self.output().splitlines()[-TAIL_LINES:]
        return "\n".join([f"command: {' '.join(self.command)}", f"last output ({self._console}):", *lines])

    def log_tails(self) -> str:
        """Return the last lines of every log below its folder, to explain a failure that showed elsewhere."""
        logs = [path for name in _LOGS for path in sorted(self.folder.rglob(name)) if path.stat().st_size]
        return "\n".join(line for path in logs for line in (f"{path}:", *_last_lines(path)))

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._child is not None, f"never started: {self.command}"
        return self._child

    def _stdin(self) -> IO[bytes]:
        stdin = self._running().stdin
        assert stdin is not None
        return stdin

    def _close_input(self) -> None:
        # Closing flushes a line that the dead process never read.
        with contextlib.suppress(BrokenPipeError):
            self._stdin().close()


def _last_lines(path: Path) -> list[str]:
    return _LOGBACK_STATUS.sub("", path.read_text("utf-8", "replace")).splitlines()[-TAIL_LINES:]


_ALIVE: Final[weakref.WeakSet[RigProcess]] = weakref.WeakSet()


def living() -> list[RigProcess]:
    """Give all that run, of whatever test."""
    return [process for process in list(_ALIVE) if process.is_alive]


@atexit.register
def _kill_what_is_left() -> None:
    for process in list(_ALIVE):
        process.kill()
