"""The table: a row for each stage and server.

Owns: how figures are written; what our server must not do.
Must not know: how they were measured.
"""

import os
import platform
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.hostile.measure import ServerFigures, StageFigures
from benchmarks.hostile.stages import NEVER_READING, STAGES

MIB: Final = 1024 * 1024
NEVER_READING_MAY_GROW_BYTES: Final = 4 * MIB
MAY_ANSWER_LESS: Final = 0.01
"""The share of questions by which we may be behind, on a machine that does other things as well."""

_HEAD: Final = (
    "| Stage | Server | Answered | p50 ms | p99 ms | Memory before, MiB | at most | after | CPU s | Descriptors at most "
    "| after | Registrations failed |"
)


def markdown(servers: Sequence[ServerFigures], seconds: float, when: str) -> str:
    """Give the whole table with what is needed to read it."""
    intro = (
        f"Measured {when} on {platform.machine()}, {os.cpu_count()} processors, by `python -m benchmarks.hostile`; "
        f"{seconds:g} s a stage, all on loopback. A normal client asks 50 times a second for the route of a topic on 32 "
        "brokers, a fifth of that over new connections; answered means rightly and within 3 s. Absolute times are those "
        "of a shared machine: compare the rows of a stage."
    )
    lines = [
        intro,
        "",
        *(f"- {server.name}: {server.describes}." for server in servers),
        "",
        _HEAD,
        "|---|---|" + "---:|" * 10,
    ]
    for stage in STAGES:
        for server in servers:
            lines += [_row(figures, server.name) for figures in server.stages if figures.stage == stage.name]
    lines += ["", "| At the end | " + " | ".join(server.name for server in servers) + " |"]
    lines += ["|---|" + "---|" * len(servers), *_ends(servers), ""]
    lines += ["| Stage | What the bad peers do | " + " | ".join(server.name for server in servers) + " |"]
    lines += ["|---|---|" + "---|" * len(servers), *_outcomes(servers)]
    return "\n".join(lines) + "\n"


def faults(ours: ServerFigures, theirs: ServerFigures | None) -> Iterator[str]:
    """Say what our server must not have done."""
    if not ours.is_alive or not ours.answers_rightly:
        yield "our server is dead or answers wrongly at the end"
    reference = {} if theirs is None else {figures.stage: figures for figures in theirs.stages}
    for figures in ours.stages:
        if figures.stage == NEVER_READING and figures.growth_bytes >= NEVER_READING_MAY_GROW_BYTES:
            yield f"{NEVER_READING} costs {figures.growth_bytes / MIB:.1f} MiB, allowed are less than 4"
        other = reference.get(figures.stage)
        if other is not None and _share(figures) < _share(other) - MAY_ANSWER_LESS:
            yield f"{figures.stage}: we answer {_share(figures):.1%}, Apache {_share(other):.1%}"
        if other is not None and figures.peak_memory_bytes > other.peak_memory_bytes:
            yield f"{figures.stage}: we take more memory than Apache"


def _row(figures: StageFigures, server: str) -> str:
    cells = [
        figures.stage,
        server,
        f"{_share(figures):.1%}",
        _ms(figures.p50_s),
        _ms(figures.p99_s),
        f"{figures.before.memory_bytes / MIB:.0f}",
        f"{figures.peak_memory_bytes / MIB:.0f} ({figures.growth_bytes / MIB:+.1f})",
        f"{figures.after.memory_bytes / MIB:.0f}" if figures.is_alive else "dead",
        f"{figures.cpu_s:.1f}",
        str(figures.peak_descriptors),
        str(figures.after.descriptors),
        str(figures.registrations_failed),
    ]
    return f"| {' | '.join(cells)} |"


def _ends(servers: Sequence[ServerFigures]) -> Iterator[str]:
    rows = {
        "alive, the same process": [_yes(server.is_alive) for server in servers],
        "answers a new connection rightly": [_yes(server.answers_rightly) for server in servers],
        "memory, MiB": [f"{server.final_memory_bytes / MIB:.0f}" for server in servers],
        "log, KiB": [f"{server.log_bytes / 1024:.0f}" for server in servers],
    }
    for name, cells in rows.items():
        yield f"| {name} | {' | '.join(cells)} |"


def _outcomes(servers: Sequence[ServerFigures]) -> Iterator[str]:
    for stage in STAGES:
        if stage.peer is None:
            continue
        cells = []
        for server in servers:
            found = [figures.outcomes for figures in server.stages if figures.stage == stage.name]
            ends = sorted(found[0].items(), key=lambda end: -end[1]) if found else []
            cells.append(", ".join(f"{count} {end}" for end, count in ends) or "not run")
        yield f"| {stage.name} | {stage.tells} | {' | '.join(cells)} |"


def _share(figures: StageFigures) -> float:
    return figures.answered / max(1, figures.asked)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.1f}"


def _yes(claim: bool) -> str:  # noqa: FBT001  # reads as a claim
    return "yes" if claim else "**no**"
