"""What is told of changes of the tables, whichever change it was.

Owns: the events and notices that several changes have in common.
Must not know: the tables.
"""

from collections.abc import Sequence

from cosmodrome.namesrv.events import BrokerExpiring, BrokerRefused, MasterChanged, TopicsRemoved
from cosmodrome.namesrv.routing.broker_live import BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import Effects, MinBrokerIdNotice
from cosmodrome.namesrv.routing.registration import BrokerIdentity, RegisterStatus
from cosmodrome.protocol.bodies.route import MASTER_ID, BrokerData
from cosmodrome.protocol.headers.broker import NotifyMinBrokerIdChangeRequestHeader


def refused(identity: BrokerIdentity, status: RegisterStatus) -> BrokerRefused:
    """Tell that a registration was refused."""
    return BrokerRefused(
        cluster=identity.cluster,
        broker=identity.broker_name,
        id=identity.broker_id,
        addr=identity.addr,
        cause=status.name.lower(),
        reason=status.value,
    )


def expiring(info: BrokerLiveInfo, group: BrokerData | None, now_ms: int) -> BrokerExpiring:
    """Tell that a broker will soon have been silent for too long."""
    silence_ms = now_ms - info.last_update_ms
    addrs = {} if group is None else group.broker_addrs
    return BrokerExpiring(
        cluster=info.key.cluster,
        broker=info.broker_name,
        id=next((id_ for id_, addr in addrs.items() if addr == info.key.addr), MASTER_ID),
        addr=info.key.addr,
        last_heartbeat_s=round(silence_ms / 1000, 1),
        expires_in_s=round((info.heartbeat_timeout_ms - silence_ms) / 1000, 1),
    )


def note_master(old: BrokerData, new_addr: str | None, effects: Effects) -> None:
    """Tell that a group's master changed, if it did."""
    old_addr = old.broker_addrs.get(MASTER_ID)
    if old_addr != new_addr:
        event = MasterChanged(cluster=old.cluster, broker=old.broker_name, old_addr=old_addr, new_addr=new_addr)
        effects.events.append(event)


def note_removed(topics: Sequence[str], effects: Effects, *, reason: str) -> None:
    """Tell that topics lost their last route, if there are any."""
    if topics:
        effects.events.append(TopicsRemoved(count=len(topics), topics=tuple(topics), reason=reason))


def notice_of(group: BrokerData, *, offline_addr: str | None, ha_addr: str | None) -> MinBrokerIdNotice:
    """Give the notice of a changed smallest id: for all of a group when somebody left, else for all but the new smallest."""
    smallest = min(group.broker_addrs)
    is_for_all = offline_addr is not None or len(group.broker_addrs) == 1
    receivers = (addr for id_, addr in sorted(group.broker_addrs.items()) if is_for_all or id_ != smallest)
    header = NotifyMinBrokerIdChangeRequestHeader(
        min_broker_id=smallest,
        min_broker_addr=group.broker_addrs[smallest],
        offline_broker_addr=offline_addr,
        ha_broker_addr=ha_addr,
    )
    return MinBrokerIdNotice(broker_name=group.broker_name, receivers=tuple(receivers), header=header)


def keep_last_notices(effects: Effects) -> None:
    """Leave one notice a group: brokers that left at one instant are one change, and its last state is the true one."""
    effects.notices = list({notice.broker_name: notice for notice in effects.notices}.values())
