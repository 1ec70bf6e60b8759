"""How far long work is, on a terminal.

Owns: one line on standard error that is drawn anew, and taken away at the end.
Must not know: what is worked on.
"""

import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self, TextIO, TypeVar

ValueT = TypeVar("ValueT")

_PATIENCE_S: Final = 1.0
"""Work that takes no longer shows nothing."""
_BETWEEN_S: Final = 0.1
_WIDTH: Final = 20
_KILO: Final = 1000
_ERASE: Final = "\r\x1b[K"


class Progress:
    """Counts pieces of work, and shows them after a second. A context manager; it shows nothing without a terminal.

    Args:
        stream: Where it is drawn; None for nowhere.
        noun: What the pieces are, in the plural.
        total: How many there are.
    """

    def __init__(
        self, stream: TextIO | None, noun: str, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._noun = noun
        self._total = total
        self._clock = clock
        self._done = 0
        self._next_s = clock() + _PATIENCE_S
        self._is_drawn = False

    def step(self) -> None:
        """Count one piece."""
        self._done += 1
        now_s = self._clock()
        if self._stream is not None and now_s >= self._next_s:
            self._next_s = now_s + _BETWEEN_S
            self._write(f"{_ERASE}{self.line()}")
            self._is_drawn = True

    def line(self) -> str:
        """Give what is drawn."""
        filled = _WIDTH * self._done // max(1, self._total)
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"[{bar}] {self._done}/{self._total} {self._noun}"

    async def counting(self, work: Awaitable[ValueT]) -> ValueT:
        """Wait for a piece, and count it."""
        try:
            return await work
        finally:
            self.step()

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._is_drawn:
            self._write(_ERASE)
            self._is_drawn = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        self.clear()

    def _write(self, text: str) -> None:
        try:
            if self._stream is not None:
                self._stream.write(text)
                self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


class Rates(Progress):
    """Counts messages, of which nobody knows how many will come, and how fast they go.

    Args:
        stream: Where it is drawn; None for nowhere.
        verb: What is done with them, in the past: "sent".
    """

    def __init__(self, stream: TextIO | None, verb: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, "messages", 0, clock)
        self._verb = verb
        self._begun_s = clock()
        self._bytes = 0

    def count(self, size: int) -> None:
        """Count a message with so many bytes of body."""
        self._bytes += size
        self.step()

    @property
    def done(self) -> int:
        """How many there were."""
        return self._done

    @property
    def elapsed_s(self) -> float:
        """How long it has taken."""
        return self._clock() - self._begun_s

    @property
    def per_s(self) -> float:
        """How many there were in a second, on average."""
        return self._done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def bytes(self) -> int:
        """How many bytes their bodies had."""
        return self._bytes

    def line(self) -> str:
        """Give what is drawn, which also serves as the last word."""
        noun = "message" if self._done == 1 else "messages"
        return f"{self._verb} {self._done} {noun} ({_size(self._bytes)}) in {self.elapsed_s:.1f} s: {self.per_s:.1f}/s"


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= _KILO
    return f"{value:.1f} GB"
