"""Putting on disk what was written, in a thread beside the one that writes.

Owns: what one sync covers; the order of what a checkpoint makes certain: the data first, then the mark.
Must not know: who waits for it; threads. `run` is the only part that may leave the thread of the store.
"""

import threading
from dataclasses import dataclass
from pathlib import Path

from cosmodrome.store.checkpoint import CHECKPOINT_BYTES, Mark, Times, encode_checkpoint
from cosmodrome.store.files import FileSystem, StoreFile
from cosmodrome.store.index import IndexSave


class SyncGate:
    """Lets one sync of the log through at a time, and none behind one that failed.

    A system tells of a failure once: who asks next hears that all is well.
    """

    def __init__(self) -> None:
        """Be open."""
        self._lock = threading.Lock()
        self._error: OSError | None = None

    def sync(self, files: list[StoreFile]) -> OSError | None:
        """Sync files; give what went wrong, now or earlier."""
        with self._lock:
            try:
                for file in files if self._error is None else ():
                    file.sync()
            except OSError as error:
                self._error = error
            return self._error


class LogSync:
    """One sync of the log: everything before `end`.

    Attributes:
        end: Where the log ended when the sync was begun.
        starts: The files that it covers: all in which something before `end` may not be on disk.
        error: Why it failed; None while it has not.
    """

    def __init__(self, files: list[tuple[int, StoreFile]], end: int, gate: SyncGate) -> None:
        """Take over the files that were written."""
        self.end = end
        self.starts = [start for start, _ in files]
        self.error: OSError | None = None
        self._files = [file for _, file in files]
        self._gate = gate

    def run(self) -> None:
        """Sync. Raises nothing; `error` says what happened."""
        self.error = self._gate.sync(self._files)


@dataclass(frozen=True, slots=True)
class CheckpointWork:
    """What was written, of the log, in files of queues, and of the index."""

    log: LogSync
    queue_files: list[Path]
    queue_folders: list[Path]
    index: IndexSave


class CheckpointSync:
    """One checkpoint: log, queues and index on disk, then the file that says so.

    Attributes:
        work: What it covers.
        mark: What is certain afterwards.
        error: Why it failed; None while it has not.
        index_error: Why the index could not be saved, which prevents nothing else; None if it could.
    """

    def __init__(self, files: FileSystem, path: Path, work: CheckpointWork, mark: Mark) -> None:
        """Take over what was written, as it was at one moment; `path` is that of the checkpoint."""
        self.work = work
        self.mark = mark
        self.error: OSError | None = None
        self.index_error: OSError | None = None
        self._files = files
        self._path = path

    def run(self) -> None:
        """Sync everything, and write the checkpoint. Raises nothing; the errors say what happened."""
        self.work.log.run()
        self.error = self.work.log.error
        if self.error is not None:
            return
        self._save_index()
        try:
            for path in self.work.queue_files:
                self._files.sync_file(path)
            for folder in self.work.queue_folders:
                self._files.sync_folder(folder)
            last_ms = self.mark.last_store_ms
            times = Times(last_ms, last_ms, min(self.work.index.to.end_ms, last_ms))
            file = self._files.open(self._path, CHECKPOINT_BYTES, is_durable=True)
            try:
                file.write(0, encode_checkpoint(times, self.mark))
                file.sync()
            finally:
                file.close()
        except OSError as error:
            self.error = error

    def _save_index(self) -> None:
        try:
            self.work.index.run()
        except OSError as error:
            self.index_error = error
            indexed_to, last_indexed, _ = self.work.index.before
            self.mark = self.mark._replace(indexed_to=indexed_to, last_indexed=last_indexed, is_clean=False)
