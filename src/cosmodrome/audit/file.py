"""A file of JSON lines that grows at its end, and parses after a crash at any instant.

Owns: appending, syncing, the mending of a torn end, how full files make room for new ones.
Must not know: what the lines say.
"""

import errno
import json
import os
from pathlib import Path
from typing import Final

from cosmodrome.durable_file import make_folder
from cosmodrome.errors import StorageError

_BLOCK_BYTES: Final = 64 * 1024
_LONGEST_WHOLE: Final = 16 * 1024 * 1024
"""Bytes of a last line without an end that is looked at as a whole; ours are far shorter."""
_SHOWN_FRAGMENT: Final = 1000
_MODE: Final = 0o600


class AuditFile:
    """The file at `path`, and full ones before it: `<path>.1` is the last of them. Nothing is made before the first line.

    Not for two threads at once.
    """

    def __init__(self, path: Path, *, max_bytes: int, files_kept: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._files_kept = files_kept
        self._descriptor: int | None = None

    def mend(self) -> None:
        """Make the end of a file of an earlier run whole, if there is one.

        Raises:
            StorageError: It cannot be used; or there is none, and its folder does not allow one.
        """
        try:
            if self.path.exists():
                self._opened()
                self.close()
            else:
                _check_writable(self.path.absolute().parent)
        except OSError as error:
            raise self._failed(error) from error

    def append(self, data: bytes, *, is_synced: bool = True) -> None:
        """Add whole lines, on disk before this returns if `is_synced`.

        Raises:
            StorageError: They are not in the file; not a part of them.
        """
        size: int | None = None
        try:
            descriptor = self._opened()
            size = os.fstat(descriptor).st_size
            if size and size + len(data) > self._max_bytes:
                self._make_room()
                descriptor, size = self._opened(), 0
            _write_all(descriptor, data)
            if is_synced:
                os.fsync(descriptor)
        except OSError as error:
            self._take_back(size)
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self) -> int:
        """Give the open file; a new one when somebody has moved or removed it since."""
        if self._descriptor is not None and not self._is_in_place(self._descriptor):
            self.close()
        if self._descriptor is None:
            make_folder(self.path.parent)
            is_new = not self.path.exists()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, _MODE)
            if is_new:
                _sync_folder(self.path.parent)
            _mend_end(self._descriptor)
        return self._descriptor

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    def _make_room(self) -> None:
        """Give each full file the next number, and drop the last."""
        self.close()
        for number in range(self._files_kept, 1, -1):
            younger = self._numbered(number - 1)
            if younger.exists():
                younger.replace(self._numbered(number))
        self.path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _take_back(self, size: int | None) -> None:
        """Leave no part of lines that could not be written whole; if even that fails, the next opening mends it."""
        try:
            if self._descriptor is not None and size is not None:
                os.ftruncate(self._descriptor, size)
        except OSError:
            pass
        finally:
            self.close()

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"cannot write the audit log {self.path}: {error.strerror or error}.",
            why="a change is made only when it is known who made it.",
            remedy="free some space, make the folder writable, or set auditLog to another file; "
            "the next change succeeds without a restart.",
        )


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _mend_end(descriptor: int) -> None:
    """End the last line: a whole one with a line end, a torn one by putting it as a text into a line that is whole."""
    size = os.fstat(descriptor).st_size
    start = _start_of_last_line(descriptor, size)
    if start == size:
        return
    fragment = _read_at(descriptor, start, min(size - start, _LONGEST_WHOLE))
    if len(fragment) == size - start and _is_whole(fragment):
        _write_all(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, start)
        shown = fragment[:_SHOWN_FRAGMENT].decode("utf-8", "replace")
        _write_all(descriptor, json.dumps({"event": "torn", "fragment": shown}).encode() + b"\n")
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on disk, where the system can (Windows cannot open folders)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _start_of_last_line(descriptor: int, size: int) -> int:
    """Give where what is behind the last line end begins: the size if there is nothing."""
    end = size
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        found = _read_at(descriptor, start, end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _read_at(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _check_writable(folder: Path) -> None:
    """Tell early what the first line would meet, without making anything."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
