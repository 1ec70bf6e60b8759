"""Where a group without a stored offset begins."""

import datetime as dt

import pytest

from cosmodrome.client.consumer.start_offset import (
    Question,
    StartPoint,
    StartRule,
    start_rule,
    start_without_stored,
)

RETRY = "%RETRY%group"
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("rule", "topic", "expected"),
    [
        (StartRule(StartPoint.FIRST), "T", 0),
        (StartRule(StartPoint.FIRST), RETRY, 0),
        (StartRule(StartPoint.LAST), "T", Question.MAX_OFFSET),
        (StartRule(StartPoint.LAST), RETRY, 0),
        (StartRule(StartPoint.BY_TIME, 1), "T", Question.OFFSET_BY_TIME),
        (StartRule(StartPoint.BY_TIME, 1), RETRY, Question.MAX_OFFSET),
    ],
)
def test_begins_as_java_does(rule: StartRule, topic: str, expected: int | Question) -> None:
    assert start_without_stored(rule, topic) == expected


def test_reads_the_settings_texts() -> None:
    assert start_rule("first") == StartRule(StartPoint.FIRST)
    assert start_rule("last") == StartRule(StartPoint.LAST)


def test_c051_an_aware_time_is_that_moment_in_any_zone() -> None:
    elsewhere = NOON.astimezone(dt.timezone(dt.timedelta(hours=8)))

    assert start_rule(NOON) == start_rule(elsewhere) == StartRule(StartPoint.BY_TIME, 1767355200000)


def test_c051_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        start_rule(NOON.replace(tzinfo=None))


@pytest.mark.parametrize("setting", ["", "earliest", "20260102120000"])
def test_c051_another_text_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match="aware datetime"):
        start_rule(setting)


@pytest.mark.parametrize("setting", [None, 0, 1767355200000])
def test_c051_numbers_are_refused(setting: object) -> None:
    with pytest.raises(TypeError, match="aware datetime"):
        start_rule(setting)
