"""What a change of the tables asks of the server.

Owns: the values that a change returns.
Must not know: how they are carried out.
"""

from dataclasses import dataclass, field
from typing import NewType

from cosmodrome.namesrv.events import Event
from cosmodrome.protocol.headers.broker import NotifyMinBrokerIdChangeRequestHeader

ConnectionId = NewType("ConnectionId", int)
"""Names one accepted connection for as long as the process lives; never used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinBrokerIdNotice:
    """A NOTIFY_MIN_BROKER_ID_CHANGE to send to each receiver, independently of the others."""

    broker_name: str
    receivers: tuple[str, ...]
    header: NotifyMinBrokerIdChangeRequestHeader


@dataclass(slots=True, kw_only=True)
class Effects:
    """What must be done outside after a change, in the order of the fields."""

    events: list[Event] = field(default_factory=list)
    notices: list[MinBrokerIdNotice] = field(default_factory=list)
    close: list[ConnectionId] = field(default_factory=list)
