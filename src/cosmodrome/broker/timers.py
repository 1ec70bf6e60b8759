"""Timer messages that wait (Java: TimerMessageStore, TimerWheel).

Owns: what is due when; how far the timer topic was read and what of it was delivered; what the next save has to write.
Must not know: how a message is read or stored; the clock; the event loop.

A message is taken, and then is done or comes back: all that one turn stores has one fate, so what comes back is always
the last part of what was taken.
"""

import heapq
import logging
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.tag_hash import java_hash
from cosmodrome.store.timer_log import (
    DELETE,
    ENTRY_BYTES,
    NOTHING,
    ROLL,
    Chain,
    Check,
    Entry,
    TimerFiles,
    TimerSave,
    entry_bytes,
    linked_to,
    moved_to,
)

logger = logging.getLogger(__name__)

_NORMAL: Final = 1
_KINDS: Final = 16
_PAST: Final = 6 * 86_400
"""So many moments ago an entry that is done is said to have been due: longer than anybody reads back, and no place of
today's wheel, which has twice seven days of seconds."""
_SMALL_STEP: Final = 10
"""Moments by which a clock may be set back without anything being delivered twice after a stop."""


class Parked(NamedTuple):
    """A message of the timer topic.

    Attributes:
        due_ms: When it is due, as it is stored.
        log_offset: Its place in the log.
        size: Of its record.
        topic: Where it goes.
        is_delete: Whether it takes another message back.
    """

    due_ms: int
    log_offset: int
    size: int
    topic: str
    is_delete: bool


class Waiting(NamedTuple):
    """One message that is due: its moment, its number among those of the moment, its place in the log, its kind."""

    moment: int
    number: int
    log_offset: int
    kind: int

    @property
    def is_roll(self) -> bool:
        """Whether it is to be parked once more."""
        return bool(self.kind & ROLL)

    @property
    def is_delete(self) -> bool:
        """Whether it takes another message back."""
        return bool(self.kind & DELETE)


@dataclass(slots=True)
class _Slot:
    """The messages of one moment, by number; `first` is the number of the first that is still here."""

    marks: "array[int]" = field(default_factory=lambda: array("q"))
    places: "array[int]" = field(default_factory=lambda: array("q"))
    first: int = 0
    taken: int = 0
    done: int = 0
    in_flight: int = 0
    recalled: frozenset[str] | None = None

    @property
    def end(self) -> int:
        return self.first + len(self.marks)

    @property
    def chain(self) -> Chain | None:
        return Chain(self.places[0], self.places[-1], len(self.places)) if self.places else None


@dataclass(slots=True)
class _Cursor:
    """How far the timer topic was read. `logged` are offsets that need not be read again after something came back."""

    taken: int = 0
    done: int = 0
    in_flight: int = 0
    logged: set[int] = field(default_factory=set)


