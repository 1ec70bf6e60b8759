"""Metrics as a NameServer names them.

Owns: the prefix that all of them have; how codes are written in labels.
Must not know: what is measured.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from cosmodrome.metrics import family as _families
from cosmodrome.metrics.family import Family, Histogram, Kind
from cosmodrome.namesrv.audit import request_name
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.transport.traffic import NO_ANSWER, UNSERVED

PREFIX: Final = "rocketmq_namesrv_"


def few(
    name: str,
    kind: Kind,
    meaning: str,
    samples: Iterable[tuple[tuple[str, ...], float | Histogram]],
    labels: tuple[str, ...] = (),
) -> Family:
    """Give a metric of pairs: the values of its labels, and the value."""
    return _families.family(PREFIX + name, kind, meaning, samples, labels)


def one(name: str, meaning: str, value: float | None) -> Family:
    """Give a gauge without labels; without a series when there is no value."""
    samples: list[tuple[tuple[str, ...], float | Histogram]] = [] if value is None else [((), value)]
    return few(name, Kind.GAUGE, meaning, samples)


def total(name: str, meaning: str, value: float) -> Family:
    """Give a counter without labels."""
    return few(name, Kind.COUNTER, meaning, [((), value)])


def spread(name: str, meaning: str, value: Histogram) -> Family:
    """Give a histogram without labels."""
    return few(name, Kind.HISTOGRAM, meaning, [((), value)])


def counts(name: str, meaning: str, label: str, values: Mapping[str, int]) -> Family:
    """Give a counter of which each word is a series."""
    return _families.counts(PREFIX + name, meaning, label, values)


def code_word(code: int) -> str:
    """Give the word for a request code; `other` for those that nobody serves."""
    return "other" if code == UNSERVED else request_name(code)


def response_word(code: int) -> str:
    """Give the word for a response code."""
    if code == NO_ANSWER:
        return "oneway"
    try:
        return ResponseCode(code).name
    except ValueError:
        return str(code)
