"""A DLedger group elects its master; the NameServer follows, told by oneway registrations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.stage import Stage
from tests.support.waiting import wait_until

NAME = "broker-dledger"
TOPIC = "DLedger"
MEMBERS = 3
ELECTION_S = 120.0
"""Three JVMs start one after the other; two of them elect."""


@dataclass(frozen=True, slots=True)
class Group:
    name_server: NameServer
    members: Sequence[ApacheBroker]

    def leader(self) -> ApacheBroker:
        """Return the member that is listed under id 0, waiting for an election if need be."""
        address = wait_until(self._leader_address, f"a leader of {NAME}", ELECTION_S)
        return next(member for member in self.members if member.address == address)

    def _leader_address(self) -> str | None:
        return self.name_server.view.broker_groups().get(NAME, {}).get("0")


def start_group(stage: Stage, release: str) -> Group:
    name_server = stage.name_server()
    peers = ";".join(f"n{number}-{HOST}:{free_port()}" for number in range(MEMBERS))
    common = {
        "enableDLegerCommitLog": "true",
        "dLegerGroup": "rig",
        "dLegerPeers": peers,
        "sendMessageThreadPoolNums": "4",
    }
    members = [
        stage.broker(
            BrokerSettings(
                release=release,
                name=NAME,
                name_servers=[name_server.address],
                config={**common, "dLegerSelfId": f"n{number}"},
            )
        )
        for number in range(MEMBERS)
    ]
    for member in members:
        member.start()
    return Group(name_server, members)


@pytest.fixture(scope="module", params=[V4_9, pytest.param(V5_5, marks=pytest.mark.full)])
def group(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Group]:
    with new_stage(f"dledger-{request.param}") as stage:
        yield start_group(stage, request.param)


def test_all_members_are_listed_with_one_master(group: Group) -> None:
    addresses = {member.address for member in group.members}
    wait_until(
        lambda: set(group.name_server.view.broker_groups().get(NAME, {}).values()) == addresses,
        "all members of the group",
        ELECTION_S,
    )
    assert "0" in group.name_server.view.broker_ids(NAME)


def test_a_new_leader_takes_id_0_when_the_leader_is_killed(group: Group) -> None:
    former = group.leader()
    former.create_topic(TOPIC)
    wait_until(lambda: group.name_server.view.permission(TOPIC, NAME) == 6, "the topic")
    former.kill()
    former.wait_gone()
    assert group.leader() is not former
    assert group.name_server.view.permission(TOPIC, NAME) == 6
