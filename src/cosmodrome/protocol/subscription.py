"""SubscriptionData: which messages of a topic a group wants.

Owns: the value; making one of a tag expression or of SQL.
Must not know: how messages are filtered; when a subscription is sent.
"""

from typing import Final

from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields
from cosmodrome.protocol.messages.tag_hash import tag_code

SUBSCRIBE_ALL: Final = "*"
TAG: Final = "TAG"
SQL92: Final = "SQL92"
_SEPARATOR: Final = "||"


class SubscriptionData(BodyFields, frozen=True, kw_only=True):
    """A group's subscription of one topic.

    `sub_version` is the time in wall-clock milliseconds when it was made: the broker keeps the newer one. For tags,
    `code_set` holds the hash of each of `tags_set`; both are empty for all messages, and for SQL. Clients in C++ leave
    out `expression_type`, which is then TAG.
    """

    topic: str
    sub_string: str = SUBSCRIBE_ALL
    tags_set: tuple[str, ...] = ()
    code_set: tuple[Int32, ...] = ()
    sub_version: int = 0
    expression_type: str = TAG
    class_filter_mode: bool = False
    filter_class_source: str | None = None

    @property
    def wants_all(self) -> bool:
        """Whether no message is filtered out."""
        return self.is_by_tag and self.sub_string == SUBSCRIBE_ALL

    @property
    def is_by_tag(self) -> bool:
        """Whether tags decide; an expression type that is empty means that."""
        return self.expression_type in (TAG, "")


def subscription_to_tags(topic: str, expression: str | None, now_ms: int) -> SubscriptionData:
    """Subscribe to messages with one of the tags in `a || b`; to all of them with None, nothing or `*`.

    Raises:
        ValueError: The expression holds separators and no tag.
    """
    if not expression or expression == SUBSCRIBE_ALL:
        return SubscriptionData(topic=topic, sub_version=now_ms)
    tags = tuple(dict.fromkeys(tag for part in expression.split(_SEPARATOR) if (tag := part.strip())))
    if not tags:
        raise ValueError(f"no tag in the expression {expression!r}")
    codes = tuple(dict.fromkeys(tag_code(tag) for tag in tags))
    return SubscriptionData(topic=topic, sub_string=expression, tags_set=tags, code_set=codes, sub_version=now_ms)


def subscription_to_sql(topic: str, expression: str, now_ms: int) -> SubscriptionData:
    """Subscribe to messages whose properties fulfil an SQL92 expression; the broker is who reads it.

    Raises:
        ValueError: The expression is blank.
    """
    if not expression.strip():
        raise ValueError("the SQL expression is blank")
    return SubscriptionData(topic=topic, sub_string=expression, sub_version=now_ms, expression_type=SQL92)
