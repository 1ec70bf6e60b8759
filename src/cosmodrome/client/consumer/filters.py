"""Which messages of a topic a consumer wants.

Owns: the expressions of a program, what is refused of them, and the comparison of tags that the broker's hash leaves
to the client.
Must not know: what a broker makes of an expression; when it is sent.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.protocol.subscription import SubscriptionData, subscription_to_sql, subscription_to_tags

_SEPARATOR: Final = "||"
_NEVER_IN_A_TAG: Final = re.compile(r"[\s|,'\"<>()]|==?(?=\s|$)")


class Sql(msgspec.Struct, frozen=True):
    """An SQL92 expression over the properties of messages; brokers must have `enablePropertyFilter=true`."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise ValueError(f"an SQL expression is a text that is not blank, not {self.text!r}")


Expression = str | Sql | None
"""Tags as `a || b`; everything with `*`, nothing or None; or an `Sql`."""


def subscription(topic: str, expression: Expression, now_ms: int) -> SubscriptionData:
    """Make the subscription of a topic.

    Raises:
        ValueError: The text is no list of tags; it may have been meant as SQL.
        TypeError: Neither a text nor an `Sql` nor None.
    """
    if isinstance(expression, Sql):
        return subscription_to_sql(topic, expression.text, now_ms)
    if expression is not None and not isinstance(expression, str):
        raise TypeError(f"{topic}: an expression is a text of tags, Sql(...) or None, not {type(expression).__name__}")
    text = (expression or "").strip()
    for part in text.split(_SEPARATOR):
        if _NEVER_IN_A_TAG.search(part.strip()):
            raise ValueError(
                f"{topic}: {part.strip()!r} is no tag; write tags as 'a || b', or Sql({expression!r}) for a condition"
            )
    return subscription_to_tags(topic, text, now_ms)


def acceptance(data: SubscriptionData) -> Callable[[StoredMessage], bool] | None:
    """Give what decides whether a message that the broker sent is wanted; None when all are.

    The broker compares hashes of tags, and two tags may have the same.
    """
    if not data.is_by_tag or not data.tags_set:
        return None
    tags = frozenset(data.tags_set)

    def is_wanted(stored: StoredMessage) -> bool:
        return stored.tag in tags

    return is_wanted
