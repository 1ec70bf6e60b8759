"""A bounded account of what was asked for in vain."""

import random
from collections import Counter

from cosmodrome.namesrv.misses import LONGEST_NAME, MOST_ASKERS, Misses


def test_a_miss_is_counted_with_its_times_and_hosts() -> None:
    misses = Misses()
    for now_s, host in ((10.0, "a"), (11.0, "b"), (12.0, "a")):
        misses.add("T", host, now_s)

    miss = misses.get("T")
    assert miss is not None
    assert (miss.count, miss.at_most_over, miss.first_s, miss.last_s) == (3, 0, 10.0, 12.0)
    assert list(miss.askers.items()) == [("b", 1), ("a", 2)]
    assert (misses.total, len(misses)) == (3, 1)


def test_the_latest_hosts_are_kept() -> None:
    misses = Misses()
    for number in range(100):
        misses.add("T", f"h{number}", float(number))

    miss = misses.get("T")
    assert miss is not None
    assert list(miss.askers) == [f"h{number}" for number in range(100 - MOST_ASKERS, 100)]


def test_what_is_asked_for_often_survives_a_flood_of_other_names() -> None:
    chance = random.Random(1)
    misses = Misses(most=50)
    real: Counter[str] = Counter()
    for number in range(20_000):
        name = f"often-{number % 5}" if number % 4 == 0 else f"noise-{chance.random()}"
        real[name] += 1
        misses.add(name, "h", float(number))

    assert len(misses) == 50
    assert misses.total == 20_000
    assert {miss.topic for miss in misses.most_asked()[:5]} == {f"often-{number}" for number in range(5)}
    for miss in misses:
        assert real[miss.topic] <= miss.count <= real[miss.topic] + miss.at_most_over


def test_those_asked_for_least_and_longest_ago_give_way_first() -> None:
    misses = Misses(most=2)
    for name in ("A", "B", "B", "C"):
        misses.add(name, "h", 0.0)

    assert [(miss.topic, miss.count, miss.at_most_over) for miss in misses.most_asked()] == [("B", 2, 0), ("C", 2, 1)]
    misses.add("D", "h", 0.0)
    assert misses.get("B") is None


def test_topics_that_have_a_route_now_are_forgotten() -> None:
    misses = Misses(most=2)
    for name in ("A", "B", "B"):
        misses.add(name, "h", 0.0)
    misses.forget(["B", "never asked for"])

    assert [miss.topic for miss in misses] == ["A"]
    for name in ("C", "D", "D"):
        misses.add(name, "h", 0.0)
    assert {miss.topic for miss in misses} == {"C", "D"}


def test_long_names_are_cut() -> None:
    misses = Misses()
    misses.add("x" * 100_000, "h", 0.0)

    assert [len(miss.topic) for miss in misses] == [LONGEST_NAME]
    assert misses.get("x" * 70_000) is not None
