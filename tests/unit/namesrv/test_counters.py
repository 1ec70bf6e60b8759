"""Plain counts of what went wrong."""

import pytest

from cosmodrome.namesrv.counters import MAX_CAUSES, OTHER, Counters


def test_counts_by_name_and_cause() -> None:
    counters = Counters()
    for name, cause in (("a", "x"), ("a", "x"), ("a", "y"), ("b", "x")):
        counters.count(name, cause)

    assert counters.snapshot() == {"a": {"x": 2, "y": 1}, "b": {"x": 1}}
    assert (counters.get("a", "x"), counters.get("a", "z"), counters.get("c", "x")) == (2, 0, 0)


def test_a_snapshot_does_not_move() -> None:
    counters = Counters()
    counters.count("a", "x")
    before = counters.snapshot()
    counters.count("a", "x")

    assert before == {"a": {"x": 1}}
    with pytest.raises(TypeError):
        before["b"] = {}  # type: ignore[index]  # that is what is tested


def test_causes_without_end_are_counted_together() -> None:
    counters = Counters()
    for number in range(10_000):
        counters.count("a", f"cause {number}")

    causes = counters.snapshot()["a"]
    assert len(causes) == MAX_CAUSES + 1
    assert causes[OTHER] == 10_000 - MAX_CAUSES
