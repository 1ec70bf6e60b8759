"""Popped messages that are not acknowledged (Java: PopReviveService, PopBufferMergeService).

Owns: check points, what is acknowledged of each, when each is due; how far the revive topic is done with.
Must not know: how anything is stored or delivered; the clock.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cosmodrome.protocol.bodies.pop_records import PopCheckPoint, PopKey


class Place(NamedTuple):
    """Where a record is in the revive topic."""

    queue_id: int
    offset: int


@dataclass(slots=True, eq=False)
class Popped:
    """One check point.

    Attributes:
        key: By which acknowledgements name it.
        point: As it was stored.
        place: Where that is.
        due_ms: From when on it may be delivered again.
        offsets: Of its messages, in the order of the bits.
        done: A bit for each message that is acknowledged or delivered again.
        is_over: Whether nothing of it is left.
    """

    key: PopKey
    point: PopCheckPoint
    place: Place
    due_ms: int
    offsets: tuple[int, ...]
    done: int = 0
    is_over: bool = False

    @property
    def open_offsets(self) -> tuple[int, ...]:
        """The offsets of its messages that are not done."""
        return tuple(each for bit, each in enumerate(self.offsets) if not self.done >> bit & 1)

    def bits(self, offsets: Iterable[int]) -> int:
        """Give the bits of those of these offsets that it has."""
        return sum(1 << self.offsets.index(each) for each in set(offsets) if each in self.offsets)


class InFlight:
    """All check points. Times are wall-clock, as in receipts."""

    def __init__(self) -> None:
        """Begin without any."""
        self._table: dict[PopKey, Popped] = {}
        self._heap: list[tuple[int, int, Popped]] = []
        self._numbers = itertools.count()
        self._outstanding: dict[int, dict[int, None]] = {}
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._table)

    def get(self, key: PopKey) -> Popped | None:
        """Give a check point; None when nothing of it is left, or it is not known."""
        return self._table.get(key)

    def put(self, key: PopKey, point: PopCheckPoint, place: Place, due_ms: int) -> Popped:
        """Note a check point that is stored. One that is known already moves to the new place."""
        self._outstanding.setdefault(place.queue_id, {})[place.offset] = None
        popped = self._table.get(key)
        if popped is None:
            popped = self._table[key] = Popped(key, point, place, due_ms, point.offsets)
            self.later(popped, due_ms)
        else:
            self._leave(popped.place)
            popped.point, popped.place, popped.offsets = point, place, point.offsets
            if due_ms > popped.due_ms:
                self.later(popped, due_ms)
        popped.done |= point.acknowledged & ((1 << point.count) - 1)
        self._settle(popped)
        return popped

    def acknowledge(self, popped: Popped, offsets: Iterable[int]) -> None:
        """Note that messages are done."""
        popped.done |= popped.bits(offsets)
        self._settle(popped)

    def take_back(self, popped: Popped, bits: int) -> None:
        """Note that messages are not done after all: what says so could not be stored."""
        popped.done &= ~bits
        if popped.is_over:
            popped.is_over = False
            self._table[popped.key] = popped
            self._outstanding.setdefault(popped.place.queue_id, {})[popped.place.offset] = None
            heapq.heappush(self._heap, (popped.due_ms, next(self._numbers), popped))

    def read_to(self, place: Place) -> None:
        """Note that a record of the revive topic was seen."""
        self._ends[place.queue_id] = max(self._ends.get(place.queue_id, 0), place.offset + 1)

    def done_to(self) -> dict[int, int]:
        """Give, by revive queue, the offset before which nothing is needed any more."""
        return {
            queue_id: min(self._outstanding.get(queue_id) or (end,)) if self._is_open(queue_id) else end
            for queue_id, end in self._ends.items()
        }

    def end_of(self, queue_id: int) -> int:
        """Give the offset behind the last record of a revive queue that was seen."""
        return self._ends.get(queue_id, 0)

    def take_due(self, now_ms: int, most: int) -> list[Popped]:
        """Give, once, check points that are due, in the order of time. `later` brings one back."""
        found: list[Popped] = []
        while self._heap and self._heap[0][0] <= now_ms and len(found) < most:
            due_ms, _, popped = heapq.heappop(self._heap)
            if not popped.is_over and due_ms == popped.due_ms:
                found.append(popped)
        return found

    def later(self, popped: Popped, due_ms: int) -> None:
        """Have a check point due again then."""
        popped.due_ms = due_ms
        heapq.heappush(self._heap, (due_ms, next(self._numbers), popped))

    def next_due_ms(self) -> int | None:
        """Give when the next check point is due; None when there is none."""
        while self._heap and (self._heap[0][2].is_over or self._heap[0][0] != self._heap[0][2].due_ms):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def of(self, is_meant: Callable[[PopKey], bool]) -> list[Popped]:
        """Give the check points with such keys."""
        return [popped for key, popped in self._table.items() if is_meant(key)]

    def oldest(self, queue_id: int, most: int) -> list[Popped]:
        """Give the check points of a revive queue that have been there longest."""
        found = [popped for popped in self._table.values() if popped.place.queue_id == queue_id]
        return heapq.nsmallest(most, found, key=lambda popped: popped.place.offset)

    def _is_open(self, queue_id: int) -> bool:
        return bool(self._outstanding.get(queue_id))

    def _settle(self, popped: Popped) -> None:
        if not popped.is_over and popped.done == (1 << len(popped.offsets)) - 1:
            popped.is_over = True
            del self._table[popped.key]
            self._leave(popped.place)

    def _leave(self, place: Place) -> None:
        self._outstanding.get(place.queue_id, {}).pop(place.offset, None)
