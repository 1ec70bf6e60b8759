"""What was measured, and how it is told.

Owns: figures by measure, case, server and round; ratios between servers of one round; the tables.
Must not know: how a figure is measured.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.subjects import APACHE, FLOOR, OURS, RUST

SERVERS: Final = (OURS, APACHE, RUST, FLOOR)


@dataclass(frozen=True, slots=True)
class Limit:
    """What our figure may be, as a multiple of another server's; from the project's goals."""

    server: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Entry:
    """What one row of a table is about."""

    measure: str
    case: str
    unit: str
    limits: tuple[Limit, ...] = ()


@dataclass(slots=True)
class Row:
    """One entry and its figures of each server, one a round."""

    entry: Entry
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def median(self, server: str) -> float | None:
        """The middle of a server's rounds; None when it was not measured."""
        values = self.values.get(server)
        return statistics.median(values) if values else None

    def ratios(self, server: str) -> list[float]:
        """Our figure divided by that server's, round by round."""
        pairs = zip(self.values.get(OURS, ()), self.values.get(server, ()), strict=False)
        return [ours / theirs for ours, theirs in pairs if theirs > 0]

    def misses(self) -> Iterator[str]:
        """Say which limits our figure does not keep."""
        for limit in self.entry.limits:
            ratios = self.ratios(limit.server)
            if ratios and statistics.median(ratios) > limit.ratio:
                ratio = statistics.median(ratios)
                yield f"{self.entry.measure}, {self.entry.case}: {ratio:.2f} x {limit.server} (goal {limit.ratio})"


class Figures:
    """All rows of a run, in the order in which they were first measured."""

    def __init__(self) -> None:
        self._rows: dict[Entry, Row] = {}

    def add(self, entry: Entry, server: str, value: float) -> None:
        """Take down the figure of one round."""
        self._rows.setdefault(entry, Row(entry)).values[server].append(value)

    def rows(self) -> list[Row]:
        """All rows, those of one measure together."""
        measures = list(dict.fromkeys(entry.measure for entry in self._rows))
        return sorted(self._rows.values(), key=lambda row: measures.index(row.entry.measure))

    def misses(self) -> list[str]:
        """Goals that were not reached."""
        return [miss for row in self.rows() for miss in row.misses()]


def markdown(figures: Figures) -> str:
    """Give one table for each measure: medians, and our ratio to each other server with its spread."""
    lines: list[str] = []
    measure = ""
    for row in figures.rows():
        if row.entry.measure != measure:
            measure = row.entry.measure
            lines += ["", f"### {measure}", "", _HEAD, _RULE]
        medians = (_number(row.median(server)) for server in SERVERS)
        ratios = (_ratio(row, server) for server in SERVERS[1:])
        lines.append(f"| {row.entry.case} | {row.entry.unit} | {' | '.join(medians)} | {' | '.join(ratios)} |")
    return "\n".join(lines).strip() + "\n"


_HEAD: Final = (
    "| case | unit | " + " | ".join(SERVERS) + " | " + " | ".join(f"ours / {each}" for each in SERVERS[1:]) + " |"
)
_RULE: Final = "| --- | --- |" + " ---: |" * (2 * len(SERVERS) - 1)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _ratio(row: Row, server: str) -> str:
    ratios = row.ratios(server)
    if not ratios:
        return "-"
    goal = next((f", goal {limit.ratio}" for limit in row.entry.limits if limit.server == server), "")
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f}{goal})" if len(ratios) > 1 or goal else ""
    return f"{statistics.median(ratios):.2f}{spread}"
