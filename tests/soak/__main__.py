"""The command: python -m tests.soak [--minutes M] [--seed N]; exit code 1 when something was found.

Owns: arguments, the length of laps, the table at the end.
Must not know: how a lap goes (run.py).
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.soak.answers import PatientPeer
from tests.soak.measures import MIB, growth_over_second_half, thirds
from tests.soak.run import Result, Soak
from tests.soak.verdict import LAPS_TO_JUDGE, WARM_UP_LAPS

LONGEST_LAP_S: Final = 60.0
SHORTEST_LAP_S: Final = 4.0
LAPS_WANTED: Final = 12


def main() -> int:
    """Soak a server, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.partition(";")[0])
    parser.add_argument("--minutes", type=float, default=3, help="how long (default 3; the long form is 30)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the changes of an earlier run")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    lap_s = min(LONGEST_LAP_S, max(SHORTEST_LAP_S, options.minutes * 60 / LAPS_WANTED))
    laps = max(1, round(options.minutes * 60 / lap_s))
    _say(f"soak: {laps} laps of {lap_s:g} s, seed {seed}")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        result = Soak(Path(folder), seed, _say).run(laps, lap_s)
    _say(summary(result))
    return 1 if result.findings else 0


def summary(result: Result) -> str:
    """Give the table at the end, in Markdown."""
    quiet = [float(lap.quiet_bytes) for lap in result.laps]
    rows = [
        ("seed", str(result.seed)),
        ("checked steps", _counted(result.steps.total(), dict(result.steps))),
        ("answers compared with the model", f"{PatientPeer.asked}, {PatientPeer.busy} times told to come again"),
        ("good peers beside it", _counted(result.noise.total(), dict(result.noise))),
        *((f"bad peers: {kind}", _counted(ends.total(), dict(ends))) for kind, ends in sorted(result.bad.items())),
        ("descriptors in quiet moments", ", ".join(sorted({str(lap.descriptors) for lap in result.laps}))),
        ("memory in quiet moments, MiB", ", ".join(f"{value / MIB:.1f}" for value in quiet)),
        ("memory at most, MiB", f"{max((lap.peak_bytes for lap in result.laps), default=0) / MIB:.1f}"),
        ("CPU of the server, s", f"{sum(lap.cpu_s for lap in result.laps):.1f}"),
        ("log lines", str(result.laps[-1].lines if result.laps else 0)),
    ]
    settled = quiet[WARM_UP_LAPS:]
    if len(settled) >= LAPS_TO_JUDGE:
        medians = " / ".join(f"{value / MIB:.1f}" for value in thirds(settled))
        rows.append(("memory by thirds, MiB", f"{medians} (the first {WARM_UP_LAPS} laps left out)"))
        rows.append(("memory, rise over the second half, MiB", f"{growth_over_second_half(settled) / MIB:+.2f}"))
    rows.append(("findings", "none" if not result.findings else "<br>".join(result.findings)))
    return "\n".join(["", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _counted(total: int, parts: dict[str, int]) -> str:
    shown = ", ".join(f"{name} {count}" for name, count in sorted(parts.items(), key=lambda part: -part[1]))
    return f"{total}: {shown}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
