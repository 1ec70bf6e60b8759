"""How long storing and reading took, and how much there was of it (Java: StoreStatsService, BrokerStats).

Owns: the numbers that 28 tells of it, and how they are written.
Must not know: who stores and reads; the clock.
"""

import bisect
from collections import Counter, deque
from typing import Final

_BOUNDS_MS: Final = (0, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_NAMES: Final = (
    "[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]", "[500ms~1s]", "[1~2s]", "[2~3s]",
    "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]",
)  # fmt: skip
_LONGEST_MS: Final = 60_000
"""Longer times count as this long in percentiles."""
_SPANS: Final = 6
"""Percentiles are of so many samples, ten seconds each."""


class StoreTimes:
    """Counts. `sample` is to be called every ten seconds, `begin_day` at midnight."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.failed = 0
        self.stored = 0
        self.stored_bytes = 0
        self.longest_put_ms = 0
        self.longest_get_ms = 0
        self._buckets = [0] * len(_NAMES)
        self._recent: Counter[int] = Counter()
        self._spans: deque[Counter[int]] = deque(maxlen=_SPANS)
        self._mornings = ((0, 0), (0, 0))

    def put(self, messages: int, size: int, took_ms: int) -> None:
        """Note messages that were stored together."""
        self.stored += messages
        self.stored_bytes += size
        self._buckets[bisect.bisect_left(_BOUNDS_MS, took_ms)] += messages
        self._recent[min(took_ms, _LONGEST_MS)] += messages
        self.longest_put_ms = max(self.longest_put_ms, took_ms)

    def got(self, took_ms: int) -> None:
        """Note a read."""
        self.longest_get_ms = max(self.longest_get_ms, took_ms)

    def sample(self) -> None:
        """Begin another ten seconds."""
        self._spans.append(self._recent)
        self._recent = Counter()

    def begin_day(self, put: int, got: int) -> None:
        """Note the totals at midnight."""
        self._mornings = (self._mornings[1], (put, got))

    def table(self) -> dict[str, str]:
        """Give what 28 tells."""
        (put_before, got_before), (put_today, got_today) = self._mornings
        mean = self.stored_bytes / self.stored if self.stored else 0.0
        return {
            "putMessageTimesTotal": str(self.stored),
            "putMessageFailedTimes": str(self.failed),
            "putMessageSizeTotal": str(self.stored_bytes),
            "putMessageAverageSize": str(mean),
            "putMessageEntireTimeMax": str(self.longest_put_ms),
            "getMessageEntireTimeMax": str(self.longest_get_ms),
            "putMessageDistributeTime": "".join(
                f"{name}:{count} " for name, count in zip(_NAMES, self._buckets, strict=True)
            ),
            "putLatency99": f"{self._percentile(0.99):.2f}",
            "putLatency999": f"{self._percentile(0.999):.2f}",
            "msgPutTotalYesterdayMorning": str(put_before),
            "msgPutTotalTodayMorning": str(put_today),
            "msgGetTotalYesterdayMorning": str(got_before),
            "msgGetTotalTodayMorning": str(got_today),
        }

    def _percentile(self, part: float) -> float:
        counts: Counter[int] = Counter(self._recent)
        for each in self._spans:
            counts.update(each)
        wanted, seen = part * counts.total(), 0
        for took_ms in sorted(counts):
            seen += counts[took_ms]
            if seen >= wanted:
                return float(took_ms)
        return 0.0
