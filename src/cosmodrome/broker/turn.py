"""What one turn of the event loop stores: one write to each file, and no answer before it.

Owns: gathering messages; when each of them counts as stored, by what the flush mode promises.
Must not know: who sent a message; the loop, but for a way to be called at the end of the turn.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cosmodrome.errors import StoreUnavailableError
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.store.message_store import MessageStore


class Stored(Enum):
    """What became of a message."""

    SAFE = "safe"
    """It is where the flush mode promises it to be."""
    DISK_TIMEOUT = "disk timeout"
    """It is stored, and not known to be on disk in time."""
    FAILED = "failed"
    """It is not stored, or nobody knows."""


Settle = Callable[[Stored], None]
QueueKey = tuple[str, int]


class _Waiting(NamedTuple):
    end: int
    settle: Settle
    deadline_ms: int


class Turn:
    """Gathers messages; `end` is called once at the end of each turn in which there were some.

    Attributes:
        on_written: Told of the queues with new messages, which can be read now.
        on_sync_wanted: Told that something waits for the disk: have `store.begin_sync` run, then call `synced`.
    """

    def __init__(
        self, store: MessageStore, at_end: Callable[[Callable[[], None]], object], clock_ms: Callable[[], int]
    ) -> None:
        """Gather for this store; `at_end` has something called when the turn ends, `clock_ms` never steps."""
        self._store: Final = store
        self._at_end = at_end
        self._clock_ms = clock_ms
        self._gathered: list[tuple[Position, Settle, int | None]] = []
        self._touched: set[QueueKey] = set()
        self._waiting: list[_Waiting] = []
        self.on_written: Callable[[set[QueueKey]], None] = lambda _: None
        self.on_sync_wanted: Callable[[], None] = lambda: None

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
        position = self._store.add(message, now_ms)
        if not self._gathered:
            self._at_end(self.end)
        self._gathered.append((position, settle or _ignore, disk_timeout_ms))
        self._touched.add((message.topic, message.queue_id))
        return position

    def end(self) -> None:
        """Write what was gathered, and tell whoever need not wait for the disk. May be called early."""
        gathered, self._gathered = self._gathered, []
        touched, self._touched = self._touched, set()
        if not gathered:
            return
        try:
            self._store.write()
        except StoreUnavailableError:
            for _, settle, _ in gathered:
                settle(Stored.FAILED)
            self.fail_waiting()
            return
        now_ms = self._clock_ms()
        had_waiting = bool(self._waiting)
        for position, settle, disk_timeout_ms in gathered:
            if disk_timeout_ms is None:
                settle(Stored.SAFE)
            else:
                self._waiting.append(_Waiting(position.end, settle, now_ms + disk_timeout_ms))
        if self._waiting and not had_waiting:
            self.on_sync_wanted()
        self.on_written(touched)

    def synced(self) -> None:
        """Tell those whose messages are on disk now, and have the rest put there."""
        synced_to = self._store.synced_to
        done = [each for each in self._waiting if each.end <= synced_to]
        self._waiting = [each for each in self._waiting if each.end > synced_to]
        for each in done:
            each.settle(Stored.SAFE)
        if self._waiting:
            self.on_sync_wanted()

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


def _ignore(_: Stored) -> None:
    """Nobody wants to know."""
