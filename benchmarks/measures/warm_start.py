"""What it costs to come back: a server is killed and started again while brokers and clients want it.

The estate is that of `python -m benchmarks.simulated_estate`, smaller. Brokers and clients notice within a period, register
and ask again; all that the new process spends in one and a half periods counts, its start too.

Owns: the size of the estate; what is taken from its figures.
Must not know: how the estate behaves (simulated_estate/).
"""

from typing import Final

from benchmarks.figures import Entry
from benchmarks.native import BenchError
from benchmarks.run import Run
from benchmarks.simulated_estate.population import Population
from benchmarks.simulated_estate.report import faults
from benchmarks.simulated_estate.run import SERVER_RESTARTS, Plan, simulate
from benchmarks.subjects import APACHE, OURS

WARM_START: Final = "Restart of the server"
FULL: Final = Population(brokers=30, topics=2000, clients=500, polled=20)
QUICK: Final = Population(brokers=5, topics=200, clients=50, polled=5)


def measure(run: Run) -> None:
    """Measure those that can be started again on their port, half as often as other things."""
    population, period_s = (QUICK, 2.0) if run.is_quick else (FULL, 6.0)
    names = [subject.name for subject in run.name_servers if subject.name in (OURS, APACHE)]
    for _ in range(max(1, run.rounds // 2)):
        for name in names:
            run.say(f"restart: {name}")
            _measure_once(run, name, population, period_s)


def _measure_once(run: Run, name: str, population: Population, period_s: float) -> None:
    plan = Plan(period_s=period_s, quiet_s=period_s / 2, is_server_restarted=True, are_brokers_restarted=False)
    server = run.starters.name_server(name)
    try:
        server.start()
        tally = simulate(server, population, plan, lambda _: None)
    finally:
        server.kill()
    wrong = list(faults(tally, may_lose=SERVER_RESTARTS))
    if wrong and name == OURS:
        raise BenchError(f"a restart of our server: {'; '.join(wrong)}; {dict(tally.faults)}")
    phase = tally.phases[-1]
    size = f"{population.brokers} brokers x {population.topics:,} topics, {population.clients} clients"
    figures = {
        ("processor time of the new process", "ms"): phase.cpu_s * 1000,
        ("slowest answer to a client", "ms"): phase.percentile_ms(1),
        ("longest stall", "ms"): phase.stall_ms or 0.0,
        ("resident memory after it", "MB"): phase.memory_bytes / 2**20,
        ("until all brokers are routed again", "s"): phase.routed_after_s or 0.0,
    }
    for (what, unit), value in figures.items():
        run.figures.add(Entry(WARM_START, f"{size}: {what}", unit), name, value)
