"""What a subscription wants, as the store asks it.

Owns: which questions a subscription is made into; what is refused and with which words.
Must not know: who subscribes; how an expression is read.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cosmodrome.broker.filters.sql import RecordFilter, sql_filter
from cosmodrome.broker.refusals import refused
from cosmodrome.errors import FilterError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.subscription import SQL92, SubscriptionData

TagFilter = Callable[[int], bool]

_PULL_FAILED: Final = "parse the consumer's subscription failed"
_NOT_KNOWN: Final = "The broker's consumer filter data is not exist!Your expression may be wrong!"


class Wanted(NamedTuple):
    """Which messages are wanted; a question that is None need not be asked.

    Attributes:
        is_tag_wanted: Asked with the hash of a tag.
        is_wanted: Asked with a record.
    """

    is_tag_wanted: TagFilter | None = None
    is_wanted: RecordFilter | None = None


EVERYTHING: Final = Wanted()


def wanted_by(subscription: SubscriptionData, *, is_sql_enabled: bool, is_own: bool) -> Wanted:
    """Give what a subscription wants; `is_own` is for one that came with the request, not with a heartbeat.

    Raises:
        RequestRefusedError: It cannot be used here. One that cannot be read never means all messages.
    """
    if subscription.is_by_tag:
        if subscription.wants_all or not subscription.code_set:
            return EVERYTHING
        return Wanted(is_tag_wanted=frozenset(subscription.code_set).__contains__)
    if is_own and not is_sql_enabled:
        raise _not_supported(subscription)
    try:
        question = read_filter(subscription)
    except FilterError as error:
        if is_own:
            raise refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _PULL_FAILED) from error
        raise refused(ResponseCode.FILTER_DATA_NOT_EXIST, _NOT_KNOWN) from error
    if not is_sql_enabled:
        raise _not_supported(subscription)
    return Wanted(is_wanted=question)


def check_subscription(subscription: SubscriptionData, *, is_sql_enabled: bool) -> None:
    """Have a client told at its start what is wrong with a subscription.

    Raises:
        RequestRefusedError: It cannot be used here.
    """
    if subscription.is_by_tag:
        return
    if not is_sql_enabled:
        raise _not_supported(subscription)
    try:
        read_filter(subscription)
    except FilterError as error:
        raise refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from error


def read_filter(subscription: SubscriptionData) -> RecordFilter:
    """Give the question that an expression asks of a record.

    Raises:
        FilterError: It is of an unknown kind, or is none.
    """
    if subscription.expression_type != SQL92:
        raise FilterError(f"{subscription.expression_type[:60]!r} is no kind of expression")
    return sql_filter(subscription.sub_string)


def _not_supported(subscription: SubscriptionData) -> Exception:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"The broker does not support consumer to filter message by {subscription.expression_type}",
    )
