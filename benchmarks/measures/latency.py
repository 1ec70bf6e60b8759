"""Latency of route reads at half capacity, quiet and while a big broker changes its table every second.

The loop is open: requests fall due at even times, and a stall is felt by every request that it delays.

Owns: the rate, the storm beside it, the probe for stalls.
Must not know: how load is made (native/nsload.c).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.support.stall_probe import StallProbe

from benchmarks.estate import FORMS, Estate, LastingBroker, topic_names
from benchmarks.figures import Entry
from benchmarks.run import Run
from benchmarks.subjects import Subject

P50: Final = "Route read at half capacity: p50"
P99: Final = "Route read at half capacity: p99"
P999: Final = "Route read at half capacity: p99.9"
SLOWEST: Final = "Route read at half capacity: slowest"
STALL: Final = "Longest stall: no answer to anybody for so long"
CHANGE: Final = "Route read at half capacity: p99 in the storm, as a multiple of the quiet p99"
_TOPICS: Final = 100
_PERIOD_S: Final = 1.0


def measure(run: Run) -> None:
    """Measure quiet, then with a storm of each form."""
    size = 2000 if run.is_quick else 50_000
    names = topic_names(size, "Storm")
    storms = {form: [make([(name, 8 + step) for name in names], 10 + step) for step in range(2)]
              for form, make in FORMS.items()}  # fmt: skip
    for subject in run.turns(run.name_servers):
        run.say(f"latency: {subject.name}")
        with Estate(subject.address) as estate:
            estate.add(topic_names(_TOPICS, "Calm"), prefix="calm")
            rate = _half_capacity(run, subject)
            quiet = _load(run, subject, rate)
            _note(run, subject, "quiet", quiet)
            for form, bodies in ((form, storms[form]) for form in FORMS if form in subject.forms):
                with _storm(subject, form, bodies):
                    stormy = _load(run, subject, rate)
                _note(run, subject, f"{form} storm, {size:,} topics a second", stormy)
                run.figures.add(Entry(CHANGE, form, "x"), subject.name, stormy["p99_us"] / quiet["p99_us"])


def _half_capacity(run: Run, subject: Subject) -> float:
    load = run.native.load(subject.port, subject.pid, conns=64, seconds=run.seconds, topics=_TOPICS, prefix="Calm")
    return float(load["rps"]) / 2


def _load(run: Run, subject: Subject, rate: float) -> dict[str, Any]:
    seconds = run.seconds if run.is_quick else run.seconds * 2
    with StallProbe(subject.address, subject.pid) as probe:
        load = run.native.load(
            subject.port, subject.pid, conns=64, depth=8, seconds=seconds, topics=_TOPICS, prefix="Calm", rate=rate
        )
    return load | {"stall_ms": probe.found.longest_ms, "own_stall_ms": probe.found.longest_of_server_ms}


def _note(run: Run, subject: Subject, case: str, load: dict[str, Any]) -> None:
    for measure, name in ((P50, "p50_us"), (P99, "p99_us"), (P999, "p999_us"), (SLOWEST, "max_us")):
        run.figures.add(Entry(measure, case, "us"), subject.name, load[name])
    run.figures.add(Entry(STALL, case, "ms"), subject.name, load["stall_ms"])
    run.figures.add(Entry(STALL, f"{case}, less waiting for a processor", "ms"), subject.name, load["own_stall_ms"])


@contextmanager
def _storm(subject: Subject, form: str, bodies: list[bytes]) -> Iterator[None]:
    """Let one broker register all its topics changed, every second."""
    is_over = threading.Event()

    def rage() -> None:
        with LastingBroker(subject.address, "storm", 50_000, form) as broker:
            step = 0
            while not is_over.wait(_PERIOD_S):
                broker.register(bodies[step % 2])
                step += 1
            broker.unregister()

    thread = threading.Thread(target=rage)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
