"""The index of a store: its files, from the oldest to the one that is written.

Owns: which files there are and their names; how far the log is indexed; going on without an index when it fails.
Must not know: the log; records.
"""

import datetime as dt
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.tag_hash import java_hash
from cosmodrome.store.files import FileSystem
from cosmodrome.store.index_file import IndexFile, IndexSizes
from cosmodrome.store.key_hash import key_hash
from cosmodrome.store.settings import StoreSettings

logger = logging.getLogger(__name__)

_NAME: Final = re.compile(r"\d{17}")

IndexedRecord = tuple[int, Sequence[bytes], int, int]
"""The hash of a topic, keys, the place in the log, the store time."""


class SavedTo(NamedTuple):
    """How far an index is on disk: records before `indexed_to`, of which `last_indexed` is the newest with a key.

    `end_ms` is the store time of that record; 0 when it is not known.
    """

    indexed_to: int = 0
    last_indexed: int = -1
    end_ms: int = 0


class IndexSave:
    """What has to be written so that the index is whole on disk; `run` may run in another thread.

    Attributes:
        before: How far it is on disk already.
        to: How far it is when this has succeeded.
    """

    def __init__(self, pieces: list[tuple[IndexFile, list[tuple[int, bytes]]]], to: SavedTo, before: SavedTo) -> None:
        """Take over what the files gave, and how far the index is."""
        self._pieces = pieces
        self.before = before
        self.to = to

    def run(self) -> None:
        """Write and sync.

        Raises:
            OSError: A part of it may be written.
        """
        for file, pieces in self._pieces:
            file.save_pieces(pieces)

    @property
    def files(self) -> list[IndexFile]:
        """The files that it saves."""
        return [file for file, _ in self._pieces]


