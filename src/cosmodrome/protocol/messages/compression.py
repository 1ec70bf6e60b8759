"""Compressed bodies.

Owns: the codecs, and the ceiling of what a body may inflate to.
Must not know: which bodies are worth compressing.

zlib is part of Python. LZ4 and Zstandard need libraries that `pip install 'cosmodrome[compression]'` brings; they are
imported when the first body asks for them.
"""

import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from cosmodrome.errors import BodyLimitError, MalformedBodyError, MissingLibraryError
from cosmodrome.protocol.limits import DEFAULT_MAX_INFLATED_BYTES
from cosmodrome.protocol.messages.sys_flag import COMPRESSED, CompressionType, compression_type

DEFAULT_LEVEL: Final = 5

_EXTRA: Final = "compression"
_ZSTD_STEP_BYTES: Final = 256
"""Of input at a time: the library has no ceiling of its own, and so much inflates to 8 MiB at most."""
_ZSTD_WINDOW_BYTES: Final = 128 * 1024 * 1024
"""The largest window that Java's reader accepts; it is allocated as far as it is used."""


def compress(body: bytes, kind: CompressionType = CompressionType.ZLIB, level: int = DEFAULT_LEVEL) -> bytes:
    """Compress a body; `level` means nothing to LZ4.

    Raises:
        MissingLibraryError: The codec's library is not installed.
    """
    return _COMPRESSORS[kind](body, level)


def inflate(body: bytes, sys_flag: int, max_bytes: int = DEFAULT_MAX_INFLATED_BYTES) -> bytes:
    """Give the plain body of a message; a body that is not compressed is given back as it is.

    Raises:
        MalformedBodyError: It is damaged, or compressed in a way that nobody knows.
        BodyLimitError: It inflates to more than `max_bytes`; what is beyond was not kept.
        MissingLibraryError: The codec's library is not installed.
    """
    if not sys_flag & COMPRESSED:
        return body
    kind = compression_type(sys_flag)
    if kind is None:
        raise MalformedBodyError(f"the body is compressed in an unknown way (flag {sys_flag:#x})")
    return _INFLATERS[kind](body, max_bytes)


def _compress_zlib(body: bytes, level: int) -> bytes:
    return zlib.compress(body, level)


def _compress_lz4(body: bytes, _: int) -> bytes:
    # Java's reader refuses blocks that depend on the block before.
    compressed: bytes = _lz4_frame().compress(body, block_linked=False)
    return compressed


def _compress_zstd(body: bytes, level: int) -> bytes:
    compressed: bytes = _zstandard().ZstdCompressor(level=level).compress(body)
    return compressed


def _inflate_zlib(body: bytes, max_bytes: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise _damaged("zlib") from error
    _check_size(len(plain), max_bytes)
    if not inflater.eof:
        raise _damaged("zlib")
    return plain


def _inflate_lz4(body: bytes, max_bytes: int) -> bytes:
    inflater = _lz4_frame().LZ4FrameDecompressor()
    try:
        plain: bytes = inflater.decompress(body, max_length=max_bytes + 1)
    except (RuntimeError, EOFError, ValueError) as error:
        raise _damaged("LZ4") from error
    _check_size(len(plain), max_bytes)
    if not inflater.eof or inflater.unused_data:
        raise _damaged("LZ4")
    return plain


def _inflate_zstd(body: bytes, max_bytes: int) -> bytes:
    library = _zstandard()
    inflater = library.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
    pieces = []
    size = 0
    for at in range(0, len(body), _ZSTD_STEP_BYTES):
        try:
            # Once it has ended it takes no more: bytes behind it are damage too.
            pieces.append(inflater.decompress(body[at : at + _ZSTD_STEP_BYTES]))
        except library.ZstdError as error:
            raise _damaged("Zstandard") from error
        size += len(pieces[-1])
        _check_size(size, max_bytes)
    if not inflater.eof or inflater.unused_data:
        raise _damaged("Zstandard")
    return b"".join(pieces)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise BodyLimitError(f"the body inflates to more than {max_bytes} bytes")


def _damaged(codec: str) -> MalformedBodyError:
    return MalformedBodyError(f"the body is no whole {codec} stream")


def _lz4_frame() -> Any:
    try:
        import lz4.frame  # noqa: PLC0415 -- optional, see the module's docstring
    except ImportError as error:
        raise MissingLibraryError("a body that is compressed with LZ4", "lz4", _EXTRA) from error
    return lz4.frame


def _zstandard() -> Any:
    try:
        import zstandard  # noqa: PLC0415 -- optional, see the module's docstring
    except ImportError as error:
        raise MissingLibraryError("a body that is compressed with Zstandard", "zstandard", _EXTRA) from error
    return zstandard


_COMPRESSORS: Final[Mapping[CompressionType, Callable[[bytes, int], bytes]]] = {
    CompressionType.ZLIB_UNSAID: _compress_zlib,
    CompressionType.ZLIB: _compress_zlib,
    CompressionType.LZ4: _compress_lz4,
    CompressionType.ZSTD: _compress_zstd,
}
_INFLATERS: Final[Mapping[CompressionType, Callable[[bytes, int], bytes]]] = {
    CompressionType.ZLIB_UNSAID: _inflate_zlib,
    CompressionType.ZLIB: _inflate_zlib,
    CompressionType.LZ4: _inflate_lz4,
    CompressionType.ZSTD: _inflate_zstd,
}
