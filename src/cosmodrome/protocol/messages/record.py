"""Stored messages: the record of the commit log, of which the bodies of PULL_MESSAGE, VIEW_MESSAGE_BY_ID and others are made.

Owns: the layout of a record, both versions of it; the checks that its lengths must pass.
Must not know: files; queues; what a body or a property is for.
"""

import functools
import struct
import zlib
from collections.abc import Mapping
from typing import Final

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.messages.hosts import V4_BYTES, V6_BYTES, Host, decode_host
from cosmodrome.protocol.messages.properties import (
    MAX_PROPERTIES_BYTES,
    TAGS,
    UNIQ_KEY,
    decode_properties,
    properties_text,
)
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6

MAGIC_V1: Final = 0xDAA320A7 - 2**32
MAGIC_V2: Final = 0xDAA320AB - 2**32
"""The topic's length has two bytes. Releases before 5.0 take it for the end of the log."""
MAGIC_FILLER: Final = 0xCBD43194 - 2**32
"""What follows in this file is unused."""

MAX_TOPIC_BYTES_V1: Final = 127
MAX_TOPIC_BYTES_V2: Final = 2**15 - 1
MIN_RECORD_BYTES: Final = 91

_V6_MASK: Final = BORN_HOST_V6 | STORE_HOST_V6
_HOST_BYTES: Final = {
    flags: (V6_BYTES if flags & BORN_HOST_V6 else V4_BYTES, V6_BYTES if flags & STORE_HOST_V6 else V4_BYTES)
    for flags in (0, BORN_HOST_V6, STORE_HOST_V6, _V6_MASK)
}
_LAYOUTS: Final = {
    flags: struct.Struct(f">iiiiiqqiq{born}sq{store}siqi") for flags, (born, store) in _HOST_BYTES.items()
}
"""Everything before the body, by the two bits that say how long the hosts are."""
HEADS: Final[Mapping[int, struct.Struct]] = _LAYOUTS
"""The same, for who writes very many records: total size, magic, checksum, queue, flag, queue offset, log offset, system
flag, born time and host, store time and host, reconsume times, prepared offset, length of the body."""
_V4_LAYOUT: Final = _LAYOUTS[0]
_V4_BYTES: Final = _V4_LAYOUT.size
_BEFORE_HOSTS: Final = 8
"""Fields that are where they are whatever the lengths of the hosts."""
_FLAG_AT: Final = 36
"""Where the system flag is."""
_SHORT_TOPIC: Final = 255
"""Bytes of a topic that is worth remembering."""
_INT: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_FILLER: Final = struct.Struct(">ii")
FILLER_BYTES: Final = _FILLER.size


class StoredMessage(msgspec.Struct, frozen=True, dict=True):
    """One record.

    Attributes:
        body: As it is stored: compressed when the flag says so.
        properties_bytes: The text of the properties, as it is stored.
        born_host_bytes: Who sent it, as `hosts` writes it.
        store_host_bytes: The broker, likewise.
        body_crc: Of the body, as it is stored in the record; `body_crc()` computes it.
        prepared_transaction_offset: Where the half message is in the log, of a message that was committed.
        is_v2: Whether the topic's length has two bytes.
    """

    topic: str
    body: bytes
    properties_bytes: bytes
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    born_timestamp_ms: int
    born_host_bytes: bytes
    store_timestamp_ms: int
    store_host_bytes: bytes
    body_crc: int
    sys_flag: int = 0
    flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    is_v2: bool = False

    @functools.cached_property
    def properties(self) -> Mapping[str, str]:
        """The properties, read when they are first asked for."""
        return decode_properties(properties_text(self.properties_bytes))

    @property
    def born_host(self) -> Host:
        """Who sent it."""
        return decode_host(self.born_host_bytes)

    @property
    def store_host(self) -> Host:
        """The broker's address, as the broker knows it."""
        return decode_host(self.store_host_bytes)

    @property
    def tag(self) -> str | None:
        """The tag, or None."""
        return self.properties.get(TAGS)

    @property
    def offset_msg_id(self) -> str:
        """The broker's id: where the record is."""
        return (self.store_host_bytes + self.commit_log_offset.to_bytes(8, "big", signed=True)).hex().upper()

    @property
    def msg_id(self) -> str:
        """The sender's id if there is one, else the broker's."""
        return self.properties.get(UNIQ_KEY) or self.offset_msg_id

    @property
    def is_intact(self) -> bool:
        """Whether the body is the one of which the checksum was taken."""
        return body_crc(self.body) == self.body_crc


