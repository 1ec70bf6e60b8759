"""Cases of brokers whose rows ask for many or long: scaled down here, in full with `--full-scale`.

    ./test tests/soak/test_broker_cases.py --full-scale

Beside each figure of the short form stands that of the row.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.field.test_broker_cases import asked_for, made_and_deleted
from tests.field.test_broker_delivery_cases import stopped_among_delayed
from tests.field.test_broker_disk_cases import come_and_gone
from tests.field.test_broker_filter_and_timer_cases import gone_through, sql, stopped_among_timers

pytestmark = pytest.mark.timeout(1500)


async def test_b016_asking_for_ten_thousand_topics_creates_nothing(tmp_path: Path, *, is_full: bool) -> None:
    await asked_for(tmp_path, 10_000 if is_full else 20)


async def test_b018_topics_come_and_go_for_ten_minutes(tmp_path: Path, *, is_full: bool) -> None:
    """As many rounds as ten minutes hold on a quick machine."""
    await come_and_gone(tmp_path, 10_000 if is_full else 2)


async def test_b021_fifty_thousand_rounds_leave_no_counters(*, is_full: bool) -> None:
    await made_and_deleted(50_000 if is_full else 10)


async def test_b023_a_stop_among_a_hundred_thousand_delayed_messages(tmp_path: Path, *, is_full: bool) -> None:
    await stopped_among_delayed(tmp_path, 100_000 if is_full else 100)


async def test_b023_a_stop_among_a_hundred_thousand_timers(tmp_path: Path, *, is_full: bool) -> None:
    """They are sent before they are due."""
    await stopped_among_timers(tmp_path, *((100_000, 120) if is_full else (100, 1)))


@pytest.mark.parametrize("how", [sql("N = 1"), {"subscription": "wanted", "expressionType": "TAG"}], ids=["sql", "tag"])
async def test_b037_a_backlog_of_a_hundred_thousand_of_which_few_match(how: dict[str, Any], *, is_full: bool) -> None:
    await gone_through(how, 100_000 if is_full else 1000)
