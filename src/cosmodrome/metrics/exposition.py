"""Metrics as text for Prometheus.

Owns: how a family is written, a piece per turn of the event loop; the standard metrics of the process and of Python behind them.
Must not know: what is measured, or how it is asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest

from cosmodrome.metrics.family import Family, Histogram, Kind, Sample

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PIECE: Final = 500
"""Lines that are written in about a millisecond."""


async def text_of(families: Iterable[Family]) -> AsyncIterator[bytes]:
    """Write metrics, and those of the process and of Python, in pieces."""
    lines: list[str] = []
    for family in families:
        lines += _head(family)
        for sample in family.samples:
            lines += _lines(family, sample)
            if len(lines) >= _PIECE:
                yield "".join(lines).encode()
                lines.clear()
                await asyncio.sleep(0)
    registry = CollectorRegistry(auto_describe=False)
    for collector in (PlatformCollector, ProcessCollector, GCCollector):
        collector(registry=registry)
    yield "".join(lines).encode() + generate_latest(registry)


def _head(family: Family) -> Iterator[str]:
    name = _name(family)
    meaning = family.meaning.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {meaning}\n"
    yield f"# TYPE {name} {family.kind.value}\n"


def _name(family: Family) -> str:
    return f"{family.name}_total" if family.kind is Kind.COUNTER else family.name


def _lines(family: Family, sample: Sample) -> Iterator[str]:
    labels = [f'{name}="{_escaped(value)}"' for name, value in zip(family.labels, sample.labels, strict=True)]
    value = sample.value
    if not isinstance(value, Histogram):
        yield f"{_name(family)}{_braced(labels)} {_number(value)}\n"
        return
    bounds = (*map(_number, value.bounds), "+Inf")
    at_most = list(accumulate(value.counts))
    for bound, count in zip(bounds, at_most, strict=True):
        limited = _braced([*labels, f'le="{bound}"'])
        yield f"{family.name}_bucket{limited} {count}.0\n"
    yield f"{family.name}_count{_braced(labels)} {at_most[-1]}.0\n"
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
