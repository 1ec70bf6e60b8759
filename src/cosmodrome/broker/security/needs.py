"""What a request needs: which topics, groups or settings it touches, and how.

Owns: that table, for every request that a broker answers; what nobody named here needs (to change the whole broker).
Must not know: which accounts there are; what they may do.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupList
from cosmodrome.protocol.bodies.heartbeat import HeartbeatData
from cosmodrome.protocol.bodies.locks import LockBatchRequestBody
from cosmodrome.protocol.bodies.pop import BatchAckMessageRequestBody, QueryAssignmentRequestBody
from cosmodrome.protocol.bodies.topics import CreateTopicListRequestBody
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.headers.send import decode_send_header
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.protocol.messages.checks import RETRY_PREFIX


class Kind(StrEnum):
    """What a resource is."""

    ANY = "*"
    CLUSTER = "Cluster"
    TOPIC = "Topic"
    GROUP = "Group"


class Action(StrEnum):
    """What may be done with a resource; ALL is everything."""

    ALL = "All"
    PUB = "Pub"
    SUB = "Sub"
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"
    GET = "Get"
    LIST = "List"


class Need(NamedTuple):
    """One of these actions on this resource."""

    kind: Kind
    name: str
    actions: tuple[Action, ...]

    @property
    def is_administrative(self) -> bool:
        """Whether no client needs it to send and consume: it changes something, or shows what is of everybody."""
        if Action.PUB in self.actions or Action.SUB in self.actions:
            return False
        return self.kind is Kind.CLUSTER or self.actions != (Action.GET,)


Needs = tuple[Need, ...]
TopicAt = Callable[[int], str | None]
"""Gives the topic of the message at a place in the log; None when there is none."""

_SUB: Final = (Action.SUB,)
_PUB: Final = (Action.PUB,)
_SUB_OR_GET: Final = (Action.SUB, Action.GET)
_SUB_OR_UPDATE: Final = (Action.SUB, Action.UPDATE)
_Code = BrokerRequestCode
_TOPIC: Final = "topic"
_GROUP: Final = "group"
_MEMBERS: Final = "consumerGroup"

_WITH_TOPIC: Final[Mapping[int, tuple[Action, ...]]] = {
    _Code.UPDATE_AND_CREATE_TOPIC: (Action.CREATE,),
    _Code.DELETE_TOPIC_IN_BROKER: (Action.DELETE,),
    _Code.QUERY_MESSAGE: _SUB_OR_GET,
    _Code.SEARCH_OFFSET_BY_TIMESTAMP: (Action.GET,),
    _Code.GET_MAX_OFFSET: (Action.GET,),
    _Code.GET_MIN_OFFSET: (Action.GET,),
    _Code.GET_EARLIEST_MSG_STORETIME: (Action.GET,),
    _Code.GET_TOPIC_STATS_INFO: (Action.GET,),
    _Code.QUERY_TOPIC_CONSUME_BY_WHO: (Action.GET,),
    _Code.QUERY_CONSUME_QUEUE: (Action.GET,),
    _Code.GET_TOPIC_CONFIG: (Action.GET,),
    _Code.RECALL_MESSAGE: _PUB,
}
"""Requests whose header names a topic and nothing else that matters."""
_WITH_GROUP: Final[Mapping[int, tuple[str, tuple[Action, ...]]]] = {
    _Code.CONSUMER_SEND_MSG_BACK: (_GROUP, _SUB),
    _Code.UNREGISTER_CLIENT: (_MEMBERS, _SUB),
    _Code.GET_CONSUMER_LIST_BY_GROUP: (_MEMBERS, _SUB_OR_GET),
    _Code.GET_CONSUMER_CONNECTION_LIST: (_MEMBERS, (Action.GET,)),
    _Code.GET_PRODUCER_CONNECTION_LIST: ("producerGroup", (Action.GET,)),
    _Code.GET_CONSUME_STATS: (_MEMBERS, (Action.GET,)),
    _Code.GET_CONSUMER_RUNNING_INFO: (_MEMBERS, (Action.GET,)),
    _Code.CONSUME_MESSAGE_DIRECTLY: (_MEMBERS, (Action.UPDATE,)),
    _Code.DELETE_SUBSCRIPTIONGROUP: ("groupName", (Action.DELETE,)),
    _Code.GET_SUBSCRIPTIONGROUP_CONFIG: (_GROUP, (Action.GET,)),
    _Code.QUERY_TOPICS_BY_CONSUMER: (_GROUP, (Action.GET,)),
    _Code.QUERY_CORRECTION_OFFSET: ("compareGroup", (Action.GET,)),
    _Code.CLONE_GROUP_OFFSET: ("destGroup", (Action.UPDATE,)),
}
"""Requests whose header names a group, and by which field."""
_WITH_BOTH: Final[Mapping[int, tuple[str, tuple[Action, ...]]]] = {
    _Code.PULL_MESSAGE: (_MEMBERS, _SUB),
    _Code.LITE_PULL_MESSAGE: (_MEMBERS, _SUB),
    _Code.POP_MESSAGE: (_MEMBERS, _SUB),
    _Code.PEEK_MESSAGE: (_MEMBERS, _SUB),
    _Code.ACK_MESSAGE: (_MEMBERS, _SUB),
    _Code.CHANGE_MESSAGE_INVISIBLETIME: (_MEMBERS, _SUB),
    _Code.NOTIFICATION: (_MEMBERS, _SUB),
    _Code.POLLING_INFO: (_MEMBERS, _SUB),
    _Code.QUERY_CONSUMER_OFFSET: (_MEMBERS, _SUB_OR_GET),
    _Code.UPDATE_CONSUMER_OFFSET: (_MEMBERS, _SUB_OR_UPDATE),
    _Code.QUERY_CONSUME_TIME_SPAN: (_GROUP, (Action.GET,)),
    _Code.QUERY_SUBSCRIPTION_BY_CONSUMER: (_GROUP, (Action.GET,)),
    _Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: (_GROUP, (Action.GET,)),
    _Code.INVOKE_BROKER_TO_RESET_OFFSET: (_GROUP, (Action.UPDATE,)),
}
"""Requests whose header names a topic and a group: the same is needed of both."""
_OF_CLUSTER: Final[Mapping[int, Action]] = {
    _Code.GET_ALL_TOPIC_CONFIG: Action.GET,
    _Code.GET_BROKER_CONFIG: Action.GET,
    _Code.GET_BROKER_RUNTIME_INFO: Action.GET,
    _Code.GET_ALL_CONSUMER_OFFSET: Action.GET,
    _Code.GET_ALL_DELAY_OFFSET: Action.GET,
    _Code.GET_TIMER_CHECK_POINT: Action.GET,
    _Code.GET_TIMER_METRICS: Action.GET,
    _Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Action.GET,
    _Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: Action.GET,
    _Code.VIEW_BROKER_STATS_DATA: Action.GET,
    _Code.GET_BROKER_CONSUME_STATS: Action.GET,
    _Code.GET_ALL_PRODUCER_INFO: Action.GET,
    _Code.GET_ALL_MESSAGE_REQUEST_MODE: Action.GET,
    _Code.GET_BROKER_HA_STATUS: Action.GET,
    _Code.AUTH_CREATE_USER: Action.CREATE,
    _Code.AUTH_DELETE_USER: Action.DELETE,
    _Code.AUTH_GET_USER: Action.GET,
    _Code.AUTH_LIST_USER: Action.LIST,
    _Code.AUTH_CREATE_ACL: Action.CREATE,
    _Code.AUTH_DELETE_ACL: Action.DELETE,
    _Code.AUTH_GET_ACL: Action.GET,
    _Code.AUTH_LIST_ACL: Action.LIST,
}
"""Requests about the whole broker. Any other request needs to update it."""
_SENDS: Final = frozenset({_Code.SEND_MESSAGE, _Code.SEND_MESSAGE_V2, _Code.SEND_BATCH_MESSAGE})
_OF_ANYBODY: Final = frozenset({_Code.SEND_REPLY_MESSAGE, _Code.SEND_REPLY_MESSAGE_V2, _Code.CHECK_CLIENT_CONFIG})
"""Requests that touch nothing but the sender's own: a signature is enough."""


