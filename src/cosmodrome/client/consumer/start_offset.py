"""Where the reading of a queue begins.

Owns: the rules FIRST, LAST and BY_TIME, how they are written in a program and in a heartbeat, and what each asks.
Must not know: how a broker is asked; where offsets are stored.
"""

import datetime as dt
from enum import Enum
from typing import Final

import msgspec

RETRY_TOPIC_PREFIX: Final = "%RETRY%"
NOT_STORED: Final = -1
"""What a look-up of a committed offset gives for a queue that has none."""


class StartPoint(Enum):
    """Where a group without a stored offset begins; the value is the name in a heartbeat."""

    FIRST = "CONSUME_FROM_FIRST_OFFSET"
    LAST = "CONSUME_FROM_LAST_OFFSET"
    BY_TIME = "CONSUME_FROM_TIMESTAMP"


class StartRule(msgspec.Struct, frozen=True):
    """A start point; `time_ms` (since the epoch) goes with BY_TIME alone."""

    point: StartPoint
    time_ms: int | None = None


class Question(Enum):
    """What has to be asked of the broker before a queue without a stored offset can be read."""

    MAX_OFFSET = "the offset that the next message will have"
    OFFSET_BY_TIME = "the first offset at or after a time"


def start_rule(consume_from: object) -> StartRule:
    """Read the setting `consume_from`: "first", "last" or an aware datetime.

    Raises:
        ValueError: Another text, or a datetime without a time zone: which moment it means depends on the machine.
        TypeError: Anything else.
    """
    if isinstance(consume_from, dt.datetime):
        if consume_from.utcoffset() is None:
            raise ValueError(
                f"consume_from={consume_from!r} has no time zone; write datetime.now(timezone.utc) or .astimezone()"
            )
        return StartRule(StartPoint.BY_TIME, int(consume_from.timestamp() * 1000))
    if not isinstance(consume_from, str):
        raise TypeError(f'consume_from is "first", "last" or an aware datetime, not {type(consume_from).__name__}')
    try:
        return StartRule({"first": StartPoint.FIRST, "last": StartPoint.LAST}[consume_from])
    except KeyError:
        raise ValueError(f'consume_from is "first", "last" or an aware datetime, not {consume_from!r}') from None


def start_without_stored(rule: StartRule, topic: str) -> int | Question:
    """Give the first offset to read of a queue for which the group has stored none, or what to ask for it.

    FIRST begins at 0 and lets the broker correct it. Retry topics are read from 0 (LAST) as no failed message may be
    lost, or from the end (BY_TIME), as in Java.
    """
    if rule.point is StartPoint.FIRST:
        return 0
    is_retry = topic.startswith(RETRY_TOPIC_PREFIX)
    if rule.point is StartPoint.LAST:
        return 0 if is_retry else Question.MAX_OFFSET
    return Question.MAX_OFFSET if is_retry else Question.OFFSET_BY_TIME
