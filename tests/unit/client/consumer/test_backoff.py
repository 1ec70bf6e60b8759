"""Pauses and delay levels."""

import pytest

from cosmodrome.client.consumer.backoff import (
    UNLIMITED,
    asks_for_heartbeat,
    checked_delay_level,
    max_reconsume_times,
    pause_after_refusal_s,
    retry_level,
)


@pytest.mark.parametrize(("code", "pause_s"), [(215, 0.02), (1, 1.0), (16, 1.0), (24, 1.0), (999, 1.0)])
def test_a_refused_pull_waits(code: int, pause_s: float) -> None:
    assert pause_after_refusal_s(code) == pause_s


def test_c041_a_broker_that_forgot_the_group_asks_for_a_heartbeat() -> None:
    assert [code for code in range(300) if asks_for_heartbeat(code)] == [24, 25]


@pytest.mark.parametrize(
    ("setting", "is_orderly", "expected"),
    [(-1, False, 16), (-1, True, UNLIMITED), (0, False, 0), (0, True, 0), (3, False, 3), (3, True, 3)],
)
def test_the_limit_of_retries(setting: int, is_orderly: bool, expected: int) -> None:  # noqa: FBT001
    assert max_reconsume_times(setting, is_orderly=is_orderly) == expected


def test_the_level_grows_with_each_failure_to_the_last() -> None:
    assert [retry_level(times, None) for times in (0, 1, 15, 16, 99)] == [3, 4, 18, 18, 18]
    assert retry_level(5, 2) == 2
    assert retry_level(5, 99) == 18


@pytest.mark.parametrize(("level", "expected"), [(None, 0), (0, 0), (-1, -1), (1, 1), (18, 18)])
def test_legal_levels_pass(level: int | None, expected: int) -> None:
    assert checked_delay_level(level) == expected


@pytest.mark.parametrize("level", [-2, 19, 1.5, "3", True])
def test_other_levels_are_refused(level: object) -> None:
    with pytest.raises(ValueError, match="delay_level"):
        checked_delay_level(level)  # type: ignore[arg-type]
