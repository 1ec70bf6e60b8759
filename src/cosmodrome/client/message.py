"""Messages as users make and get them.

Owns: Message, SendResult, MessageView and ReceivedMessage; what a message must be like to be made.
Must not know: how it travels.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

from cosmodrome.errors import MessageError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.messages import properties as names
from cosmodrome.protocol.messages.checks import check_text, check_user_properties
from cosmodrome.protocol.messages.compression import inflate
from cosmodrome.protocol.messages.record import StoredMessage

__all__ = ["Message", "MessageQueue", "MessageView", "ReceivedMessage", "SendResult", "SendStatus", "Settler"]

_KEY_SEPARATOR: Final = " "
_INT32: Final = range(-(2**31), 2**31)
_AT_ONCE: Final = (0, None, None)


class Message(msgspec.Struct, frozen=True, kw_only=True, weakref=True):
    """A message to be sent. It does not change, and may be sent again.

    Attributes:
        topic: Where it goes.
        body: Bytes; a bytearray or a memoryview is copied. A text is refused: encode it.
        tag: What consumers filter by.
        keys: By which the message can be found; a single text is one key. No blanks inside.
        properties: Own properties; names that RocketMQ uses are refused.
        delay_level: 1 to 18 of the broker's table (1s 5s 10s 30s 1m 2m ... 2h); 0 for none.
        delay: How long it is kept back, a timedelta or seconds (5.x brokers).
        deliver_at: When it is delivered, an aware datetime (5.x brokers).
        sharding_key: Messages of one key go to one queue, in the order in which they are sent.
        flag: A number of your own.
        wait_for_store: Whether the answer waits for what the broker's settings promise (disk, slave).
        msg_id: An id of your own; None: one is made. A message that may have been stored can be sent again under
            the same id, by which consumers can tell.

    Raises:
        MessageError: A value cannot be used; it names it.
    """

    topic: str
    body: bytes
    tag: str | None = None
    keys: Sequence[str] = ()
    properties: Mapping[str, str] = {}
    delay_level: int = 0
    delay: timedelta | float | None = None
    deliver_at: datetime | None = None
    sharding_key: str | None = None
    flag: int = 0
    wait_for_store: bool = True
    msg_id: str | None = None

    def __post_init__(self) -> None:
        if self.body.__class__ is not bytes:
            msgspec.structs.force_setattr(self, "body", _bytes_of(self.body))
        if self.topic.__class__ is not str:
            raise MessageError(f"the topic is of type {type(self.topic).__name__}, not str")
        tag, key = self.tag, self.sharding_key
        if tag is not None and not (tag.__class__ is str and tag.isprintable() and tag):
            check_text("the tag", tag)
        if self.keys:
            msgspec.structs.force_setattr(self, "keys", _keys_of(self.keys))
        if self.properties:
            msgspec.structs.force_setattr(self, "properties", _properties_of(self.properties))
        if key is not None and not _is_surely_fine(key):
            check_text("the sharding key", key)
        if self.msg_id is not None:
            check_text("msg_id", self.msg_id)
        if self.flag != 0 or self.flag.__class__ is not int:
            _check_flag(self.flag)
        if (
            self.delay is not None
            or self.deliver_at is not None
            or self.delay_level.__class__ is not int
            or self.delay_level
        ):
            _check_delay(self)

    def replaced(self, **changes: Any) -> "Message":
        """Give the same with some members changed."""
        return msgspec.structs.replace(self, **changes)

    @property
    def is_delayed(self) -> bool:
        """Whether it is kept back, in one way or another."""
        return bool(self.delay_level) or self.delay is not None or self.deliver_at is not None

    def delay_property(self) -> tuple[str, str] | None:
        """Give the property that keeps it back, or None."""
        if self.delay_level:
            return names.DELAY, str(self.delay_level)
        if self.delay is not None:
            return names.TIMER_DELAY_MS, str(math.ceil(_seconds(self.delay) * 1000))
        if self.deliver_at is not None:
            return names.TIMER_DELIVER_MS, str(math.ceil(self.deliver_at.timestamp() * 1000))
        return None


class SendStatus(Enum):
    """What an accepted send was promised. The message is stored and will be delivered in every case."""

    OK = ResponseCode.SUCCESS
    FLUSH_DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT
    """Not known to be on disk."""
    FLUSH_SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT
    """Not known to be copied."""
    SLAVE_NOT_AVAILABLE = ResponseCode.SLAVE_NOT_AVAILABLE
    """There is no slave to copy it."""


class SendResult(msgspec.Struct, frozen=True, gc=False):
    """What became of a message.

    Attributes:
        msg_id: The sender's id (UNIQ_KEY); of a batch a list with commas.
        offset_msg_id: The broker's id, which says where the record is; of a batch a list with commas.
        queue: The queue of the topic that was asked for.
        queue_offset: Where it is in the queue; of a batch the first one's; of a delayed message or a half message
            its place where it waits.
        transaction_id: Of a half message.
        recall_handle: By which a timer message can be taken back (5.3).
        attempts: How often it was sent; above 1 there may be copies, all with the same `msg_id`.
        region: What the broker says of itself.
        trace_on: Whether the broker wants traces.
    """

    status: SendStatus
    msg_id: str
    offset_msg_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    recall_handle: str | None = None
    attempts: int = 1
    region: str | None = None
    trace_on: bool = True


class Settler(Protocol):
    """Who is told what became of a received message."""

    async def ack(self, message: "ReceivedMessage") -> None:
        """It is done."""

    async def retry(self, message: "ReceivedMessage", delay_level: int | None) -> None:
        """It failed; deliver it again later."""


class MessageView:
    """A stored message as users see it.

    Args:
        stored: As the broker sent it.
        queue: In which it is.
        topic: The topic as users know it: without a namespace, of a retried message the original one.
    """

    def __init__(self, stored: StoredMessage, queue: MessageQueue, *, topic: str | None = None) -> None:
        self.stored = stored
        self.queue = queue
        self.topic = stored.topic if topic is None else topic

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(topic={self.topic!r}, msg_id={self.msg_id!r}, queue={self.queue!r}, "
            f"queue_offset={self.queue_offset})"
        )

    @functools.cached_property
    def body(self) -> bytes:
        """The body as it was sent; it is inflated when it is first asked for.

        Raises:
            MalformedBodyError: It cannot be inflated.
            MissingLibraryError: Its codec needs a library that is not installed.
        """
        return inflate(self.stored.body, self.stored.sys_flag)

    @property
    def properties(self) -> Mapping[str, str]:
        """All properties, those of RocketMQ included."""
        return self.stored.properties

    @property
    def tag(self) -> str | None:
        """The tag, or None."""
        return self.stored.tag

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys."""
        return tuple(self.properties.get(names.KEYS, "").split())

    @property
    def msg_id(self) -> str:
        """The sender's id, or the broker's if the sender gave none."""
        return self.stored.msg_id

    @property
    def offset_msg_id(self) -> str:
        """The broker's id."""
        return self.stored.offset_msg_id

    @property
    def queue_offset(self) -> int:
        """Its place in the queue."""
        return self.stored.queue_offset

    @property
    def reconsume_times(self) -> int:
        """How many deliveries failed before."""
        return self.stored.reconsume_times

    @property
    def sharding_key(self) -> str | None:
        """The key by which the sender chose the queue."""
        return self.properties.get(names.SHARDING_KEY)

    @property
    def flag(self) -> int:
        """The sender's number."""
        return self.stored.flag

    @property
    def born_at(self) -> datetime:
        """When it was sent, by the sender's clock."""
        return _time_of(self.stored.born_timestamp_ms)

    @property
    def stored_at(self) -> datetime:
        """When it was stored, by the broker's clock."""
        return _time_of(self.stored.store_timestamp_ms)


