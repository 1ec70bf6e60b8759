"""A reader of events gets each one once, or is told that it lost it, however it reads and whatever happens meanwhile."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.namesrv.event_filter import EventFilter, topics_of
from cosmodrome.namesrv.event_history import EventHistory, cost_of
from cosmodrome.namesrv.events import Event, KVPut, RouteMissed, TopicsAdded

FIRST = 100


@dataclass
class Reader:
    """Reads on from a number; what it got, and what it was told it lost."""

    after: int
    got: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)

    def read(self, history: EventHistory, limit: int) -> None:
        part = history.after(self.after, limit)
        if part.lost is not None:
            self.lost += range(part.lost.first, part.lost.last + 1)
            assert part.lost.events == len(range(part.lost.first, part.lost.last + 1))
        self.got += [record.number for record in part.records]
        assert part.last >= self.after
        self.after = part.last


EVENTS = st.one_of(
    st.builds(RouteMissed, topic=st.text(max_size=5), peer=st.none()),
    st.builds(KVPut, namespace=st.just("N"), key=st.text(max_size=300)),
    st.integers(0, 300).map(lambda n: TopicsAdded(broker="b", count=n, topics=tuple(f"T{each}" for each in range(n)))),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), EVENTS),
        st.tuples(st.integers(0, 2), st.integers(1, 12)),  # a reader, and how much it takes at most
        st.tuples(st.integers(0, 2), st.just(0)),  # a reader goes away and comes back by the last number it got
    ),
    max_size=120,
)


@given(STEPS, st.integers(1, 20), st.integers(2_000, 60_000))
def test_each_event_comes_once_or_is_told_as_lost(
    steps: list[tuple[object, object]], most_events: int, most_bytes: int
) -> None:
    history = EventHistory(FIRST, most_events=most_events, most_bytes=most_bytes)
    readers = [Reader(FIRST - 1) for _ in range(3)]
    for what, value in steps:
        if isinstance(value, Event):
            history.add(value, 0.0)
            assert len(history) <= most_events
            assert history.held_bytes == sum(cost_of(record.event) for record in history) <= most_bytes
        elif isinstance(what, int) and isinstance(value, int):
            reader = readers[what]
            reader.read(history, value or 1)
            if not value:
                seen = [*reader.got, *reader.lost]
                reader.after = max(seen, default=FIRST - 1)
    for reader in readers:
        while reader.after != history.newest:
            reader.read(history, 3)

        everything = sorted([*reader.got, *reader.lost])
        assert everything == list(range(FIRST, history.newest + 1))
        assert reader.got == sorted(reader.got)


@given(st.lists(EVENTS, max_size=30), st.integers(1, 400), st.sampled_from(["T1", "T1*", "T2[0-9]", "*"]))
def test_what_is_chosen_is_about_a_wanted_topic_or_may_be(events: list[Event], most_kb: int, pattern: str) -> None:
    history = EventHistory(FIRST, most_bytes=most_kb * 1000)
    for event in events:
        history.add(event, 0.0)
    wanted = EventFilter(topics=[pattern])
    for record in history:
        right = {topic for topic in topics_of(events[record.number - FIRST]) if fnmatchcase(topic, pattern)}
        shown = wanted.topics_of(record)
        if record.names_left_out:
            assert shown is not None
            assert right.issuperset(shown)
        else:
            assert set(shown or ()) == right
            assert (shown is None) == (not right)
