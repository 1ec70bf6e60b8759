"""The commit log: every record, one behind the other.

Owns: where the next record goes, and the fillers at the ends of files; writing what one turn gathered; views of it.
Must not know: what a record is for; queues.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cosmodrome.errors import StoreFormatError
from cosmodrome.protocol.messages.record import FILLER_BYTES, encode_filler
from cosmodrome.store.files import FileSystem, StoreFile
from cosmodrome.store.segments import OpenFiles, Segments
from cosmodrome.store.settings import StoreSettings

_ALL: Final = 2**31


class CommitLog:
    """The log as it is written, and what of a turn is to be written next.

    Attributes:
        end: Where what is written ends. What is behind it nobody may read.
        reserved: Where what is gathered ends. Who adds to `pieces` moves it.
        room_end: Where the file ends into which `reserved` points; a record must leave room for a filler before it.
        pieces: What goes to the file of `reserved`, in order.
        synced: Everything before it is on disk.
    """

    def __init__(self, files: FileSystem, settings: StoreSettings) -> None:
        """Know of no file yet."""
        self.segment_bytes = settings.segment_bytes
        self._open = OpenFiles(files, _ALL)
        self.segments = Segments(files, self._open, settings.log_folder, settings.segment_bytes, is_durable=True)
        self.end = self.reserved = self.synced = 0
        self.room_end = settings.segment_bytes
        self.pieces: list[bytes] = []
        self._begin = 0
        self._viewed: tuple[int, memoryview] = (-1, memoryview(b""))
        """Where the file starts that was looked at last, and all of it."""
        self._full: list[tuple[int, list[bytes]]] = []

    @property
    def start(self) -> int:
        """Where the log starts: what was before is deleted."""
        return self.segments.start

    def load(self) -> None:
        """Find the files; where the log ends is for recovery to say.

        Raises:
            StoreFormatError: They are not what the settings say.
        """
        self.segments.load()

    def fill_up(self) -> None:
        """Fill the rest of the file: what is reserved next goes into the next one."""
        left = self.room_end - self.reserved
        if left >= FILLER_BYTES:
            self.pieces.append(encode_filler(left))
        self._full.append((self._begin, self.pieces))
        self._begin = self.reserved = self.room_end
        self.room_end += self.segment_bytes
        self.pieces = []

    def write(self) -> None:
        """Write what is gathered, with one call for each file; `commit` makes it readable.

        Raises:
            OSError: A part of it may be written; call `give_up`.
        """
        for position, pieces in (*self._full, (self._begin, self.pieces)):
            if pieces:
                self.segments.write(position, b"".join(pieces))

    def commit(self) -> None:
        """Let what was written be part of the log."""
        self.end = self._begin = self.reserved
        self.pieces = []
        self._full.clear()

    def give_up(self) -> None:
        """Forget what is gathered."""
        self.set_end(self.end)

    def set_end(self, end: int) -> None:
        """Say where the log ends; nothing is gathered afterwards."""
        self.end = self.reserved = self._begin = end
        self._viewed = (-1, memoryview(b""))
        self.room_end = self.segments.start_of(end) + self.segment_bytes
        self.pieces = []
        self._full.clear()

    def file_at(self, position: int) -> StoreFile | None:
        """Give the file with this position; None when there is none.

        Raises:
            OSError: It cannot be opened.
        """
        start = self.segments.start_of(position)
        return self.segments.file(start) if self.segments.has(start) else None

    def view(self, position: int, size: int) -> memoryview | None:
        """Give `size` bytes from there, without copying; None unless all of them are written and in one file.

        Raises:
            OSError: The file cannot be opened.
        """
        if size < 0 or position < self.segments.start or position + size > self.end:
            return None
        at = position % self.segment_bytes
        start, view = self._viewed
        if start != position - at:
            start = position - at
            file = self.file_at(position)
            if file is None:
                return None
            view = file.view()
            self._viewed = (start, view)
        return view[at : at + size] if at + size <= self.segment_bytes else None

    def cold_part(self, position: int, size: int) -> tuple[StoreFile, int, int] | None:
        """Give the part of a file with these bytes (file, place, length) if it is not in memory; None if it is.

        Raises:
            OSError: The file cannot be opened.
        """
        return self.segments.cold_part(position, size)

    def bytes_from(self, position: int, limit: int) -> memoryview | None:
        """Give at most `limit` bytes from there, to the end of the file at most, as replication sends them.

        None where there is nothing, now or any more.

        Raises:
            OSError: The file cannot be opened.
        """
        if not self.start <= position < self.end:
            return None
        left = min(self.end - position, self.segment_bytes - position % self.segment_bytes)
        return self.view(position, min(limit, left))

    def reading_from(self, position: int, limit: int) -> Callable[[], object] | None:
        """Give what reads at most `limit` bytes of one file into memory, to be called in any thread.

        What it gives is of no use: the file may be another one by then. None where there are none.

        Raises:
            OSError: The file cannot be opened; so may what is given.
        """
        if not self.start <= position < self.end:
            return None
        file = self.file_at(position)
        return None if file is None else partial(file.read, position % self.segment_bytes, limit)

    def append_raw(self, position: int, data: bytes | memoryview) -> None:
        """Write bytes that a master sent, at its own positions. An empty log begins where the first of them begin.

        Raises:
            StoreFormatError: They do not follow what is here.
            OSError: A part of them may be written; `end` is as before.
        """
        if (self.segments.starts or self.end) and position != self.end:
            raise StoreFormatError(f"the master sends from {position}, and the log here ends at {self.end}.")
        self.segments.write(position, data)
        self.set_end(position + len(data))

    def close(self) -> None:
        """Close the files. May be called again."""
        self._viewed = (-1, memoryview(b""))
        self._open.close()
