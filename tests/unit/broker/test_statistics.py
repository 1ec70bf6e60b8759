"""Counters over spans of time."""

import pytest

from cosmodrome.broker.statistics import (
    GROUP_GET_NUMS,
    RATE_SPANS_MS,
    SAMPLE_MS,
    TOPIC_PUT_NUMS,
    TOPIC_PUT_SIZE,
    Statistics,
)


def counted(samples: int, each: int = 100) -> tuple[Statistics, int]:
    """Count so much in every ten seconds; give the time of the last sample too."""
    statistics = Statistics()
    for number in range(samples):
        statistics.count(TOPIC_PUT_NUMS, "T", each, 10)
        statistics.sample((number + 1) * SAMPLE_MS)
    return statistics, samples * SAMPLE_MS


@pytest.mark.parametrize("samples", [1, 2, 7, 60, 200])
def test_a_steady_rate_is_that_rate_over_every_span(samples: int) -> None:
    statistics, now_ms = counted(samples)
    for span_ms in RATE_SPANS_MS:
        assert statistics.rate(TOPIC_PUT_NUMS, "T", now_ms, span_ms) == pytest.approx(10.0)


def test_a_minute_an_hour_and_a_day() -> None:
    statistics, now_ms = counted(1000)
    found = statistics.data(TOPIC_PUT_NUMS, "T", now_ms)
    assert found is not None
    minute, hour, day = found.stats_minute, found.stats_hour, found.stats_day
    assert minute is not None
    assert hour is not None
    assert day is not None
    assert (minute.sum, minute.avgpt) == (600, 10.0)
    assert hour.sum == pytest.approx(36_000, rel=0.1)
    assert day.sum == pytest.approx(100_000, rel=0.1)
    assert hour.tps == pytest.approx(10.0)
    assert day.tps == pytest.approx(10.0)


def test_what_was_counted_before_the_first_sample_counts() -> None:
    statistics = Statistics()
    statistics.count(TOPIC_PUT_SIZE, "T", 50, 5)
    found = statistics.data(TOPIC_PUT_SIZE, "T", 123)
    assert found is not None
    assert found.stats_minute is not None
    assert (found.stats_minute.sum, found.stats_minute.avgpt) == (50, 10.0)
    assert statistics.total(TOPIC_PUT_SIZE, "T") == 50


def test_silence_ends_a_rate() -> None:
    statistics, now_ms = counted(3)
    for number in range(1, 8):
        statistics.sample(now_ms + number * SAMPLE_MS)
    assert statistics.rate(TOPIC_PUT_NUMS, "T", now_ms + 7 * SAMPLE_MS) == 0.0
    assert statistics.total(TOPIC_PUT_NUMS, "T") == 300


def test_what_nobody_counted() -> None:
    statistics = Statistics()
    assert statistics.data(TOPIC_PUT_NUMS, "T", 0) is None
    assert (statistics.rate(TOPIC_PUT_NUMS, "T", 0), statistics.total(TOPIC_PUT_NUMS, "T")) == (0.0, 0)


def test_b021_counters_of_what_is_deleted_go() -> None:
    statistics = Statistics()
    for topic, group in (("T", "G"), ("T", "H"), ("U", "G"), ("TT", "GG")):
        statistics.count(TOPIC_PUT_NUMS, topic)
        statistics.count(GROUP_GET_NUMS, f"{topic}@{group}")
    statistics.forget_topic("T")
    statistics.forget_group("G")
    assert len(statistics) == 3
    assert statistics.total(GROUP_GET_NUMS, "TT@GG") == statistics.total(TOPIC_PUT_NUMS, "TT") == 1
