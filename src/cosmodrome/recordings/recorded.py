"""Recordings: one frame per line of JSON.

Owns: the form of a line; reading a file of them, of bare frames, or of hexadecimal digits.
Must not know: what a frame says (readable.py); where frames come from (relay.py).

A line has `t_ms`, `conn`, `dir` (request, response), and `frame_b64`, a whole frame with its length field, or `raw_b64`,
bytes that are no frame. Members that are not known here are left alone by readers.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from cosmodrome.errors import MalformedFrameError, RecordingError
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, WORD_BYTES, frame_bytes

Direction = Literal["request", "response"]

MAX_LINE_BYTES: Final = 2 * DEFAULT_MAX_FRAME_BYTES
"""A frame in base64 takes a third more than it has."""

_HEX: Final = re.compile(rb"(?:0x)?(?:[0-9a-fA-F]{2}[\s:,]*)+", re.ASCII)
_NOT_HEX: Final = re.compile(rb"0x|[\s:,]")


class Recorded(NamedTuple):
    """One frame, or bytes that are none.

    Attributes:
        t_ms: When it passed, since the recording began.
        connection: Which connection, from 1.
        direction: Whether the one who opened the connection sent it, or the other.
        data: The whole frame with its length field, or the beginning of what is none.
        is_frame: Which of the two.
        is_redacted: Whether what messages or values say was taken out of it.
    """

    t_ms: float
    connection: int
    direction: Direction
    data: bytes
    is_frame: bool = True
    is_redacted: bool = False


class _Line(msgspec.Struct):
    """The members that count, as they are read. `from` is of recordings in which the other side asks too."""

    t_ms: float = 0.0
    conn: int = 1
    dir: str = "request"
    frame_b64: str | None = None
    raw_b64: str | None = None
    redacted: bool = False
    sender: str | None = msgspec.field(name="from", default=None)


_DECODER: Final = msgspec.json.Decoder(_Line)
_ENCODER: Final = msgspec.json.Encoder()


def line_of(recorded: Recorded) -> bytes:
    """Write a line, without its end."""
    line: dict[str, object] = {
        "t_ms": round(recorded.t_ms, 1),
        "conn": recorded.connection,
        "dir": recorded.direction,
        "frame_b64" if recorded.is_frame else "raw_b64": base64.b64encode(recorded.data).decode(),
    }
    return _ENCODER.encode(line | ({"redacted": True} if recorded.is_redacted else {}))


def read_line(line: bytes) -> Recorded:
    """Read a line.

    Raises:
        RecordingError: It is none.
    """
    try:
        found = _DECODER.decode(line)
        text, is_frame = (found.frame_b64, True) if found.frame_b64 is not None else (found.raw_b64, False)
        data = base64.b64decode(text or "", validate=True)
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise RecordingError(f"not a line of a recording: {error}") from error
    if text is None:
        raise RecordingError("not a line of a recording: it has neither frame_b64 nor raw_b64")
    direction = _DIRECTIONS.get(found.sender or found.dir)
    if direction is None:
        raise RecordingError(f"not a line of a recording: its direction is {found.sender or found.dir!r}")
    return Recorded(found.t_ms, found.conn, direction, data, is_frame, found.redacted)


_DIRECTIONS: Final[dict[str, Direction]] = {
    "request": "request", "client": "request", "response": "response", "broker": "response",
}  # fmt: skip
"""`from` says who sent it where a broker asks on a connection that a client opened."""


def read_file(path: Path) -> Iterator[Recorded]:
    """Read a recording, bare frames, or hexadecimal digits; which of them it is says the first byte.

    Raises:
        RecordingError: What is read next is none of these; it names the line or the byte. What came before was given.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        first = file.read(1)
        file.seek(0)
        if first == b"{":
            yield from read_lines(file)
            return
        data = file.read()
    yield from read_bytes(from_hex(data) if _HEX.fullmatch(data.strip()) else data)


def read_lines(file: Iterator[bytes]) -> Iterator[Recorded]:
    """Read the lines of a recording.

    Raises:
        RecordingError: The next line is none; it is named.
    """
    for number, line in enumerate(file, 1):
        if len(line) > MAX_LINE_BYTES:
            raise RecordingError(f"line {number} is longer than any frame")
        if line.strip():
            try:
                yield read_line(line)
            except RecordingError as error:
                raise RecordingError(f"line {number}: {error}") from error


def from_hex(text: bytes) -> bytes:
    """Give the bytes that hexadecimal digits stand for; blanks, colons, commas and 0x between them do not matter.

    Raises:
        RecordingError: It holds something else, or half a byte.
    """
    digits = _NOT_HEX.sub(b"", text)
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError as error:
        raise RecordingError(f"not hexadecimal digits: {error}") from error


def read_bytes(data: bytes) -> Iterator[Recorded]:
    """Cut bytes into frames of one connection; all count as requests, each frame says itself what it is.

    Raises:
        RecordingError: The rest is no frame, or not all of one.
    """
    if not data:
        raise RecordingError("there is nothing in it")
    start = 0
    while start < len(data):
        try:
            end = start + whole_frame_bytes(data, start)
        except MalformedFrameError as error:
            raise RecordingError(f"byte {start}: {error}") from error
        if end > len(data):
            raise RecordingError(
                f"byte {start}: a frame of {end - start} bytes begins, and {len(data) - start} are there"
            )
        yield Recorded(0.0, 1, "request", data[start:end])
        start = end


def whole_frame_bytes(data: bytes | bytearray, start: int) -> int:
    """Give how long the frame that begins there is.

    Raises:
        MalformedFrameError: Its length field is not here, or impossible.
    """
    if len(data) - start < WORD_BYTES:
        raise MalformedFrameError("a length field is cut")
    size = frame_bytes(data, start)
    if not 2 * WORD_BYTES <= size <= DEFAULT_MAX_FRAME_BYTES:
        raise MalformedFrameError(f"no frame has {size} bytes")
    return size
