"""What a broker writes down of popped messages (5.x): check points and acknowledgements (Java: PopCheckPoint, AckMsg, BatchAckMsg).

Owns: the values, their JSON as Apache's brokers write it, the ids under which they are found.
Must not know: where they are stored; when a message is delivered again.
"""

from typing import Final, NamedTuple

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_dialects import encode_json

CHECK_POINT_TAG: Final = "ck"
ACK_TAG: Final = "ack"
BATCH_ACK_TAG: Final = "bAck"
MOST_MESSAGES: Final = 32
"""Of one check point: the map of what is acknowledged has as many bits."""
_SEPARATOR: Final = "@"
_SIGN: Final = 1 << (MOST_MESSAGES - 1)
_NO_OFFSET: Final = -1


class PopKey(NamedTuple):
    """What a check point and its acknowledgements have in common. Times are wall-clock milliseconds."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int
    broker_name: str


class PopCheckPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one queue that one pop took. Offsets are `start_offset` plus each of `offset_diffs`.

    `bit_map` has a bit for each message that was acknowledged, from the lowest on. Members have names of one or two
    letters on the wire.
    """

    topic: str = msgspec.field(default="", name="t")
    group: str = msgspec.field(default="", name="c")
    queue_id: Int32 = msgspec.field(default=0, name="q")
    start_offset: int = msgspec.field(default=0, name="so")
    pop_time: int = msgspec.field(default=0, name="pt")
    invisible_time: int = msgspec.field(default=0, name="it")
    count: Int32 = msgspec.field(default=0, name="n")
    bit_map: Int32 = msgspec.field(default=0, name="bm")
    offset_diffs: tuple[Int32, ...] | None = msgspec.field(default=None, name="d")
    broker_name: str | None = msgspec.field(default=None, name="bn")
    stored_again: str | None = msgspec.field(default=None, name="rp")
    is_suspended: bool = msgspec.field(default=False, name="sp")
    """Whether coming again does not count as a failure."""

    @property
    def revive_time(self) -> int:
        """When what is not acknowledged is delivered again."""
        return self.pop_time + self.invisible_time

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the messages, in the order of the bits."""
        diffs = self.offset_diffs or range(self.count)
        return tuple(self.start_offset + diff for diff in diffs[: self.count])

    @property
    def acknowledged(self) -> int:
        """The bits as a number that is not negative."""
        return self.bit_map & (2 * _SIGN - 1)

    def key(self, broker_name: str) -> PopKey:
        """Give its key; `broker_name` is that of a check point that names none."""
        return PopKey(
            self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker_name or broker_name
        )


class PopAck(NamedTuple):
    """Messages of one check point that are done."""

    key: PopKey
    offsets: tuple[int, ...]


class _Ack(msgspec.Struct, frozen=True, kw_only=True):
    topic: str = msgspec.field(default="", name="t")
    group: str = msgspec.field(default="", name="c")
    queue_id: Int32 = msgspec.field(default=0, name="q")
    start_offset: int = msgspec.field(default=0, name="so")
    pop_time: int = msgspec.field(default=0, name="pt")
    offset: int = msgspec.field(default=_NO_OFFSET, name="ao")
    offsets: tuple[int, ...] | None = msgspec.field(default=None, name="aol")
    broker_name: str | None = msgspec.field(default=None, name="bn")


_CHECK_POINTS: Final = msgspec.json.Decoder(PopCheckPoint)
_ACKS: Final = msgspec.json.Decoder(_Ack)


def bits_of(number: int) -> int:
    """Give bits as the Java int that a check point carries."""
    return number - 2 * _SIGN if number & _SIGN else number


def encode_check_point(point: PopCheckPoint) -> bytes:
    """Write a check point as a 5.5.0 broker does."""
    document = {
        "bm": point.bit_map, "bn": point.broker_name, "c": point.group, "d": point.offset_diffs,
        "it": point.invisible_time, "n": point.count, "pt": point.pop_time, "q": point.queue_id,
        "reviveTime": point.revive_time, "ro": 0, "rp": point.stored_again, "so": point.start_offset,
        "sp": point.is_suspended, "t": point.topic,
    }  # fmt: skip
    return encode_json({name: value for name, value in document.items() if value is not None})


def decode_check_point(body: bytes) -> PopCheckPoint:
    """Read a check point.

    Raises:
        MalformedBodyError: It is none, or names no message, or more than it has bits for.
    """
    try:
        point = _CHECK_POINTS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedBodyError("a check point cannot be read") from error
    diffs = point.offset_diffs
    is_whole = 0 < point.count <= MOST_MESSAGES and (not diffs or len(diffs) >= point.count)
    if not is_whole or not point.topic or not point.group or point.start_offset < 0 or min(point.offsets) < 0:
        raise MalformedBodyError("a check point names no messages that can be")
    return point


def encode_ack(ack: PopAck) -> bytes:
    """Write an acknowledgement as a 5.5.0 broker does: of one message, or of several."""
    key = ack.key
    document = {
        "ao": ack.offsets[0], "bn": key.broker_name, "c": key.group, "pt": key.pop_time, "q": key.queue_id,
        "so": key.start_offset, "t": key.topic,
    }  # fmt: skip
    if len(ack.offsets) > 1:
        document = {"ao": _NO_OFFSET, "aol": ack.offsets, **{name: document[name] for name in list(document)[1:]}}
    return encode_json(document)


def decode_ack(body: bytes, broker_name: str) -> PopAck:
    """Read an acknowledgement of either kind; `broker_name` is that of one that names none.

    Raises:
        MalformedBodyError: It is none.
    """
    try:
        ack = _ACKS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedBodyError("an acknowledgement cannot be read") from error
    key = PopKey(ack.topic, ack.group, ack.queue_id, ack.start_offset, ack.pop_time, ack.broker_name or broker_name)
    return PopAck(key, ack.offsets or (ack.offset,))


def check_point_id(key: PopKey) -> str:
    """Give the UNIQ_KEY of a check point."""
    return _id(key, str(key.start_offset), CHECK_POINT_TAG)


def ack_id(ack: PopAck) -> str:
    """Give the UNIQ_KEY of an acknowledgement: that of one message also for several, as 5.5.0 has it."""
    return _id(ack.key, str(ack.offsets[0] if len(ack.offsets) == 1 else _NO_OFFSET), ACK_TAG)


def ack_tag(ack: PopAck) -> str:
    """Give the tag of an acknowledgement."""
    return ACK_TAG if len(ack.offsets) == 1 else BATCH_ACK_TAG


def _id(key: PopKey, offset: str, kind: str) -> str:
    return _SEPARATOR.join((key.topic, str(key.queue_id), offset, key.group, str(key.pop_time), key.broker_name, kind))
