"""Half messages and their ends (Java: TransactionalMessageService).

Owns: which half messages are open; which are to be asked about, and which are given up.
Must not know: how messages are read or stored; the clock.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfMessage:
    """One half message, by its offset in the queue of half messages. Its times are wall-clock."""

    queue_offset: int
    log_offset: int
    born_ms: int
    stored_ms: int
    checks: int = 0
    immunity_ms: int | None = None


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
        self._rules = rules
        self._open: OrderedDict[int, HalfMessage] = OrderedDict()
        self._ending: set[int] = set()
        self._next = 0

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, half: HalfMessage) -> None:
        """Note a half message that is stored."""
        self._open[half.queue_offset] = half
        self._next = max(self._next, half.queue_offset + 1)

    def begin_end(self, queue_offset: int) -> bool:
        """Claim a half message for its end; False when it has ended, or is ending: then nothing is to be done."""
        if queue_offset not in self._open or queue_offset in self._ending:
            return False
        self._ending.add(queue_offset)
        return True

    def ended(self, queue_offset: int) -> None:
        """Note that the end is stored."""
        self._ending.discard(queue_offset)
        self._open.pop(queue_offset, None)

    def not_ended(self, queue_offset: int) -> None:
        """Note that the end could not be stored: the half message is open as before."""
        self._ending.discard(queue_offset)

    def done_to(self) -> int:
        """Give the offset before which every half message has ended."""
        return next(iter(self._open), self._next)

    def to_check(self, now_ms: int) -> list[tuple[HalfMessage, Fate]]:
        """Give the half messages that have waited for long enough, and what is to be done about each."""
        found = []
        for half in self._open.values():
            if half.queue_offset in self._ending:
                continue
            waits_ms = self._rules.timeout_ms if half.immunity_ms is None else half.immunity_ms
            if now_ms - half.stored_ms < waits_ms:
                continue
            # A sender whose clock is wrong is asked once all the same.
            is_old = half.checks > 0 and now_ms - half.born_ms > self._rules.keep_ms
            is_over = half.checks >= self._rules.most_checks or is_old
            found.append((half, Fate.GIVE_UP if is_over else Fate.ASK))
        return found

    def load(self, halves: Iterable[HalfMessage], ended: Iterable[int], first: int) -> None:
        """Take over what the store holds: half messages from `first` on, and the offsets that have ended."""
        gone = set(ended)
        self._next = max(self._next, first)
        for half in halves:
            self._next = max(self._next, half.queue_offset + 1)
            if half.queue_offset not in gone:
                self._open[half.queue_offset] = half


def asked_again(half: HalfMessage, queue_offset: int, log_offset: int, stored_ms: int) -> HalfMessage:
    """Give the copy of a half message with which it is asked about."""
    return replace(half, queue_offset=queue_offset, log_offset=log_offset, stored_ms=stored_ms, checks=half.checks + 1)
