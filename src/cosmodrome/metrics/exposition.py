"""Metrics as text for Prometheus.

Owns: how a family is written in either of its formats, a piece per turn of the event loop; which format is wanted; the
    standard metrics of the process and of Python behind them.
Must not know: what is measured, or how it is asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from enum import Enum
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client import generate_latest as as_text
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics

from cosmodrome.metrics.family import Family, Histogram, Kind, Sample

_PIECE: Final = 500
"""Lines that are written in about a millisecond."""
_OPENMETRICS: Final = "application/openmetrics-text"
_TEXT_TYPES: Final = ("text/plain", "text/*", "*/*")


class Format(Enum):
    """A format; the value is its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def format_for(accept: str) -> Format:
    """Choose the format that a reader likes better, by its Accept header; the text format when it does not say."""
    liked = dict(_liked(part) for part in accept.split(",") if part.strip())
    text = max((liked[name] for name in _TEXT_TYPES if name in liked), default=0.0)
    return Format.OPENMETRICS if 0 < liked.get(_OPENMETRICS, 0.0) >= text else Format.TEXT


def _liked(part: str) -> tuple[str, float]:
    name, *parameters = (word.strip().lower() for word in part.split(";"))
    quality = next((word[2:] for word in parameters if word.startswith("q=")), "1")
    try:
        return name, float(quality)
    except ValueError:
        return name, 0.0


async def text_of(families: Iterable[Family], form: Format = Format.TEXT) -> AsyncIterator[bytes]:
    """Write metrics, and those of the process and of Python, in pieces."""
    lines: list[str] = []
    for family in families:
        lines += _head(family, form)
        for sample in family.samples:
            lines += _lines(family, sample)
            if len(lines) >= _PIECE:
                yield "".join(lines).encode()
                lines.clear()
                await asyncio.sleep(0)
    yield "".join(lines).encode() + _standard(form)


def _standard(form: Format) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    for collector in (PlatformCollector, ProcessCollector, GCCollector):
        collector(registry=registry)
    if form is Format.TEXT:
        return as_text(registry)
    text: bytes = as_openmetrics(registry)  # type: ignore[no-untyped-call]  # has no types
    return text


def _head(family: Family, form: Format) -> Iterator[str]:
    name = family.name if form is Format.OPENMETRICS else _name(family)
    meaning = family.meaning.replace("\\", r"\\").replace("\n", r"\n")
    if form is Format.OPENMETRICS:
        meaning = meaning.replace('"', r"\"")
    yield f"# HELP {name} {meaning}\n"
    yield f"# TYPE {name} {family.kind.value}\n"


def _name(family: Family) -> str:
    return f"{family.name}_total" if family.kind is Kind.COUNTER else family.name


def cumulative(histogram: Histogram) -> list[tuple[str, int]]:
    """Give how many were at most as large as each bound, as it is written; the last is +Inf."""
    bounds = (*map(_number, histogram.bounds), "+Inf")
    return list(zip(bounds, accumulate(histogram.counts), strict=True))


def _lines(family: Family, sample: Sample) -> Iterator[str]:
    labels = [f'{name}="{_escaped(value)}"' for name, value in zip(family.labels, sample.labels, strict=True)]
    value = sample.value
    if not isinstance(value, Histogram):
        yield f"{_name(family)}{_braced(labels)} {_number(value)}\n"
        return
    count = 0
    for bound, count in cumulative(value):
        limited = _braced([*labels, f'le="{bound}"'])
        yield f"{family.name}_bucket{limited} {count}.0\n"
    yield f"{family.name}_count{_braced(labels)} {count}.0\n"
    yield f"{family.name}_sum{_braced(labels)} {_number(value.total)}\n"


def _braced(labels: list[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


def _escaped(value: str) -> str:
    if value.isalnum():
        return value
    text = value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return repr(float(value))