def body_crc(body: bytes) -> int:
    """Give the checksum of a body: CRC-32 without its sign bit."""
    return zlib.crc32(body) & 0x7FFFFFFF


def decode_records(body: bytes | memoryview) -> list[StoredMessage]:
    """Read records that follow one another without a gap, as an answer to a pull has them.

    Checksums are left to whom they concern (`is_intact`).

    Raises:
        MalformedBodyError: A record is cut, is none, or its lengths contradict each other.
    """
    data = body if isinstance(body, bytes) else bytes(body)
    records: list[StoredMessage] = []
    position, end = 0, len(data)
    while position < end:
        record, position = _decoded(data, position)
        records.append(record)
    return records


def decode_record(data: bytes | memoryview, position: int = 0) -> tuple[StoredMessage, int]:
    """Read the record that begins there, and say where the next one begins. Of a view only the record is copied.

    Raises:
        MalformedBodyError: As decode_records; a filler is no record.
    """
    if isinstance(data, bytes):
        return _decoded(data, position)
    if position + _INT.size > len(data):
        raise MalformedBodyError(f"the record at {position} is cut")
    (size,) = _INT.unpack_from(data, position)
    record, taken = _decoded(bytes(data[position : position + max(size, MIN_RECORD_BYTES)]), 0)
    return record, position + taken


def properties_in(record: bytes | memoryview) -> bytes:
    """Give the text of the properties of one record, without reading the rest of it.

    Raises:
        MalformedBodyError: The record is cut, or is none.
    """
    try:
        body_at = _LAYOUTS[_INT.unpack_from(record, _FLAG_AT)[0] & _V6_MASK].size
        body_length, magic = _INT.unpack_from(record, body_at - _INT.size)[0], _INT.unpack_from(record, _INT.size)[0]
        topic_at = body_at + max(body_length, 0)
        if magic == MAGIC_V1:
            properties_at = topic_at + 1 + record[topic_at]
        else:
            properties_at = topic_at + 2 + _SHORT.unpack_from(record, topic_at)[0]
        end = properties_at + 2 + _SHORT.unpack_from(record, properties_at)[0]
    except (struct.error, IndexError):
        raise MalformedBodyError("the record is cut") from None
    if not properties_at + 2 <= end <= len(record):
        raise MalformedBodyError("what is there is no record, or is cut")
    return bytes(record[properties_at + 2 : end])


def encode_record(message: StoredMessage) -> bytes:
    """Write a record, with the checksum that the message names. A topic that is too long for V1 makes it V2.

    Raises:
        ValueError: The topic or the properties are too long, a host does not have the length that the flag says, or
            a number is too large.
    """
    flags = message.sys_flag & _V6_MASK
    properties, body = message.properties_bytes, message.body
    born_host, store_host = message.born_host_bytes, message.store_host_bytes
    if len(properties) > MAX_PROPERTIES_BYTES:
        raise ValueError(f"properties of {len(properties)} bytes")
    if (len(born_host), len(store_host)) != _HOST_BYTES[flags]:
        raise ValueError("the bits of the flag say other lengths of the hosts")
    layout = _LAYOUTS[flags]
    magic, topic = _topic_bytes(message.topic, message.is_v2)
    try:
        head = layout.pack(
            layout.size + len(body) + len(topic) + _SHORT.size + len(properties),
            magic,
            message.body_crc,
            message.queue_id,
            message.flag,
            message.queue_offset,
            message.commit_log_offset,
            message.sys_flag,
            message.born_timestamp_ms,
            born_host,
            message.store_timestamp_ms,
            store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            len(body),
        )
    except struct.error as error:
        raise ValueError(f"a number does not fit into a record: {error}") from error
    return b"".join((head, body, topic, _SHORT.pack(len(properties)), properties))


