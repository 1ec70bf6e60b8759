"""Moments as operators write and read them."""

import os
import time
from collections.abc import Iterator

import pytest

from cosmodrome.admin.moments import local_ms, local_second, moment_ms, rfc3339


@pytest.fixture
def in_shanghai() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Shanghai"
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


@pytest.mark.usefixtures("in_shanghai")
@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1700000000123", 1700000000123),
        ("-1", -1),
        ("2023-11-15#06:13:20:123", 1700000000123),
        ("2023-11-14T22:13:20.123Z", 1700000000123),
        ("2023-11-14t22:13:20.123z", 1700000000123),
        ("2023-11-15T06:13:20", 1700000000000),
        ("2023-11-15 06:13:20+08:00", 1700000000000),
    ],
)
def test_each_form_is_read(text: str, time_ms: int) -> None:
    assert moment_ms(text) == time_ms


@pytest.mark.parametrize(
    "text",
    ["", "now", "2023-13-01#00:00:00:000", "2023-02-30T00:00:00", "99999999999999999999", "9" * 19 + "9", "1.5",
     "9999999999999999999", "2023-11-15", "٣"],
)  # fmt: skip
def test_what_is_no_moment_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"moment|64 bits") as refused:
        moment_ms(text)
    assert text in str(refused.value)


@pytest.mark.usefixtures("in_shanghai")
def test_moments_are_written_in_local_time_for_people_and_in_utc_for_programs() -> None:
    assert local_second(1700000000123) == "2023-11-15 06:13:20"
    assert local_ms(1700000000123) == "2023-11-15 06:13:20,123"
    assert rfc3339(1700000000123) == "2023-11-14T22:13:20.123Z"
    assert rfc3339(-1) == "1969-12-31T23:59:59.999Z"


def test_what_no_calendar_has_is_written_as_its_number() -> None:
    assert (local_second(10**18), local_ms(10**18), rfc3339(10**18)) == (str(10**18), str(10**18), None)
