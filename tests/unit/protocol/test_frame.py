"""Where one frame ends and the next begins."""

import struct
import tracemalloc

import pytest
from tests.support.builders import split_into

from cosmodrome.errors import FrameTooLargeError, HeaderTooLargeError, MalformedFrameError
from cosmodrome.protocol.codes import SerializeType
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, LONG_BODY_BYTES, Frame, FrameDecoder, encode_frame

HEADER, BODY = b'{"code":0}', b"body"
FRAME = Frame(SerializeType.JSON, HEADER, BODY)
DATA = b"\0\0\0\x12" + b"\0\0\0\x0a" + HEADER + BODY


def taken(decoder: FrameDecoder) -> list[Frame]:
    frames = []
    while (frame := decoder.next_frame()) is not None:
        frames.append(frame)
    return frames


def test_the_bytes_of_a_frame() -> None:
    assert encode_frame(SerializeType.JSON, HEADER, BODY) == DATA
    assert encode_frame(SerializeType.ROCKETMQ, HEADER, b"")[4:8] == b"\1\0\0\x0a"


def test_a_frame_fed_whole() -> None:
    decoder = FrameDecoder()
    decoder.feed(DATA)

    assert taken(decoder) == [FRAME]
    assert decoder.buffered_bytes == 0


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11])
def test_frames_fed_in_pieces(size: int) -> None:
    decoder = FrameDecoder()
    frames = []
    for piece in split_into(DATA * 3, size):
        decoder.feed(piece)
        frames += taken(decoder)

    assert frames == [FRAME] * 3


def test_trailing_bytes_wait_for_the_rest() -> None:
    decoder = FrameDecoder()
    decoder.feed(DATA + DATA[:5])

    assert taken(decoder) == [FRAME]
    assert decoder.buffered_bytes == 5
    decoder.feed(DATA[5:])
    assert taken(decoder) == [FRAME]


def test_bytes_may_be_fed_before_frames_are_taken() -> None:
    decoder = FrameDecoder()
    decoder.feed(DATA)
    decoder.feed(DATA[:9])
    decoder.feed(DATA[9:] + DATA)

    assert taken(decoder) == [FRAME] * 3


def test_a_frame_taken_between_two_pieces() -> None:
    decoder = FrameDecoder()
    decoder.feed(DATA[:6])
    decoder.feed(DATA[6:] + DATA[:3])
    assert decoder.next_frame() == FRAME
    decoder.feed(DATA[3:])
    assert decoder.next_frame() == FRAME
    assert decoder.next_frame() is None


def test_parts_are_bytes_of_their_own() -> None:
    """They do not change when the decoder's buffer does."""
    decoder = FrameDecoder()
    decoder.feed(DATA[:4])
    decoder.feed(DATA[4:])
    frame = decoder.next_frame()
    decoder.feed(b"\0" * 100)

    assert frame == FRAME
    assert frame is not None
    assert type(frame.header) is type(frame.body) is bytes


@pytest.mark.parametrize("size", [LONG_BODY_BYTES - 1, LONG_BODY_BYTES, LONG_BODY_BYTES + 1])
@pytest.mark.parametrize("piece", [5, 17, 18, 19, 100_003])
def test_a_long_body_fed_in_pieces(size: int, piece: int) -> None:
    """Between two short frames; the first piece ends before, at or behind its header."""
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    data = encode_frame(SerializeType.JSON, HEADER, body)
    decoder = FrameDecoder()
    decoder.feed(DATA + data[:piece])
    frames = taken(decoder)
    assert decoder.buffered_bytes == piece
    for part in split_into(data[piece:-7], 100_003):
        decoder.feed(part)
        assert decoder.next_frame() is None
    assert decoder.buffered_bytes == len(data) - 7
    decoder.feed(data[-7:] + DATA[:9])
    assert decoder.buffered_bytes == len(data) + 9
    decoder.feed(DATA[9:])
    frames += taken(decoder)

    assert frames == [FRAME, Frame(SerializeType.JSON, HEADER, body), FRAME]
    assert type(frames[1].body) is bytes
    assert decoder.buffered_bytes == 0


def test_the_smallest_frame() -> None:
    decoder = FrameDecoder()
    decoder.feed(b"\0\0\0\4\0\0\0\0")

    assert taken(decoder) == [Frame(SerializeType.JSON, b"", b"")]


@pytest.mark.parametrize("length", [0, 1, 2, 3, -1, -(2**31)])
def test_an_impossible_length(length: int) -> None:
    """Refused as soon as the four bytes are here."""
    decoder = FrameDecoder()
    decoder.feed(length.to_bytes(4, "big", signed=True))

    with pytest.raises(MalformedFrameError, match=f"impossible frame length {length}"):
        decoder.next_frame()


def test_the_limit_counts_the_length_field() -> None:
    """The largest length that is accepted is 16777212."""
    decoder = FrameDecoder()
    decoder.feed((DEFAULT_MAX_FRAME_BYTES - 4).to_bytes(4, "big"))
    assert decoder.next_frame() is None

    decoder = FrameDecoder()
    decoder.feed((DEFAULT_MAX_FRAME_BYTES - 3).to_bytes(4, "big"))
    with pytest.raises(FrameTooLargeError) as caught:
        decoder.next_frame()
    assert (caught.value.declared_bytes, caught.value.limit_bytes) == (16777217, 16777216)


@pytest.mark.parametrize("kind", [2, 3, 127, 255])
def test_an_unknown_type_byte(kind: int) -> None:
    decoder = FrameDecoder()
    decoder.feed(b"\0\0\0\4" + bytes([kind]) + b"\0\0\0")

    with pytest.raises(MalformedFrameError, match=f"unknown serialize type {kind}"):
        decoder.next_frame()


def test_a_header_at_its_limit_and_one_byte_over() -> None:
    """Refused as soon as its length is here, before any of it."""
    decoder = FrameDecoder(max_header_bytes=5000)
    decoder.feed(encode_frame(SerializeType.JSON, b"x" * 5000, b""))
    assert decoder.next_frame() is not None
    decoder.feed(struct.pack(">iI", 10_000, 5001))

    with pytest.raises(HeaderTooLargeError) as caught:
        decoder.next_frame()
    assert (caught.value.declared_bytes, caught.value.limit_bytes) == (5001, 5000)


def test_a_header_longer_than_its_frame() -> None:
    decoder = FrameDecoder()
    decoder.feed(b"\0\0\0\6\0\0\0\3")

    with pytest.raises(MalformedFrameError, match="bad header length 3 in a frame of 6 bytes"):
        decoder.next_frame()


def test_what_a_length_promises_costs_nothing() -> None:
    """Memory held is what was received."""
    decoder = FrameDecoder()
    decoder.feed((16_000_000).to_bytes(4, "big") + b"\0\0\0\1" + b"x")

    assert decoder.next_frame() is None
    assert decoder.buffered_bytes == 9


@pytest.mark.parametrize("size", [2**20, 2**22])
def test_a_taken_frame_costs_nothing(size: int) -> None:
    """A peer that sent one big frame and then waits is as cheap as any other."""
    decoder = FrameDecoder()
    tracemalloc.start()
    try:
        for piece in split_into(encode_frame(SerializeType.JSON, HEADER, b"x" * (size // 2)), size // 8):
            decoder.feed(piece)
        assert decoder.next_frame() is not None
        del piece
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak > size // 2
    assert held < size // 16


def test_a_header_that_fits_no_frame() -> None:
    with pytest.raises(ValueError, match="does not fit a frame"):
        encode_frame(SerializeType.JSON, b"x" * 2**24, b"")
