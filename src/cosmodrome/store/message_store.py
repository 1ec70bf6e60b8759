"""The message store of a broker: one folder, opened by one process.

Owns: opening and closing; when it accepts messages and when not; what is acknowledged after which sync.
Must not know: topics' settings, groups, delays; who reads; threads beside the two calls that may leave this one.

    with MessageStore.open(settings) as store:
        position = store.add(message, now_ms)       as often as messages came in this turn
        store.write()                               one write for all of them; readable now
        job = store.begin_sync()                    SYNC_FLUSH: job.run() in another thread, then
        store.end_sync(job)                         store.synced_to >= position.end: acknowledge

After a failed write or sync nothing is accepted until `resume` has succeeded.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cosmodrome.errors import StorageError, StoreInUseError, StoreUnavailableError
from cosmodrome.store.appending import Appender, KnownProperties, NewMessage, Position
from cosmodrome.store.checkpoint import CHECKPOINT_BYTES, Mark, Times, decode_checkpoint
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queues import ConsumeQueues
from cosmodrome.store.files import DiskFiles, FileSystem, FolderLock
from cosmodrome.store.healing import FailedTurns, heal_files, write_log_again
from cosmodrome.store.index import Index
from cosmodrome.store.readable import ReadableEnds
from cosmodrome.store.reading import Reader
from cosmodrome.store.recovery import Recovery, RecoveryReport, StoreParts, StoreState
from cosmodrome.store.replica import Replica
from cosmodrome.store.settings import StoreSettings
from cosmodrome.store.sync import CheckpointSync, CheckpointWork, LogSync, SyncGate

_LOCK_TEXT: Final = b"lock"


class MessageStore:
    """An open store. Use it in one thread, but for `run` of what `begin_sync` and `begin_checkpoint` give.

    Attributes:
        settings: Its settings.
        reader: Everything that is read from it.
        report: What opening it found.
        is_from_elsewhere: Whether somebody else, such as an Apache broker, has used it last.
        failure: Why it accepts nothing; None while it does.
    """

    def __init__(self, settings: StoreSettings, files: FileSystem, lock: FolderLock) -> None:
        """Use `open`."""
        self.settings = settings
        self.failure: str | None = None
        self._files = files
        self._lock = lock
        self._log = CommitLog(files, settings)
        self._queues = ConsumeQueues(files, settings)
        self._index = Index(files, settings)
        self._parts = StoreParts(settings, files, self._log, self._queues, self._index)
        self._appender = Appender(settings, self._log, self._queues, self._index)
        self._mark: Mark | None = None
        self._replica: Replica | None = None
        self._failed = FailedTurns()
        self._gate = SyncGate()
        self._is_closed = False
        self._readable = ReadableEnds()
        self._new_to_read: set[tuple[str, int]] = set()
        self.reader = Reader(self._log, self._queues, self._index, self._readable)
        self.report = RecoveryReport()
        self.is_from_elsewhere = False

    @classmethod
    def open(cls, settings: StoreSettings, files: FileSystem | None = None) -> Self:
        """Open the store in a folder, which is made if it is missing, and put right what a crash left.

        Raises:
            StoreInUseError: Another process has it.
            StoreFormatError: The log's files are not what the settings say. Nothing was changed.
            StorageError: The disk does not allow it.
        """
        files = files or DiskFiles()
        try:
            lock = files.lock(settings.lock_path, _LOCK_TEXT)
        except OSError as error:
            raise _cannot("open", settings.root, error) from error
        if lock is None:
            raise StoreInUseError(
                f"the message store {settings.root} is in use.",
                why="another broker, of this package or of Apache's, has locked it.",
                remedy="stop that broker, or give this one a folder of its own.",
            )
        store = cls(settings, files, lock)
        try:
            store._recover_at_open()
        except OSError as error:
            raise _cannot("open", settings.root, error) from error
        finally:
            if store._mark is None:
                store._let_go()
        return store

    def _recover_at_open(self) -> None:
        times, mark = self._read_checkpoint()
        self.is_from_elsewhere = mark is None
        is_clean = self._files.size(self.settings.abort_path) is None
        self._log.load()  # refuses a folder of other sizes before anything is changed
        self._files.create(self.settings.abort_path, str(os.getpid()).encode())
        self._recover(StoreState(times, mark, is_clean))

    def _read_checkpoint(self) -> tuple[Times, Mark | None]:
        path = self.settings.checkpoint_path
        if self._files.size(path) != CHECKPOINT_BYTES:
            self._files.remove(path)
            return Times(), None
        file = self._files.open(path, CHECKPOINT_BYTES)
        try:
            return decode_checkpoint(file.read(0, CHECKPOINT_BYTES))
        finally:
            file.close()

    def _recover(self, state: StoreState) -> None:
        """Make everything agree, and put it on disk before anything is accepted."""
        recovery = Recovery(self._parts, state)
        self.report = recovery.run()
        self._appender.last_store_ms = max(recovery.last_store_ms, state.mark.last_store_ms if state.mark else 0)
        self._log.synced = min(self._log.synced, self._log.end)
        if not state.is_clean:
            write_log_again(self._log, self.report.certain_to)
        segments = self._log.segments
        segments.dirty |= {start for start in segments.starts if start + segments.file_bytes > self.report.read_from}
        self._make_certain()
        self.report.is_new = state.is_clean and state.mark is None and not self.report.end
        self.report.log(self.settings.root)

    def _make_certain(self) -> None:
        """Put everything on disk, and write down that it is.

        Raises:
            OSError: It may not be.
        """
        job = self._checkpoint(is_clean=False)
        job.run()
        if job.index_error is not None:
            self._index.fail(job.index_error)
        if job.error is not None:
            raise job.error
        self._take_result(job)

    def __enter__(self) -> Self:
        """Give the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def add(self, message: NewMessage, now_ms: int, known: KnownProperties | None = None) -> Position:
        """Gather a message for `write`, and say where it will be; `known` is what its properties say, if that is known.

        Raises:
            MessageError: This message cannot be stored; the others are not concerned.
            StoreUnavailableError: Nothing is accepted.
        """
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        return self._appender.add(message, now_ms, known)

    def write(self) -> None:
        """Write what was gathered. It outlives this process then, and can be read, now or when it is on disk.

        Raises:
            StoreUnavailableError: It failed: none of these messages may be acknowledged, and nothing more is accepted.
        """
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        if not self._appender.has_gathered:
            return
        try:
            written = self._appender.write()
        except OSError as error:
            self._fail("writing", error)
            raise StoreUnavailableError(self.failure or "") from error
        if self.settings.is_read_after_sync:
            self._readable.written(self._log.end, written)
        else:
            self._new_to_read.update([(queue.topic, queue.queue_id) for queue, _ in written])

    @property
    def is_holding_back(self) -> bool:
        """Whether something is written that nobody may read before it is synced."""
        return bool(self._readable.held) and self.failure is None

    def take_readable(self) -> set[tuple[str, int]]:
        """Give, once, the queues (topic and number) with messages that could not be read before."""
        found, self._new_to_read = self._new_to_read, set()
        return found

    def _synced_to(self, end: int) -> None:
        self._log.synced = max(self._log.synced, end)
        self._new_to_read.update([(queue.topic, queue.queue_id) for queue in self._readable.synced(self._log.synced)])

    def _fail(self, what: str, error: OSError) -> None:
        self._failed.add(self._parts)
        self._appender.give_up()
        self.failure = f"{what} failed: {error.strerror or error}"

    @property
    def files(self) -> FileSystem:
        """Where it lives."""
        return self._files

    @property
    def end(self) -> int:
        """Where the log ends that can be read."""
        return self._log.end

    @property
    def start(self) -> int:
        """Where the log starts."""
        return self._log.start

    @property
    def synced_to(self) -> int:
        """Everything before it is on disk."""
        return self._log.synced

    @property
    def last_store_ms(self) -> int:
        """Store time of the newest message."""
        return self._appender.last_store_ms

    def begin_sync(self) -> LogSync:
        """Begin to put on disk what is written. Several may be under way."""
        segments = self._log.segments
        starts, segments.dirty = segments.dirty, set()
        # What another sync has under way counts as not synced: that one may fail, or end later.
        for start in reversed(segments.starts):
            if start + segments.file_bytes <= self._log.synced:
                break
            starts.add(start)
        return LogSync([(start, segments.file(start)) for start in sorted(starts)], self._log.end, self._gate)

    def end_sync(self, job: LogSync) -> None:
        """Take the result of a sync that has run: `synced_to` moves, or nothing more is accepted.

        Raises:
            StoreUnavailableError: It failed. What was not synced before may not be acknowledged, whatever comes later.
        """
        if job.error is not None:
            self._log.segments.dirty.update(job.starts)
            self._fail("syncing", job.error)
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        self._synced_to(job.end)

    def sync(self) -> None:
        """Put on disk what is written, waiting for it.

        Raises:
            StoreUnavailableError: See `end_sync`.
        """
        job = self.begin_sync()
        job.run()
        self.end_sync(job)

    def begin_checkpoint(self, *, has_index: bool = True) -> CheckpointSync:
        """Begin to put log, queues and index on disk, and to write down how far they are. One at a time.

        It bounds what the next start has to read after a crash; every second is often enough, and for the index, which
        costs the most, every ten.

        Args:
            has_index: Whether the index is saved too.

        Raises:
            StoreUnavailableError: Something has failed: what is on disk is not certain.
        """
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        return self._checkpoint(is_clean=False, has_index=has_index)

    def _checkpoint(self, *, is_clean: bool, has_index: bool = True) -> CheckpointSync:
        index = self._index.begin_save() if has_index else self._index.no_save()
        mark = Mark(
            flushed_to=self._log.end,
            indexed_to=index.to.indexed_to,
            last_indexed=index.to.last_indexed,
            last_store_ms=self._appender.last_store_ms,
            queues_digest=self._queues.digest() if is_clean else 0,
            is_clean=is_clean,
        )
        path = self.settings.checkpoint_path
        work = CheckpointWork(self.begin_sync(), *self._queues.take_dirty(), index)
        return CheckpointSync(self._files, path, work, mark)

    def end_checkpoint(self, job: CheckpointSync) -> None:
        """Take the result of a checkpoint that has run.

        Raises:
            StoreUnavailableError: It failed, and nothing more is accepted.
        """
        if job.index_error is not None:
            self._index.fail(job.index_error)
        if job.error is not None:
            self._log.segments.dirty.update(job.work.log.starts)
            self._fail("syncing", job.error)
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        self._take_result(job)

    def _take_result(self, job: CheckpointSync) -> None:
        self._synced_to(job.work.log.end)
        self._mark = job.mark
        self._queues.synced(job.work.queue_files, job.work.queue_folders)
        if job.index_error is None:
            self._index.saved(job.work.index)

    def checkpoint(self) -> None:
        """Put everything on disk, waiting for it.

        Raises:
            StoreUnavailableError: See `end_checkpoint`.
        """
        job = self.begin_checkpoint()
        job.run()
        self.end_checkpoint(job)

    def resume(self) -> None:
        """Try to accept messages again after a failure. No sync may be under way.

        What a failed write left is removed. What was never synced is written once more: after a failed sync the system
        may take it for written. Reading goes on as before. Only when the log no longer holds what was written
        everything is read anew from the last checkpoint on, as after a crash.

        Raises:
            StorageError: It fails still; the store accepts nothing, as before.
        """
        mark = self._mark
        if self.failure is None or self._is_closed or mark is None:
            return
        self._gate = SyncGate()
        try:
            if heal_files(self._parts, self._failed, mark.flushed_to):
                self._make_certain()
            else:
                self._recover(StoreState(Times(), mark, is_clean=False))
                self._readable.forget()
        except OSError as error:
            raise _cannot("resume", self.settings.root, error) from error
        self._failed = FailedTurns()
        self._queues.drop_empty()
        self.failure = None

    def append_raw(self, position: int, data: bytes | memoryview) -> None:
        """Write bytes of a master's log at their place, and queue the records that they complete. Cuts may be anywhere.

        An empty store begins where the first bytes do. A store that takes these takes nothing else before it was
        closed and opened again, which drops a record that is not whole.

        Raises:
            StoreFormatError: They do not follow what is here, or are no records. Close the connection.
            StoreUnavailableError: It failed, and nothing more is accepted.
        """
        if self.failure is not None:
            raise StoreUnavailableError(self.failure)
        try:
            if self._replica is None:
                self._replica = Replica(self._parts)
            self._replica.append(position, data)
        except OSError as error:
            self._fail("writing", error)
            raise StoreUnavailableError(self.failure or "") from error
        self._appender.last_store_ms = max(self._appender.last_store_ms, self._replica.last_store_ms)

    def remove_topic(self, topic: str) -> int:
        """Remove the queues of a topic; its messages stay in the log until it is deleted. Say how many there were.

        Raises:
            StorageError: Files of it are still there.
        """
        try:
            return self._queues.remove(topic)
        except OSError as error:
            raise _cannot("remove a topic from", self.settings.root, error) from error

    def detach_first_segment(self) -> bool:
        """Let the oldest file of the log go, unless it is the last one; `remove_detached` removes it. Tell whether there was one.

        Go through `dropping_what_points_nowhere` afterwards. A start before it is removed finds it again.
        """
        segments = self._log.segments
        if len(segments.starts) < 2 or segments.starts[1] > self._log.end:
            return False
        segments.detach_first()
        return True

    @property
    def detached(self) -> tuple[Path, ...]:
        """The files of the log and of the index that were let go and are still on disk."""
        segments = self._log.segments
        return (*map(segments.path, segments.leaving), *self._index.leaving)

    def remove_detached(self, path: Path) -> None:
        """Remove a file that was let go: in any thread. Call `removed` when it is done.

        Raises:
            StorageError: It is still there.
        """
        try:
            if path in self._index.leaving:
                self._index.remove_left(path)
            else:
                self._log.segments.remove_left(int(path.name))
        except OSError as error:
            raise _cannot("delete old messages of", self.settings.root, error) from error

    def removed(self, path: Path) -> None:
        """Forget a file that `remove_detached` has removed."""
        if path in self._index.leaving:
            self._index.leaving.remove(path)
        else:
            self._log.segments.leaving.remove(int(path.name))

    def dropping_what_points_nowhere(self) -> Iterator[None]:
        """Move the minimum offsets of the queues, delete their files whose messages are gone, and let such files of the index go.

        It is a step for each queue, and between them anything else may happen to the store.

        Raises:
            StorageError: Some of them are still there.
        """
        try:
            for queue in list(self._queues):
                if self._queues.table.get((queue.topic, queue.queue_id)) is queue:
                    queue.drop_before(self._log.start)
                    queue.find_min(self._log.start)
                yield
            self._index.let_go_before(self._log.start)
        except OSError as error:
            raise _cannot("delete old messages of", self.settings.root, error) from error

    def oldest_written_ms(self) -> int | None:
        """Say when the oldest file of the log was written last; None when it is the only one, or cannot be asked."""
        segments = self._log.segments
        if len(segments.starts) < 2:
            return None
        try:
            return self._files.modified_ms(segments.path(segments.starts[0]))
        except OSError:
            return None

    def used_ratio(self) -> float:
        """Say how full the fullest of the file systems is on which the store is, 0 to 1."""
        return self.fullest()[0]

    def fullest(self) -> tuple[float, Path]:
        """Say how full that file system is, and which folder of the store is on it."""
        folders = (self.settings.log_folder, self.settings.queues_folder, self.settings.index_folder)
        return max(((self._files.used_ratio(folder), folder) for folder in folders), key=lambda found: found[0])

    def close(self) -> None:
        """Close the store: everything on disk, in a form that Apache's brokers open. May be called again.

        When the index has failed the store is left as after a crash, for then it is built anew at the next start.

        No sync may be under way. After a failure the store is left as after a crash, and the next start puts it right.

        Raises:
            StorageError: So it is left now.
        """
        if self._is_closed:
            return
        try:
            if self.failure is None:
                self._appender.write()
                self._close_cleanly()
        except OSError as error:
            raise _cannot("close", self.settings.root, error) from error
        finally:
            self._let_go()

    def _close_cleanly(self) -> None:
        self._log.segments.cut(self._log.end)
        job = self._checkpoint(is_clean=True)
        job.run()
        if job.error is not None:
            raise job.error
        if job.index_error is None and self._index.failure is None:
            self._files.remove(self.settings.abort_path)
            self._files.sync_folder(self.settings.root)

    def _let_go(self) -> None:
        self._is_closed = True
        self.failure = self.failure or "it is closed"
        self._log.close()
        self._queues.close()
        self._index.close()
        self._lock.release()


def _cannot(what: str, folder: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot {what} the message store {folder}: {error.strerror or error}.",
        why=str(error),
        remedy="look at the disk: its room, its permissions, the system's log.",
    )
