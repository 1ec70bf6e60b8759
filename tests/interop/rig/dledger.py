"""A DLedger group: three brokers of one name that elect their master.

Owns: how its members know each other; who leads it.
Must not know: what a test does to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.stage import Stage
from tests.support.waiting import wait_until

NAME: Final = "broker-dledger"
MEMBERS: Final = 3
ELECTION_S: Final = 120.0
"""Three JVMs start one after the other; two of them elect."""


@dataclass(frozen=True, slots=True)
class DLedgerGroup:
    """The members, and the NameServers with which all of them register."""

    name_servers: Sequence[NameServer]
    members: Sequence[ApacheBroker]

    def leader(self) -> ApacheBroker:
        """Return the member that the first NameServer lists under id 0, waiting for an election if need be."""
        address = wait_until(self._leader_address, f"a leader of {NAME}", ELECTION_S)
        return next(member for member in self.members if member.address == address)

    def wait_complete(self) -> None:
        """Wait until every NameServer lists all members, one of them as master."""
        for name_server in self.name_servers:
            wait_until(partial(self._is_complete, name_server), "all members of the group", ELECTION_S)

    def _leader_address(self) -> str | None:
        return self.name_servers[0].view.broker_groups().get(NAME, {}).get("0")

    def _is_complete(self, name_server: NameServer) -> bool:
        listed = name_server.view.broker_groups().get(NAME, {})
        return "0" in listed and set(listed.values()) == {member.address for member in self.members}


def start_dledger_group(stage: Stage, release: str, name_servers: Sequence[NameServer]) -> DLedgerGroup:
    """Start three brokers of a release, one after the other; the stage ends them."""
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
                name_servers=[server.address for server in name_servers],
                config={**common, "dLegerSelfId": f"n{number}"},
            )
        )
        for number in range(MEMBERS)
    ]
    for member in members:
        member.start()
    return DLedgerGroup(name_servers, members)
