"""How much came and went, by topic and group (Java: BrokerStatsManager).

Owns: the counters, their samples, and what a span of time comes to.
Must not know: who counts; the clock.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cosmodrome.broker.arrivals import Arrivals
from cosmodrome.broker.store_times import StoreTimes
from cosmodrome.protocol.bodies.broker_stats import BrokerStatsData, BrokerStatsItem

TOPIC_PUT_NUMS: Final = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE: Final = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS: Final = "GROUP_GET_NUMS"
GROUP_GET_SIZE: Final = "GROUP_GET_SIZE"
SNDBCK_PUT_NUMS: Final = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS: Final = "BROKER_PUT_NUMS"
BROKER_GET_NUMS: Final = "BROKER_GET_NUMS"
GROUP_LOST_NUMS: Final = "GROUP_LOST_NUMS"
"""Ours: messages that were deleted before a group had read them."""
TIMER_ENQUEUE_NUMS: Final = "TIMER_ENQUEUE_NUMS"
"""Ours: messages of the timer topic that were read."""
TIMER_DEQUEUE_NUMS: Final = "TIMER_DEQUEUE_NUMS"
"""Ours: timer messages that were due."""
TRANSACTION_COMMIT_NUMS: Final = "TRANSACTION_COMMIT_NUMS"
"""Ours, by topic: half messages that were committed."""
TRANSACTION_ROLLBACK_NUMS: Final = "TRANSACTION_ROLLBACK_NUMS"
"""Ours, by topic: those that were taken back."""
DLQ_PUT_NUMS: Final = "DLQ_PUT_NUMS"
"""Ours in its key: messages that a group has given up."""
OF_GROUPS: Final = (GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS, GROUP_LOST_NUMS, DLQ_PUT_NUMS)
"""Their key is `topic@group`."""

SAMPLE_MS: Final = 10_000
_MINUTE_MS: Final = 60_000
_SPANS_MS: Final = (_MINUTE_MS, 60 * _MINUTE_MS, 24 * 60 * _MINUTE_MS)
RATE_SPANS_MS: Final = (10_000, 60_000, 600_000)
"""Of the three numbers in which tools want a rate."""
_FINE: Final = 61
"""Samples of ten seconds: ten minutes."""
_COARSE: Final = 289
"""Samples of five minutes: a day."""
_COARSE_EVERY: Final = 30
_BEGIN: Final = (-(2**62), 0, 0)
"""Of a counter of which no sample was taken yet."""


@dataclass(slots=True)
class _Counter:
    """A sum that only grows, and how often it did; samples of both with their times."""

    value: int = 0
    times: int = 0
    fine: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_FINE))
    coarse: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_COARSE))

    def since(self, now_ms: int, span_ms: int) -> BrokerStatsItem:
        """Give what the last `span_ms` came to, as far as there are samples."""
        if self.fine[0] is _BEGIN:
            mean = self.value / self.times if self.times else 0.0
            return BrokerStatsItem(sum=self.value, tps=self.value / (SAMPLE_MS / 1000), avgpt=mean)
        samples = self.fine if span_ms <= RATE_SPANS_MS[-1] else self.coarse
        first = next((each for each in samples if now_ms - each[0] <= span_ms), (now_ms, self.value, self.times))
        seconds = max(now_ms - first[0], 0) / 1000
        value, times = self.value - first[1], self.times - first[2]
        return BrokerStatsItem(
            sum=value, tps=value / seconds if seconds else 0.0, avgpt=value / times if times else 0.0
        )


class Statistics:
    """All counters, by name and key. `sample` is to be called every ten seconds."""

    def __init__(self) -> None:
        """Begin without any."""
        self._counters: dict[tuple[str, str], _Counter] = {}
        self._samples = 0
        self.times = StoreTimes()
        """How long storing and reading took."""
        self.arrivals = Arrivals()
        """What came in, by kind and size."""

    def count(self, name: str, key: str, value: int = 1, times: int = 1) -> None:
        """Add to a counter."""
        counter = self._counters.get((name, key))
        if counter is None:
            counter = self._counters[name, key] = _Counter()
            counter.fine.append(_BEGIN)
            counter.coarse.append(_BEGIN)
        counter.value += value
        counter.times += times

    def sample(self, now_ms: int) -> None:
        """Take a sample of each counter; the time is that of a clock that never steps."""
        self.times.sample()
        is_coarse = self._samples % _COARSE_EVERY == 0
        self._samples += 1
        for counter in self._counters.values():
            if counter.fine[0] is _BEGIN:  # it began since the sample before
                counter.fine[0] = counter.coarse[0] = (now_ms - SAMPLE_MS, 0, 0)
            counter.fine.append((now_ms, counter.value, counter.times))
            if is_coarse:
                counter.coarse.append((now_ms, counter.value, counter.times))

    def total(self, name: str, key: str) -> int:
        """Give the sum since the start."""
        counter = self._counters.get((name, key))
        return 0 if counter is None else counter.value

    def totals(self, name: str) -> dict[str, int]:
        """Give the sums since the start of all counters of this name, by their keys."""
        return {key: counter.value for (each, key), counter in self._counters.items() if each == name}

    def rate(self, name: str, key: str, now_ms: int, span_ms: int = _MINUTE_MS) -> float:
        """Give the rate per second over the last `span_ms`."""
        counter = self._counters.get((name, key))
        return 0.0 if counter is None else counter.since(now_ms, span_ms).tps

    def data(self, name: str, key: str, now_ms: int) -> BrokerStatsData | None:
        """Give what a counter comes to over a minute, an hour and a day; None when there is no such counter."""
        counter = self._counters.get((name, key))
        if counter is None:
            return None
        minute, hour, day = (counter.since(now_ms, span_ms) for span_ms in _SPANS_MS)
        return BrokerStatsData(stats_minute=minute, stats_hour=hour, stats_day=day)

    def forget_topic(self, topic: str) -> None:
        """Forget the counters of a topic."""
        self.arrivals.forget_topic(topic)
        self._forget(lambda name, key: key == topic or (name in OF_GROUPS and key.startswith(f"{topic}@")))

    def forget_group(self, group: str) -> None:
        """Forget the counters of a group."""
        self._forget(lambda name, key: name in OF_GROUPS and key.endswith(f"@{group}"))

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        for each in [each for each in self._counters if is_gone(*each)]:
            del self._counters[each]

    def __len__(self) -> int:
        return len(self._counters)
