"""The layer below a compressed registration: a zlib stream of length-prefixed pieces.

Owns: inflating it bit by bit, its limits, where a piece ends.
Must not know: what the pieces are.
"""

import struct
import zlib
from typing import Final

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.limits import MAX_PIECE_BYTES

_LENGTH: Final = struct.Struct(">i")
_INPUT_BYTES: Final = 16 * 1024
_OUTPUT_BYTES: Final = 64 * 1024


class CompressedPieces:
    """Pieces read in order. No length is believed beyond the bytes that are there.

    What is inflated at any moment is one piece and what follows it in a block of 64 KiB. Once more than
    `max_inflated_bytes` have come out of the stream, or a piece is announced that is larger than MAX_PIECE_BYTES,
    BodyLimitError is raised; everything else that is wrong raises MalformedBodyError.
    """

    def __init__(self, body: bytes, max_inflated_bytes: int) -> None:
        self._body = memoryview(body)
        self._taken = 0
        self._inflater = zlib.decompressobj()
        self.inflated_bytes = 0
        """How much came out of the stream so far."""
        self._max_inflated_bytes = max_inflated_bytes
        self._block = b""
        self._position = 0

    def next_piece(self) -> bytes:
        """Take a length and as many bytes."""
        length = self._next_length()
        if length > MAX_PIECE_BYTES:
            raise BodyLimitError(f"a part of the compressed body has more than {MAX_PIECE_BYTES} bytes")
        return self._take(length, "a length in the compressed body reaches beyond it")

    def next_pieces(self, most: int) -> list[bytes]:
        """Take some pieces, as many as are at hand and no more than `most`, at least one. As `next_piece` otherwise."""
        block, position, end = self._block, self._position, len(self._block)
        pieces: list[bytes] = []
        while len(pieces) < most and position + _LENGTH.size <= end:
            (length,) = _LENGTH.unpack_from(block, position)
            start = position + _LENGTH.size
            if not 0 <= length <= end - start:
                break
            position = start + length
            pieces.append(block[start:position])
        self._position = position
        return pieces or [self.next_piece()]

    def next_count(self) -> int:
        """Take a length that counts the pieces after it."""
        return self._next_length()

    def has_more(self) -> bool:
        """Tell whether anything is left to take."""
        return self._position < len(self._block) or self._inflate_more()

    def check_end(self) -> None:
        """Make sure that everything was taken, and that the stream is whole."""
        if self.has_more():
            raise MalformedBodyError("bytes follow the compressed body's last part")
        if not self._inflater.eof:
            raise MalformedBodyError("the compressed body ends too early")
        if self._inflater.unused_data or self._taken < len(self._body):
            raise MalformedBodyError("the compressed body is followed by something else")

    def _next_length(self) -> int:
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size, "the compressed body ends inside a length"))
        if length < 0:
            raise MalformedBodyError(f"bad length {length} in the compressed body")
        return int(length)

    def _take(self, size: int, otherwise: str) -> bytes:
        end = self._position + size
        if end > len(self._block):
            self._fill(size)
            end = self._position + size
            if end > len(self._block):
                is_cut = not self._inflater.eof
                raise MalformedBodyError("the compressed body ends too early" if is_cut else otherwise)
        taken = self._block[self._position : end]
        self._position = end
        return taken

    def _fill(self, size: int) -> None:
        """Put what is left and at least `size` bytes in all into the block, unless the stream ends before."""
        blocks = [self._block[self._position :]]
        self._position = 0
        missing = size - len(blocks[0])
        while missing > 0 and self._inflate_more():
            blocks.append(self._block)
            missing -= len(self._block)
        self._block = b"".join(blocks)

    def _inflate_more(self) -> bool:
        """Replace the block by the next one; False, and an empty block, at the end of the stream or of the body."""
        self._block, self._position = b"", 0
        while not self._block and not self._inflater.eof:
            source: bytes | memoryview = self._inflater.unconsumed_tail
            if not source:
                source = self._body[self._taken : self._taken + _INPUT_BYTES]
                self._taken += len(source)
            if not source:
                return False
            try:
                self._block = self._inflater.decompress(source, _OUTPUT_BYTES)
            except zlib.error as error:
                raise MalformedBodyError("the compressed body is damaged") from error
        self.inflated_bytes += len(self._block)
        if self.inflated_bytes > self._max_inflated_bytes:
            raise BodyLimitError(f"the compressed body inflates to more than {self._max_inflated_bytes} bytes")
        return bool(self._block)
