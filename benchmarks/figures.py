"""What was measured, and how it is told.

Owns: figures by measure, case, server and round; ratios between servers of one round; goals; the tables.
Must not know: how a figure is measured.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence
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
class Beside:
    """What our figure may be, as a multiple of our own figure in another case of the same measure."""

    case: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What our figure may be, in the unit of its row."""

    value: float


Goal = Limit | Beside | Ceiling


@dataclass(frozen=True, slots=True)
class Entry:
    """What one row of a table is about."""

    measure: str
    case: str
    unit: str
    limits: tuple[Goal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a goal was fared with. `figure` is None when what it compares was not measured."""

    what: str
    figure: float | None
    limit: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether it was measured and is kept."""
        return self.figure is not None and self.figure <= self.limit

    @property
    def word(self) -> str:
        """In one word or two."""
        return "not measured" if self.figure is None else "met" if self.is_met else "missed"


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
        return _ratios(self.values.get(OURS, ()), self.values.get(server, ()))


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

    def verdicts(self) -> list[Verdict]:
        """Every goal of the rows that were measured for us."""
        rows = [row for row in self.rows() if row.values.get(OURS)]
        return [self._verdict(row, goal) for row in rows for goal in row.entry.limits]

    def misses(self) -> list[str]:
        """Goals that were measured and not reached, in words."""
        return [
            f"{each.what}: {_number(each.figure)}, at most {each.limit:g} {each.unit}"
            for each in self.verdicts()
            if each.figure is not None and not each.is_met
        ]

    def _verdict(self, row: Row, goal: Goal) -> Verdict:
        what = f"{row.entry.measure}, {row.entry.case}"
        match goal:
            case Ceiling(value):
                return Verdict(what=what, figure=row.median(OURS), limit=value, unit=row.entry.unit)
            case Limit(server, ratio):
                return Verdict(what=what, figure=_middle(row.ratios(server)), limit=ratio, unit=f"x {server}")
            case Beside(case, ratio):
                others = [
                    each for each in self.rows() if (each.entry.measure, each.entry.case) == (row.entry.measure, case)
                ]
                theirs = others[0].values.get(OURS, ()) if others else ()
                figure = _middle(_ratios(row.values[OURS], theirs))
                return Verdict(what=what, figure=figure, limit=ratio, unit=f"x ours with {case}")


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ours, theirs, strict=False) if other > 0]


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def markdown(figures: Figures, servers: Sequence[str] = SERVERS) -> str:
    """Give one table for each measure: medians, and our ratio to each other server with its spread; then the goals.

    `servers` are the columns, ours first.
    """
    lines: list[str] = []
    measure = ""
    for row in figures.rows():
        if row.entry.measure != measure:
            measure = row.entry.measure
            lines += ["", f"### {measure}", "", *_head(servers)]
        medians = (_number(row.median(server)) for server in servers)
        ratios = (_ratio(row, server) for server in servers[1:])
        lines.append(f"| {row.entry.case} | {row.entry.unit} | {' | '.join(medians)} | {' | '.join(ratios)} |")
    verdicts = figures.verdicts()
    if verdicts:
        lines += ["", "### Goals", "", "| goal | figure | at most | |", "| --- | ---: | ---: | --- |"]
        lines += [_verdict_line(verdict) for verdict in verdicts]
    return "\n".join(lines).strip() + "\n"


def _verdict_line(verdict: Verdict) -> str:
    word = f"**{verdict.word}**" if verdict.word == "missed" else verdict.word
    return f"| {verdict.what} | {_number(verdict.figure)} | {verdict.limit:g} {verdict.unit} | {word} |"


def _head(servers: Sequence[str]) -> tuple[str, str]:
    ratios = " | ".join(f"ours / {each}" for each in servers[1:])
    return f"| case | unit | {' | '.join(servers)} | {ratios} |", "| --- | --- |" + " ---: |" * (2 * len(servers) - 1)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _ratio(row: Row, server: str) -> str:
    ratios = row.ratios(server)
    if not ratios:
        return "-"
    limits = (limit for limit in row.entry.limits if isinstance(limit, Limit) and limit.server == server)
    goal = next((f", goal {limit.ratio}" for limit in limits), "")
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f}{goal})" if len(ratios) > 1 or goal else ""
    return f"{statistics.median(ratios):.2f}{spread}"
