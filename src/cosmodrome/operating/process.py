"""A server of this machine, found by its pid file.

Owns: whether it runs, and that it is the process that the file names; where it listens; sending it signals; waiting
    for what it leaves.
Must not know: which server it is; who wants what of it.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from cosmodrome.errors import DeniedError, NoAnswerError, UnavailableError, UnreachableError
from cosmodrome.operating.pid_file import addresses_path, outcome_path

T = TypeVar("T")

_LOOK_S: Final = 0.05
_MOST_BYTES: Final = 4096
_LOCKS: Final = Path("/proc/locks")

Waiting = Callable[[float], None]
"""Told again and again how many seconds one has waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a server listens, `host:port` as bound; `http` is empty when it answers none."""

    remoting: str
    http: str


class RunningProcess:
    """A process that holds its pid file; use it as a context manager.

    Raises:
        UnreachableError: There is no such file, or it was left behind.
        DeniedError: This user may not read it, or it names a process that does not hold it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except PermissionError as error:
            raise DeniedError(f"the pid file {path} cannot be read: {error.strerror}.") from error
        except OSError as error:
            raise UnreachableError(
                f"no server runs here that has the pid file {path}.",
                why=f"{error.strerror}.",
                remedy="name its pid file (--pid-file FILE) or where its HTTP is (--http HOST:PORT)",
            ) from error
        try:
            self.pid = self._checked()
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def addresses(self) -> Addresses | None:
        """Give where it listens; None when it did not say so, as servers of earlier releases do not."""
        found = _read_object(addresses_path(self.path))
        if found is None or found.get("pid") != self.pid:
            return None
        remoting, http = found.get("remoting"), found.get("http")
        if not isinstance(remoting, str) or not isinstance(http, str):
            return None
        return Addresses(remoting=remoting, http=http)

    def reload(self, timeout_s: float, waiting: Waiting) -> dict[str, Any]:
        """Have it read its configuration again, and give what came of it.

        Raises:
            DeniedError: This user may not.
            NoAnswerError: It said nothing in time.
        """
        sent_ns = time.monotonic_ns()
        self._signal("SIGHUP")

        def outcome() -> dict[str, Any] | None:
            found = _read_outcome(outcome_path(self.path))
            return found if found is not None and found.get("began_ns", 0) >= sent_ns else None

        what = "say what came of reading its configuration again"
        return self._awaited(outcome, timeout_s, waiting, what)

    def stop(self, timeout_s: float, waiting: Waiting) -> dict[str, Any]:
        """Have it finish what it does, and end; give the figures of its stop, nothing if it left none.

        Raises:
            DeniedError: This user may not.
            NoAnswerError: It did not end in time.
        """
        self._signal("SIGTERM")
        self._awaited(lambda: None if self._is_held() else True, timeout_s, waiting, "end")
        _, _, left = self._content().partition("\n")
        try:
            figures = json.loads(left)
        except ValueError:
            return {}
        return figures if isinstance(figures, dict) else {}

    def _awaited(self, probe: Callable[[], T | None], timeout_s: float, waiting: Waiting, what: str) -> T:
        begun_s = time.monotonic()
        while (found := probe()) is None:
            waited_s = time.monotonic() - begun_s
            if waited_s > timeout_s:
                raise NoAnswerError(
                    f"process {self.pid} did not {what} in {timeout_s:g} s.",
                    remedy="see its log, or give it more: --timeout S",
                )
            waiting(waited_s)
            time.sleep(_LOOK_S)
        return found

    def _signal(self, name: str) -> None:
        if sys.platform == "win32":  # there, a signal ends a process at once
            raise UnavailableError(
                "this system has no signals to tell a server something by.", remedy="--http HOST:PORT"
            )
        try:
            os.kill(self.pid, getattr(signal, name))
        except PermissionError as error:
            raise DeniedError(
                f"this user may not send {name} to process {self.pid}.", remedy="be its user, or root"
            ) from error
        except ProcessLookupError as error:
            raise UnreachableError(f"process {self.pid} has just ended.") from error

    def _checked(self) -> int:
        text = self._content().partition("\n")[0].strip()
        pid = int(text) if text.isascii() and text.isdecimal() else 0
        if pid < 1:
            raise UnreachableError(f"{self.path} names no process.", why=f"it says {text[:20]!r}.")
        if not self._is_held():
            raise UnreachableError(
                f"no server runs here that has the pid file {self.path}.",
                why=f"process {pid} left it behind: it had no proper end.",
            )
        holders = _holders(os.fstat(self._descriptor).st_ino)
        if holders and pid not in holders:
            raise DeniedError(
                f"{self.path} names process {pid}, which does not have it.",
                why=f"process {', '.join(map(str, sorted(holders)))} has.",
                remedy="nobody was sent anything: find out who wrote that file",
            )
        return pid

    def _content(self) -> str:
        return os.pread(self._descriptor, _MOST_BYTES, 0).decode("utf-8", "replace")

    def _is_held(self) -> bool:
        """Whether a process has the file; where the system has no locks, whether there is a process of that number."""
        if sys.platform == "win32":
            return True
        import fcntl  # noqa: PLC0415  # does not exist everywhere

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return _is_there(self._content().partition("\n")[0].strip())
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return False


def _is_there(pid: str) -> bool:
    return Path("/proc", pid).exists()


def _holders(inode: int) -> set[int]:
    """Give the processes that have locked a file, as far as the system tells this one."""
    try:
        lines = _LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return set()
    found = set()
    for line in lines:
        words = line.split()
        # 1: FLOCK ADVISORY WRITE 4711 08:01:123456 0 EOF; one that waits has an arrow.
        if len(words) >= 6 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
            found.add(int(words[4]))
    return {pid for pid in found if pid > 0}


def _read_outcome(path: Path) -> dict[str, Any] | None:
    found = _read_object(path)
    return found if found is not None and isinstance(found.get("began_ns"), int) else None


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes()[:1_000_000])
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
