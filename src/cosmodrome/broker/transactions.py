"""Half messages and their ends (Java: TransactionalMessageService).

Owns: which half messages are open; which are to be asked about, and which are given up.
Must not know: how messages are read or stored; the clock.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

Identity = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfMessage:
    """One half message, by its offset in the queue of half messages. Its times are wall-clock."""

    queue_offset: int
    log_offset: int
    born_ms: int
    stored_ms: int
    checks: int = 0
    immunity_ms: int | None = None
    unique_key: str = ""
    former: tuple[int, ...] = ()
    """Offsets of those of which it is a copy: each time it is asked about it is stored anew."""

    @property
    def identity(self) -> Identity:
        """What all copies of one half message have in common."""
        return self.unique_key, self.born_ms


class Fate(Enum):
    """What is to be done about an open half message."""

    ASK = "ask"
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRules:
    """When a half message is asked about, and how often."""

    timeout_ms: int
    most_checks: int
    keep_ms: int


class Transactions:
    """Open half messages in the order of their offsets. What is not here has ended, or never was."""

    def __init__(self, rules: CheckRules) -> None:
        """Begin without any."""
        self.rules = rules
        self._open: OrderedDict[int, HalfMessage] = OrderedDict()
        self._ending: set[int] = set()
        self._newest: dict[int, int] = {}
        """Offset of a half message that was copied → offset of its newest copy, while that is open."""
        self._copies: dict[Identity, int] = {}
        """The same by the identity: former ones from before a start are known by it only."""
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, half: HalfMessage) -> None:
        """Note a half message that is stored."""
        self._open[half.queue_offset] = half
        self._next = max(self._next, half.queue_offset + 1)
        self._note_copy(half)

    def _note_copy(self, half: HalfMessage) -> None:
        self._newest.update(dict.fromkeys(half.former, half.queue_offset))
        if half.checks and half.unique_key:
            self._copies[half.identity] = half.queue_offset

    def replaced(self, half: HalfMessage, copy: HalfMessage) -> None:
        """Note that a half message was copied, to be asked about; ends that name it, or a former one, are of the copy."""
        self.opened(copy)
        self._open.pop(half.queue_offset, None)
        self._release(half.queue_offset)

    def newest(self, queue_offset: int, identity: Identity) -> int:
        """Give the offset of the newest copy of a half message; its own when there is none that is open."""
        if queue_offset in self._open:
            return queue_offset
        return self._newest.get(queue_offset, self._copies.get(identity, queue_offset))

    def is_open(self, queue_offset: int) -> bool:
        """Whether it has not ended, and is not ending."""
        return queue_offset in self._open and queue_offset not in self._ending

    def begin_copy(self, queue_offset: int) -> bool:
        """Claim a half message for a copy: as `begin_end`, but who wants to end it meanwhile may wait."""
        if not self.begin_end(queue_offset):
            return False
        self._waiting[queue_offset] = []
        return True

    def wait_for_copy(self, queue_offset: int, then: Callable[[], None]) -> bool:
        """Have something called when the copy is there, or is not to be. False when none is being made."""
        waiting = self._waiting.get(queue_offset)
        if waiting is None:
            return False
        waiting.append(then)
        return True

    def _release(self, queue_offset: int) -> None:
        """Nobody has claimed it any more."""
        self._ending.discard(queue_offset)
        for then in self._waiting.pop(queue_offset, ()):
            then()

    def begin_end(self, queue_offset: int) -> bool:
        """Claim a half message for its end; False when it has ended, or is ending: then nothing is to be done."""
        if queue_offset not in self._open or queue_offset in self._ending:
            return False
        self._ending.add(queue_offset)
        return True

    def ended(self, queue_offset: int) -> None:
        """Note that the end is stored."""
        half = self._open.pop(queue_offset, None)
        for offset in () if half is None else half.former:
            self._newest.pop(offset, None)
        if half is not None and self._copies.get(half.identity) == queue_offset:
            del self._copies[half.identity]
        self._release(queue_offset)

    def not_ended(self, queue_offset: int) -> None:
        """Note that the end could not be stored: the half message is open as before."""
        self._release(queue_offset)

    def done_to(self) -> int:
        """Give the offset before which every half message has ended."""
        return next(iter(self._open), self._next)

    def to_check(self, now_ms: int) -> list[tuple[HalfMessage, Fate]]:
        """Give the half messages that have waited for long enough, and what is to be done about each."""
        found = []
        for half in self._open.values():
            if half.queue_offset in self._ending:
                continue
            waits_ms = self.rules.timeout_ms if half.immunity_ms is None else half.immunity_ms
            if now_ms - half.stored_ms < waits_ms:
                continue
            # A sender whose clock is wrong is asked once all the same.
            is_old = half.checks > 0 and now_ms - half.born_ms > self.rules.keep_ms
            is_over = half.checks >= self.rules.most_checks or is_old
            found.append((half, Fate.GIVE_UP if is_over else Fate.ASK))
        return found

    def load(self, halves: Iterable[HalfMessage], ended: Iterable[int], first: int) -> None:
        """Take over what the store holds: half messages from `first` on, and the offsets that have ended."""
        gone = set(ended)
        self._next = max(self._next, first)
        newest: dict[Identity, HalfMessage] = {}
        for stored in halves:
            self._next = max(self._next, stored.queue_offset + 1)
            half = stored
            former = newest.get(half.identity) if half.checks and half.unique_key else None
            if former is not None and former.checks + 1 == half.checks:
                half = replace(half, former=(*former.former, former.queue_offset))
                self._open.pop(former.queue_offset, None)
            newest[half.identity] = half
            if half.queue_offset not in gone:
                self._open[half.queue_offset] = half
        for half in self._open.values():
            self._note_copy(half)


def asked_again(half: HalfMessage, queue_offset: int, log_offset: int, stored_ms: int) -> HalfMessage:
    """Give the copy of a half message with which it is asked about."""
    former = (*half.former, half.queue_offset)
    return replace(
        half,
        queue_offset=queue_offset,
        log_offset=log_offset,
        stored_ms=stored_ms,
        checks=half.checks + 1,
        former=former,
    )
