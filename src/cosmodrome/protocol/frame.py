"""Length-prefixed frames of the remoting protocol.

Owns: where one frame ends and the next begins; the limits of a frame and of its header; the split of header and body.
Must not know: what a header or a body means (command.py); where bytes come from (transport/).
"""

import struct
from collections.abc import Callable
from io import BytesIO
from typing import Final, TypeVar

import msgspec

from cosmodrome.errors import FrameTooLargeError, HeaderTooLargeError, MalformedFrameError
from cosmodrome.protocol.codes import SerializeType

DEFAULT_MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""Counts the length field itself, as Java's `com.rocketmq.remoting.frameMaxLength` does."""

DEFAULT_MAX_HEADER_BYTES: Final = 1024 * 1024
"""Headers of brokers and clients have some hundred bytes; only a KV value, which travels in one, is ever longer."""

T = TypeVar("T")

_LENGTH: Final = struct.Struct(">i")
LENGTHS: Final = struct.Struct(">iI")
WORD_BYTES: Final = 4
_HEADER_LENGTH_MASK: Final = 0xFFFFFF
_SERIALIZE_TYPE_SHIFT: Final = 24
LONG_BODY_BYTES: Final = 256 * 1024
"""A body from which on it pays to collect it where it stays."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame, cut in two. An absent body is empty."""

    serialize_type: SerializeType
    header: bytes
    body: bytes


_SERIALIZE_TYPES: Final = {int(member): member for member in SerializeType}


class _LongFrame:
    """A frame of which the header is here. Its body is copied once, and is proportional to what was received."""

    __slots__ = ("_body", "_header", "_missing_bytes", "_serialize_type", "surplus")

    def __init__(self, serialize_type: SerializeType, header: bytes, body_bytes: int) -> None:
        self._serialize_type = serialize_type
        self._header = header
        self._body = BytesIO()
        self._missing_bytes = body_bytes
        self.surplus = b""
        """What came after it."""

    @property
    def received_bytes(self) -> int:
        return 2 * WORD_BYTES + len(self._header) + self._body.tell() + len(self.surplus)

    def feed(self, data: bytes) -> None:
        if len(data) <= self._missing_bytes:
            self._missing_bytes -= len(data)
            self._body.write(data)
            return
        with memoryview(data) as view:
            self._body.write(view[: self._missing_bytes])
        self.surplus += data[self._missing_bytes :]
        self._missing_bytes = 0

    def frame(self) -> Frame | None:
        """Give it once it is whole."""
        return None if self._missing_bytes else Frame(self._serialize_type, self._header, self._body.getvalue())