def encode_filler(bytes_left: int) -> bytes:
    """Write the beginning of a filler for a file in which so many bytes are left; the rest of it is zeros.

    Raises:
        ValueError: There is no room for it.
    """
    if bytes_left < FILLER_BYTES:
        raise ValueError(f"a filler needs {FILLER_BYTES} bytes, not {bytes_left}")
    return _FILLER.pack(bytes_left, MAGIC_FILLER)


def _decoded(data: bytes, position: int) -> tuple[StoredMessage, int]:
    """Read one record. Every message that is consumed comes this way: about one microsecond is spent here."""
    try:
        (
            size, magic, crc, queue_id, flag, queue_offset, log_offset, sys_flag, born_ms, born_host, store_ms,
            store_host, reconsume_times, prepared_offset, body_length,
        ) = _V4_LAYOUT.unpack_from(data, position)  # fmt: skip
        body_at = position + _V4_BYTES
        if sys_flag & _V6_MASK:
            layout = _LAYOUTS[sys_flag & _V6_MASK]
            body_at = position + layout.size
            born_ms, born_host, store_ms, store_host, reconsume_times, prepared_offset, body_length = (
                layout.unpack_from(data, position)[_BEFORE_HOSTS:]
            )
        body_end = body_at + body_length
        if magic == MAGIC_V1:
            topic_at, topic_length = body_end + 1, data[body_end]
            is_fit = topic_length <= MAX_TOPIC_BYTES_V1
        else:
            topic_at, topic_length = body_end + 2, data[body_end] << 8 | data[body_end + 1]
            is_fit = magic == MAGIC_V2 and topic_length <= MAX_TOPIC_BYTES_V2
        topic_end = topic_at + topic_length
        properties_at = topic_end + 2
        next_at = properties_at + (data[topic_end] << 8 | data[topic_end + 1])
    except (struct.error, IndexError):
        raise MalformedBodyError(f"the record at {position} is cut") from None
    is_fit = is_fit and body_length >= 0 and next_at - position == size
    if not is_fit or next_at > len(data) or next_at - properties_at > MAX_PROPERTIES_BYTES:
        raise MalformedBodyError(f"what is at {position} is no record, or is cut")
    topic = data[topic_at:topic_end]
    try:
        topic_text = _short_topic_text(topic) if topic_length <= _SHORT_TOPIC else topic.decode()
    except UnicodeDecodeError as error:
        raise MalformedBodyError(f"the topic of the record at {position} is not UTF-8") from error
    record = StoredMessage(
        topic_text, data[body_at:body_end], data[properties_at:next_at],
        queue_id, queue_offset, log_offset, born_ms, born_host, store_ms, store_host, crc, sys_flag, flag,
        reconsume_times, prepared_offset, magic == MAGIC_V2,
    )  # fmt: skip
    return record, next_at


@functools.lru_cache(maxsize=1024)
def _short_topic_text(data: bytes) -> str:
    return data.decode()


def _topic_bytes(topic: str, is_v2: bool) -> tuple[int, bytes]:  # noqa: FBT001 -- a field as it is
    """Give the magic number, and the topic with its length before it."""
    data = topic.encode()
    if len(data) <= MAX_TOPIC_BYTES_V1 and not is_v2:
        return MAGIC_V1, bytes((len(data),)) + data
    if len(data) > MAX_TOPIC_BYTES_V2:
        raise ValueError(f"a topic of {len(data)} bytes")
    return MAGIC_V2, _SHORT.pack(len(data)) + data
