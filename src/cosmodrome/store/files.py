"""The only way from the store to the disk.

Owns: the calls that read, write, map, sync and lock files; what is made durable when a file is made.
Must not know: what the files hold. Tests put a simulated disk in its place.
"""

import contextlib
import errno
import mmap
import os
import struct
from pathlib import Path
from typing import Final, Protocol

from cosmodrome.durable_file import make_folder

try:
    import fcntl
except ImportError:
    _CAN_LOCK = False
else:
    _CAN_LOCK = True

_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_MODE: Final = 0o644
_PERCENT_UNKNOWN: Final = 0.0
# struct flock: l_type, l_whence, l_start, l_len, l_pid, and padding.
_FLOCK: Final = "hhqqi0q"
_BUSY: Final = frozenset({errno.EAGAIN, errno.EACCES})


class StoreFile(Protocol):
    """An open file of a fixed size. Every method may raise OSError."""

    size: int

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Write all of it; after an error a part of it may be written."""

    def read(self, offset: int, length: int) -> bytes:
        """Give these bytes, fewer at the end of the file."""

    def view(self) -> memoryview:
        """Give the whole file as it is and will be; it outlives `close` and the file's removal."""

    def is_in_memory(self, offset: int, length: int) -> bool:
        """Tell whether these bytes can be read without waiting for the disk; True where nobody knows."""

    def next_data(self, offset: int) -> int | None:
        """Give the next place, from `offset` on, that may hold anything but zeros; None when there is none."""

    def clear_from(self, offset: int) -> None:
        """Make everything from `offset` on zeros."""

    def sync(self) -> None:
        """Put it on disk."""

    def close(self) -> None:
        """Give the descriptor up. May be called again."""


class FolderLock(Protocol):
    """A lock that is held until it is released, or the process ends."""

    def release(self) -> None:
        """Give it up. May be called again."""


class FileSystem(Protocol):
    """Where a store lives. Methods raise OSError unless they say otherwise."""

    def names(self, folder: Path) -> list[str]:
        """Give the names in a folder, sorted; none when it is missing."""

    def is_folder(self, path: Path) -> bool:
        """Tell whether there is a folder."""

    def size(self, path: Path) -> int | None:
        """Give the size of a file, None when there is none."""

    def modified_ms(self, path: Path) -> int:
        """Say when a file was written last, in milliseconds since the epoch."""

    def open(self, path: Path, size: int, *, is_durable: bool = False) -> StoreFile:
        """Open a file of that size. A missing one is made of zeros, with its folders; an empty one grows.

        With `is_durable` a file that was made outlives a power cut.

        Raises:
            OSError: Also for a file of another size.
        """

    def create(self, path: Path, data: bytes) -> None:
        """Make a small file that holds `data` and outlives a power cut, in the place of what is there."""

    def sync_file(self, path: Path) -> None:
        """Put a file on disk that may be open elsewhere; one that is gone is left alone."""

    def remove(self, path: Path) -> None:
        """Remove a file; one that is gone is left alone."""

    def remove_folder(self, path: Path) -> None:
        """Remove a folder if it is empty; else it stays."""

    def sync_folder(self, path: Path) -> None:
        """Put the entries of a folder on disk; one that is gone is left alone."""

    def lock(self, path: Path, data: bytes) -> FolderLock | None:
        """Take the lock of a file, which is made with `data` in it; None when another process has it."""

    def used_ratio(self, path: Path) -> float:
        """Say how full the file system is for those who are not root, 0 to 1; 0 when nobody knows. Raises nothing."""


