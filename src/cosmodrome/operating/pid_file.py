"""The file that names the process while it runs.

Owns: writing and removing it; whose it is; what it says about how the previous run ended; what is left beside it: where
    the process listens, and what came of a reload or its end (process.py reads it).
Must not know: what the process does.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from cosmodrome.errors import StorageError

_LOG = logging.getLogger(__name__)

_LONGEST_PID: Final = 20


def outcome_path(pid_file: Path) -> Path:
    """Give where a server leaves what a reload came to."""
    return pid_file.with_name(f"{pid_file.name}.reload")


def addresses_path(pid_file: Path) -> Path:
    """Give where a server leaves the addresses that it listens on."""
    return pid_file.with_name(f"{pid_file.name}.addresses")


class PidFile:
    """Locked while its process runs, and removed at a proper end. One that is there and not locked is left over.

    The lock is the system's and goes with the process, however it ends, so that a process id that is used again (in
    a container it is always 1) misleads nobody.
    """

    def __init__(self, path: Path, *, is_asked_for: bool) -> None:
        """Prepare; one that nobody asked for by name is done without where it cannot be written."""
        self.path = path
        self._is_asked_for = is_asked_for
        self._descriptor = -1

    def take(self) -> str | None:
        """Write this process's id, and give that of a previous run that did not end properly, None after one that did.

        Raises:
            StorageError: It was asked for, and cannot be written or is that of a process that runs.
        """
        try:
            if not self._is_asked_for:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._take()
        except (OSError, StorageError) as error:
            if isinstance(error, StorageError) and self._is_asked_for:
                raise
            _LOG.warning("no pid file is kept, so that an unclean end of this run will not be noticed: %s", error)
            return None

    def _take(self) -> str | None:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageError(
                f"cannot write the pid file {self.path}: {error.strerror or error}.",
                remedy="name a file in a folder that exists and is writable: --pid-file FILE",
            ) from error
        try:
            previous = os.read(descriptor, _LONGEST_PID).decode("ascii", "replace").strip()
            self._lock(descriptor, previous)
            data = f"{os.getpid()}\n".encode()
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        except OSError as error:
            os.close(descriptor)
            raise StorageError(f"cannot write the pid file {self.path}: {error.strerror or error}.") from error
        except StorageError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return previous or None

    def leave_addresses(self, remoting: str, http: str) -> None:
        """Leave beside the file where this process listens, as bound; `http` is empty when there is none."""
        found = {"pid": os.getpid(), "remoting": remoting, "http": http}
        self._leave(addresses_path(self.path), found, "who looks for this server goes by its configuration")

    def leave_outcome(self, outcome: Mapping[str, object]) -> None:
        """Leave beside the file what a reload came to, for who asked for it."""
        self._leave(outcome_path(self.path), outcome, "who asked for a reload is told nothing")

    def _leave(self, path: Path, content: Mapping[str, object], otherwise: str) -> None:
        """Write a file beside this one, whole; nothing when this one was not taken."""
        if self._descriptor < 0:
            return
        written = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            written.unlink(missing_ok=True)
            with open(written, "xb") as file:  # noqa: PTH123  # a link that stands there is not followed
                file.write(msgspec.json.encode(content))
            written.replace(path)
        except OSError as error:
            _LOG.warning("%s cannot be written: %s: %s", path, otherwise, error.strerror)

    def release(self, figures: Mapping[str, int]) -> None:
        """Remove the file, unless it was not taken, or another process has put its own there. May be called again.

        Whoever has it open and waits for its lock then reads the figures of the stop in its second line: by then it has
        no name, so that nobody else sees more than a process id.
        """
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError, ValueError):
            if int(self.path.read_text(encoding="ascii")) == os.getpid():
                self.path.unlink()
                outcome_path(self.path).unlink(missing_ok=True)
                addresses_path(self.path).unlink(missing_ok=True)
                os.pwrite(self._descriptor, b"%d\n%s\n" % (os.getpid(), msgspec.json.encode(figures)), 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def _lock(self, descriptor: int, owner: str) -> None:
        if sys.platform == "win32":
            return
        import fcntl  # noqa: PLC0415  # does not exist everywhere

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                f"the pid file {self.path} belongs to the running process {owner or 'that is starting'}.",
                why="two servers cannot share a pid file.",
                remedy="name another one: --pid-file FILE, or another --data-dir DIR",
            ) from error
        except OSError:
            return  # a file system without locks: what is there is taken for a left-over
