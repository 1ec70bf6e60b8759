"""What one turn of the event loop stores: one write to each file, and no answer before it.

Owns: gathering messages; when each of them counts as stored, by what the flush mode promises.
Must not know: who sent a message; the loop, but for a way to be called at the end of the turn.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cosmodrome.broker.store_times import StoreTimes
from cosmodrome.errors import StoreUnavailableError
from cosmodrome.store.appending import KnownProperties, NewMessage, Position
from cosmodrome.store.message_store import MessageStore


class Stored(Enum):
    """What became of a message."""

    SAFE = "safe"
    """It is where the flush mode promises it to be."""
    DISK_TIMEOUT = "disk timeout"
    """It is stored, and not known to be on disk in time."""
    SLAVE_TIMEOUT = "slave timeout"
    """It is stored, and not known to be at enough slaves in time."""
    NO_SLAVE = "no slave"
    """It is stored, and there are not enough slaves that could have it in time."""
    FAILED = "failed"
    """It is not stored, or nobody knows."""


Settle = Callable[[Stored], None]
QueueKey = tuple[str, int]


class _Waiting(NamedTuple):
    """Somebody who waits for the disk: everything before `end`, at the end of a turn, must be on it."""

    end: int
    settle: Settle
    deadline_ms: int


class Turn:
    """Gathers messages; `end` is called once at the end of each turn in which there were some.

    Attributes:
        on_written: Told of the queues with new messages that can be read now.
        on_log_grew: Told that something was written, whoever may read it.
        on_sync_wanted: Told that something waits for the disk: have `store.begin_sync` run, then call `synced`.
    """

    def __init__(
        self, store: MessageStore, at_end: Callable[[Callable[[], None]], object], clock_ms: Callable[[], int]
    ) -> None:
        """Gather for this store; `at_end` has something called when the turn ends, `clock_ms` never steps."""
        self._store: Final = store
        self._at_end = at_end
        self._clock_ms = clock_ms
        self.number = 0
        """Of the turn that gathers, or the next one that will."""
        self._is_gathering = False
        self._added = self._added_bytes = 0
        self.times = StoreTimes()
        """Told how long writing took."""
        self._gathered: list[tuple[Settle, int | None]] = []
        self._waiting: list[_Waiting] = []
        self.on_written: Callable[[set[QueueKey]], None] = lambda _: None
        self.on_sync_wanted: Callable[[], None] = lambda: None
        self.on_log_grew: Callable[[], None] = lambda: None

    def put(
        self, message: NewMessage, now_ms: int, settle: Settle | None = None, disk_timeout_ms: int | None = None
    ) -> Position:
        """Store a message at the end of the turn; `settle` is told then, or later, what became of it.

        Args:
            message: It.
            now_ms: Wall-clock time.
            settle: Called once.
            disk_timeout_ms: How long to wait until it is on disk; None: written is enough.

        Raises:
            MessageError: It cannot be stored; nothing of it is, and nobody is told.
            StoreUnavailableError: Nothing is accepted.
        """
        position = self.add(message, now_ms)
        if settle is not None:
            self._gathered.append((settle, disk_timeout_ms))
        return position

    def add(self, message: NewMessage, now_ms: int, known: KnownProperties | None = None) -> Position:
        """Store a message at the end of the turn, as `put`; `when_stored` is how to hear of it.

        Args:
            message: It.
            now_ms: Wall-clock time.
            known: What its properties say to the store, if that is known.

        Raises:
            MessageError: It cannot be stored; nothing of it is.
            StoreUnavailableError: Nothing is accepted.
        """
        position = self._store.add(message, now_ms, known)
        if not self._is_gathering:
            self._is_gathering = True
            self._at_end(self.end)
        self._added += 1
        self._added_bytes += position.size
        return position

    def when_stored(self, settle: Settle, disk_timeout_ms: int | None) -> None:
        """Have somebody told, once, what became of all that this turn adds; something must have been added."""
        self._gathered.append((settle, disk_timeout_ms))

    def end(self) -> None:
        """Write what was gathered, and tell whoever need not wait for the disk. May be called early."""
        if not self._is_gathering:
            return
        self._is_gathering = False
        self.number += 1
        gathered, self._gathered = self._gathered, []
        was_waited_for = self._is_waited_for
        added, size, began_ms = self._added, self._added_bytes, self._clock_ms()
        self._added = self._added_bytes = 0
        try:
            self._store.write()
        except StoreUnavailableError:
            self.times.failed += added
            for settle, _ in gathered:
                settle(Stored.FAILED)
            self.fail_waiting()
            return
        now_ms, end = self._clock_ms(), self._store.end
        self.times.put(added, size, now_ms - began_ms)
        for settle, disk_timeout_ms in gathered:
            if disk_timeout_ms is None:
                settle(Stored.SAFE)
            else:
                self._waiting.append(_Waiting(end, settle, now_ms + disk_timeout_ms))
        if self._is_waited_for and not was_waited_for:
            self.on_sync_wanted()
        self.on_log_grew()
        self._tell_readers()

    @property
    def _is_waited_for(self) -> bool:
        """Whether somebody waits for the disk, also to read."""
        return bool(self._waiting) or self._store.is_holding_back

    def _tell_readers(self) -> None:
        queues = self._store.take_readable()
        if queues:
            self.on_written(queues)

    def synced(self) -> None:
        """Tell those whose messages are on disk now, and who waits to read them; have the rest put there."""
        synced_to = self._store.synced_to
        done = [each for each in self._waiting if each.end <= synced_to]
        self._waiting = [each for each in self._waiting if each.end > synced_to]
        for each in done:
            each.settle(Stored.SAFE)
        if self._is_waited_for:
            self.on_sync_wanted()
        self._tell_readers()

    def overdue(self) -> None:
        """Tell those who have waited for the disk for too long. Their messages stay stored."""
        now_ms = self._clock_ms()
        late = [each for each in self._waiting if each.deadline_ms <= now_ms]
        self._waiting = [each for each in self._waiting if each.deadline_ms > now_ms]
        for each in late:
            each.settle(Stored.DISK_TIMEOUT)

    def fail_waiting(self) -> None:
        """Tell those who wait for the disk that it failed: nothing of theirs may be acknowledged."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.settle(Stored.FAILED)

    @property
    def is_waiting(self) -> bool:
        """Whether somebody waits for the disk."""
        return bool(self._waiting)
