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
    """The requests that a broker answers: of producers, consumers, slaves and administration tools."""

    SEND_MESSAGE = 10
    """One message, fields under long names."""
    PULL_MESSAGE = 11
    """Messages of one queue from an offset on; may be held until some come."""
    QUERY_MESSAGE = 12
    """Messages by key, through the index."""
    QUERY_CONSUMER_OFFSET = 14
    """The offset that a group has committed in one queue."""
    UPDATE_CONSUMER_OFFSET = 15
    """Commit an offset."""
    UPDATE_AND_CREATE_TOPIC = 17
    """Make a topic, or replace its numbers."""
    UPDATE_AND_CREATE_TOPIC_LIST = 18
    """The same for many topics (5.x)."""
    GET_ALL_TOPIC_CONFIG = 21
    """The table of topics; slaves copy it."""
    UPDATE_BROKER_CONFIG = 25
    """Change configuration."""
    GET_BROKER_CONFIG = 26
    """Read configuration."""
    GET_BROKER_RUNTIME_INFO = 28
    """Version, load and totals, as a KVTable."""
    SEARCH_OFFSET_BY_TIMESTAMP = 29
    """The offset of a moment in one queue."""
    GET_MAX_OFFSET = 30
    """The offset that the next message of a queue gets."""
    GET_MIN_OFFSET = 31
    """The offset of the oldest message of a queue."""
    GET_EARLIEST_MSG_STORETIME = 32
    """When the oldest message of a queue was stored."""
    VIEW_MESSAGE_BY_ID = 33
    """One message by its place in the commit log."""
    HEART_BEAT = 34
    """A client's groups and subscriptions, every thirty seconds and after each change."""
    UNREGISTER_CLIENT = 35
    """A client leaves a group."""
    CONSUMER_SEND_MSG_BACK = 36
    """A message that failed: deliver it again later, or to the dead letters."""
    END_TRANSACTION = 37
    """Commit a half message, or roll it back."""
    GET_CONSUMER_LIST_BY_GROUP = 38
    """The client ids of a group's members."""
    LOCK_BATCH_MQ = 41
    """Lock queues for orderly consumption, or renew locks."""
    UNLOCK_BATCH_MQ = 42
    """Give locks back."""
    GET_ALL_CONSUMER_OFFSET = 43
    """All committed offsets; slaves copy them."""
    GET_ALL_DELAY_OFFSET = 45
    """How far each delay level has been delivered; slaves copy it."""
    CHECK_CLIENT_CONFIG = 46
    """Whether a subscription that is not by tags can be used here."""
    GET_TIMER_CHECK_POINT = 60
    """How far the timer wheel has been read (5.x); slaves copy it."""
    GET_TIMER_METRICS = 61
    """Timer messages by topic (5.x); slaves copy them."""
    UPDATE_AND_CREATE_ACL_CONFIG = 50
    """Make or change an account of a plain ACL (4.9)."""
    DELETE_ACL_CONFIG = 51
    """Delete an account of a plain ACL (4.9)."""
    GET_BROKER_CLUSTER_ACL_INFO = 52
    """Show the version of the plain ACL (4.9)."""
    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG = 53
    """Change from where requests pass unchecked (4.9)."""
    GET_BROKER_CLUSTER_ACL_CONFIG = 54
    """List the accounts of a plain ACL (4.9)."""
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
    """Make a consumer group, or replace its settings."""
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201
    """The table of consumer groups; slaves copy it."""
    GET_TOPIC_STATS_INFO = 202
    """Smallest and largest offset of each queue of a topic."""
    GET_CONSUMER_CONNECTION_LIST = 203
    """A group's connections and subscriptions."""
    GET_PRODUCER_CONNECTION_LIST = 204
    """A producer group's connections."""
    DELETE_SUBSCRIPTIONGROUP = 207
    """Forget a consumer group."""
    GET_CONSUME_STATS = 208
    """A group's progress in each queue."""
    DELETE_TOPIC_IN_BROKER = 215
    """Forget a topic and its messages."""
    INVOKE_BROKER_TO_RESET_OFFSET = 222
    """Move a group's offsets to a moment or a number."""
    INVOKE_BROKER_TO_GET_CONSUMER_STATUS = 223
    """The offsets that the members of a group hold."""
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST = 225
    """Make many consumer groups (5.x)."""
    QUERY_TOPIC_CONSUME_BY_WHO = 300
    """The consumer groups of a topic."""
    QUERY_CONSUME_TIME_SPAN = 303
    """Times of the oldest, the newest and the next message of a group, by queue."""
    GET_SYSTEM_TOPIC_LIST_FROM_BROKER = 305
    """Topics that the broker made for itself."""
    CLEAN_EXPIRED_CONSUMEQUEUE = 306
    """Delete files of queues that point to deleted messages."""
    GET_CONSUMER_RUNNING_INFO = 307
    """What a consumer is doing; relayed to it."""
    QUERY_CORRECTION_OFFSET = 308
    """Offsets of a group, corrected by those of others."""
    CONSUME_MESSAGE_DIRECTLY = 309
    """Have one consumer consume one message now; relayed to it."""
    SEND_MESSAGE_V2 = 310
    """One message, fields under names of one letter."""
    CLONE_GROUP_OFFSET = 314
    """Give a group the offsets of another."""
    VIEW_BROKER_STATS_DATA = 315
    """One counter over a minute, an hour and a day."""
    CLEAN_UNUSED_TOPIC = 316
    """Delete queues of topics that are no more."""
    GET_BROKER_CONSUME_STATS = 317
    """The progress of all groups."""
    SEND_BATCH_MESSAGE = 320
    """Several messages in one body, fields under names of one letter."""
    QUERY_CONSUME_QUEUE = 321
    """Entries of one queue."""
    RESUME_CHECK_HALF_MESSAGE = 323
    """Ask again about a half message that was given up."""
    SEND_REPLY_MESSAGE = 324
    """A reply to a request, fields under long names."""
    SEND_REPLY_MESSAGE_V2 = 325
    """A reply to a request, fields under names of one letter."""
    GET_ALL_PRODUCER_INFO = 328
    """The connections of all producer groups."""
    DELETE_EXPIRED_COMMITLOG = 329
    """Delete commit log files that are old enough."""
    QUERY_TOPICS_BY_CONSUMER = 343
    """The topics in which a group has offsets (5.x)."""
    QUERY_SUBSCRIPTION_BY_CONSUMER = 345
    """A group's subscription of one topic (5.x)."""
    GET_TOPIC_CONFIG = 351
    """One topic's settings (5.x)."""
    GET_SUBSCRIPTIONGROUP_CONFIG = 352
    """One consumer group's settings (5.x)."""
    LITE_PULL_MESSAGE = 361
    """As PULL_MESSAGE, for consumers that poll (5.x)."""
    RECALL_MESSAGE = 370
    """Take back a timer message that was not delivered yet (5.3)."""
    QUERY_ASSIGNMENT = 400
    """The queues of a topic that the broker gives to a client (5.x)."""
    SET_MESSAGE_REQUEST_MODE = 401
    """Whether a group pulls or pops a topic (5.x)."""
    GET_ALL_MESSAGE_REQUEST_MODE = 402
    """All of these settings (5.x); slaves copy them."""
    EXCHANGE_BROKER_HA_INFO = 906
    """Where a master is, and how far its log is on disk (5.x)."""
    GET_BROKER_HA_STATUS = 907
    """How far replication is (5.x)."""
    AUTH_CREATE_USER = 3001
    """Make a user (5.x)."""
    AUTH_UPDATE_USER = 3002
    """Change a user (5.x)."""
    AUTH_DELETE_USER = 3003
    """Delete a user, with what it may do (5.x)."""
    AUTH_GET_USER = 3004
    """Show a user (5.x)."""
    AUTH_LIST_USER = 3005
    """List users (5.x)."""
    AUTH_CREATE_ACL = 3006
    """Allow or forbid something to a user (5.x)."""
    AUTH_UPDATE_ACL = 3007
    """Change what a user may do (5.x)."""
    AUTH_DELETE_ACL = 3008
    """Forget what a user may do (5.x)."""
    AUTH_GET_ACL = 3009
    """Show what a user may do (5.x)."""
    AUTH_LIST_ACL = 3010
    """List what users may do (5.x)."""
    POP_MESSAGE = 200_050
    """Messages of any queue, hidden from others for a time (5.x)."""
    ACK_MESSAGE = 200_051
    """A popped message is done (5.x)."""
    PEEK_MESSAGE = 200_052
    """Messages of any queue, not hidden (5.x)."""
    CHANGE_MESSAGE_INVISIBLETIME = 200_053
    """Hide a popped message for another time (5.x)."""
    NOTIFICATION = 200_054
    """Whether there is something to pop; may be held (5.x)."""
    POLLING_INFO = 200_055
    """How many pops are held (5.x)."""
    BATCH_ACK_MESSAGE = 200_151
    """Several popped messages are done (5.x)."""


