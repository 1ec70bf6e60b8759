"""What peers can make happen as often as they like, told once a minute.

Owns: what counts as the same again, how much is remembered of it, when its count is told.
Must not know: how anything is printed; timers.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from cosmodrome.namesrv.counters import Counters
from cosmodrome.namesrv.events import LONGEST_TEXT, Event, Publish

REPEAT_WINDOW_S: Final = 60.0
SUBJECTS_PER_KIND: Final = 100
"""Distinct subjects of one kind that are told apart; a flood of new ones is counted by cause."""
CAUSES_PER_KIND: Final = 20

LINES_PER_KIND: Final = 1000
"""Events of one kind in a minute of which each is told, though peers cause them: more than any estate has brokers."""

ItemT = TypeVar("ItemT")


class Told(NamedTuple, Generic[ItemT]):
    """Something to tell now, and what it stands for beside itself.

    `repeated` are those about the same subject, `others` those of the same cause about subjects that were not told
    apart; both since they were last told.
    """

    item: ItemT
    repeated: int = 0
    others: int = 0


@dataclass(slots=True)
class _Held(Generic[ItemT]):
    """When one was last told, how many came since, and the last of them."""

    since_s: float
    last: ItemT
    count: int = 0

    def hold(self, item: ItemT) -> None:
        self.count += 1
        self.last = item


@dataclass(slots=True)
class _Kind(Generic[ItemT]):
    """One kind: by subject, that told longest ago first, and by cause where there were too many subjects."""

    subjects: OrderedDict[tuple[str, ...], _Held[ItemT]] = field(default_factory=OrderedDict)
    others: OrderedDict[str, _Held[ItemT]] = field(default_factory=OrderedDict)


class Repeats(Generic[ItemT]):
    """Tells the first of each subject at once, and once a minute how many more there were.

    There must be a fixed number of kinds. What is remembered of one is at most SUBJECTS_PER_KIND + CAUSES_PER_KIND
    items, whatever comes. Times are seconds of a clock that never steps.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind[ItemT]] = {}

    def __len__(self) -> int:
        """Tell how many items may be remembered now."""
        return sum(len(kind.subjects) + len(kind.others) for kind in self._kinds.values())

    def admit(
        self, kind_name: str, subject: tuple[str, ...], cause: str, item: ItemT, now_s: float
    ) -> Told[ItemT] | None:
        """Give what to tell of an item, or None when it was counted and `due` will tell it."""
        kind = self._kinds.setdefault(kind_name, _Kind())
        held = kind.subjects.get(subject)
        if held is None:
            return _admit_new(kind, subject, cause, item, now_s)
        if now_s - held.since_s < REPEAT_WINDOW_S:
            held.hold(item)
            return None
        kind.subjects[subject] = _Held(now_s, item)
        kind.subjects.move_to_end(subject)
        return Told(item, repeated=held.count)

    def due(self, now_s: float, window_s: float = REPEAT_WINDOW_S) -> list[Told[ItemT]]:
        """Give what was counted and whose minute is over, and forget what did not come again; with 0, all of it."""
        told: list[Told[ItemT]] = []
        for kind in self._kinds.values():
            told += [Told(held.last, repeated=held.count) for held in _over(kind.subjects, now_s, window_s)]
            told += [Told(held.last, others=held.count - 1) for held in _over(kind.others, now_s, window_s)]
        return told


KeyT = TypeVar("KeyT")


def _over(held_by: OrderedDict[KeyT, _Held[ItemT]], now_s: float, window_s: float) -> Iterator[_Held[ItemT]]:
    """Take out what was told a window ago or longer; what came again begins another window."""
    ended = []
    for key, held in held_by.items():
        if now_s - held.since_s < window_s:
            break
        ended.append(key)
    for key in ended:
        held = held_by.pop(key)
        if held.count:
            held_by[key] = _Held(now_s, held.last)
            yield held


