"""A broker of ours with SYNC_FLUSH that is killed again and again: at full size, and what Apache's broker finds then."""

from pathlib import Path

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.support.broker_killing import QUEUES, TOPIC, BrokerKillCampaign
from tests.support.broker_process import SMALL
from tests.support.wire import Wire

KILLS = 20
MESSAGES = 100_000
SIZES = ("mappedFileSizeCommitLog", "mappedFileSizeConsumeQueue", "maxHashSlotNum", "maxIndexNum", "maxMessageSize")


STOPS = 20


@pytest.mark.full
@pytest.mark.parametrize("release", [V5_5, V4_9])
def test_b008_nothing_is_missing_after_clean_stops_under_load(
    tmp_path: Path, new_stage: StageMaker, release: str
) -> None:
    """Twenty of them; neither ours nor Apache's broker skips anything of what queues were still to get."""
    figures = BrokerKillCampaign(tmp_path, is_stopped=True).run(STOPS, MESSAGES // 5)
    assert counted_by_apache(new_stage, release, tmp_path / "store") == figures.stored >= figures.acknowledged


@pytest.mark.full
@pytest.mark.parametrize("release", [V5_5, V4_9])
def test_a_hundred_thousand_messages_survive_twenty_kills_and_apache_counts_them(
    tmp_path: Path, new_stage: StageMaker, release: str
) -> None:
    """And once more with a broker of Apache's on the same store."""
    figures = BrokerKillCampaign(tmp_path, seed=len(release)).run(KILLS, MESSAGES)
    print(figures)  # noqa: T201  # for -rP
    assert figures.acknowledged >= MESSAGES
    assert counted_by_apache(new_stage, release, tmp_path / "store") == figures.stored


def counted_by_apache(new_stage: StageMaker, release: str, store: Path) -> int:
    """Have a broker of a release open a store, and say how many messages its queues have."""
    config = {key: SMALL[key] for key in SIZES}
    config |= {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    with new_stage("killed") as stage:
        name_server = stage.name_server()
        broker = stage.broker(
            BrokerSettings(release=release, name="broker-p", name_servers=[name_server.address], config=config)
        )
        broker.start()
        with Wire(broker.address, timeout=30) as connection:
            ends = [connection.request(30, {"topic": TOPIC, "queueId": str(each)}).ext for each in range(QUEUES)]
    return sum(int((each or {})["offset"]) for each in ends)
