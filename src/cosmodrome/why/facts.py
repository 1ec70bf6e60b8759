"""What a diagnosis is made of.

Owns: the facts about a topic or a broker, wherever they come from.
Must not know: who collects them, what they mean.

None means that nobody could tell, as with a server that is asked over the wire and says no more than Apache's does.
"""

from collections.abc import Collection, Mapping
from enum import Enum

import msgspec


class Past(Enum):
    """What happened to a topic or a broker; `by` of a Happening is who did it."""

    APPEARED = "appeared"
    EXPIRED = "expired"
    CLOSED = "closed"
    UNREGISTERED = "unregistered"
    SUPERSEDED = "superseded"
    REFUSED = "refused"
    TOPIC_ADDED = "topic_added"
    TOPIC_DROPPED = "topic_dropped"
    TOPIC_DELETED = "topic_deleted"
    PERM_WIPED = "perm_wiped"
    PERM_RESTORED = "perm_restored"


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `time_s` is Unix time; `text` is more about it, such as an address."""

    time_s: float
    what: Past
    broker: str | None = None
    by: str | None = None
    text: str | None = None


class Queues(msgspec.Struct, frozen=True, kw_only=True):
    """What one broker group says about the topic, with the addresses of its members by id."""

    broker: str
    cluster: str | None
    read: int
    write: int
    perm: int
    addresses: Mapping[int, str]


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that is registered. `silent_s` is how long ago it was heard of; `peer` is where its connection comes from."""

    cluster: str | None
    broker: str
    broker_id: int
    addr: str
    silent_s: float | None = None
    expires_in_s: float | None = None
    peer: str | None = None
    topics: int | None = None


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """How often the topic was asked for in vain, since when, and by whom."""

    count: int
    first_s: float
    last_s: float
    askers: tuple[str, ...]


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """What another NameServer says. `knows` is None when it did not answer, for the reason in `fault`."""

    address: str
    knows: bool | None
    fault: str | None = None


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The server that is asked.

    Attributes:
        address: As a client would write it.
        is_ours: Whether it tells more than Apache's does.
        now_s: Unix time of all these facts.
        up_since_s: When it started.
        unready: Why it answers no routes, empty when it does.
        is_draining: Whether it sends clients away.
        is_history_whole: Whether all that happened since the start is known.
        known_since_s: From when on it is known.
        brokers: How many brokers are registered.
        came: Names of brokers that are known to have been registered, the latest first.
        is_braking: Whether registrations are answered that there is too much to do.
    """

    address: str
    now_s: float
    is_ours: bool = False
    up_since_s: float | None = None
    unready: str = ""
    is_draining: bool = False
    is_history_whole: bool = False
    known_since_s: float | None = None
    brokers: int = 0
    came: tuple[str, ...] = ()
    is_braking: bool = False


class TopicFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one topic.

    Attributes:
        topic: As it was asked for.
        server: Who is asked.
        queues: Its route now; empty when there is none.
        near: Other topics with names like it, the nearest first.
        default_topic: What brokers say of TBW102; empty when none has it.
        past: What happened to it and its brokers, the latest first.
        missed: How often it was asked for in vain.
        peers: What other NameServers say.
        order_conf: Its order configuration in the KV configuration.
        refused: Why the server refuses this topic, such as a name that is too long.
    """

    topic: str
    server: Server
    queues: tuple[Queues, ...] = ()
    near: tuple[str, ...] = ()
    default_topic: tuple[Queues, ...] | None = None
    past: tuple[Happening, ...] = ()
    missed: Missed | None = None
    peers: tuple[Peer, ...] = ()
    order_conf: str | None = None
    refused: str | None = None


class BrokerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one broker name.

    Attributes:
        broker: As it was asked for.
        server: Who is asked.
        members: Who is registered under the name.
        near: Other broker names like it.
        past: What happened to it, the latest first.
        peers: What other NameServers say.
        clusters: Names of all clusters.
    """

    broker: str
    server: Server
    members: tuple[Member, ...] = ()
    near: tuple[str, ...] = ()
    past: tuple[Happening, ...] = ()
    peers: tuple[Peer, ...] = ()
    clusters: Collection[str] = ()
