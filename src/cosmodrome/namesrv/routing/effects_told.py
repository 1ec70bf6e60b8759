"""What is told of changes of the tables, whichever change it was.

Owns: the events that several changes have in common.
Must not know: the tables.
"""

from collections.abc import Sequence

from cosmodrome.namesrv.events import BrokerRefused, MasterChanged, TopicsRemoved
from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.registration import BrokerIdentity, RegisterStatus
from cosmodrome.protocol.bodies.route import MASTER_ID, BrokerData


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


def keep_last_notices(effects: Effects) -> None:
    """Leave one notice a group: brokers that left at one instant are one change, and its last state is the true one."""
    effects.notices = list({notice.broker_name: notice for notice in effects.notices}.values())
