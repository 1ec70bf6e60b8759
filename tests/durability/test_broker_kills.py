"""A broker with SYNC_FLUSH is killed at random instants while producers send: no acknowledged message is lost.

Five kills and 10,000 messages in `./test`; twenty and 100,000 in `./interop --full` (tests/interop/test_broker_durability.py).
A kill leaves what the kernel holds: what a power cut leaves is in tests/property/test_store_crashes.py.
"""

from pathlib import Path

from tests.support.broker_killing import BrokerKillCampaign

KILLS = 5
STOPS = 3
MESSAGES = 10_000


def test_no_acknowledged_message_is_lost_by_kills(tmp_path: Path) -> None:
    figures = BrokerKillCampaign(tmp_path).run(KILLS, MESSAGES)

    print(figures)  # noqa: T201  # for -rP
    assert figures.kills == KILLS
    assert figures.acknowledged >= MESSAGES
    assert figures.unanswered > 0
    assert figures.stored >= figures.acknowledged


def test_b008_no_message_is_missing_after_clean_stops_under_load(tmp_path: Path) -> None:
    """All of the queues are on disk before the mark of an unclean end goes."""
    figures = BrokerKillCampaign(tmp_path, is_stopped=True).run(STOPS, 1000 * STOPS)

    assert figures.kills == STOPS
    assert figures.stored >= figures.acknowledged >= 1000 * STOPS
