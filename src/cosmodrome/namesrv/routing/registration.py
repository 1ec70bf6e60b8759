"""What a broker says when it registers, and what it is told.

Owns: the values; what a group becomes when one of its brokers registers.
Must not know: the tables.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cosmodrome.namesrv.events import BrokerIdentityMoved
from cosmodrome.namesrv.routing.broker_live import DEFAULT_HEARTBEAT_TIMEOUT_MS, BrokerKey, BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.namesrv.routing.topic_changes import TopicChanges
from cosmodrome.protocol.bodies.route import MASTER_ID, PERM_WRITE, BrokerData
from cosmodrome.protocol.bodies.topic_config import TopicTable
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """Who registers. `enable_acting_master` is None for releases that do not know it."""

    cluster: str
    broker_name: str
    broker_id: int
    addr: str
    ha_server_addr: str
    heartbeat_timeout_ms: int = DEFAULT_HEARTBEAT_TIMEOUT_MS
    enable_acting_master: bool | None = None
    zone_name: str | None = None

    @property
    def key(self) -> BrokerKey:
        """Under which this broker lives."""
        return BrokerKey(self.cluster, self.addr)

    @property
    def is_master(self) -> bool:
        """Whether this is id 0."""
        return self.broker_id == MASTER_ID

    @property
    def perm_mask(self) -> int:
        """What this broker may have of the permissions it claims: a slave that may act as master takes no writes."""
        return ~PERM_WRITE if self.enable_acting_master and not self.is_master else ~0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A registration, read and checked. `filter_servers` None means "as they were".

    `digest` stands for everything in it that matters; None when it cannot be compared. `basis_revision` is that of the
    group whose held topics a table that tells only what is new rests on.
    """

    identity: BrokerIdentity
    table: TopicTable
    filter_servers: tuple[str, ...] | None
    connection: ConnectionId
    peer: str | None = None
    digest: bytes | None = None
    basis_revision: int | None = None


class RegisterStatus(Enum):
    """How a registration ended. Anything but ACCEPTED changed nothing."""

    ACCEPTED = "accepted"
    NEWER_STATE_VERSION_LIVES = "another address holds this id with a newer state version"
    SINGLE_TOPIC_BEFORE_BROKER = "a single topic came before the broker itself"


class Stance(NamedTuple):
    """What a comparison of a registration's topics rests on: while it is the same, what was found is true.

    `revision` moves when anybody touches the broker's group or topics; None when there is no such group.
    """

    revision: int | None
    is_publishing: bool
    is_all_new: bool
    is_omission_deletion: bool


class PreparedTopics(NamedTuple):
    """What a registration changes in its broker's topics; `omitted` are to go before `changes` are made.

    `topic_count` is how many it has. `known` is what the topics rest on afterwards; None when that cannot be said.
    """

    stance: Stance
    omitted: tuple[str, ...]
    changes: TopicChanges
    topic_count: int
    known: tuple[KnownStretch, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResult:
    """What the broker is told: where its master is, if it is a slave and has one."""

    status: RegisterStatus = RegisterStatus.ACCEPTED
    master_addr: str | None = None
    ha_server_addr: str | None = None


def addrs_without_former_ids(group: BrokerData, identity: BrokerIdentity) -> dict[int, str]:
    """Give a group's addresses without this broker's own under other ids: an address has one id, the newest."""
    return {id_: addr for id_, addr in group.broker_addrs.items() if addr != identity.addr or id_ == identity.broker_id}


def group_with(group: BrokerData | None, identity: BrokerIdentity) -> BrokerData:
    """Give the group as it is once this broker has registered. The cluster stays the first one's."""
    addrs = {} if group is None else addrs_without_former_ids(group, identity)
    addrs[identity.broker_id] = identity.addr
    return BrokerData(
        broker_addrs=addrs,
        broker_name=identity.broker_name,
        cluster=identity.cluster if group is None else group.cluster,
        enable_acting_master=bool(identity.enable_acting_master),
        zone_name=identity.zone_name,
    )


def is_prime_slave(group: BrokerData, identity: BrokerIdentity) -> bool:
    """Whether this broker publishes topics in its master's absence: the smallest id, of a release that knows that."""
    is_able = identity.enable_acting_master is not None
    return is_able and not identity.is_master and identity.broker_id == min(group.broker_addrs)


def host_of(peer: str | None) -> str | None:
    """Give the host of a peer, whose every connection has another port."""
    return None if peer is None else peer.rpartition(":")[0]


def moved(old: BrokerLiveInfo, registration: BrokerRegistration) -> BrokerIdentityMoved:
    """Tell that a registration takes the identity, or the address, of a living broker."""
    identity = registration.identity
    return BrokerIdentityMoved(
        cluster=identity.cluster,
        broker=identity.broker_name,
        id=identity.broker_id,
        addr=identity.addr,
        old_addr=old.key.addr,
        peer=registration.peer,
        old_peer=old.peer,
        old_broker=None if old.broker_name == identity.broker_name else old.broker_name,
    )
