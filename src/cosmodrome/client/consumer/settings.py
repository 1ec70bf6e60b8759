"""What a consumer can be told.

Owns: every option of a consumer, its default and its checks; which options are the client's own.
Must not know: how any of them is obeyed.
"""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from cosmodrome.client.config import ClientConfig, ClientOptions
from cosmodrome.client.consumer.allocation import AllocationStrategy, Averagely
from cosmodrome.client.consumer.filters import Expression, subscription
from cosmodrome.client.consumer.process_queue import KIB, HoldingLimits
from cosmodrome.client.consumer.start_offset import StartRule, start_rule
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.messages.checks import check_client_group, check_topic

_MAX_SUSPEND_S: Final = 90.0
"""A connection on which nothing happens for two minutes is closed by either side."""


class ConsumerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a consumer; those of the connection are in ClientConfig.

    Attributes:
        consume_from: Where a group begins that has stored nothing: "first", "last", or an aware datetime.
        orderly: One message of a queue at a time, in order, and retries in place.
        broadcasting: Every member gets every message, and keeps its offsets in a file of its own.
        pop: Brokers share messages out by themselves, in groups that are in POP mode (5.x).
        check_group: The start asks what the group's members subscribe to, and raises when that is something else.
        max_reconsume_times: Retries before the dead letters; -1 is 16, or without end in order.
        concurrency: Messages that handlers have at a time.
        allocation: How queues are shared; the same for all members.
        limits: How much is held before pulling pauses.
        topic_messages: Messages held of one topic, shared by its queues; None for no such limit.
        topic_bytes: Bytes held of one topic, likewise.
        batch_messages: Messages that one pull asks for.
        batch_bytes: Bytes that one pull asks for (5.x brokers).
        suspend_s: How long a broker may hold a pull that finds nothing.
        consume_timeout_s: A message that is handled longer is sent back, so that its queue's offset moves on.
        orderly_pause_s: Between the tries of a message in order.
        start_timeout_s: For `start`, all of it.
        offset_folder: Where broadcasting consumers keep their offsets; None is ~/.rocketmq_offsets.
        trace: Send traces of each message: True to RMQ_SYS_TRACE_TOPIC, a text to a topic of that name.
    """

    consume_from: Literal["first", "last"] | dt.datetime = "last"
    orderly: bool = False
    broadcasting: bool = False
    pop: bool = False
    check_group: bool = False
    max_reconsume_times: int = -1
    concurrency: int = 20
    allocation: AllocationStrategy = msgspec.field(default_factory=Averagely)
    limits: HoldingLimits = msgspec.field(default_factory=HoldingLimits)
    topic_messages: int | None = None
    topic_bytes: int | None = None
    batch_messages: int = 32
    batch_bytes: int = 256 * KIB
    suspend_s: float = 15.0
    consume_timeout_s: float = 15 * 60.0
    orderly_pause_s: float = 1.0
    start_timeout_s: float = 30.0
    offset_folder: str | Path | None = None
    trace: bool | str = False

    def __post_init__(self) -> None:
        start_rule(self.consume_from)
        if self.pop and self.broadcasting:
            raise ConfigError("pop does not go with broadcasting: brokers share messages out.", keys=("pop",))
        if isinstance(self.trace, str):
            check_topic(self.trace)
        _check_range("max_reconsume_times", self.max_reconsume_times, -1, 2**31 - 1)
        _check_range("concurrency", self.concurrency, 1, 10_000)
        _check_range("batch_messages", self.batch_messages, 1, 1024)
        _check_range("batch_bytes", self.batch_bytes, 1, 64 * KIB * KIB)
        _check_range("suspend_s", self.suspend_s, 0.001, _MAX_SUSPEND_S)
        _check_range("consume_timeout_s", self.consume_timeout_s, 0.001, float("inf"))
        _check_range("orderly_pause_s", self.orderly_pause_s, 0, 30)
        _check_range("start_timeout_s", self.start_timeout_s, 0.001, float("inf"))

    @property
    def start_rule(self) -> StartRule:
        """Where a queue without a stored offset begins."""
        return start_rule(self.consume_from)

    def limits_of(self, queues: int) -> HoldingLimits:
        """Give the limits of each of so many queues of a topic."""
        limits = self.limits.shared_by(queues, self.topic_messages, self.topic_bytes)
        return limits.without_span() if self.orderly else limits


class ConsumerOptions(ClientOptions, total=False):
    """The keywords of a consumer: those of ConsumerSettings and of ClientConfig."""

    consume_from: Literal["first", "last"] | dt.datetime
    orderly: bool
    broadcasting: bool
    pop: bool
    check_group: bool
    max_reconsume_times: int
    concurrency: int
    allocation: AllocationStrategy
    limits: HoldingLimits
    topic_messages: int | None
    topic_bytes: int | None
    batch_messages: int
    batch_bytes: int
    suspend_s: float
    consume_timeout_s: float
    orderly_pause_s: float
    start_timeout_s: float
    offset_folder: str | Path | None
    trace: bool | str


_OWN: Final = frozenset(ConsumerSettings.__struct_fields__)


def split_options(options: Mapping[str, Any], session: ClientSession | None) -> tuple[ConsumerSettings, ClientSession]:
    """Sort keywords into both kinds, check them, and give a session by them if there is none yet.

    Raises:
        TypeError: An option that nobody knows, or one of a session that was made before; the text names it.
        ConfigError: A value that cannot be used.
    """
    theirs = frozenset(ClientOptions.__annotations__)
    unknown = sorted(options.keys() - _OWN - theirs)
    if unknown:
        known = ", ".join(sorted(_OWN | theirs))
        raise TypeError(f"a consumer has no option {', '.join(unknown)}; there are {known}")
    settings = ConsumerSettings(**{key: value for key, value in options.items() if key in _OWN})
    given = {key: value for key, value in options.items() if key in theirs}
    if session is not None and given:
        raise TypeError(f"{', '.join(sorted(given))}: these belong to the session, which was made before")
    return settings, session or ClientSession(ClientConfig(**given))


def check_names(group: str, topics: Mapping[str, Expression]) -> None:
    """Refuse names that no broker would accept, and what is no expression.

    Raises:
        MessageError: The group or a topic; the text names it.
        TypeError: The subscriptions are no mapping, or an expression is none.
        ValueError: An expression is no list of tags.
    """
    if not isinstance(topics, Mapping):
        raise TypeError(f"subscriptions is a mapping of topics to expressions, not {type(topics).__name__}")
    check_client_group(group)
    for topic, expression in topics.items():
        check_topic(topic)
        subscription(topic, expression, 0)


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ConfigError(f"{name}={value!r} is not a number from {least:g} to {most:g}.", keys=(name,))
