"""A server under write load is killed at random instants and started again: what it acknowledged is there.

Ten kills in `./test`. The full scale: `./test tests/durability/test_kills.py --kills 200 -rP`, which prints the figures.
A kill leaves what the kernel holds: what a power cut leaves is in test_disk_faults.py.
"""

from pathlib import Path

from tests.support.killing import KillCampaign


def test_no_acknowledged_change_is_lost_by_kills(tmp_path: Path, kills: int) -> None:
    figures = KillCampaign(tmp_path).run(kills)

    print(figures)  # noqa: T201  # for -rP
    assert figures.kills == kills
    assert figures.acknowledged > kills
    assert figures.unanswered > 0