def _admit_new(
    kind: _Kind[ItemT], subject: tuple[str, ...], cause: str, item: ItemT, now_s: float
) -> Told[ItemT] | None:
    if len(kind.subjects) < SUBJECTS_PER_KIND:
        kind.subjects[subject] = _Held(now_s, item)
        return Told(item)
    held = kind.others.get(cause)
    if held is None:
        key = cause if len(kind.others) < CAUSES_PER_KIND else next(iter(kind.others))
        held = kind.others.setdefault(key, _Held(now_s, item))
    held.hold(item)
    return None


class Ration(Generic[ItemT]):
    """Tells so many items of a kind in each minute, then counts, and tells once how many more there were.

    There must be a fixed number of kinds. Of each the last item is remembered.
    """

    def __init__(self, size: int = LINES_PER_KIND) -> None:
        self._size = size
        self._told: dict[str, int] = {}
        self._held: dict[str, _Held[ItemT]] = {}
        self._since_s = 0.0

    def is_told(self, kind_name: str, item: ItemT, now_s: float) -> bool:
        """Whether to tell this one; else it was counted, and `due` will tell it."""
        if now_s - self._since_s >= REPEAT_WINDOW_S:
            self._since_s = now_s
            self._told.clear()
        told = self._told[kind_name] = self._told.get(kind_name, 0) + 1
        if told <= self._size:
            return True
        self._held.setdefault(kind_name, _Held(now_s, item)).hold(item)
        return False

    def due(self, now_s: float, window_s: float = REPEAT_WINDOW_S) -> list[Told[ItemT]]:
        """Give what was counted and whose minute is over; with 0, all of it."""
        over = [kind for kind, held in self._held.items() if now_s - held.since_s >= window_s]
        return [Told(held.last, others=held.count - 1) for held in map(self._held.pop, over)]


def _shortened(event: Event) -> Event:
    """Cut texts of which a line does not show more either: what is held must not grow with what peers send."""
    texts = ((name, getattr(event, name)) for name in event.__struct_fields__)
    cut = {name: text[:LONGEST_TEXT] for name, text in texts if isinstance(text, str) and len(text) > LONGEST_TEXT}
    return msgspec.structs.replace(event, **cut) if cut else event


class EventStream:
    """What happens in a server, on its way to whoever listens: faults are counted, repeats are held back.

    Args:
        publish: Told of every event but those that are held back, and of these once a minute how many there were.
        clock_s: Seconds that never step.
        count: Told of every event, those that are held back among them.
        keep: Told of what `publish` is told, and of each of the events that come in a crowd.
    """

    def __init__(
        self,
        publish: Publish,
        clock_s: Callable[[], float],
        count: Callable[[Event], None] = lambda _: None,
        keep: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.counters = Counters()
        self._count = count
        self._keep = keep
        self._publish = publish
        self._clock_s = clock_s
        self._repeats: Repeats[Event] = Repeats()
        self._ration: Ration[Event] = Ration()

    def publish(self, event: Event) -> None:
        """Take an event."""
        self._count(event)
        subject = event.subject()
        if subject is None:
            self._keep(event)
            if self._ration.is_told(event.NAME, event, self._clock_s()):
                self._publish(event)
            return
        cause = event.cause_word()
        self.counters.count(event.NAME, cause)
        told = self._repeats.admit(event.NAME, subject, cause, _shortened(event), self._clock_s())
        if told is not None:
            self._keep(self._tell(told))

    def sweep(self) -> None:
        """Publish what was held back for a minute. Call it every few seconds."""
        self._tell_due(REPEAT_WINDOW_S)

    def flush(self) -> None:
        """Publish all that is held back."""
        self._tell_due(0)

    def _tell_due(self, window_s: float) -> None:
        now_s = self._clock_s()
        for told in self._ration.due(now_s, window_s):
            self._tell(told)
        for told in self._repeats.due(now_s, window_s):
            self._keep(self._tell(told))

    def _tell(self, told: Told[Event]) -> Event:
        event = told.item
        if told.repeated or told.others:
            counts = {"repeated": told.repeated or None, "others": told.others or None}
            event = msgspec.structs.replace(event, **counts)
        self._publish(event)
        return event
