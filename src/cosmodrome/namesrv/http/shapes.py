"""What is answered and taken over HTTP, as types: the description of the API is made from them.

Owns: the names of members (snake_case); times are RFC 3339 in UTC.
Must not know: where the values come from.
"""

from typing import Any

import msgspec


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer has in common."""


class _Taken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every body that is taken has in common."""


class ServerInfo(_Shape, frozen=True, kw_only=True):
    """A server, and how much it holds."""

    version: str
    compat_version: str
    address: str
    pid: int
    started_at: str
    ready: bool
    draining: bool
    admin_policy: str
    clusters: int
    brokers: int
    topics: int
    connections: int
    route_digest: str | None = None


class Cluster(_Shape, frozen=True, kw_only=True):
    """A cluster with the names of its brokers."""

    cluster: str
    brokers: list[str]


class Clusters(_Shape, frozen=True, kw_only=True):
    """All clusters."""

    items: list[Cluster]


class Member(_Shape, frozen=True, kw_only=True):
    """One live broker of a group. `role` is master, slave or acting_master."""

    id: int
    role: str
    address: str
    last_heartbeat_at: str
    last_heartbeat_age_s: float
    expires_in_s: float


class BrokerGroup(_Shape, frozen=True, kw_only=True):
    """The brokers of one name."""

    broker: str
    cluster: str
    members: list[Member]


class BrokerGroups(_Shape, frozen=True, kw_only=True):
    """A page of groups."""

    items: list[BrokerGroup]
    next_cursor: str | None


class BrokerDetail(_Shape, frozen=True, kw_only=True):
    """One group, and how many topics it serves."""

    broker: str
    cluster: str
    members: list[Member]
    topic_count: int


class Names(_Shape, frozen=True, kw_only=True):
    """A page of names."""

    items: list[str]
    next_cursor: str | None


class TopicQueues(_Shape, frozen=True, kw_only=True):
    """What one broker has for a topic."""

    broker: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int


class Topic(_Shape, frozen=True, kw_only=True):
    """A topic at each of its brokers."""

    topic: str
    brokers: list[TopicQueues]


class Connection(_Shape, frozen=True, kw_only=True):
    """One open connection. What the peer did not say yet, since it sent no request, is null."""

    id: int
    address: str
    proxy: str | None
    role: str
    brokers: list[str]
    language: str | None
    version: str | None
    silent_s: float
    unsent_bytes: int


class Connections(_Shape, frozen=True, kw_only=True):
    """A page of connections, the oldest first."""

    items: list[Connection]
    next_cursor: str | None


class ClientKind(_Shape, frozen=True, kw_only=True):
    """How many connections there are of peers that say the same of themselves."""

    role: str
    language: str
    version: str
    connections: int
    hosts: int


class Clients(_Shape, frozen=True, kw_only=True):
    """Every kind of client, and how many connections have said nothing yet."""

    items: list[ClientKind]
    silent_connections: int


class Asker(_Shape, frozen=True, kw_only=True):
    """A host that asked, and how often since it was last among the latest."""

    host: str
    count: int


class MissedTopic(_Shape, frozen=True, kw_only=True):
    """A topic that was asked for and had no route. `count` may be too large by `at_most_over`."""

    topic: str
    count: int
    at_most_over: int
    first_at: str
    last_at: str
    askers: list[Asker]


class MissedTopics(_Shape, frozen=True, kw_only=True):
    """A page of missed topics, those asked for most first; `total` counts every question since the start."""

    items: list[MissedTopic]
    next_cursor: str | None
    total: int


class PeerServer(_Shape, frozen=True, kw_only=True):
    """Another NameServer. `source` says where its address is from: peerServers or shadow.

    `error` is why it did not answer. Brokers are `cluster/name@id=address`.
    """

    address: str
    source: str
    reachable: bool
    error: str | None
    asked_at: str
    brokers: int | None
    brokers_only_here: list[str]
    brokers_only_there: list[str]
    differences: int | None


class PeerServers(_Shape, frozen=True, kw_only=True):
    """All other NameServers that the configuration names."""

    items: list[PeerServer]


class Namespace(_Shape, frozen=True, kw_only=True):
    """A namespace of KV entries; an emptied one stays."""

    namespace: str
    entries: int


class Namespaces(_Shape, frozen=True, kw_only=True):
    """A page of namespaces."""

    items: list[Namespace]
    next_cursor: str | None


class KVEntry(_Shape, frozen=True, kw_only=True):
    """One KV entry."""

    namespace: str
    key: str
    value: str


class KVEntries(_Shape, frozen=True, kw_only=True):
    """A page of the entries of a namespace."""

    items: list[KVEntry]
    next_cursor: str | None


class KVValue(_Taken, frozen=True, kw_only=True):
    """A value to be stored."""

    value: str


class Setting(_Shape, frozen=True, kw_only=True):
    """One key of the configuration. Secrets are masked. `by_request` tells whether a request may change it.

    `source` is where the value stands: a file's line, an environment variable, a flag, or `default`.
    """

    key: str
    value: str
    source: str
    default: str
    kind: str
    family: str
    takes_effect: str
    by_request: bool
    meaning: str


class Settings(_Shape, frozen=True, kw_only=True):
    """A page of settings."""

    items: list[Setting]
    next_cursor: str | None


class SettingChanges(_Taken, frozen=True, kw_only=True):
    """Keys and new values: a text as in a file, or a number, or true or false."""

    changes: dict[str, str | int | bool]


class SettingsChanged(_Shape, frozen=True, kw_only=True):
    """What a change came to. `note` is what the answer of request 318 says of it, null when there is nothing to say."""

    applied: list[str]
    needs_restart: list[str]
    without_effect: list[str]
    note: str | None


class WritePermission(_Taken, frozen=True, kw_only=True):
    """Whether producers may use the topics of a broker."""

    allowed: bool


class WritePermissionSet(_Shape, frozen=True, kw_only=True):
    """How many topics of the broker were looked at."""

    broker: str
    allowed: bool
    topics: int


class Done(_Shape, frozen=True, kw_only=True):
    """What is done; it is done, too, where there was nothing to do: then `changed` is false, and nothing was removed."""

    done: bool
    changed: bool


class Nothing(_Taken, frozen=True, kw_only=True):
    """An empty object."""


class Reloaded(_Shape, frozen=True, kw_only=True):
    """Keys that changed now, and those that wait for the next start; by key, the flag or variable that wins over the file."""

    applied: list[str]
    needs_restart: list[str]
    overridden: dict[str, str]


class Draining(_Taken, frozen=True, kw_only=True):
    """Whether the server shall be out of use."""

    draining: bool


class Drain(_Shape, frozen=True, kw_only=True):
    """Whether the server is out of use, since when, and how many connections are left."""

    draining: bool
    since: str | None
    connections: int


class Stopping(_Shape, frozen=True, kw_only=True):
    """A server that has begun to stop: its process, and how many connections there are."""

    pid: int
    connections: int


class Evidence(_Shape, frozen=True, kw_only=True):
    """One fact. `situation` is a word that never changes; `mark` is ok, cause, hint, warning or note."""

    situation: str
    mark: str
    text: str


class Diagnosis(_Shape, frozen=True, kw_only=True):
    """Why something is as it is: the likeliest cause (`situation` and `verdict`), what speaks for it, what to do."""

    subject: str
    server: str
    is_well: bool
    headline: str
    situation: str
    verdict: str
    advice: str
    commands: list[str]
    evidence: list[Evidence]
    facts: dict[str, Any]
