"""What a start costs: processor time and time until the first answer, and memory when idle.

Owns: our budgets.
Must not know: how a server is started (subjects.py).
"""

import time
from typing import Final

from tests.support.process_figures import cpu_s_of
from tests.support.wire import Wire

from benchmarks.figures import Ceiling, Entry
from benchmarks.run import Run

START: Final = "Start: until the first answer"
IDLE: Final = "Start: resident memory after it"
_CLUSTER_INFO: Final = 106
_CPU_BUDGET_MS: Final = 250
_MEMORY_BUDGET_MB: Final = 45


def measure(run: Run) -> None:
    """Start each server once a round. Processor time depends on a busy machine less than time does."""
    for _ in range(run.rounds):
        for subject in run.name_servers:
            run.say(f"start: {subject.name}")
            begin_s = time.monotonic()
            with run.starters.running(subject.name) as fresh:
                with Wire(fresh.address) as wire:
                    wire.request(_CLUSTER_INFO)
                took_ms = (time.monotonic() - begin_s) * 1000
                cpu_ms = cpu_s_of(fresh.pid) * 1000
                limits = (Ceiling(_CPU_BUDGET_MS),)
                run.figures.add(Entry(START, "processor time", "ms", limits), subject.name, cpu_ms)
                run.figures.add(Entry(START, "time, looked at every 50 ms", "ms"), subject.name, took_ms)
                memory = Entry(IDLE, "idle", "MB", (Ceiling(_MEMORY_BUDGET_MB),))
                run.figures.add(memory, subject.name, fresh.resident_mb())
