"""The last events, with increasing numbers."""

import tracemalloc

import pytest

from cosmodrome.namesrv.event_history import MOST_BYTES, MOST_EVENTS, NAMES_LEFT, EventHistory, Lost, cost_of
from cosmodrome.namesrv.events import BrokerUnregistered, Event, RouteMissed, TopicsAdded, TopicsRemoved


def missed(number: int) -> Event:
    return RouteMissed(topic=f"T{number}", peer=None)


def names(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}-{number:05d}" for number in range(count))


def test_numbers_increase_from_the_first() -> None:
    history = EventHistory(1000)
    assert (history.newest, history.oldest, len(history), history.is_whole) == (999, 1000, 0, True)

    for number in range(3):
        history.add(missed(number), 5.0 + number)

    assert [(each.number, each.time_s, each.event) for each in history] == [
        (1000, 5.0, missed(0)), (1001, 6.0, missed(1)), (1002, 7.0, missed(2)),
    ]  # fmt: skip


def test_ten_thousand_events_can_be_read_again() -> None:
    """Those that are seen in a large estate, broker losses with all their fields among them."""
    history = EventHistory(1)
    lost = BrokerUnregistered(
        cluster="DefaultCluster", broker="broker-a", id=0, addr="10.0.0.6:10911", reason="heartbeat_expired",
        last_heartbeat_s=120.0, topics_lost=42,
    )  # fmt: skip
    for number in range(12_000):
        history.add(lost if number % 2 else missed(number), 0.0)

    part = history.after(2000, 20_000)
    assert part.lost is None
    assert len(part.records) == MOST_EVENTS == 10_000
    assert not history.is_whole
    assert history.held_bytes < MOST_BYTES


def test_the_memory_that_is_stated_is_not_exceeded() -> None:
    """Texts that nobody else has, of the widest characters, and large changes of topics."""
    tracemalloc.start()
    try:
        history = EventHistory(1)
        before = tracemalloc.get_traced_memory()[0]
        for number in range(3000):
            history.add(RouteMissed(topic=f"{number}" + "\U0001f600" * 1000, peer=None), 0.0)
            if number % 100 == 0:
                history.add(TopicsAdded(broker="b", count=2000, topics=names(f"b{number}", 2000)), 0.0)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert MOST_BYTES / 2 < history.held_bytes <= MOST_BYTES
    assert used <= MOST_BYTES


def test_the_estimate_follows_what_is_kept() -> None:
    history = EventHistory(1, most_events=5, most_bytes=200_000)
    for number in range(50):
        history.add(missed(number), 0.0)
        history.add(TopicsRemoved(count=900, topics=names("T", 900), reason="r"), 0.0)

    assert history.held_bytes == sum(cost_of(each.event) for each in history)


def test_large_changes_lose_names_before_any_event_is_lost() -> None:
    history = EventHistory(1, most_bytes=200_000)
    for each in ("a", "b", "c"):
        history.add(TopicsAdded(broker=each, count=1000, topics=names(each, 1000)), 0.0)
        history.add(missed(0), 0.0)

    first, _, second, _, third, _ = history
    assert isinstance(first.event, TopicsAdded)
    assert isinstance(third.event, TopicsAdded)
    assert (first.event.count, first.event.topics, first.names_left_out) == (1000, names("a", NAMES_LEFT), 900)
    assert (second.names_left_out, third.names_left_out) == (900, 0)
    assert third.event.topics == names("c", 1000)
    assert history.is_whole


def test_a_reader_that_was_away_too_long_is_told_what_it_lost() -> None:
    history = EventHistory(10, most_events=4)
    for number in range(10):
        history.add(missed(number), 0.0)

    part = history.after(11, 2)
    assert part.lost == Lost(12, 15, 4)
    assert [each.number for each in part.records] == [16, 17]
    assert part.last == 17
    assert history.after(17, 9).lost is None
    assert history.lost_count == 4
    assert history.after(19, 9) == (None, [], 19)


@pytest.mark.parametrize("number", [0, 5, 8, 13, 10**15])
def test_a_reader_of_another_run_is_told_that_nobody_knows(number: int) -> None:
    history = EventHistory(10)
    for each in range(3):
        history.add(missed(each), 0.0)

    part = history.after(number, 9)

    assert part.lost is not None
    assert part.lost.events is None
    assert [each.number for each in part.records] == [10, 11, 12]
    assert history.lost_count == 0


def test_listeners_are_called_until_they_end() -> None:
    history = EventHistory(1)
    told: list[int] = []
    end = history.listen(lambda: told.append(history.newest))
    assert history.reader_count == 1

    history.add(missed(1), 0.0)
    history.end()
    end()
    end()
    history.add(missed(2), 0.0)

    assert told == [1, 1]
    assert (history.reader_count, history.is_ended) == (0, True)
