"""Numbers and names that travel.

Owns: request, response and language codes, serialize types, flag bits.
Must not know: what a request does.
"""

from enum import IntEnum
from typing import Final


class SerializeType(IntEnum):
    """Which codec a header is in: the top byte of the header-length word."""

    JSON = 0
    ROCKETMQ = 1


class RequestCode(IntEnum):
    """The requests that a NameServer answers, and the one that it sends."""

    PUT_KV_CONFIG = 100
    """Store one KV entry."""
    GET_KV_CONFIG = 101
    """Read one KV entry."""
    DELETE_KV_CONFIG = 102
    """Remove one KV entry."""
    REGISTER_BROKER = 103
    """A broker announces itself and its topics; also its heartbeat."""
    UNREGISTER_BROKER = 104
    """A broker leaves."""
    GET_ROUTEINFO_BY_TOPIC = 105
    """The hot read: which brokers serve a topic."""
    GET_BROKER_CLUSTER_INFO = 106
    """All clusters, brokers and addresses."""
    WIPE_WRITE_PERM_OF_BROKER = 205
    """Take write permission from all topics of a broker."""
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
    """All topic names."""
    DELETE_TOPIC_IN_NAMESRV = 216
    """Forget a topic, everywhere or in one cluster."""
    REGISTER_TOPIC_IN_NAMESRV = 217
    """Add one topic to brokers that are registered (5.x)."""
    GET_KVLIST_BY_NAMESPACE = 219
    """All KV entries of a namespace."""
    GET_TOPICS_BY_CLUSTER = 224
    """Topic names of one cluster."""
    GET_SYSTEM_TOPIC_LIST_FROM_NS = 304
    """Cluster names and broker names, and one broker address."""
    GET_UNIT_TOPIC_LIST = 311
    """Topics with the unit flag."""
    GET_HAS_UNIT_SUB_TOPIC_LIST = 312
    """Topics with the unit-subscription flag."""
    GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313
    """Topics with the unit-subscription flag and without the unit flag."""
    UPDATE_NAMESRV_CONFIG = 318
    """Change configuration."""
    GET_NAMESRV_CONFIG = 319
    """Read configuration."""
    QUERY_DATA_VERSION = 322
    """Does the NameServer hold this version of a broker's table? Also a heartbeat."""
    ADD_WRITE_PERM_OF_BROKER = 327
    """Give permission back to all topics of a broker."""
    GET_BROKER_MEMBER_GROUP = 901
    """The addresses of one broker group (5.x)."""
    BROKER_HEARTBEAT = 904
    """A light heartbeat (5.x)."""
    NOTIFY_MIN_BROKER_ID_CHANGE = 905
    """Sent by the NameServer: the smallest id of a group changed (5.x)."""


class BrokerRequestCode(IntEnum):
    """Requests that the administration commands send to brokers."""

    GET_BROKER_RUNTIME_INFO = 28
    """Version, load and totals, as a KVTable."""
    QUERY_TOPIC_CONSUME_BY_WHO = 300
    """The consumer groups of a topic."""


class ResponseCode(IntEnum):
    """The answers of a NameServer."""

    SUCCESS = 0
    """It happened."""
    SYSTEM_ERROR = 1
    """It did not; the remark says why."""
    SYSTEM_BUSY = 2
    """Not now; try again."""
    REQUEST_CODE_NOT_SUPPORTED = 3
    """Nobody here knows this request."""
    NO_PERMISSION = 16
    """Policy forbids it."""
    TOPIC_NOT_EXIST = 17
    """The topic has no route."""
    QUERY_NOT_FOUND = 22
    """No such KV entry or namespace."""
    GO_AWAY = 1500
    """This server is draining; ask another."""


class LanguageCode(IntEnum):
    """What a peer says it is written in. New ones appear; nothing depends on it."""

    JAVA = 0
    CPP = 1
    DOTNET = 2
    PYTHON = 3
    DELPHI = 4
    ERLANG = 5
    RUBY = 6
    OTHER = 7
    HTTP = 8
    GO = 9
    PHP = 10
    OMS = 11
    RUST = 12
    NODE_JS = 13


FLAG_RESPONSE: Final = 0b01
FLAG_ONEWAY: Final = 0b10
