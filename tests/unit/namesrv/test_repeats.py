"""The first of a kind at once, the others once a minute, and nothing that grows."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.namesrv import events
from cosmodrome.namesrv.events import (
    LONGEST_TEXT,
    ConnectionRefused,
    Event,
    KVPut,
    MasterChanged,
    RequestDenied,
    RequestFailed,
    RouteMissed,
    ServerStopped,
    TopicsRemoved,
    UnknownHeartbeat,
)
from cosmodrome.namesrv.repeats import (
    CAUSES_PER_KIND,
    LINES_PER_KIND,
    REPEAT_WINDOW_S,
    SUBJECTS_PER_KIND,
    EventStream,
    Repeats,
)


@dataclass
class Scene:
    """A stream, its clock, and what came out of it."""

    now_s: float = 1000.0
    told: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stream = EventStream(self.told.append, lambda: self.now_s)

    def miss(self, topic: str = "T", times: int = 1) -> None:
        for _ in range(times):
            self.stream.publish(RouteMissed(topic=topic, peer="10.0.0.7:1"))

    def counts(self) -> list[tuple[int | None, int | None]]:
        return [(event.repeated, event.others) for event in self.told]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def refused(peer: str, cause: str = "malformed_header", reason: str = "bad") -> ConnectionRefused:
    return ConnectionRefused(peer=peer, cause=cause, reason=reason)


def failed(peer: str, opaque: int = 1, cause: str = "malformed_body", reason: str = "bad") -> RequestFailed:
    return RequestFailed(code=103, peer=peer, opaque=opaque, cause=cause, reason=reason)


class TestTheStream:
    def test_ordinary_events_pass(self, scene: Scene) -> None:
        for _ in range(3):
            scene.stream.publish(ServerStopped(reason="again"))

        assert len(scene.told) == 3
        assert scene.stream.counters.snapshot() == {}

    def test_the_first_is_told_at_once_and_the_others_when_the_minute_is_over(self, scene: Scene) -> None:
        scene.miss(times=312)
        assert scene.counts() == [(None, None)]
        scene.now_s += REPEAT_WINDOW_S - 0.1
        scene.stream.sweep()
        assert len(scene.told) == 1
        scene.now_s += 0.1
        scene.stream.sweep()

        assert scene.counts() == [(None, None), (311, None)]
        assert scene.stream.counters.get("route.missed", "unknown_topic") == 312

    def test_a_flood_that_lasts_is_one_line_a_minute(self, scene: Scene) -> None:
        for _ in range(600):
            scene.miss(times=10)
            scene.now_s += 1
            scene.stream.sweep()

        assert len(scene.told) == 11
        assert sum(1 + (event.repeated or 0) - (event.repeated is not None) for event in scene.told) == 6000

    def test_what_is_held_is_told_at_the_end(self, scene: Scene) -> None:
        scene.miss("A", 3)
        scene.miss("B")
        scene.stream.flush()
        scene.stream.flush()

        assert scene.counts() == [(None, None), (None, None), (2, None)]

    def test_a_silence_makes_the_next_one_the_first_again(self, scene: Scene) -> None:
        scene.miss()
        scene.now_s += REPEAT_WINDOW_S
        scene.stream.sweep()
        scene.miss()

        assert scene.counts() == [(None, None)] * 2

    def test_one_that_comes_before_the_sweep_brings_the_count(self, scene: Scene) -> None:
        scene.miss(times=3)
        scene.now_s += REPEAT_WINDOW_S
        scene.miss()
        scene.stream.sweep()

        assert scene.counts() == [(None, None), (2, None)]

    def test_the_last_one_stands_for_those_that_were_held(self, scene: Scene) -> None:
        for opaque in (1, 2, 3):
            scene.stream.publish(failed("10.0.0.7:1", opaque))
        scene.stream.flush()

        assert [(event.opaque, event.repeated) for event in scene.told if isinstance(event, RequestFailed)] == [
            (1, None),
            (3, 2),
        ]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (RouteMissed(topic="T", peer="10.0.0.7:1"), RouteMissed(topic="T", peer="10.0.0.8:2")),
            (
                RequestDenied(code=318, peer="10.0.0.7:1", reason="a"),
                RequestDenied(code=318, peer="10.0.0.7:2", reason="b"),
            ),
            (
                UnknownHeartbeat(cluster="C", addr="a:1", peer="10.0.0.7:1"),
                UnknownHeartbeat(cluster="C", addr="a:1", peer="10.0.0.7:2"),
            ),
            (refused("10.0.0.7:1", reason="length 1"), refused("10.0.0.7:2", reason="length 2")),
            (refused("[fe80::1]:1"), refused("[fe80::1]:2")),
            (failed("10.0.0.7:1", 1, reason="at 1"), failed("10.0.0.7:1", 2, reason="at 2")),
        ],
    )
    def test_what_is_the_same_again(self, scene: Scene, first: Event, second: Event) -> None:
        """Another connection, another number in the reason."""
        scene.stream.publish(first)
        scene.stream.publish(second)

        assert scene.told == [first]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (RequestDenied(code=318, peer="10.0.0.7:1", reason="a"), RequestDenied(code=100, peer=None, reason="a")),
            (refused("10.0.0.7:1"), refused("10.0.0.8:1")),
            (refused("10.0.0.7:1"), refused("10.0.0.7:1", cause="frame_too_large")),
            (refused("h:1", "greeting_refused", "HTTP"), refused("h:1", "greeting_refused", "SSH")),
            (failed("10.0.0.7:1"), failed("10.0.0.7:1", cause="wrong_crc")),
        ],
    )
    def test_what_is_told_apart(self, scene: Scene, first: Event, second: Event) -> None:
        scene.stream.publish(first)
        scene.stream.publish(second)

        assert scene.told == [first, second]

    def test_a_flood_of_peers_is_bounded_and_counted_by_cause(self, scene: Scene) -> None:
        for number in range(SUBJECTS_PER_KIND * 3):
            scene.stream.publish(refused(f"10.0.{number % 256}.{number // 256}:1"))
        assert len(scene.told) == SUBJECTS_PER_KIND
        scene.now_s += REPEAT_WINDOW_S
        scene.stream.sweep()

        assert scene.counts()[SUBJECTS_PER_KIND:] == [(None, SUBJECTS_PER_KIND * 2 - 1)]
        assert scene.stream.counters.get("connection.refused", "malformed_header") == SUBJECTS_PER_KIND * 3

    def test_a_flood_of_one_kind_does_not_hide_another(self, scene: Scene) -> None:
        for number in range(SUBJECTS_PER_KIND + 1):
            scene.miss(f"T{number}")
        scene.stream.publish(refused("10.0.0.7:1"))

        assert isinstance(scene.told[-1], ConnectionRefused)

    def test_texts_that_are_held_are_cut(self, scene: Scene) -> None:
        scene.miss("x" * 1_000_000, 2)
        scene.stream.flush()

        assert [len(event.topic) for event in scene.told if isinstance(event, RouteMissed)] == [LONGEST_TEXT] * 2

    def test_counts_come_last_in_a_line(self, scene: Scene) -> None:
        scene.miss(times=2)
        scene.stream.flush()

        assert list(scene.told[-1].fields()) == ["topic", "peer", "repeated"]


class TestRation:
    def test_ordinary_events_beyond_a_thousand_a_minute_are_counted(self, scene: Scene) -> None:
        """Of each kind, and then told once; with the next minute each is told again."""
        for number in range(LINES_PER_KIND + 500):
            scene.stream.publish(TopicsRemoved(count=number, topics=("T",), reason="b left"))
        scene.stream.publish(MasterChanged(cluster="C", broker="b", old_addr=None, new_addr="a:1"))
        assert [event.others for event in scene.told] == [None] * (LINES_PER_KIND + 1)
        assert isinstance(scene.told[-1], MasterChanged), "another kind is not held back"
        scene.now_s += REPEAT_WINDOW_S
        scene.stream.sweep()
        scene.stream.publish(TopicsRemoved(count=1, topics=("T",), reason="b left"))
        scene.stream.flush()

        last = TopicsRemoved(count=LINES_PER_KIND + 499, topics=("T",), reason="b left", others=499)
        assert scene.told[LINES_PER_KIND + 1 :] == [last, TopicsRemoved(count=1, topics=("T",), reason="b left")]

    def test_at_the_end_nothing_is_lost(self, scene: Scene) -> None:
        for _ in range(LINES_PER_KIND + 2):
            scene.stream.publish(TopicsRemoved(count=1, topics=("T",), reason="b left"))
        scene.stream.flush()

        assert [event.others for event in scene.told[LINES_PER_KIND:]] == [1]


def event_classes(of: type[Event] = Event) -> list[type[Event]]:
    return [each for kind in of.__subclasses__() for each in (kind, *event_classes(kind))]


@pytest.mark.parametrize("kind", [kind for kind in event_classes() if kind.SUBJECT], ids=lambda kind: kind.NAME)
def test_every_kind_that_may_repeat_has_its_fields_and_a_cause(kind: type[Event]) -> None:
    assert kind.__module__ == events.__name__
    assert set(kind.SUBJECT) <= set(kind.__struct_fields__)
    assert kind.CAUSE or "cause" in kind.__struct_fields__


subjects = st.tuples(st.sampled_from("abcdefgh") | st.text(max_size=3))
steps = st.lists(st.tuples(st.sampled_from(["k", "l"]), subjects, st.text(max_size=2), st.floats(0, 30)), max_size=400)


@given(steps)
def test_nothing_is_lost_and_nothing_grows(history: list[tuple[str, tuple[str], str, float]]) -> None:
    """Every item is told or counted exactly once, whatever came when."""
    repeats: Repeats[int] = Repeats()
    now_s = 0.0
    told = 0
    for kind, subject, cause, pause_s in history:
        now_s += pause_s
        for item in repeats.due(now_s):
            told += item.repeated + (item.others + 1 if not item.repeated else 0)
        admitted = repeats.admit(kind, subject, cause, 0, now_s)
        told += 0 if admitted is None else 1 + admitted.repeated
        assert len(repeats) <= 2 * (SUBJECTS_PER_KIND + CAUSES_PER_KIND)
    for item in repeats.due(now_s, 0):
        told += item.repeated + (item.others + 1 if not item.repeated else 0)

    assert told == len(history)


def test_a_flood_of_subjects_and_causes_takes_no_more_memory() -> None:
    repeats: Repeats[int] = Repeats()
    told = Counter[bool]()
    for number in range(100_000):
        told[repeats.admit("k", (str(number),), str(number), number, number / 1000) is None] += 1
        if number % 1000 == 0:
            repeats.due(number / 1000)

    assert len(repeats) <= SUBJECTS_PER_KIND + CAUSES_PER_KIND
    assert told[False] <= SUBJECTS_PER_KIND * 2, "100 s, so in two minutes"


def test_what_is_kept_is_what_is_told_and_each_of_a_crowd() -> None:
    """The log tells a crowd's first thousand and how many more there were; a history has them all."""
    told: list[Event] = []
    kept: list[Event] = []
    now_s = 0.0
    stream = EventStream(told.append, lambda: now_s, keep=kept.append)
    crowd = [KVPut(namespace="N", key=str(number)) for number in range(LINES_PER_KIND + 50)]
    for event in crowd:
        stream.publish(event)
    for _ in range(3):
        stream.publish(refused("10.0.0.1:5"))
    assert kept == [*crowd, refused("10.0.0.1:5")]
    assert told == [*crowd[:LINES_PER_KIND], refused("10.0.0.1:5")]

    now_s = REPEAT_WINDOW_S
    stream.sweep()

    assert len(kept) == len(crowd) + 2
    assert (kept[-1].repeated, kept[-1].others) == (2, None)
    counted = sorted((event.NAME, event.repeated, event.others) for event in told[-2:])
    assert counted == [("connection.refused", 2, None), ("kv.put", None, 49)]
