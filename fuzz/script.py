"""Bytes read as instructions, so that a fuzzer's mutations stay meaningful.

Owns: how choices, pieces and text are taken from bytes; reading never fails, it runs out.
Must not know: what is done with them.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Script:
    """A position in bytes. Past the end every number is 0 and every piece is empty."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        """Whether everything was taken."""
        return self._at >= len(self._data)

    def byte(self) -> int:
        """Take one byte as a number."""
        return int.from_bytes(self.take(1), "big")

    def word(self) -> int:
        """Take two bytes as a number."""
        return int.from_bytes(self.take(2), "big")

    def choice(self, options: Sequence[T]) -> T:
        """Take one byte as one of several."""
        return options[self.byte() % len(options)]

    def take(self, count: int) -> bytes:
        """Take so many bytes, fewer at the end."""
        piece = self._data[self._at : self._at + count]
        self._at += len(piece)
        return piece

    def short(self) -> bytes:
        """Take a piece that is preceded by its length in one byte."""
        return self.take(self.byte())

    def long(self) -> bytes:
        """Take a piece that is preceded by its length in two bytes."""
        return self.take(self.word())

    def rest(self) -> bytes:
        """Take all that is left."""
        return self.take(len(self._data))


def cut(data: bytes, plan: bytes) -> Iterator[bytes]:
    """Give `data` in pieces whose sizes are the bytes of `plan`, over and over; without sizes it stays whole."""
    sizes = [size for size in plan if size] or [len(data)]
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at += size
        turn += 1
