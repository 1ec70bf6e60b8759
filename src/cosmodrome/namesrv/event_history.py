"""The last events, with increasing numbers: what streams, histories and dashboards read.

Owns: how many events are kept and what they may cost; what a reader that was away has lost.
Must not know: clocks, event loops, who reads, in which form.

Readers hold a number and no events, so a slow one costs nothing and holds nobody back: it loses what leaves the history
before it was read, and is told how much that was.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from cosmodrome.namesrv.events import Event, TopicsAdded, TopicsRemoved

MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all events, as `cost_of` estimates. What goes first is the topic names of large changes, but for NAMES_LEFT."""
NAMES_LEFT: Final = 100

_EVENT_BYTES: Final = 512
"""An event with its record and its numbers, without its texts."""
_TEXT_BYTES: Final = 84
_REFERENCE_BYTES: Final = 8


class Record(msgspec.Struct, frozen=True, gc=False):
    """An event, its number, when it happened (Unix time), and how many of its topic names are not known any more."""

    number: int
    time_s: float
    event: Event
    names_left_out: int = 0


class Lost(NamedTuple):
    """Events that a reader will never get. `events` is None when they are of an earlier run, and nobody knows."""

    first: int
    last: int
    events: int | None


class Part(NamedTuple):
    """What comes next: what was lost before it, the events, and after which number to read on."""

    lost: Lost | None
    records: list[Record]
    last: int


class EventHistory:
    """At most `most_events` events that cost at most `most_bytes`.

    Args:
        first: The number of the first event. Numbers of a later run of a server must be higher, so that a reader of
            the former run is told of its loss: use the time of the start in microseconds.
        most_events: How many are kept.
        most_bytes: What they may cost.
    """

    def __init__(self, first: int, *, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._first = first
        self._next = first
        self._oldest = first
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._records: dict[int, Record] = {}
        self._thick: dict[int, None] = {}
        self._listeners: dict[int, Callable[[], object]] = {}
        self._listener_count = 0
        self.held_bytes = 0
        """What is kept is taken to cost."""
        self.lost_count = 0
        """Events that readers were told they lost, for each reader."""
        self.is_ended = False
        """Whether nothing will come any more."""

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    @property
    def newest(self) -> int:
        """The number of the last event; one less than the first one's when there was none."""
        return self._next - 1

    @property
    def before_first(self) -> int:
        """After this number comes all of this run."""
        return self._first - 1

    @property
    def oldest(self) -> int:
        """The number of the oldest event that is kept."""
        return self._oldest

    @property
    def is_whole(self) -> bool:
        """Whether everything since the start is kept."""
        return self._oldest == self._first

    @property
    def reader_count(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def add(self, event: Event, now_s: float) -> None:
        """Keep an event, and tell those who listen. `now_s` is Unix time."""
        number = self._next
        self._next += 1
        self._records[number] = Record(number, now_s, event)
        self.held_bytes += cost_of(event)
        if len(_names(event)) > NAMES_LEFT:
            self._thick[number] = None
        self._make_room()
        for listener in tuple(self._listeners.values()):
            listener()

    def end(self) -> None:
        """Say that nothing will come any more."""
        self.is_ended = True
        for listener in tuple(self._listeners.values()):
            listener()

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call this after each event, and at the end; give what ends that. It must be quick, and must not raise."""
        self._listener_count += 1
        key = self._listener_count
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def after(self, number: int, limit: int) -> Part:
        """Give at most `limit` events after this number, and what of them is lost.

        A number that was not given yet is of an earlier run whose clock was ahead: everything since is given.
        """
        lost = self._lost_after(number)
        if lost is not None:
            number = lost.last
            self.lost_count += lost.events or 0
        last = min(number + limit, self.newest)
        return Part(lost, [self._records[each] for each in range(number + 1, last + 1)], last)

    def _lost_after(self, number: int) -> Lost | None:
        if number > self.newest or number < self._first - 1:
            return Lost(min(number + 1, self._oldest - 1), self._oldest - 1, None)
        count = self._oldest - 1 - number
        return Lost(number + 1, self._oldest - 1, count) if count > 0 else None

    def _make_room(self) -> None:
        if len(self._records) > self._most_events:
            self._drop_oldest()
        while self.held_bytes > self._most_bytes and self._thick:
            self._thin(next(iter(self._thick)))
        while self.held_bytes > self._most_bytes and self._records:
            self._drop_oldest()

    def _thin(self, number: int) -> None:
        """Forget most of the topic names of an event; it still says how many they were."""
        del self._thick[number]
        record = self._records[number]
        names = _names(record.event)
        thin = msgspec.structs.replace(record.event, topics=names[:NAMES_LEFT])
        self.held_bytes += cost_of(thin) - cost_of(record.event)
        self._records[number] = Record(number, record.time_s, thin, len(names) - NAMES_LEFT)

    def _drop_oldest(self) -> None:
        record = self._records.pop(self._oldest)
        self._thick.pop(self._oldest, None)
        self.held_bytes -= cost_of(record.event)
        self._oldest += 1


def cost_of(event: Event) -> int:
    """Give what an event is taken to cost in bytes, as if nobody else had its texts."""
    cost = _EVENT_BYTES
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, str):
            cost += sys.getsizeof(value)
        elif isinstance(value, tuple):
            # Joined, the widest character decides for all: never too little, and far quicker than one by one.
            cost += sys.getsizeof("".join(value)) + len(value) * (_TEXT_BYTES + _REFERENCE_BYTES)
    return cost


def _names(event: Event) -> tuple[str, ...]:
    return event.topics if isinstance(event, TopicsAdded | TopicsRemoved) else ()
