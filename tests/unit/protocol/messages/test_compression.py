"""Compressed bodies."""

import sys
import tracemalloc
import zlib

import lz4.frame
import pytest
import zstandard

from cosmodrome.errors import BodyLimitError, MalformedBodyError, MissingLibraryError
from cosmodrome.protocol.messages.compression import compress, inflate
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, CompressionType, compressed

PLAIN = b"compress me " * 500 + bytes(range(256))
KINDS = list(CompressionType)
BOMB_BYTES = 64 * 1024 * 1024


def packed(kind: CompressionType, plain: bytes = PLAIN) -> tuple[bytes, int]:
    return compress(plain, kind), compressed(BORN_HOST_V6, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plain", [b"", b"x", PLAIN, PLAIN * 300])
def test_there_and_back(kind: CompressionType, plain: bytes) -> None:
    assert inflate(*packed(kind, plain)) == plain


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_smaller(kind: CompressionType) -> None:
    assert len(compress(PLAIN, kind)) < len(PLAIN) // 4


def test_a_plain_body_is_left_alone() -> None:
    assert inflate(PLAIN, 0x700) is PLAIN


def test_what_is_not_said_is_zlib() -> None:
    assert inflate(zlib.compress(PLAIN), 0x1) == PLAIN
    assert compress(PLAIN)[:1] == b"\x78"


@pytest.mark.parametrize("number", [4, 5, 6, 7])
def test_a_way_that_nobody_knows(number: int) -> None:
    with pytest.raises(MalformedBodyError, match="unknown"):
        inflate(zlib.compress(PLAIN), number << 8 | 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_is_cut(kind: CompressionType) -> None:
    body, flag = packed(kind)

    for size in (*range(40), len(body) // 2, len(body) - 1):
        with pytest.raises(MalformedBodyError):
            inflate(body[:size], flag)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_is_something_else(kind: CompressionType) -> None:
    for body in (PLAIN, b"\0" * 100, b"\x78\x9c" + b"\xff" * 50, b"\x04\x22\x4d\x18" + b"\xff" * 50):
        with pytest.raises(MalformedBodyError):
            inflate(body, compressed(0, kind))


@pytest.mark.parametrize("kind", [CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.parametrize("more", [1, 300])
def test_a_frame_that_is_followed_by_something(kind: CompressionType, more: int) -> None:
    body, flag = packed(kind)

    with pytest.raises(MalformedBodyError):
        inflate(body + b"x" * more, flag)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ceiling(kind: CompressionType) -> None:
    body, flag = packed(kind)

    assert inflate(body, flag, len(PLAIN)) == PLAIN
    for ceiling in (0, 1, len(PLAIN) - 1):
        with pytest.raises(BodyLimitError, match=f"more than {ceiling} bytes"):
            inflate(body, flag, ceiling)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_not_inflated(kind: CompressionType) -> None:
    body, flag = packed(kind, bytes(BOMB_BYTES))
    assert len(body) < BOMB_BYTES // 200

    tracemalloc.start()
    try:
        with pytest.raises(BodyLimitError):
            inflate(body, flag, 1024 * 1024)
        assert tracemalloc.get_traced_memory()[1] < BOMB_BYTES // 4
    finally:
        tracemalloc.stop()


def test_a_frame_of_lz4_as_java_reads_it() -> None:
    """Its reader wants blocks that do not depend on each other."""
    assert not lz4.frame.get_frame_info(compress(PLAIN * 2000, CompressionType.LZ4))["block_linked"]


def test_frames_that_do_not_say_how_long_they_are() -> None:
    """Java's streams do not know it when they begin."""
    streamed = zstandard.ZstdCompressor().compressobj()
    zstd = streamed.compress(PLAIN) + streamed.flush()
    lz4_frame = lz4.frame.compress(PLAIN, store_size=False, block_linked=True)

    assert inflate(zstd, compressed(0, CompressionType.ZSTD)) == PLAIN
    assert inflate(lz4_frame, compressed(0, CompressionType.LZ4)) == PLAIN


@pytest.mark.parametrize(
    ("kind", "library", "module"),
    [(CompressionType.LZ4, "lz4", "lz4.frame"), (CompressionType.ZSTD, "zstandard", "zstandard")],
)
def test_a_library_that_is_not_installed(
    kind: CompressionType, library: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, flag = packed(kind)
    for name in {library, module}:
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(MissingLibraryError, match=r"pip install 'cosmodrome\[compression\]'") as raised:
        compress(PLAIN, kind)
    assert raised.value.library == library
    with pytest.raises(MissingLibraryError, match=library):
        inflate(body, flag)
    assert inflate(*packed(CompressionType.ZLIB)) == PLAIN
