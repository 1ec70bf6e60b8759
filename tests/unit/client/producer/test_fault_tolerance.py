"""Brokers that were slow are left alone."""

import pytest

from cosmodrome.client.producer.fault_tolerance import LatencyTable


@pytest.mark.parametrize(
    ("latency_ms", "rest_ms"),
    [
        (0, 0),
        (99, 0),
        (549, 0),
        (550, 2000),
        (1800, 5000),
        (3000, 6000),
        (5000, 10_000),
        (15_000, 30_000),
        (99_999, 30_000),
    ],
)
def test_the_table_of_5x(latency_ms: float, rest_ms: float) -> None:
    table = LatencyTable()
    table.record("a", latency_ms, 1000)
    assert table.is_available("a", 1000 + rest_ms)
    assert not table.is_available("a", 999 + rest_ms)


def test_one_that_was_never_asked_is_available() -> None:
    assert LatencyTable().is_available("a", 0)


def test_a_failure_counts_as_ten_seconds() -> None:
    table = LatencyTable()
    table.record("a", 3, 0, is_failure=True)
    assert not table.is_available("a", 9_999)
    assert table.is_available("a", 10_000)


def test_the_newest_word_counts() -> None:
    table = LatencyTable()
    table.record("a", 20_000, 0)
    table.record("a", 10, 1)
    assert table.is_available("a", 1)


def test_the_least_bad_one_is_soonest_again_then_fastest() -> None:
    table = LatencyTable()
    table.record("slow", 20_000, 0)
    table.record("less", 600, 0)
    table.record("fast", 560, 0)
    assert table.least_bad(["slow", "less", "fast"]) == "fast"
    assert table.least_bad(["slow", "less"]) == "less"
    assert table.least_bad([]) is None
