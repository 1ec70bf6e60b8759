"""Brokers that were slow are left alone for a while (Java: LatencyFaultTolerance, with 5.x's table).

Owns: how slow which broker was last, and until when it is left alone.
Must not know: what was asked of it; what time it is.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

FAILED_MS: Final = 10_000
"""What a call that failed counts as."""
_LEVELS: Final = (
    (15_000, 30_000),
    (5_000, 10_000),
    (3_000, 6_000),
    (1_800, 5_000),
    (550, 2_000),
    (100, 0),
    (50, 0),
)
"""From this latency on, left alone for so long."""


class _Seen(NamedTuple):
    latency_ms: float
    available_at_ms: float


class LatencyTable:
    """What was seen of brokers. One that was never asked is available."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def record(self, broker_name: str, latency_ms: float, now_ms: float, *, is_failure: bool = False) -> None:
        """Take down how long a broker took to answer, or that it did not."""
        counted_ms = FAILED_MS if is_failure else latency_ms
        rest_ms = next((rest for level, rest in _LEVELS if counted_ms >= level), 0)
        self._seen[broker_name] = _Seen(latency_ms, now_ms + rest_ms)

    def is_available(self, broker_name: str, now_ms: float) -> bool:
        """Tell whether a broker is not left alone now."""
        seen = self._seen.get(broker_name)
        return seen is None or seen.available_at_ms <= now_ms

    def least_bad(self, broker_names: Iterable[str]) -> str | None:
        """Give the broker to turn to when none is available: the one that is soonest again, then the fastest."""

        def badness(name: str) -> tuple[float, float]:
            seen = self._seen.get(name, _Seen(0, 0))
            return seen.available_at_ms, seen.latency_ms

        return min(broker_names, key=badness, default=None)