def needs_of(request: RemotingCommand, cluster: str, topic_at: TopicAt) -> Needs:
    """Give everything that a request needs.

    Raises:
        MalformedBodyError: Its body cannot be read.
    """
    code, fields = request.code, request.ext_fields or {}
    if code in _IN_BODY:
        return _IN_BODY[_Code(code)](request.body)
    if code == _Code.VIEW_MESSAGE_BY_ID:
        return _of_message(fields.get("offset") or "", topic_at)
    found = () if code in _OF_ANYBODY else _in_header(code, fields)
    return (Need(Kind.CLUSTER, cluster, (_OF_CLUSTER.get(code, Action.UPDATE),)),) if found is None else found


def _in_header(code: int, fields: Mapping[str, str | None]) -> Needs | None:
    """Give what a header names; None when it names nothing."""
    topic = fields.get(_TOPIC) or ""
    if code in _SENDS:
        return _topics((decode_send_header(fields).topic or "",), _PUB)
    if code in _WITH_BOTH:
        field, actions = _WITH_BOTH[_Code(code)]
        return (*_topics((topic,), actions), Need(Kind.GROUP, fields.get(field) or "", actions))
    if code in _WITH_TOPIC:
        return _topics((topic,), _WITH_TOPIC[_Code(code)])
    if code in _WITH_GROUP:
        return _groups(fields, code)
    if code == _Code.END_TRANSACTION:
        return _topics((topic,), _PUB) if topic else ()
    return None


