"""What a message, a topic and a group must be like to be accepted, with the texts that brokers and clients use.

Owns: the rules for names, bodies and properties of a message.
Must not know: whether a topic exists; who asks.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from cosmodrome.errors import MessageError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.messages.properties import (
    ENTRY_SEPARATOR,
    MAX_PROPERTIES_BYTES,
    NAME_VALUE_SEPARATOR,
    is_reserved,
)

RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"

MAX_TOPIC_LENGTH: Final = 127
MAX_RETRY_TOPIC_LENGTH: Final = 255
"""Of a retry or dead-letter topic, whose name is that of a group with a prefix."""
MAX_GROUP_LENGTH: Final = 120
DEFAULT_MAX_BODY_BYTES: Final = 4 * 1024 * 1024

CLOSED_TOPICS: Final = frozenset(
    {
        "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "rmq_sys_wheel_timer",
    }
)  # fmt: skip
"""Nobody may send to these. Apache's brokers leave the last one open; one message in it ends their timers for good."""
REVIVE_PREFIX: Final = "rmq_sys_REVIVE_LOG_"
"""Of the topic of what is popped: a message in it would be taken for a receipt. Apache's brokers leave it open."""
CLIENT_DEFAULT_GROUPS: Final = frozenset({"DEFAULT_PRODUCER", "DEFAULT_CONSUMER"})
"""What a group is called that was given no name; clients refuse them."""

_ALLOWED: Final = "^[%|a-zA-Z0-9_-]+$"
_NAME: Final = re.compile("[%|a-zA-Z0-9_-]+")


def check_topic(topic: str) -> None:
    """Refuse the name of a topic that no broker accepts.

    Raises:
        MessageError: INVALID_PARAMETER, with 5.x's text.
    """
    if not topic.strip():
        raise _bad_name("The specified topic is blank.")
    if _NAME.fullmatch(topic) is None:
        raise _bad_name(f"The specified topic: {topic}, contains illegal characters, allowing only {_ALLOWED}")
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if len(topic) > MAX_RETRY_TOPIC_LENGTH:
            raise _bad_name(
                f"The specified topic is DLQ or Retry topic: {topic}, and it's longer than topic max length: "
                f"{MAX_RETRY_TOPIC_LENGTH}"
            )
    elif len(topic) > MAX_TOPIC_LENGTH:
        raise _bad_name(f"The specified topic: {topic}, is longer than topic max length: {MAX_TOPIC_LENGTH}")


def check_topic_is_open(topic: str) -> None:
    """Refuse to send to a topic that RocketMQ keeps for itself.

    Raises:
        MessageError: NO_PERMISSION, with RocketMQ's text.
    """
    if topic in CLOSED_TOPICS or topic.startswith(REVIVE_PREFIX):
        raise MessageError(f"Sending message to topic[{topic}] is forbidden.", code=ResponseCode.NO_PERMISSION)


def check_group(group: str) -> None:
    """Refuse the name of a group that no 5.x broker accepts.

    Raises:
        MessageError: INVALID_PARAMETER, with 5.x's text where it has one.
    """
    if not group.strip():
        raise _bad_name("The specified group is blank.")
    if _NAME.fullmatch(group) is None:
        raise _bad_name(f"The specified group: {group}, contains illegal characters, allowing only {_ALLOWED}")
    if len(group) > MAX_GROUP_LENGTH:
        raise _bad_name(f"The specified group: {group}, is longer than group max length: {MAX_GROUP_LENGTH}")


def check_client_group(group: str) -> None:
    """Refuse the name of a group that a client must not have.

    Raises:
        MessageError: As check_group; or it is a name that stands for no name.
    """
    check_group(group)
    if group in CLIENT_DEFAULT_GROUPS:
        raise _bad_name(f"The specified group: {group}, is what groups without a name are called: choose another")


def check_body(body: bytes | None, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES) -> None:
    """Refuse a body that is absent, empty or too long, before it is compressed.

    Raises:
        MessageError: MESSAGE_ILLEGAL, with the Java client's text.
    """
    if body is None:
        raise MessageError("the message body is null")
    if not body:
        raise MessageError("the message body length is zero")
    if len(body) > max_body_bytes:
        raise MessageError(f"the message body size over max value, MAX: {max_body_bytes}")


def check_stored_sizes(body_bytes: int, properties_bytes: int, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES) -> None:
    """Refuse, as a broker does, what does not fit into a record; the properties are counted with its additions.

    Raises:
        MessageError: MESSAGE_ILLEGAL, with RocketMQ's text.
    """
    if body_bytes > max_body_bytes or properties_bytes > MAX_PROPERTIES_BYTES:
        raise MessageError(
            "the message is illegal, maybe msg body or properties length not matched. "
            f"msg body length limit {max_body_bytes}B, msg properties length limit 32KB."
        )


def check_user_properties(properties: Mapping[str, str]) -> None:
    """Refuse properties of a user's that would not arrive as they are.

    Raises:
        MessageError: MESSAGE_ILLEGAL; the text names the property.
    """
    for name, value in properties.items():
        check_text(f"the name of property {name!r}", name)
        check_text(f"the value of property {name!r}", value)
        if is_reserved(name):
            raise MessageError(f"the name of property {name!r} belongs to RocketMQ")


def check_text(what: str, text: Any) -> None:
    """Refuse a tag, a key, a name or a value that would not arrive as it is; `what` begins the error's text.

    Raises:
        MessageError: MESSAGE_ILLEGAL.
    """
    if not isinstance(text, str):
        raise MessageError(f"{what} is of type {type(text).__name__}, not str")
    if not text:
        raise MessageError(f"{what} is empty")
    if NAME_VALUE_SEPARATOR in text or ENTRY_SEPARATOR in text:
        raise MessageError(f"{what} holds a separator, U+0001 or U+0002")
    if not _is_utf8(text):
        raise MessageError(f"{what} holds half a surrogate pair, which UTF-8 does not have")


def check_properties_length(text: str) -> bytes:
    """Give a properties text as it is stored.

    Raises:
        MessageError: MESSAGE_ILLEGAL: it is longer than a record can hold, or is no UTF-8.
    """
    if not _is_utf8(text):
        raise MessageError("the properties hold half a surrogate pair, which UTF-8 does not have")
    data = text.encode()
    if len(data) > MAX_PROPERTIES_BYTES:
        raise MessageError(f"the properties have {len(data)} bytes, of at most {MAX_PROPERTIES_BYTES}")
    return data


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bad_name(text: str) -> MessageError:
    return MessageError(text, code=ResponseCode.INVALID_PARAMETER)