class ReceivedMessage(MessageView):
    """A message that was delivered; `settler` is who is told of `ack` and `retry`, without one they raise RuntimeError."""

    def __init__(
        self, stored: StoredMessage, queue: MessageQueue, settler: Settler | None = None, *, topic: str | None = None
    ) -> None:
        super().__init__(stored, queue, topic=topic)
        self._settler = settler

    async def ack(self) -> None:
        """Say that it is done."""
        await self._settled_by().ack(self)

    async def retry(self, delay_level: int | None = None) -> None:
        """Say that it is to be delivered again, after the time of this level; None: the broker chooses."""
        await self._settled_by().retry(self, delay_level)

    def _settled_by(self) -> Settler:
        if self._settler is None:
            raise RuntimeError("this message was not delivered by a consumer that waits for its end")
        return self._settler


def _bytes_of(body: Any) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    if body is None:
        raise MessageError("the message body is null")
    hint = ": encode it, for example text.encode()" if isinstance(body, str) else ""
    raise MessageError(f"the message body is of type {type(body).__name__}, not bytes{hint}")


def _keys_of(keys: Any) -> tuple[str, ...]:
    found = (keys,) if isinstance(keys, str) else tuple(keys)
    for key in found:
        if not _is_surely_fine(key):
            check_text(f"key {key!r}", key)
        if key.split() != [key]:
            raise MessageError(f"key {key!r} holds a blank, which separates keys")
    return found


def _is_surely_fine(text: Any) -> bool:
    """Tell, in a fraction of the time that check_text takes, that it would not refuse a text."""
    return text.__class__ is str and text != "" and text.isprintable()


def _properties_of(properties: Any) -> dict[str, str]:
    if not isinstance(properties, Mapping):
        raise MessageError(f"the properties are of type {type(properties).__name__}, not a mapping")
    found = dict(properties)
    check_user_properties(found)
    return found


def _check_flag(flag: Any) -> None:
    if flag.__class__ is not int or flag not in _INT32:
        raise MessageError(f"the flag {flag!r} is no 32-bit number")


def _check_delay(message: Message) -> None:
    given = [name for name in ("delay_level", "delay", "deliver_at") if getattr(message, name)]
    if len(given) > 1:
        raise MessageError(f"{' and '.join(given)} are given: a message is delayed in one way")
    level = message.delay_level
    if level.__class__ is not int or level < 0:
        raise MessageError(f"delay_level {level!r} is no level: 1 to 18")
    if message.delay is not None:
        seconds = _seconds(message.delay)
        if not (math.isfinite(seconds) and seconds >= 0):
            raise MessageError(f"the delay {message.delay!r} is no time from now on")
    if message.deliver_at is not None and (
        not isinstance(message.deliver_at, datetime) or message.deliver_at.tzinfo is None
    ):
        raise MessageError(f"deliver_at {message.deliver_at!r} is no datetime with a time zone")


def _seconds(delay: Any) -> float:
    if isinstance(delay, timedelta):
        return delay.total_seconds()
    if isinstance(delay, bool) or not isinstance(delay, (int, float)):
        raise MessageError(f"the delay is of type {type(delay).__name__}, neither timedelta nor seconds")
    return float(delay)


def _time_of(timestamp_ms: int) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # a record may say anything
        return datetime.fromtimestamp(0, UTC)