def _groups(fields: Mapping[str, str | None], code: int) -> Needs:
    field, actions = _WITH_GROUP[_Code(code)]
    name = fields.get(field)
    if code == _Code.UNREGISTER_CLIENT and not name:
        return ()  # a producer says goodbye
    found = Need(Kind.GROUP, name or "", actions)
    if code == _Code.CLONE_GROUP_OFFSET:
        return (found, Need(Kind.GROUP, fields.get("srcGroup") or "", (Action.GET,)))
    return (found,)


def _topics(names: Iterable[str], actions: tuple[Action, ...]) -> Needs:
    """Give what is needed of topics; that of a group's failed messages is the group's own, whatever is done with it."""
    return tuple(
        Need(Kind.GROUP, name.removeprefix(RETRY_PREFIX), _SUB if actions == _PUB else actions)
        if name.startswith(RETRY_PREFIX)
        else Need(Kind.TOPIC, name, actions)
        for name in names
    )


def _of_message(offset: str, topic_at: TopicAt) -> Needs:
    topic = topic_at(int(offset)) if offset.isascii() and offset.isdigit() and len(offset) < 19 else None
    return () if topic is None else _topics((topic,), _SUB_OR_GET)


def _of_heartbeat(body: bytes) -> Needs:
    needs: list[Need] = []
    for consumer in decode_body(HeartbeatData, body).consumer_data_set:
        needs.append(Need(Kind.GROUP, consumer.group_name, _SUB))
        needs += _topics((each.topic or "" for each in consumer.subscription_data_set), _SUB)
    return tuple(needs)


def _of_locks(body: bytes) -> Needs:
    locked = decode_body(LockBatchRequestBody, body)
    topics = dict.fromkeys(queue.topic or "" for queue in locked.mq_set)
    return (Need(Kind.GROUP, locked.consumer_group, _SUB), *_topics(topics, _SUB))


def _of_assignment(body: bytes) -> Needs:
    asked = decode_body(QueryAssignmentRequestBody, body)
    return (Need(Kind.GROUP, asked.consumer_group, _SUB), *_topics((asked.topic,), _SUB))


def _of_acks(body: bytes) -> Needs:
    pairs = dict.fromkeys(
        (each.consumer_group, each.topic) for each in decode_body(BatchAckMessageRequestBody, body).acks
    )
    return tuple(need for group, topic in pairs for need in (Need(Kind.GROUP, group, _SUB), *_topics((topic,), _SUB)))


def _of_topic_list(body: bytes) -> Needs:
    configs = decode_body(CreateTopicListRequestBody, body).topic_config_list
    return _topics((each.topic_name for each in configs), (Action.CREATE,))


def _of_group(body: bytes) -> Needs:
    return (Need(Kind.GROUP, decode_body(SubscriptionGroupConfig, body).group_name, (Action.CREATE,)),)


def _of_group_list(body: bytes) -> Needs:
    configs = decode_body(SubscriptionGroupList, body).group_config_list
    return tuple(Need(Kind.GROUP, each.group_name, (Action.CREATE,)) for each in configs)


_IN_BODY: Final[Mapping[int, Callable[[bytes], Needs]]] = {
    _Code.HEART_BEAT: _of_heartbeat,
    _Code.LOCK_BATCH_MQ: _of_locks,
    _Code.UNLOCK_BATCH_MQ: _of_locks,
    _Code.QUERY_ASSIGNMENT: _of_assignment,
    _Code.BATCH_ACK_MESSAGE: _of_acks,
    _Code.UPDATE_AND_CREATE_TOPIC_LIST: _of_topic_list,
    _Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _of_group,
    _Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _of_group_list,
}
"""Requests whose body says what they touch."""
