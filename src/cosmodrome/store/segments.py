"""Files of one size that follow one another and are one long row of bytes.

Owns: which files there are; reading, writing and cutting across their borders; which of them have to be synced.
Must not know: what the bytes are.
"""

import bisect
import logging
from collections import OrderedDict
from pathlib import Path

from cosmodrome.errors import StoreFormatError
from cosmodrome.store.files import FileSystem, StoreFile
from cosmodrome.store.settings import file_name, start_of

logger = logging.getLogger(__name__)


class OpenFiles:
    """Files that are open, at most so many; the one that was used longest ago is closed for another."""

    def __init__(self, files: FileSystem, limit: int) -> None:
        """Open nothing yet."""
        self._files = files
        self._limit = limit
        self._open: OrderedDict[tuple[str, int], StoreFile] = OrderedDict()

    def get(self, folder: str, start: int, size: int, *, is_durable: bool) -> StoreFile:
        """Give a file, opened or made if need be. Use it at once: a later call may close it.

        Raises:
            OSError: It cannot be opened or made.
        """
        key = (folder, start)
        file = self._open.get(key)
        if file is not None:
            self._open.move_to_end(key)
            return file
        file = self._files.open(Path(folder) / file_name(start), size, is_durable=is_durable)
        self._open[key] = file
        if len(self._open) > self._limit:
            self._open.popitem(last=False)[1].close()
        return file

    def forget(self, folder: str, start: int) -> None:
        """Close a file if it is open."""
        file = self._open.pop((folder, start), None)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Close all. May be called again."""
        while self._open:
            self._open.popitem()[1].close()


class Segments:
    """One row of files.

    Attributes:
        starts: Where the files start, ascending; one follows the other without a gap.
        dirty: Starts of the files that were written since somebody took the set.
        is_folder_dirty: Whether files were made or removed since somebody unset it; never when they are durable.
        leaving: Starts of files that are no longer of the row and that somebody has still to remove.
    """

    def __init__(
        self, files: FileSystem, open_files: OpenFiles, folder: Path, file_bytes: int, *, is_durable: bool
    ) -> None:
        """Know of no file yet; with `is_durable` a power cut does not undo that one was made or removed."""
        self.folder = folder
        self._name = str(folder)  # the hash of a path costs more than a write
        self.file_bytes = file_bytes
        self.starts: list[int] = []
        self.dirty: set[int] = set()
        self.is_folder_dirty = False
        self.leaving: list[int] = []
        self._files = files
        self._open = open_files
        self._is_durable = is_durable

    def load(self) -> None:
        """Find the files. A last one that is empty is removed: it was being made.

        Raises:
            StoreFormatError: A file has another size, or one is missing between others; the text names it.
            OSError: The folder cannot be read.
        """
        found = []
        for name in self._files.names(self.folder):
            start = start_of(name)
            if start in self.leaving:
                continue
            if start is None:
                logger.warning("%s is not a file of the store and is left alone", self.folder / name)
            else:
                found.append(start)
        if found and self._files.size(self.folder / file_name(found[-1])) == 0:
            self._files.remove(self.folder / file_name(found.pop()))
        for index, start in enumerate(found):
            self._check(start, found[0] + index * self.file_bytes)
        self.starts = found

    def _check(self, start: int, expected: int) -> None:
        path = self.folder / file_name(start)
        size = self._files.size(path)
        if size != self.file_bytes:
            raise StoreFormatError(
                f"{path} has {size} bytes, and the settings say {self.file_bytes}.",
                why="all files of a row have one size, and it cannot be changed afterwards.",
                remedy="set the size with which the store was made; if this file alone is of another size, look at it.",
            )
        if start % self.file_bytes or start != expected:
            raise StoreFormatError(
                f"{path} does not follow the file before it; {self.folder / file_name(expected)} was expected.",
                remedy="put the missing file back, or move away those before the gap or those behind it.",
            )

    @property
    def start(self) -> int:
        """Where the first file starts; 0 when there is none."""
        return self.starts[0] if self.starts else 0

    @property
    def limit(self) -> int:
        """Where the last file ends; 0 when there is none."""
        return self.starts[-1] + self.file_bytes if self.starts else 0

    def start_of(self, position: int) -> int:
        """Say where the file with this position starts, or would."""
        return position - position % self.file_bytes

    def file(self, start: int) -> StoreFile:
        """Give the file that starts there; it is made if it is missing.

        Raises:
            OSError: It cannot be opened or made.
            ValueError: It would not follow the others.
        """
        starts = self.starts
        if starts and starts[0] <= start <= starts[-1]:
            return self._open.get(self._name, start, self.file_bytes, is_durable=self._is_durable)
        if not starts or start == self.limit:
            file = self._open.get(self._name, start, self.file_bytes, is_durable=self._is_durable)
            self.starts.append(start)
            self.is_folder_dirty = not self._is_durable
            return file
        raise ValueError(f"no file at {start} in {self.folder}")

    def has(self, start: int) -> bool:
        """Tell whether there is a file that starts there."""
        at = bisect.bisect_left(self.starts, start)
        return at < len(self.starts) and self.starts[at] == start

    def path(self, start: int) -> Path:
        """Give the path of the file that starts there."""
        return self.folder / file_name(start)

    def write(self, position: int, data: bytes | memoryview) -> None:
        """Write bytes, with one call for each file that they touch.

        Raises:
            OSError: A part of them may be written.
        """
        while True:
            at = position % self.file_bytes
            start = position - at
            room = self.file_bytes - at
            file = self.file(start)
            self.dirty.add(start)
            if len(data) <= room:
                file.write(at, data)
                return
            file.write(at, memoryview(data)[:room])
            data = memoryview(data)[room:]
            position += room

    def read(self, position: int, length: int) -> bytes:
        """Give bytes of one file; nothing where there is no file, and less at the end of one.

        Raises:
            OSError: They cannot be read.
        """
        at = position % self.file_bytes
        if not self.has(position - at):
            return b""
        return self.file(position - at).read(at, min(length, self.file_bytes - at))

    def cold_part(self, position: int, length: int) -> tuple[StoreFile, int, int] | None:
        """Give the part of a file with these bytes (file, place, length) if it is not in memory; None if it is, or not there.

        Raises:
            OSError: The file cannot be opened.
        """
        at = position % self.file_bytes
        if not self.has(position - at):
            return None
        file = self.file(position - at)
        length = min(length, self.file_bytes - at)
        return None if file.is_in_memory(at, length) else (file, at, length)

    def cut(self, end: int) -> None:
        """Make everything from `end` on zeros, and remove the files that are behind the one with `end` in it.

        Raises:
            OSError: Something of it may be done.
        """
        while self.starts and self.starts[-1] >= end and (self.starts[-1] != self.start_of(end) or end == 0):
            self._remove(self.starts[-1])
            self.starts.pop()
        self._removed()
        start = self.start_of(end)
        if self.has(start):
            file = self.file(start)
            if file.next_data(end - start) is not None:
                file.clear_from(end - start)
                self.dirty.add(start)

    def write_zeros(self, position: int, end: int) -> None:
        """Write zeros where something was written that must not turn up again, in the file with `position` only.

        Raises:
            OSError: Something of it may be done.
        """
        end = min(end, self.start_of(position) + self.file_bytes)
        if end > position and self.has(self.start_of(position)):
            self.write(position, bytes(end - position))

    def drop_first(self) -> None:
        """Remove the first file.

        Raises:
            OSError: It is still there.
        """
        self._remove(self.starts[0])
        del self.starts[0]
        self._removed()

    def detach_first(self) -> None:
        """Let the first file go, which stays on disk until `remove_left` has removed it."""
        start = self.starts.pop(0)
        self._open.forget(self._name, start)
        self.dirty.discard(start)
        self.leaving.append(start)

    def remove_left(self, start: int) -> None:
        """Remove a file that was let go; in any thread, for it may take long. Take it from `leaving` afterwards.

        Raises:
            OSError: It is still there, or would be after a power cut.
        """
        self._files.remove(self.path(start))
        self._files.sync_folder(self.folder)

    def drop_all(self) -> None:
        """Remove all files, the last first.

        Raises:
            OSError: Some of them are still there.
        """
        while self.starts:
            self._remove(self.starts[-1])
            self.starts.pop()
        self._removed()

    def discard(self) -> None:
        """Remove all files of the row, of whatever size they are.

        Raises:
            OSError: Some of them are still there.
        """
        found = [start for start in map(start_of, self._files.names(self.folder)) if start is not None]
        self.starts = sorted({*found, *self.starts})
        self.drop_all()

    def _remove(self, start: int) -> None:
        self._open.forget(self._name, start)
        self._files.remove(self.path(start))
        self.dirty.discard(start)
        self.is_folder_dirty = True

    def _removed(self) -> None:
        """Make removals last, of durable files."""
        if self._is_durable and self.is_folder_dirty:
            self._files.sync_folder(self.folder)
            self.is_folder_dirty = False
