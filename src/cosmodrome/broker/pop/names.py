"""Names of the topics and groups of POP mode.

Owns: those names, both forms of them.
Must not know: which topics there are.
"""

from typing import Final

from cosmodrome.protocol.messages.checks import RETRY_PREFIX
from cosmodrome.protocol.pop_info import RETRY_FLAG_NORMAL, RETRY_FLAG_RETRY, RETRY_FLAG_RETRY_V2

REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"
"""Whose offsets say how far the revive topic is done with: the last record that is, not the next one."""
ORDER_QUEUE: Final = 999
"""The revive queue that receipts of messages in order name: there is no such queue."""
ORIGIN_GROUP: Final = "ORIGIN_GROUP"
"""The property that says to which group a message comes again."""


def pop_retry_topic(topic: str, group: str) -> str:
    """Give the topic of the messages of `topic` that come to `group` again."""
    return f"{RETRY_PREFIX}{group}_{topic}"


def pop_retry_topic_v2(topic: str, group: str) -> str:
    """Give the same where `enableRetryTopicV2` is set, which it is not here: such a topic is only read."""
    return f"{RETRY_PREFIX}{group}+{topic}"


def topics_of(topic: str, group: str) -> tuple[tuple[str, str], ...]:
    """Give the topics from which a pop takes, each with the flag that a receipt has for it."""
    return (
        (topic, RETRY_FLAG_NORMAL),
        (pop_retry_topic(topic, group), RETRY_FLAG_RETRY),
        (pop_retry_topic_v2(topic, group), RETRY_FLAG_RETRY_V2),
    )


def real_topic(topic: str, group: str, flag: str) -> str:
    """Give the topic that is meant by a topic and a receipt's flag."""
    return {each: name for name, each in topics_of(topic, group)}.get(flag, topic)


def normal_topic(topic: str, group: str) -> str:
    """Give the topic from which a message of a retry topic came first; any other topic is as it is."""
    prefix = RETRY_PREFIX + group
    if topic.startswith((f"{prefix}_", f"{prefix}+")):
        return topic[len(prefix) + 1 :]
    return topic
