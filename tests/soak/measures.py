"""What a server's process costs, and whether a series of such figures is flat.

Owns: the peak of memory between two looks, descriptors at rest; thirds and slope.
Must not know: what the process was doing.
"""

import statistics
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from tests.support.process_figures import descriptors_of, memory_of

MIB: Final = 1024 * 1024
_LOOK_S: Final = 0.1
_LOOKS: Final = 10


class PeakMemory:
    """Looks at a process's resident memory all the time while `with` lasts."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = memory_of(pid)
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; `peak_bytes` is final."""
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            self.peak_bytes = max(self.peak_bytes, memory_of(self._pid))


def settled_descriptors_of(pid: int) -> int:
    """Return how many descriptors a process has open when nobody connects: the least of some looks, since closes lag."""
    looks = []
    for _ in range(_LOOKS):
        looks.append(descriptors_of(pid))
        time.sleep(_LOOK_S)
    return min(looks)


def growth_over_second_half(values: Sequence[float]) -> float:
    """Return how much the straight line through the second half of a series rises from its first to its last value."""
    half = values[len(values) // 2 :]
    if len(half) < 2:
        return 0.0
    slope, _ = statistics.linear_regression(range(len(half)), half)
    return slope * (len(half) - 1)


def thirds(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the medians of the first, the middle and the last third of a series of three or more."""
    size = len(values) // 3
    parts = values[:size], values[size : len(values) - size], values[len(values) - size :]
    first, middle, last = (statistics.median(part) for part in parts)
    return first, middle, last
