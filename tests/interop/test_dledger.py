"""A DLedger group elects its master; the NameServer follows, told by oneway registrations."""

from collections.abc import Iterator

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.dledger import NAME, DLedgerGroup, start_dledger_group
from tests.interop.rig.jars import V4_9, V5_5
from tests.support.waiting import wait_until

TOPIC = "DLedger"


@pytest.fixture(scope="module", params=[V4_9, pytest.param(V5_5, marks=pytest.mark.full)])
def group(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[DLedgerGroup]:
    with new_stage(f"dledger-{request.param}") as stage:
        yield start_dledger_group(stage, request.param, [stage.name_server()])


def test_all_members_are_listed_with_one_master(group: DLedgerGroup) -> None:
    group.wait_complete()


def test_a_new_leader_takes_id_0_when_the_leader_is_killed(group: DLedgerGroup) -> None:
    view = group.name_servers[0].view
    former = group.leader()
    former.create_topic(TOPIC)
    wait_until(lambda: view.permission(TOPIC, NAME) == 6, "the topic")
    former.kill()
    former.wait_gone()
    assert group.leader() is not former
    assert view.permission(TOPIC, NAME) == 6
