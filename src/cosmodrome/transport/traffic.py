"""How much was asked and answered.

Owns: plain counts and times of requests by their code, since the start.
Must not know: what a code means; who reads the counts, or in which form.

Counting an answer costs a third of a microsecond. Nothing here grows with what peers send: codes that nobody serves are one.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

UNSERVED: Final = -1
"""The code under which requests are counted that nobody serves."""
NO_ANSWER: Final = -1
"""The response code of a oneway request."""
BOUNDS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Upper bounds of the times that are told apart, in seconds; there is one more above the last."""

BOUNDS_BYTES: Final = (1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216)
"""Upper bounds of the sizes that are told apart; there is one more above the last."""


class Sizes:
    """How many were how large: a count for each of BOUNDS_BYTES and one for larger ones, and the sum."""

    __slots__ = ("counts", "sum_bytes")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_BYTES) + 1)
        self.sum_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count one of this size."""
        self.counts[bisect_left(BOUNDS_BYTES, size_bytes)] += 1
        self.sum_bytes += size_bytes


class Durations:
    """How many took how long: a count for each of BOUNDS_S and one for longer ones, and the sum."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, took_s: float, count: int = 1) -> None:
        """Count `count` that took so long each."""
        self.counts[bisect_left(BOUNDS_S, took_s)] += count
        self.sum_s += took_s * count

    @property
    def count(self) -> int:
        """How many."""
        return sum(self.counts)

    def __add__(self, other: "Durations") -> "Durations":
        """Give both together."""
        both = Durations()
        both.counts = [ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True)]
        both.sum_s = self.sum_s + other.sum_s
        return both


class CodeTraffic:
    """What was asked and answered under one request code. Bytes are those of bodies."""

    __slots__ = ("durations", "request_bytes", "response_bytes", "responses")

    def __init__(self) -> None:
        self.responses: dict[int, int] = {}
        """How many were answered, by response code; NO_ANSWER for oneway requests."""
        self.request_bytes = 0
        self.response_bytes = 0
        self.durations = Durations()
        """From a request's being read to its answer's being there."""


class Traffic:
    """All codes of one server."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeTraffic] = {}

    def of(self, code: int) -> CodeTraffic:
        """Give the counts of a code, to be added to."""
        found = self._codes.get(code)
        if found is None:
            found = self._codes[code] = CodeTraffic()
        return found

    def answered(self, code: int, response_code: int, sizes: tuple[int, int], took_s: float) -> None:
        """Count a request: its code, that of its answer, the bytes of both bodies, and the time between them."""
        counts = self.of(code)
        counts.responses[response_code] = counts.responses.get(response_code, 0) + 1
        counts.request_bytes += sizes[0]
        counts.response_bytes += sizes[1]
        counts.durations.add(took_s)

    @property
    def total(self) -> int:
        """How many requests were answered, oneway ones among them."""
        return sum(counts.durations.count for counts in self._codes.values())

    def __iter__(self) -> Iterator[tuple[int, CodeTraffic]]:
        """Give each code that was asked for, as it is now."""
        return iter(sorted(self._codes.items()))