class ClientRequestCode(IntEnum):
    """The requests that a broker sends to a client."""

    CHECK_TRANSACTION_STATE = 39
    """What became of the local transaction of a half message? Oneway."""
    NOTIFY_CONSUMER_IDS_CHANGED = 40
    """A group's members or topics changed. Oneway."""
    RESET_CONSUMER_CLIENT_OFFSET = 220
    """Continue from other offsets. Oneway."""
    GET_CONSUMER_STATUS_FROM_CLIENT = 221
    """The offsets that a consumer holds."""
    GET_CONSUMER_RUNNING_INFO = 307
    """What a consumer is doing."""
    CONSUME_MESSAGE_DIRECTLY = 309
    """Consume this message now and say how it went."""
    PUSH_REPLY_MESSAGE_TO_CLIENT = 326
    """The reply to a request of this client."""


class ResponseCode(IntEnum):
    """The answers of servers, and of clients to brokers."""

    SUCCESS = 0
    """It happened."""
    SYSTEM_ERROR = 1
    """It did not; the remark says why."""
    SYSTEM_BUSY = 2
    """Not now; try again."""
    REQUEST_CODE_NOT_SUPPORTED = 3
    """Nobody here knows this request."""
    TRANSACTION_FAILED = 4
    """A transaction message was not accepted."""
    FLUSH_DISK_TIMEOUT = 10
    """Stored, and not known to be on disk."""
    SLAVE_NOT_AVAILABLE = 11
    """Stored, and there is no slave to copy it."""
    FLUSH_SLAVE_TIMEOUT = 12
    """Stored, and not known to be copied."""
    MESSAGE_ILLEGAL = 13
    """The message is too large, or contradicts itself."""
    SERVICE_NOT_AVAILABLE = 14
    """The store takes nothing now."""
    VERSION_NOT_SUPPORTED = 15
    """The peer is too old for this."""
    NO_PERMISSION = 16
    """Policy forbids it."""
    TOPIC_NOT_EXIST = 17
    """The topic has no route, or is not at this broker."""
    TOPIC_EXIST_ALREADY = 18
    """There is one of that name."""
    PULL_NOT_FOUND = 19
    """No message at this offset yet."""
    PULL_RETRY_IMMEDIATELY = 20
    """Messages were passed over; go on from the next offset."""
    PULL_OFFSET_MOVED = 21
    """The offset is outside the queue; go on from another."""
    QUERY_NOT_FOUND = 22
    """No such KV entry, namespace, offset or message."""
    SUBSCRIPTION_PARSE_FAILED = 23
    """The expression cannot be read."""
    SUBSCRIPTION_NOT_EXIST = 24
    """The group is not connected, or has not subscribed to this."""
    SUBSCRIPTION_NOT_LATEST = 25
    """The broker knows an older subscription than the request names."""
    SUBSCRIPTION_GROUP_NOT_EXIST = 26
    """There is no such group, and none is made."""
    FILTER_DATA_NOT_EXIST = 27
    """The broker has no filter of this subscription."""
    FILTER_DATA_NOT_LATEST = 28
    """The broker has an older filter of this subscription."""
    INVALID_PARAMETER = 29
    """A name or a number is not one that can be used (5.x)."""
    TRANSACTION_SHOULD_COMMIT = 200
    TRANSACTION_SHOULD_ROLLBACK = 201
    TRANSACTION_STATE_UNKNOWN = 202
    TRANSACTION_STATE_GROUP_WRONG = 203
    NO_BUYER_ID = 204
    """Try another broker."""
    NOT_IN_CURRENT_UNIT = 205
    """Try another broker."""
    CONSUMER_NOT_ONLINE = 206
    """No member of the group is connected."""
    CONSUME_MSG_TIMEOUT = 207
    """A client did not answer what was relayed to it."""
    NO_MESSAGE = 208
    """There is nothing at this offset."""
    POLLING_FULL = 209
    """Too many pops are held."""
    POLLING_TIMEOUT = 210
    """A pop found nothing in its time."""
    BROKER_NOT_EXIST = 211
    """No such broker."""
    BROADCAST_CONSUMPTION = 213
    """Not for groups that broadcast."""
    FLOW_CONTROL = 215
    """Slow down."""
    NOT_LEADER_FOR_QUEUE = 501
    """The queue of a static topic is elsewhere."""
    ILLEGAL_OPERATION = 604
    """Too late, or not of this kind of message."""
    GO_AWAY = 1500
    """This server is draining; ask another."""
    USER_NOT_EXIST = 3001
    """No such account (5.x)."""
    POLICY_NOT_EXIST = 3002
    """No such permission (5.x)."""


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
