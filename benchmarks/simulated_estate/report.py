"""What a simulated estate did to a server, in words.

Owns: the table of phases; what counts as a fault.
Must not know: how it was measured.
"""

from collections.abc import Iterator
from typing import Final

from benchmarks.simulated_estate.tally import PATIENCE_S, Phase, Tally

MEMORY_GOAL_BYTES: Final = 1536 * 2**20
"""For 300 brokers with 10,000 topics each."""

_COLUMNS: Final = (
    "phase", "s", "CPU s", "cores", "memory MB", "peak MB", "answers", "p50 ms", "p99 ms", "slowest ms", "over 3 s",
    "registrations", "slowest s", "longest stall ms", "of its own ms",
)  # fmt: skip


def table(tally: Tally) -> str:
    """Give the phases as a table, and what was wrong below it."""
    lines = [_row(_COLUMNS), _row(["---", *["---:"] * (len(_COLUMNS) - 1)])]
    lines += [_row(_cells(phase)) for phase in tally.phases]
    answers = sum(phase.answers for phase in tally.phases)
    lines += ["", f"{answers:,} answers, {tally.wrong} wrong."]
    lines += [f"- wrong: {fault} ({count} times)" for fault, count in tally.faults.items()]
    for phase in tally.phases:
        if phase.routed_after_s is not None:
            lines.append(f"{phase.name}: all brokers were routed again after {phase.routed_after_s:.1f} s.")
    return "\n".join(lines) + "\n"


def faults(tally: Tally, *, may_lose: str | None = None) -> Iterator[str]:
    """Say what must not be: wrong answers, refused registrations, connections that the server closed.

    In the phase `may_lose` all connections end once, which is no fault.
    """
    if tally.wrong:
        yield f"{tally.wrong} wrong answers"
    if not any(phase.answers for phase in tally.phases):
        yield "nothing was answered"
    if tally.unfinished is not None:
        yield f"{tally.unfinished}: not over in time; the server, or the machine, has too much to do"
    for phase in tally.phases:
        if phase.refused:
            yield f"{phase.name}: {phase.refused} registrations or unregistrations refused"
        if phase.lost and phase.name != may_lose:
            yield f"{phase.name}: {phase.lost} connections lost"


def delays(tally: Tally) -> Iterator[str]:
    """Say where clients would have given up: the fault of a server that is too slow, or of a machine that is too busy."""
    for phase in tally.phases:
        if phase.late:
            yield f"{phase.name}: {phase.late} answers after more than {PATIENCE_S:g} s"


def _cells(phase: Phase) -> list[str]:
    registrations = phase.registrations_s
    return [
        phase.name,
        f"{phase.seconds:.1f}",
        f"{phase.cpu_s:.2f}",
        f"{phase.cpu_s / phase.seconds:.2f}" if phase.seconds else "-",
        f"{phase.memory_bytes / 2**20:.0f}",
        f"{phase.peak_bytes / 2**20:.0f}",
        f"{phase.answers:,}",
        f"{phase.percentile_ms(0.5):.1f}",
        f"{phase.percentile_ms(0.99):.1f}",
        f"{phase.percentile_ms(1):.1f}",
        str(phase.late),
        str(len(registrations)),
        f"{max(registrations):.2f}" if registrations else "-",
        _number(phase.stall_ms),
        _number(phase.own_stall_ms),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