class DiskFile:
    """A `StoreFile` on disk."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Take over a descriptor."""
        self.size = size
        self._descriptor = descriptor
        self._view: memoryview | None = None

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """See StoreFile."""
        written = os.pwrite(self._descriptor, data, offset)
        while written < len(data):
            more = os.pwrite(self._descriptor, memoryview(data)[written:], offset + written)
            if more <= 0:
                raise OSError(errno.EIO, "the disk takes no more bytes")
            written += more

    def read(self, offset: int, length: int) -> bytes:
        """See StoreFile."""
        return os.pread(self._descriptor, length, offset)

    def view(self) -> memoryview:
        """See StoreFile."""
        if self._view is None:
            self._view = memoryview(mmap.mmap(self._descriptor, self.size, access=mmap.ACCESS_READ))
        return self._view

    def is_in_memory(self, offset: int, length: int) -> bool:
        """See StoreFile."""
        end = min(offset + length, self.size)
        if not _NO_WAIT:
            return True
        try:
            while offset < end:
                found = os.preadv(self._descriptor, [_SCRATCH], offset, _NO_WAIT)
                if found == 0:
                    return True
                offset += found
        except BlockingIOError:
            return False
        except OSError:  # a file system that cannot be asked so
            return True
        return True

    def next_data(self, offset: int) -> int | None:
        """See StoreFile."""
        if offset >= self.size:
            return None
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            return None if error.errno == errno.ENXIO else offset
        except AttributeError:  # a system that does not know holes
            return offset

    def clear_from(self, offset: int) -> None:
        """See StoreFile."""
        os.ftruncate(self._descriptor, offset)
        os.ftruncate(self._descriptor, self.size)

    def sync(self) -> None:
        """See StoreFile. A file that is closed meanwhile, in another thread, was removed: nobody needs it."""
        if self._descriptor < 0:
            return
        try:
            _SYNC_DATA(self._descriptor)
        except OSError:
            if self._descriptor >= 0:
                raise

    def close(self) -> None:
        """See StoreFile."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


_SCRATCH: Final = bytearray(64 * 1024)
"""Where goes what is read only to see whether it can be read at once. Nobody looks into it."""
_NO_WAIT: Final = getattr(os, "RWF_NOWAIT", 0)
_SYNC_DATA: Final = getattr(os, "fdatasync", os.fsync)


class DiskFiles:
    """The `FileSystem` of the machine."""

    def names(self, folder: Path) -> list[str]:
        """See FileSystem."""
        try:
            return sorted(each.name for each in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_folder(self, path: Path) -> bool:
        """See FileSystem."""
        return path.is_dir()

    def size(self, path: Path) -> int | None:
        """See FileSystem."""
        try:
            return path.stat().st_size if path.is_file() else None
        except FileNotFoundError:
            return None

    def modified_ms(self, path: Path) -> int:
        """See FileSystem."""
        return path.stat().st_mtime_ns // 1_000_000

    def open(self, path: Path, size: int, *, is_durable: bool = False) -> StoreFile:
        """See FileSystem."""
        make_folder(path.parent)
        descriptor = os.open(path, _FLAGS, _MODE)
        try:
            if self._is_new(descriptor, size) and is_durable:
                os.fsync(descriptor)
                self.sync_folder(path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        return DiskFile(descriptor, size)

    def _is_new(self, descriptor: int, size: int) -> bool:
        """Give an empty file its size; tell whether it was empty."""
        found = os.fstat(descriptor).st_size
        if found == 0:
            os.ftruncate(descriptor, size)
        elif found != size:
            raise OSError(errno.EINVAL, f"it has {found} bytes, not {size}")
        return found == 0

    def create(self, path: Path, data: bytes) -> None:
        """See FileSystem."""
        make_folder(path.parent)
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self.sync_folder(path.parent)

    def sync_file(self, path: Path) -> None:
        """See FileSystem."""
        try:
            descriptor = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return
        try:
            _SYNC_DATA(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        """See FileSystem."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """See FileSystem."""
        with contextlib.suppress(OSError):
            path.rmdir()

    def sync_folder(self, path: Path) -> None:
        """See FileSystem."""
        if os.name == "nt":  # which syncs folders by itself, and opens none
            return
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
                raise
        finally:
            os.close(descriptor)

    def lock(self, path: Path, data: bytes) -> FolderLock | None:
        """See FileSystem. It is the lock that Java's brokers take: of byte 0, by fcntl."""
        make_folder(path.parent)
        descriptor = os.open(path, _FLAGS, _MODE)
        try:
            if not _take(descriptor):
                os.close(descriptor)
                return None
            os.pwrite(descriptor, data, 0)
        except BaseException:
            os.close(descriptor)
            raise
        return _DescriptorLock(descriptor)

    def used_ratio(self, path: Path) -> float:
        """See FileSystem."""
        while not path.exists() and path != path.parent:
            path = path.parent
        try:
            found = os.statvfs(path)
        except (OSError, AttributeError):
            return _PERCENT_UNKNOWN
        used = found.f_blocks - found.f_bfree
        usable = used + found.f_bavail
        return used / usable if usable else _PERCENT_UNKNOWN


class _DescriptorLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


def _take(descriptor: int) -> bool:
    """Lock byte 0. Where it can be, the lock belongs to the descriptor, and so counts within this process too."""
    if not _CAN_LOCK:
        return True
    try:
        if hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True