class Index:
    """Finds records by key. Trouble with its files is reported and stops nothing else.

    Attributes:
        indexed_to: Everything before it in the log is indexed.
        saved_to: How far it is on disk.
        failure: Why nothing is indexed at the moment; None when it is.
        leaving: Files that are no longer used and that somebody has still to remove.
    """

    def __init__(self, files: FileSystem, settings: StoreSettings) -> None:
        """Know of no file yet."""
        self.indexed_to = 0
        self.saved_to = SavedTo()
        self.failure: str | None = None
        self.leaving: list[Path] = []
        self._is_enabled = settings.is_index_enabled
        self._files = files
        self._folder = settings.index_folder
        self._sizes = IndexSizes(settings.index_slots, settings.index_entries)
        self._batch = settings.index_batch
        self._loaded: list[IndexFile] = []
        self._noted: list[IndexedRecord] = []
        self._noted_to: int | None = None
        """Everything before it is noted or indexed; None when nothing is noted."""

    def load(self) -> None:
        """Find the files. One that is not what it should be is removed with those that are newer: they are built anew.

        Raises:
            OSError: The folder cannot be read.
        """
        self.close()
        left = {path.name for path in self.leaving}
        names = [name for name in self._files.names(self._folder) if _NAME.fullmatch(name) and name not in left]
        for at, name in enumerate(names):
            path = self._folder / name
            file = self._opened(path)
            if file is None:
                self._remove(names[at:])
                break
            self._loaded.append(file)
        self.indexed_to = self.last_indexed + 1

    @property
    def last_indexed(self) -> int:
        """The newest record of which there is a key, -1 when there is none."""
        return self.last()[1] if self._loaded else -1

    def _opened(self, path: Path) -> IndexFile | None:
        if self._files.size(path) != self._sizes.file_bytes:
            return None
        file = IndexFile(self._files, path, self._sizes)
        if file.is_sane:
            return file
        file.close()
        return None

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            logger.warning("index file %s is not whole and is built anew", self._folder / name)
            self._files.remove(self._folder / name)
        self._files.sync_folder(self._folder)

    def repair(self, end: int, *, is_end_certain: bool) -> None:
        """Put the files right that a process left which was killed; `indexed_to` then says where to go on.

        Args:
            end: What is of records from there on is dropped.
            is_end_certain: Whether everything before `end` was saved.

        Raises:
            OSError: They cannot be read or written.
        """
        while self._loaded:
            self._loaded[-1].repair(end, is_end_certain=is_end_certain)
            if self._loaded[-1].header.next_entry > 1:
                break
            self._drop_newest()  # the file before may lack entries of the record with which this one began
        self.indexed_to = self.last_indexed + 1

    def _drop_newest(self) -> None:
        file = self._loaded.pop()
        file.close()
        self._files.remove(file.path)
        self._files.sync_folder(self._folder)

    def note(self, records: Sequence[IndexedRecord], log_end: int) -> None:
        """Have records indexed, which are all with a key before `log_end`: with others, for one by one costs twice as much."""
        self._noted += records
        self._noted_to = log_end
        if len(self._noted) >= self._batch:
            self._settle()

    def _settle(self) -> None:
        """Put and write what is noted. Raises nothing."""
        records, self._noted = self._noted, []
        if self._noted_to is None or self.failure is not None or not self._is_enabled:
            return
        if records and self._loaded and self._loaded[-1].room >= sum([len(keys) for _, keys, _, _ in records]):
            self._loaded[-1].put(
                [
                    ([key_hash(topic_hash, key) for key in keys], log_offset, store_ms)
                    for topic_hash, keys, log_offset, store_ms in records
                ]
            )
        else:
            for record in records:
                self.put(*record)
        self.write(self._noted_to)
        self._noted_to = None

    def put(self, topic_hash: int, keys: Sequence[bytes], log_offset: int, store_ms: int) -> None:
        """Gather the entries of one record. When a file cannot be made nothing more is indexed until `retry`."""
        if self.failure is not None or not self._is_enabled:
            return
        hashes = [key_hash(topic_hash, key) for key in keys]
        file = self._loaded[-1] if self._loaded else None
        try:
            while file is None or file.room < len(hashes):
                room = file.room if file is not None else 0
                if file is not None and room:
                    file.put([(hashes[:room], log_offset, store_ms)])
                del hashes[:room]
                file = self._next_file(store_ms)
            file.put([(hashes, log_offset, store_ms)])
        except OSError as error:
            self.fail(error)

    def _next_file(self, now_ms: int) -> IndexFile:
        if self._loaded:
            self._loaded[-1].write()
        stamp = now_ms
        newest = self._loaded[-1].path.name if self._loaded else ""
        while (name := _name_at(stamp)) <= newest:
            stamp += 1
        file = IndexFile(self._files, self._folder / name, self._sizes)
        self._loaded.append(file)
        return file

    def write(self, log_end: int) -> None:
        """Write what is gathered: everything before `log_end` is then indexed. Raises nothing."""
        if self.failure is not None:
            return
        try:
            if self._loaded:
                self._loaded[-1].write()
            self.indexed_to = log_end
        except OSError as error:
            self.fail(error)

    def fail(self, error: OSError) -> None:
        """Index nothing more until the files are loaded again."""
        self.failure = f"{self._folder}: {error.strerror or error}"
        logger.error("messages cannot be indexed and are not found by key until this heals: %s", self.failure)

    def begin_save(self) -> IndexSave:
        """Say what has to be written so that everything that is indexed now is whole on disk."""
        self._settle()
        self.write(self.indexed_to)
        pieces = [(file, file.unsaved()) for file in self._loaded if file.is_dirty]
        before = self.saved_to
        if self.failure is not None:
            return IndexSave(pieces, before._replace(end_ms=0), before)
        return IndexSave(pieces, SavedTo(self.indexed_to, self.last_indexed, self.last()[0]), before)

    def no_save(self) -> IndexSave:
        """Leave on disk what is there, for which `begin_save` costs more than is due: every slot may have changed."""
        return IndexSave([], self.saved_to, self.saved_to)

    def saved(self, save: IndexSave) -> None:
        """Be told that a save has succeeded."""
        self.saved_to = save.to
        for file in save.files:
            file.saved()
            if file is not self._loaded[-1]:
                file.forget_slots()

    def find(self, topic: str, key: str, limit: int, span_ms: tuple[int, int], *, may_wait: bool) -> list[int]:
        """Give the places of at most `limit` records of a span of time, the newest first. Other keys may have the same hash.

        Raises:
            NotInMemoryError: It may not wait for the disk, and would have to.
            OSError: A file cannot be read.
        """
        self._settle()
        begin_ms, end_ms = span_ms
        number = key_hash(java_hash(f"{topic}#"), key.encode("utf-8", "replace"))
        found: list[int] = []
        for file in reversed(self._loaded):
            header = file.header
            if header.next_entry == 1 or header.begin_ms > end_ms or header.end_ms < begin_ms:
                continue
            for offset in file.find(number, begin_ms, end_ms, may_wait=may_wait):
                if len(found) >= limit:
                    return found
                if offset not in found[-1:]:
                    found.append(offset)
        return found

    def last(self) -> tuple[int, int]:
        """Give the time and the place of the record that was indexed last; zeros when there is none."""
        self._settle()
        header = self._loaded[-1].header if self._loaded else None
        return (header.end_ms, header.end_offset) if header is not None else (0, 0)

    def let_go_before(self, log_start: int) -> None:
        """Let files go all of whose records are gone, but the newest; each stays on disk until `remove_left` has removed it."""
        self._settle()
        while len(self._loaded) > 1 and self._loaded[0].header.end_offset < log_start:
            self.leaving.append(self._loaded[0].path)
            self._loaded.pop(0).close()

    def remove_left(self, path: Path) -> None:
        """Remove a file that was let go; in any thread, for it may take long. Take it from `leaving` afterwards.

        Raises:
            OSError: It is still there, or would be after a power cut.
        """
        self._files.remove(path)
        self._files.sync_folder(self._folder)

    def paths(self) -> list[Path]:
        """Give the files, from the oldest on."""
        return [file.path for file in self._loaded]

    def files(self) -> tuple[IndexFile, ...]:
        """Give the files as they are open, from the oldest on."""
        return tuple(self._loaded)

    def close(self) -> None:
        """Close the files, without saving. May be called again."""
        while self._loaded:
            self._loaded.pop().close()
        self.failure = None
        self.indexed_to = 0
        self.saved_to = SavedTo()
        self._noted, self._noted_to = [], None


def _name_at(wall_ms: int) -> str:
    """Give the name of a file that is made at a time, in local time as Apache's brokers do."""
    moment = dt.datetime.fromtimestamp(wall_ms // 1000).astimezone()
    return f"{moment:%Y%m%d%H%M%S}{wall_ms % 1000:03d}"
