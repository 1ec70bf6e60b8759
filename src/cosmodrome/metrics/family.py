"""A metric with all its series, whoever measures it.

Owns: what kinds there are; what a histogram is.
Must not know: how text for Prometheus is written (exposition.py); what is measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from cosmodrome.transport.traffic import BOUNDS_BYTES, BOUNDS_S, Durations, Sizes


class Kind(StrEnum):
    """How a metric behaves; the value is Prometheus's word."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Histogram(NamedTuple):
    """How many were at most so large: a count for each of `bounds`, and one more for larger ones; and the sum of all."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


class Sample(NamedTuple):
    """One series: the values of its labels, and its value."""

    labels: tuple[str, ...]
    value: float | Histogram


class Family(NamedTuple):
    """One metric with all its series. A counter's name has no `_total`."""

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...]
    samples: Sequence[Sample]


def gauge(name: str, meaning: str, value: float) -> Family:
    """Give a gauge without labels."""
    return Family(name, Kind.GAUGE, meaning, (), [Sample((), value)])


def counts(name: str, meaning: str, label: str, values: Mapping[str, int]) -> Family:
    """Give a counter of which each word is a series."""
    return Family(
        name, Kind.COUNTER, meaning, (label,), [Sample((word,), each) for word, each in sorted(values.items())]
    )


def family(
    name: str,
    kind: Kind,
    meaning: str,
    samples: Iterable[tuple[tuple[str, ...], float | Histogram]],
    labels: tuple[str, ...] = (),
) -> Family:
    """Give a metric of pairs: the values of its labels, and the value."""
    return Family(name, kind, meaning, labels, [Sample(*sample) for sample in samples])


def labelled(family: Family, labels: Mapping[str, str]) -> Family:
    """Give a metric with more labels, the same for all of its series; those that it has itself stay as they are."""
    added = {name: value for name, value in labels.items() if name not in family.labels}
    samples = [Sample((*added.values(), *sample.labels), sample.value) for sample in family.samples]
    return family._replace(labels=(*added, *family.labels), samples=samples)


def seconds(durations: Durations) -> Histogram:
    """Give times as a histogram of seconds."""
    return Histogram(BOUNDS_S, tuple(durations.counts), durations.sum_s)


def milliseconds(durations: Durations) -> Histogram:
    """Give times as a histogram of milliseconds."""
    return Histogram(_BOUNDS_MS, tuple(durations.counts), durations.sum_s * 1000)


def in_bytes(sizes: Sizes) -> Histogram:
    """Give sizes as a histogram of bytes."""
    return Histogram(BOUNDS_BYTES, tuple(sizes.counts), sizes.sum_bytes)


_BOUNDS_MS = tuple(round(bound * 1000, 6) for bound in BOUNDS_S)