class Timers:
    """All of them. Moments are times in units of the precision."""

    def __init__(self, files: TimerFiles, precision_ms: int) -> None:
        """Begin with none."""
        self._files = files
        self._precision_ms = precision_ms
        self._slots: dict[int, _Slot] = {}
        self._moments: list[int] = []
        self._flying: set[int] = set()
        self._is_changed = False
        self._cursor = _Cursor()
        self._unsaved: list[tuple[int, bytes]] = []
        self._dirty: set[int] = set()
        self._read = 0
        self._version = 0
        self._saved = Check()
        self._again = (0, 0)
        self.forgotten = 0
        """Entries of the files of which the message is not there any more."""

    def load(self, now_ms: int, bounds: tuple[int, int], place_of: Callable[[int], int | None], log_end: int) -> None:
        """Take over what the files say, as far as it can be.

        Args:
            now_ms: Wall-clock time.
            bounds: The smallest and the largest offset of the timer topic.
            place_of: Gives the place in the log of a message of the timer topic; None behind the last one.
            log_end: Where the log ends.

        Raises:
            StoreFormatError: See `TimerFiles.load`.
            OSError: They cannot be read.
        """
        check, self._version = self._files.load()
        if not 0 <= check.read_ms <= now_ms + _SMALL_STEP * self._precision_ms:
            logger.warning(
                "timer messages were delivered until %d, which is not past; they are delivered again", check.read_ms
            )
            check = check._replace(read_ms=0)
        offset = min(max(check.queue_offset, bounds[0]), bounds[1])
        cut = self._take_entries(check.read_ms, min(place_of(offset) or log_end, log_end), log_end)
        if self._files.end < check.log_end or (check.queue_offset and not cut):
            # The log of timers lacks what it must have. The topic has it: all that may wait is read again.
            self._slots.clear()
            self._moments.clear()
            self._again = (offset, check.read_ms)
            cut, offset = 0, bounds[0]
        if cut < self._files.end:
            self._files.cut(cut)
        self._dirty.update(self._slots)
        self._cursor = _Cursor(taken=offset, done=offset)
        self._read = check.read_ms // self._precision_ms
        self._saved = check
        if self.forgotten:
            logger.warning("%d timer messages are not in the log any more and are forgotten", self.forgotten)

    def _take_entries(self, read_ms: int, limit: int, log_end: int) -> int:
        """Take the entries whose messages are before a place in the log; give where the last of them ends."""
        end = 0
        for entry in self._files.entries():
            moment = entry.due_ms // self._precision_ms
            if entry.log_offset < limit:
                end = entry.position + ENTRY_BYTES
                if entry.due_ms >= read_ms:
                    self._put(moment, entry)
            elif entry.due_ms >= read_ms:
                self._dirty.add(moment)
                self.forgotten += entry.log_offset >= log_end
        return end

    @property
    def next_offset(self) -> int:
        """The message of the timer topic that is to be read next."""
        return self._cursor.taken

    @property
    def waiting(self) -> int:
        """How many messages wait for their moment."""
        return sum(len(slot.marks) for slot in self._slots.values())

    def is_known(self, offset: int, parked: Parked | None) -> bool:
        """Pass over a message of the timer topic that is in the log of timers already, was delivered, or is none."""
        until, read_ms = self._again
        if parked is None or offset in self._cursor.logged or (offset < until and parked.due_ms < read_ms):
            self._pass(offset)
            return True
        return False

    def _pass(self, offset: int) -> None:
        cursor = self._cursor
        cursor.taken = offset + 1
        if not cursor.in_flight:
            cursor.done = cursor.taken
            cursor.logged.clear()

    def ends_at(self, end: int) -> None:
        """Go back when the timer topic is shorter than what was read of it: what the disk lost is lost."""
        cursor = self._cursor
        if end < cursor.taken and not cursor.in_flight:
            cursor.taken = cursor.done = end
            cursor.logged.clear()

    def is_late(self, parked: Parked, now_ms: int) -> bool:
        """Whether a message is to be delivered without waiting for anything."""
        return parked.due_ms // self._precision_ms < now_ms // self._precision_ms

    def add(self, offset: int, parked: Parked, now_ms: int, roll_ms: int) -> None:
        """Have a message of the timer topic wait; one that is due after `roll_ms` or later is parked once more before."""
        kind, due_ms = _NORMAL | DELETE * parked.is_delete, parked.due_ms
        now_ms = now_ms // self._precision_ms * self._precision_ms
        if due_ms - now_ms >= roll_ms:
            kind |= ROLL
            due_ms = now_ms + (roll_ms // 2 if due_ms - now_ms - roll_ms < roll_ms // 3 else roll_ms)
        moment = max(due_ms // self._precision_ms, self._read)
        self._log(parked, moment * self._precision_ms, kind, now_ms)
        cursor = self._cursor
        if cursor.in_flight:
            cursor.logged.add(offset)
        self._pass(offset)

    def add_late(self, offset: int, parked: Parked, now_ms: int) -> None:
        """Note that a message of the timer topic is being delivered: `settled_late` says what became of it.

        The log of timers gets an entry that is done: an Apache broker takes the last entry for the last message.
        """
        self._log(parked, self._past_ms(now_ms), _NORMAL, now_ms, is_done=True)
        self._cursor.in_flight += 1
        self._cursor.taken = offset + 1

    def _past_ms(self, now_ms: int) -> int:
        return now_ms - _PAST * self._precision_ms

    def settled_late(self, offset: int, *, is_stored: bool) -> None:
        """Note what became of it."""
        cursor = self._cursor
        cursor.in_flight -= 1
        if not is_stored:
            cursor.taken = min(cursor.taken, offset)
        elif not cursor.in_flight:
            cursor.done = cursor.taken
            cursor.logged.clear()

    def _log(self, parked: Parked, due_ms: int, kind: int, now_ms: int, *, is_done: bool = False) -> None:
        position, blank = self._files.place()
        entry = Entry(position, due_ms, parked.log_offset, parked.size, kind)
        previous = NOTHING
        if not is_done:
            moment = due_ms // self._precision_ms
            slot = self._put(moment, entry)
            previous = slot.places[-2] if len(slot.places) > 1 else NOTHING
            self._dirty.add(moment)
        if blank is not None:
            self._unsaved.append(blank)
        self._unsaved.append((position, entry_bytes(entry, previous, now_ms, java_hash(parked.topic))))

    def _put(self, moment: int, entry: Entry) -> _Slot:
        slot = self._slots.get(moment)
        if slot is None:
            slot = self._slots[moment] = _Slot()
            heapq.heappush(self._moments, moment)
        elif moment in self._flying:
            self._untake(moment)
        slot.marks.append(entry.log_offset * _KINDS + entry.kind)
        slot.places.append(entry.position)
        return slot

    def _untake(self, moment: int) -> None:
        if moment in self._flying:
            self._flying.remove(moment)
            heapq.heappush(self._moments, moment)

    def next_due_ms(self) -> int | None:
        """Give when the next message can be due; None when none waits."""
        return (self._moments[0] + 1) * self._precision_ms if self._moments else None

    def due(self, now_ms: int, most: int) -> list[Waiting]:
        """Give, in order, messages that are due and not taken: of one moment, at most so many."""
        if not self._moments or self._moments[0] >= now_ms // self._precision_ms:
            return []
        moment = self._moments[0]
        slot = self._slots[moment]
        numbers = range(slot.taken, min(slot.end, slot.taken + most))
        return [self._waiting(moment, slot, number) for number in numbers]

    @staticmethod
    def _waiting(moment: int, slot: _Slot, number: int) -> Waiting:
        log_offset, kind = divmod(slot.marks[number - slot.first], _KINDS)
        return Waiting(moment, number, log_offset, kind)

    def deletes(self, moment: int) -> list[Waiting]:
        """Give those of a moment that take others back."""
        slot = self._slots[moment]
        numbers = [slot.first + at for at, mark in enumerate(slot.marks) if mark & DELETE]
        return [self._waiting(moment, slot, number) for number in numbers]

    def recalled(self, moment: int) -> frozenset[str] | None:
        """Give the ids of the messages of a moment that were taken back; None when nobody has looked yet."""
        return self._slots[moment].recalled

    def set_recalled(self, moment: int, ids: frozenset[str]) -> None:
        """Note them."""
        self._slots[moment].recalled = ids

    def take(self, waiting: Waiting, *, is_in_flight: bool) -> None:
        """Note that the next message is being delivered, or that it need not be."""
        slot = self._slots[waiting.moment]
        slot.taken = waiting.number + 1
        slot.in_flight += is_in_flight
        if slot.taken == slot.end:
            heapq.heappop(self._moments)
            self._flying.add(waiting.moment)
        self._advance(waiting.moment, slot)

    def settled(self, waiting: Waiting, *, is_stored: bool) -> None:
        """Note what became of a message that was in flight."""
        slot = self._slots[waiting.moment]
        slot.in_flight -= 1
        if not is_stored and waiting.number < slot.taken:
            slot.taken = waiting.number
            self._untake(waiting.moment)
        self._advance(waiting.moment, slot)

    def _advance(self, moment: int, slot: _Slot) -> None:
        if slot.in_flight:
            return
        slot.done = max(slot.done, slot.taken)
        self._is_changed = True
        if slot.done == slot.end:
            del self._slots[moment]
            self._flying.remove(moment)

    def begin_save(self, now_ms: int) -> TimerSave | None:
        """Begin to save what changed; None when nothing did. Have everything that is stored put on disk before it runs."""
        now = now_ms // self._precision_ms
        read = min((now, *self._flying, *self._moments[:1]))
        if read >= self._read - _SMALL_STEP:
            read = max(read, self._read)
        for moment in [*self._flying, *self._moments[:1]]:
            self._trim(moment, now_ms)
        if not (self._is_changed or self._unsaved or self._dirty or self._cursor.done != self._saved.queue_offset):
            return None
        self._read, self._is_changed = read, False
        self._version += 1
        dirty, self._dirty = self._dirty, set()
        entries, self._unsaved = self._unsaved, []
        return TimerSave(
            entries=entries,
            chains={moment: self._slots[moment].chain if moment in self._slots else None for moment in dirty},
            check=Check(read * self._precision_ms, self._files.end, self._cursor.done),
            done_to=self._done_to(),
            version=self._version,
            now_ms=now_ms,
            parts=self._files,
        )

    def _done_to(self) -> int:
        if not self._files.has_old:
            return 0
        return min((slot.places[0] for slot in self._slots.values()), default=self._files.end)

    def _trim(self, moment: int, now_ms: int) -> None:
        """Have what was delivered of a moment forgotten by the files: the rest of the moment is due still."""
        slot = self._slots[moment]
        count = slot.done - slot.first
        if count <= 0:
            return
        past_ms = self._past_ms(now_ms)
        self._unsaved += [moved_to(place, past_ms) for place in slot.places[:count]]
        del slot.places[:count]
        del slot.marks[:count]
        slot.first = slot.done
        if slot.places:
            self._unsaved.append(linked_to(slot.places[0], NOTHING))
        self._dirty.add(moment)

    def end_save(self, save: TimerSave) -> bool:
        """Take the result of a save that has run; False when it failed, and is to be tried again."""
        if save.error is None:
            self._saved = save.check
            return True
        self._unsaved = [*save.entries, *self._unsaved]
        self._dirty.update(save.chains)
        self._is_changed = True
        return False

    @property
    def saved(self) -> tuple[Check, int]:
        """What was saved last, and how often something was; zeros before there was any timer message."""
        return self._saved, self._version

    def close(self) -> None:
        """Close the files."""
        self._files.close()
