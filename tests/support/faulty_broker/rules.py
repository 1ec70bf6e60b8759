"""What the double knows of brokers in general.

Owns: refusals, their words, checks of names, what differs between the two releases that it can be.
Must not know: any single request.
"""

import re
from dataclasses import dataclass
from typing import Final

from tests.support.faulty_broker.journal import Reply

REGION: Final = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
RESERVED_TOPICS: Final = frozenset(
    {
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    }
)
RETRY: Final = "%RETRY%"
DEAD: Final = "%DLQ%"
PATTERN: Final = "^[%|a-zA-Z0-9_-]+$"


class RefusedError(Exception):
    """A request is refused with this answer."""

    def __init__(self, code: int, remark: str | None, ext: dict[str, str] | None = None) -> None:
        super().__init__(remark)
        self.reply = Reply(code, remark, ext)


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Apache RocketMQ whose words the double speaks."""

    version: int

    @property
    def is_5(self) -> bool:
        """Whether it is of the 5.x line."""
        return self.version > 412

    @property
    def illegal(self) -> int:
        """The code for an argument that cannot be (INVALID_PARAMETER, in 4.9 SYSTEM_ERROR)."""
        return 29 if self.is_5 else 1

    @property
    def faq(self) -> str:
        """What many remarks end in."""
        page = (
            "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
            if self.is_5
            else "http://rocketmq.apache.org/docs/faq/"
        )
        return f"\nSee {page} for further details."

    def check_topic(self, topic: str) -> None:
        """Refuse a topic that nobody may send to.

        Raises:
            RefusedError: It is empty, illegal, too long or reserved.
        """
        named = f": {topic}," if self.is_5 else ""
        if not topic:
            raise RefusedError(self.illegal, "The specified topic is blank.")
        if not re.fullmatch(PATTERN, topic):
            remark = f"The specified topic{named} contains illegal characters, allowing only {PATTERN}"
            raise RefusedError(self.illegal, remark)
        longest = 255 if self.is_5 and topic.startswith((RETRY, DEAD)) else 127
        if len(topic) > longest:
            limit = ": 127" if self.is_5 else "."
            raise RefusedError(self.illegal, f"The specified topic{named} is longer than topic max length{limit}")
        if topic in RESERVED_TOPICS:
            raise RefusedError(16, f"Sending message to topic[{topic}] is forbidden.")


V5_5_0: Final = Release(513)
V4_9_7: Final = Release(407)
