"""What a broker says when it refuses, in the words of Apache's 5.5.0.

Owns: those words, and the header that some refusals carry.
Must not know: when something is refused.
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig
from cosmodrome.protocol.codes import ResponseCode

FAQ: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
_PERM_LETTERS: Final = ((4, "R"), (2, "W"), (1, "X"))


def refused(code: int, remark: str, ext_fields: Mapping[str, str] | None = None) -> RequestRefusedError:
    """Make a refusal: an answer like others, of which nobody needs to be told."""
    return RequestRefusedError(code, remark, None if ext_fields is None else dict(ext_fields), is_fault=False)


def no_topic_for_send(topic: str) -> RequestRefusedError:
    """Refuse a send to a topic that is not there and cannot be made."""
    return refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{FAQ}")


def no_topic_for_pull(topic: str) -> RequestRefusedError:
    """Refuse a pull of a topic that is not there."""
    return refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! {FAQ}")


def bad_queue_for_send(config: BrokerTopicConfig, queue_id: int, peer: str) -> RequestRefusedError:
    """Refuse a send to a queue that the topic does not have."""
    perm = "".join(letter if config.perm & bit else "-" for bit, letter in _PERM_LETTERS)
    attributes = ", ".join(f"{name}={value}" for name, value in (config.attributes or {}).items())
    return refused(
        ResponseCode.INVALID_PARAMETER,
        f"request queueId[{queue_id}] is illegal, TopicConfig [topicName={config.topic_name}, "
        f"readQueueNums={config.read_queue_nums}, writeQueueNums={config.write_queue_nums}, perm={perm}, "
        f"topicFilterType={config.topic_filter_type.value}, topicSysFlag={config.topic_sys_flag}, "
        f"order={str(config.order).lower()}, attributes={{{attributes}}}] Producer: {peer}",
    )


def bad_queue_for_pull(config: BrokerTopicConfig, queue_id: int, peer: str) -> RequestRefusedError:
    """Refuse a pull of a queue that the topic does not have."""
    return refused(
        ResponseCode.INVALID_PARAMETER,
        f"queueId[{queue_id}] is illegal, topic:[{config.topic_name}] "
        f"topicConfig.readQueueNums:[{config.read_queue_nums}] consumer:[/{peer}]",
    )


def no_group_for_send(group: str) -> RequestRefusedError:
    """Refuse what needs a group that is not there and is not made."""
    return refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {group} {FAQ}")


def no_group_for_pull(group: str) -> RequestRefusedError:
    """Refuse a pull of a group that is not there and is not made."""
    return refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{group}] does not exist, {FAQ}")


def not_available(reason: str) -> RequestRefusedError:
    """Refuse because the store takes nothing now."""
    return refused(
        ResponseCode.SERVICE_NOT_AVAILABLE,
        f"service not available now. It may be caused by one of the following reasons: {reason}, "
        "messages are put to the slave, message store has been shut down, etc.",
    )
