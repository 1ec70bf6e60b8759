"""What is on disk only: bytes of the store for which a read would have to wait.

Owns: the error that says so, and what brings them into memory in another thread.
Must not know: what is read; who waits.
"""

import contextlib
from collections.abc import Callable, Iterable
from typing import Final

from cosmodrome.store.files import StoreFile

_FETCH_BYTES: Final = 256 * 1024
_SIZE_BYTES: Final = 4

FilePart = tuple[StoreFile, int, int]
"""A file, a place in it, and a length."""


class NotInMemoryError(Exception):
    """What is to be read is old, and has to come from the disk. `fetch` reads it, in another thread; then ask again."""

    def __init__(self, read: Callable[[], object]) -> None:
        """Take what reads it, whatever that gives."""
        super().__init__("it is not in memory")
        self._read = read

    def fetch(self) -> None:
        """Read. Trouble is for who reads afterwards to meet; a file that is closed meanwhile is not read."""
        with contextlib.suppress(OSError):
            self._read()


def reading(parts: Iterable[FilePart]) -> Callable[[], None]:
    """Give what reads these parts; one that cannot be read does not keep the others from it."""

    def read() -> None:
        for file, offset, length in parts:
            with contextlib.suppress(OSError):
                read_through(file, offset, length)

    return read


def read_through(file: StoreFile, offset: int, length: int) -> None:
    """Read a part of a file, as far as there is one, and keep nothing.

    Raises:
        OSError: It cannot be read.
    """
    for at in range(offset, min(offset + length, file.size), _FETCH_BYTES):
        file.read(at, min(_FETCH_BYTES, offset + length - at))


def read_record(part: FilePart) -> None:
    """Read a record of which only the place is known; the length of the part counts as its least.

    Raises:
        OSError: It cannot be read.
    """
    file, offset, least = part
    size = int.from_bytes(file.read(offset, least)[:_SIZE_BYTES], signed=True)
    read_through(file, offset + least, size - least)
