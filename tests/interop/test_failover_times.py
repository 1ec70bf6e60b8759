"""A DLedger group fails over, and our NameServer tells of the new master as early as Apache's.

The group registers with both at the same time, so that both hear of the same election. Its leader is killed, twice.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.dledger import ELECTION_S, NAME, DLedgerGroup, start_dledger_group
from tests.interop.rig.jars import V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.route_watch import POLL_S, Route, times_until
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

TOPIC = "Failover"
WRITABLE = 6
SENDERS_APART_S = 0.25
"""The new leader tells every NameServer from a thread of its own, in no order: on a busy machine they run so far apart."""


@dataclass(frozen=True, slots=True)
class Estate:
    ours: NameServer
    apache: NameServer
    group: DLedgerGroup


@pytest.fixture(scope="module")
def estate(new_stage: StageMaker) -> Iterator[Estate]:
    with new_stage("failover") as stage:
        ours = stage.name_server()
        apache = stage.started_name_server(V5_5)
        yield Estate(ours, apache, start_dledger_group(stage, V5_5, [ours, apache]))


def has_other_master(route: Route, former: str) -> bool:
    """Return whether a route has a master, not the former one, and queues that can be written."""
    masters: list[Any] = [each["brokerAddrs"].get("0") for each in route["brokerDatas"] if each["brokerName"] == NAME]
    permissions = [each["perm"] for each in route["queueDatas"] if each["brokerName"] == NAME]
    return masters not in ([], [None], [former]) and permissions == [WRITABLE]


@pytest.mark.parametrize("round_", [1, 2])
def test_our_route_follows_the_new_master_no_later(
    estate: Estate, round_: int, capsys: pytest.CaptureFixture[str]
) -> None:
    estate.group.wait_complete()
    topic = f"{TOPIC}{round_}"
    former = estate.group.leader()
    former.create_topic(topic)
    views = [server.view for server in (estate.ours, estate.apache)]
    wait_until(lambda: all(view.permission(topic, NAME) == WRITABLE for view in views), f"{topic} at both")
    killed_at = time.monotonic()
    former.kill()
    ours_s, apache_s = times_until(
        [estate.ours, estate.apache],
        topic,
        lambda route: has_other_master(route, former.address),
        since=killed_at,
        within_s=ELECTION_S,
    )
    with capsys.disabled():
        sys.stdout.write(f"\nnew master in the route after: ours {ours_s:.2f} s, Apache's {apache_s:.2f} s\n")
    assert ours_s <= apache_s + POLL_S + SENDERS_APART_S
    former.start()
