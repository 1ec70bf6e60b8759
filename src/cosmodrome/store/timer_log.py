"""Apache's files of timer messages: `timerlog`, `timerwheel`, `config/timercheck`.

Owns: their layouts; reading them whole at the start; writing what changed, in an order that a crash may stop anywhere.
Must not know: messages; the clock; what is delivered when.

The log has an entry for each timer message in the order of the timer topic; entries of one moment are a chain, of which
the wheel has both ends. The check says up to which moment everything is delivered, and up to which message of the
topic the log goes. Nothing but the check may be believed after a crash: what is behind it is read from the topic again.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from cosmodrome.store.files import FileSystem
from cosmodrome.store.segments import OpenFiles, Segments

ROLL: Final = 2
"""Of an entry: the message is to be parked once more then."""
DELETE: Final = 4
"""Of an entry: the message takes another one back."""
NOTHING: Final = -1
"""As the place of an entry: there is none."""

_ENTRY: Final = struct.Struct(">iqiqiqiiq")
"""Size, place of the one before in the chain, kind, time of writing, delay from then, place of the message in the log, its
size, hash of its topic, nothing."""
ENTRY_BYTES: Final = _ENTRY.size
_KINDS: Final = range(16)
_PREVIOUS_AT: Final = 4
_TIME_AT: Final = 16
_PLACE: Final = struct.Struct(">q")
_TIME: Final = struct.Struct(">qi")
_BLANK: Final = struct.Struct(">iqi")
_BLANK_KIND: Final = -875286124
_SLOT: Final = struct.Struct(">qqqii")
_SLOTS: Final = 14 * 24 * 3600
WHEEL_BYTES: Final = _SLOTS * _SLOT.size
_CHECK: Final = struct.Struct(">7q")
_CHECK_BYTES: Final = 4096
_READ_BYTES: Final = ENTRY_BYTES * 16_384


class Check(NamedTuple):
    """What is known of the timers for certain.

    Attributes:
        read_ms: Everything that was due before this moment is delivered.
        log_end: Where the log of timers ended.
        queue_offset: Every message of the timer topic before this one is in the log, or delivered.
    """

    read_ms: int = 0
    log_end: int = 0
    queue_offset: int = 0


class Entry(NamedTuple):
    """One entry of the log: where it is, when it is due, its message's place and size, and its kind."""

    position: int
    due_ms: int
    log_offset: int
    size: int
    kind: int


class Chain(NamedTuple):
    """The entries of one moment: places of the first and the last, and how many."""

    first: int
    last: int
    entries: int


@dataclass(slots=True)
class TimerSave:
    """What one save writes. `run` may be called in another thread; `error` is set when it failed, and all of it is to be saved again.

    Attributes:
        entries: Bytes for the log by place.
        chains: Moment, in units of the precision → its chain; None when there is none any more.
        check: What holds when all that is written.
        done_to: Every entry before this place is done; files of nothing else are removed.
    """

    entries: Sequence[tuple[int, bytes]]
    chains: Mapping[int, Chain | None]
    check: Check
    done_to: int
    version: int
    now_ms: int
    parts: "TimerFiles"
    error: OSError | None = None

    def run(self) -> None:
        """Write it, the check last."""
        try:
            self.parts.write(self)
        except OSError as error:
            self.error = error


