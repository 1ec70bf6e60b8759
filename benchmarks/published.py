"""How a run of benchmarks is told: on the screen, and at the end of benchmarks/results.md.

Owns: what stands above the tables of a run; where they are kept.
Must not know: what was measured.
"""

import datetime as dt
import os
import platform
import subprocess
from pathlib import Path
from typing import Final

from benchmarks.figures import Figures

RESULTS: Final = Path(__file__).parent / "results.md"


def heading(what: str, rounds: int, is_quick: bool) -> str:  # noqa: FBT001  # as the option
    """Give what stands above the tables of a run: when, of which commit, on which machine."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"## {now}, {what}, commit {_commit()}{', quick' if is_quick else ''}\n\n"
        f"{_machine()}; {rounds} round{'' if rounds == 1 else 's'}; medians, ratios of one round with their spread.\n\n"
    )


def publish(text: str, figures: Figures, *, is_saved: bool) -> None:
    """Print the tables and the goals that were missed; append the tables to the results."""
    print(text)
    for miss in figures.misses():
        print(f"goal missed: {miss}")
    if is_saved:
        with RESULTS.open("a", encoding="utf-8") as results:
            results.write(f"\n{text}")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return f"{os.cpu_count()} x {model}, Linux {platform.release()}, Python {platform.python_version()}"
