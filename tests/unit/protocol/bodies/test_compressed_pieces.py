"""A zlib stream is believed bit by bit."""

import struct
import tracemalloc
import zlib

import pytest

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.bodies.compressed_pieces import CompressedPieces
from cosmodrome.protocol.limits import MAX_PIECE_BYTES

MIB = 1024 * 1024
LIMIT = 4 * MIB


def piece(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def bomb(inflated_mib: int, first: bytes = b"") -> bytes:
    """Give a stream of zeros, made without holding what it inflates to."""
    deflater = zlib.compressobj(9)
    block = bytes(MIB)
    parts = [deflater.compress(first), *(deflater.compress(block) for _ in range(inflated_mib)), deflater.flush()]
    return b"".join(parts)


def take_all(pieces: CompressedPieces) -> None:
    while pieces.has_more():
        pieces.next_piece()


def read_all(stream: bytes, limit: int = LIMIT) -> list[bytes]:
    pieces = CompressedPieces(stream, limit)
    read = []
    while pieces.has_more():
        read.append(pieces.next_piece())
    pieces.check_end()
    return read


@pytest.mark.parametrize("sizes", [[], [0], [1, 0, 5], [100_000, 3], [MAX_PIECE_BYTES], [7] * 20_000])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_pieces_of_any_size_at_any_level(sizes: list[int], level: int) -> None:
    pieces = [bytes([number % 251]) * size for number, size in enumerate(sizes)]

    assert read_all(zlib.compress(b"".join(map(piece, pieces)), level)) == pieces


def test_the_limit_itself_is_allowed() -> None:
    data = piece(bytes(1000 - 4))

    assert read_all(zlib.compress(data), 1000) == [bytes(996)]
    with pytest.raises(BodyLimitError, match="inflates to more than 999 bytes"):
        read_all(zlib.compress(data), 999)


def test_a_piece_is_refused_when_it_is_announced() -> None:
    with pytest.raises(BodyLimitError, match="more than 1048576 bytes"):
        read_all(bomb(64, struct.pack(">i", MAX_PIECE_BYTES + 1)), 64 * MIB)


@pytest.mark.parametrize("length", [0, 1000, MAX_PIECE_BYTES])
def test_a_bomb_costs_no_more_than_its_first_megabytes(length: int) -> None:
    """A thousandfold: of 40 MiB in 40 KiB, never more than a few pieces are there."""
    limit = length + 256 * 1024
    stream = bomb(40, struct.pack(">i", length) if length else b"")
    tracemalloc.start()
    try:
        with pytest.raises(BodyLimitError, match=f"inflates to more than {limit} bytes"):
            take_all(CompressedPieces(stream, limit))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 4 * MAX_PIECE_BYTES


def test_a_stream_within_a_stream_is_a_piece_like_others() -> None:
    inner = zlib.compress(bytes(MIB))

    assert read_all(zlib.compress(piece(inner))) == [inner]


@pytest.mark.parametrize("stream", [b"", b"\x78", b"\x78\x9c", zlib.compress(piece(b"abc"))[:-1]])
def test_a_stream_that_is_cut(stream: bytes) -> None:
    with pytest.raises(MalformedBodyError, match="ends too early"):
        read_all(stream)


def test_a_stream_that_needs_a_dictionary() -> None:
    deflater = zlib.compressobj(zdict=b"broker")
    with pytest.raises(MalformedBodyError, match="is damaged"):
        read_all(deflater.compress(piece(b"broker")) + deflater.flush())


def test_what_follows_the_stream_is_noticed_wherever_it_begins() -> None:
    stream = zlib.compress(piece(b"abc"))
    for behind in (b"x", bytes(100_000), stream):
        with pytest.raises(MalformedBodyError, match="followed by something else"):
            read_all(stream + behind)


@pytest.mark.parametrize(
    "sizes", [[0], [1, 0, 5], [100_000, 3, 70_000], [7] * 20_000, [65_532, 1, 65_531, 0, 0, 200_000]]
)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_pieces_taken_many_at_a_time(sizes: list[int], most: int) -> None:
    """The same pieces, never more than asked, and at least one."""
    stream = zlib.compress(b"".join(piece(bytes([number % 256]) * size) for number, size in enumerate(sizes)), 1)
    pieces, taken = CompressedPieces(stream, LIMIT), list[bytes]()
    while pieces.has_more():
        some = pieces.next_pieces(most)
        assert 1 <= len(some) <= most
        taken += some
    pieces.check_end()

    assert taken == read_all(stream)


@pytest.mark.parametrize("length", [-1, 6, MAX_PIECE_BYTES + 1, 2**31 - 1])
def test_a_bad_length_among_many_is_told_when_it_is_its_turn(length: int) -> None:
    stream = zlib.compress(piece(b"good") * 2 + struct.pack(">i", length) + b"short")
    pieces = CompressedPieces(stream, LIMIT)

    assert pieces.next_pieces(10) + pieces.next_pieces(10) == [b"good", b"good"]
    with pytest.raises(MalformedBodyError):
        pieces.next_pieces(10)