class TimerFiles:
    """The files of one store. Nothing is made before the first save. Methods may raise OSError."""

    def __init__(self, files: FileSystem, root: Path, log_file_bytes: int) -> None:
        """Use this folder."""
        self._files = files
        self._wheel_path = root / "timerwheel"
        self._check_path = root / "config" / "timercheck"
        self._open = OpenFiles(files, 2)
        self._log = Segments(files, self._open, root / "timerlog", log_file_bytes, is_durable=True)
        self.end = 0
        """Where the next entry goes."""

    def load(self) -> tuple[Check, int]:
        """Read the check and its version; zeros when there is none.

        Raises:
            StoreFormatError: A file of the log has another size than the settings say.
        """
        self._log.load()
        self.end = self._log.start
        if self._files.size(self._check_path) != _CHECK_BYTES:
            return Check(), 0
        file = self._files.open(self._check_path, _CHECK_BYTES)
        try:
            read_ms, log_end, offset, of_master, _, _, version = _CHECK.unpack(file.read(0, _CHECK.size))
        finally:
            file.close()
        return Check(read_ms, log_end, min(offset, of_master)), version

    @property
    def has_old(self) -> bool:
        """Whether the log has files that may be removed when nothing in them waits."""
        return self.end - self._log.start > self._log.file_bytes

    def cut(self, end: int) -> None:
        """Forget the entries from a place on, which may not turn up again."""
        self._log.cut(end)
        self.end = end

    def entries(self) -> Iterator[Entry]:
        """Give all entries up to the first that is not whole, in the order of the log; `end` is behind the last one then."""
        for start in self._log.starts:
            at = start
            while True:
                piece = self._log.read(at, _READ_BYTES)
                piece = piece[: len(piece) - len(piece) % ENTRY_BYTES]
                count = 0
                for size, _, kind, written_ms, delay_ms, offset, length, _, _ in _ENTRY.iter_unpack(piece):
                    if size != ENTRY_BYTES or kind not in _KINDS:
                        break
                    yield Entry(at + count * ENTRY_BYTES, written_ms + delay_ms, offset, length, kind)
                    count += 1
                at += count * ENTRY_BYTES
                self.end = at
                if count * ENTRY_BYTES < _READ_BYTES:
                    break
            if not self._is_full(start, at):
                return

    def _is_full(self, start: int, end: int) -> bool:
        blank = _BLANK.pack(self._log.file_bytes - (end - start), 0, _BLANK_KIND)
        return end > start and self._log.read(end, _BLANK.size) == blank

    def place(self) -> tuple[int, tuple[int, bytes] | None]:
        """Give the place of the next entry, and what has to be written where the file before ends with it."""
        room = self._log.file_bytes - self.end % self._log.file_bytes
        blank = None
        if ENTRY_BYTES + _BLANK.size > room:
            blank = (self.end, _BLANK.pack(room, 0, _BLANK_KIND))
            self.end += room
        position = self.end
        self.end += ENTRY_BYTES
        return position, blank

    def write(self, save: TimerSave) -> None:
        """Write what a save says; see `TimerSave.run`."""
        for position, data in save.entries:
            self._log.write(position, data)
        dirty, self._log.dirty = self._log.dirty, set()
        try:
            for start in sorted(dirty):
                if self._log.has(start):
                    self._log.file(start).sync()
        except OSError:
            self._log.dirty |= dirty
            raise
        if save.chains:
            self._write_wheel(save.chains)
        while len(self._log.starts) > 1 and self._log.starts[1] <= save.done_to:
            self._log.drop_first()
        check = save.check
        file = self._files.open(self._check_path, _CHECK_BYTES, is_durable=True)
        try:
            offset = check.queue_offset
            file.write(0, _CHECK.pack(check.read_ms, check.log_end, offset, offset, 0, save.now_ms, save.version))
            file.sync()
        finally:
            file.close()

    def _write_wheel(self, chains: Mapping[int, Chain | None]) -> None:
        file = self._files.open(self._wheel_path, WHEEL_BYTES, is_durable=True)
        try:
            for moment, chain in sorted(chains.items()):
                data = bytes(_SLOT.size) if chain is None else _SLOT.pack(moment, *chain, 0)
                file.write(moment % _SLOTS * _SLOT.size, data)
            file.sync()
        finally:
            file.close()

    def close(self) -> None:
        """Close what is open. May be called again."""
        self._open.close()


def entry_bytes(entry: Entry, previous: int, now_ms: int, topic_hash: int) -> bytes:
    """Write an entry that follows another one in its chain."""
    return _ENTRY.pack(
        ENTRY_BYTES, previous, entry.kind, now_ms, entry.due_ms - now_ms, entry.log_offset, entry.size, topic_hash, 0
    )


def moved_to(position: int, due_ms: int) -> tuple[int, bytes]:
    """Give what has to be written to move an entry to another moment, which is past: it is done then."""
    return position + _TIME_AT, _TIME.pack(due_ms, 0)


def linked_to(position: int, previous: int) -> tuple[int, bytes]:
    """Give what has to be written so that an entry follows another one."""
    return position + _PREVIOUS_AT, _PLACE.pack(previous)