class FrameDecoder:
    """Turn received bytes into frames, however the bytes were split.

    Memory held is what was received and not yet taken, never what a length field promises.
    """

    __slots__ = ("_buffer", "_long", "_max_frame_bytes", "_max_header_bytes", "_offset")

    def __init__(
        self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES, max_header_bytes: int = DEFAULT_MAX_HEADER_BYTES
    ) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._max_header_bytes = max_header_bytes
        self._buffer: bytes | bytearray = b""
        self._offset = 0
        self._long: _LongFrame | None = None
        """While there is one the buffer is empty."""

    @property
    def buffered_bytes(self) -> int:
        """How many received bytes wait for the rest of their frame, or to be taken."""
        return len(self._buffer) - self._offset if self._long is None else self._long.received_bytes

    def feed(self, data: bytes) -> None:
        """Accept bytes in arrival order."""
        if self._offset == len(self._buffer):
            if self._long is not None:
                self._long.feed(data)
                return
            self._buffer = data
        elif isinstance(self._buffer, bytearray):
            del self._buffer[: self._offset]
            self._buffer += data
        else:
            self._buffer = bytearray(memoryview(self._buffer)[self._offset :])
            self._buffer += data
        self._offset = 0

    def take(self, read: Callable[[bytes | bytearray, int], tuple[list[T], int]]) -> list[T]:
        """Let a reader take frames from the beginning of what waits; give what it made of them.

        It is given bytes and where to begin, and gives how far it came: to the end of a whole frame.
        """
        if not self._buffer:
            return []
        found, self._offset = read(self._buffer, self._offset)
        if self._offset == len(self._buffer):
            self._buffer, self._offset = b"", 0
        return found

    def next_frame(self) -> Frame | None:
        """Take the next whole frame, or None when more bytes are needed.

        Raises:
            FrameTooLargeError: A length prefix exceeds the limit; raised as soon as the prefix is here.
            HeaderTooLargeError: The header's length exceeds its limit; raised as soon as that length is here.
            MalformedFrameError: Lengths contradict each other, or the type byte is unknown. In all cases the
                position in the stream is lost: close the connection, never use this decoder again.
        """
        buffer, start = self._buffer, self._offset
        if not buffer:
            return None if self._long is None else self._take_long(self._long)
        available = len(buffer) - start
        if available < 2 * WORD_BYTES:
            if available >= WORD_BYTES:
                self._check_length(_LENGTH.unpack_from(buffer, start)[0])
            return None
        length, word = LENGTHS.unpack_from(buffer, start)
        self._check_length(length)
        serialize_type = _SERIALIZE_TYPES.get(word >> _SERIALIZE_TYPE_SHIFT)
        if serialize_type is None:
            raise MalformedFrameError(f"unknown serialize type {word >> _SERIALIZE_TYPE_SHIFT}")
        header_length = word & _HEADER_LENGTH_MASK
        if header_length > length - WORD_BYTES:
            raise MalformedFrameError(f"bad header length {header_length} in a frame of {length} bytes")
        if header_length > self._max_header_bytes:
            raise HeaderTooLargeError(header_length, self._max_header_bytes)
        header_start = start + 2 * WORD_BYTES
        body_start = header_start + header_length
        end = start + WORD_BYTES + length
        if available < length + WORD_BYTES:
            self._collect(serialize_type, header_start, body_start, end)
            return None
        if end == len(buffer):  # what was a big frame is not kept until the peer's next one
            self._buffer, self._offset = b"", 0
        else:
            self._offset = end
        if isinstance(buffer, bytes):
            return Frame(serialize_type, buffer[header_start:body_start], buffer[body_start:end])
        with memoryview(buffer) as view:
            return Frame(serialize_type, bytes(view[header_start:body_start]), bytes(view[body_start:end]))

    def _collect(self, serialize_type: SerializeType, header_start: int, body_start: int, end: int) -> None:
        """Take a frame with a long body out of the buffer as soon as its header is whole; the rest goes to it."""
        buffer = self._buffer
        if end - body_start < LONG_BODY_BYTES or body_start > len(buffer):
            return
        begun = _LongFrame(serialize_type, bytes(buffer[header_start:body_start]), end - body_start)
        with memoryview(buffer) as view:
            begun.feed(bytes(view[body_start:]))
        self._buffer, self._offset, self._long = b"", 0, begun

    def _take_long(self, begun: _LongFrame) -> Frame | None:
        frame = begun.frame()
        if frame is not None:
            self._buffer, self._long = begun.surplus, None
        return frame

    def _check_length(self, length: int) -> None:
        if length < WORD_BYTES:
            raise MalformedFrameError(f"impossible frame length {length}")
        if length + WORD_BYTES > self._max_frame_bytes:
            raise FrameTooLargeError(length + WORD_BYTES, self._max_frame_bytes)


def frame_bytes(data: bytes | bytearray, start: int) -> int:
    """Give the length of a frame by its first four bytes; at least those four, whatever they say."""
    return WORD_BYTES + max(int.from_bytes(data[start : start + WORD_BYTES], "big", signed=True), 0)


def body_of(data: bytes) -> bytes:
    """Give the body of one whole frame that encode_frame made."""
    word = LENGTHS.unpack_from(data)[1]
    return data[2 * WORD_BYTES + (word & _HEADER_LENGTH_MASK) :]


def encode_frame(serialize_type: SerializeType, header: bytes, body: bytes) -> bytes:
    """Put a header and a body into one frame.

    Raises:
        ValueError: The header has more bytes than the 24-bit length can say.
    """
    header_length = len(header)
    if header_length > _HEADER_LENGTH_MASK:
        raise ValueError(f"a header of {header_length} bytes does not fit a frame")
    prefix = LENGTHS.pack(
        WORD_BYTES + header_length + len(body), serialize_type << _SERIALIZE_TYPE_SHIFT | header_length
    )
    return b"".join((prefix, header, body))
