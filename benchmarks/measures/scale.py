"""Listings, and the memory of servers that have gone through all measures before.

Owns: the size.
Must not know: how a server keeps its tables.
"""

from typing import Final

from tests.support.wire import Wire

from benchmarks.estate import Estate, topic_names
from benchmarks.figures import Entry, Limit
from benchmarks.run import Run
from benchmarks.subjects import APACHE, Subject

LISTING: Final = "Listings: server CPU per request"
MEMORY: Final = "Resident memory of servers that have done all this"
_REPEATS: Final = 5
_LISTINGS: Final = {"106 clusters": 106, "206 all topics": 206}


def measure(run: Run) -> None:
    """Measure once per server, after the others: a JVM has taken its heap by then, as in real life."""
    size = 2000 if run.is_quick else 100_000
    for subject in run.name_servers:
        run.say(f"listings: {subject.name}")
        run.figures.add(Entry(MEMORY, "as they are", "MB"), subject.name, subject.resident_mb())
        with Estate(subject.address) as estate:
            for half in range(2):
                estate.add(topic_names(size // 2, f"Big{half}x"), prefix="big", form=subject.forms[0])
            limits = () if run.is_quick else (Limit(APACHE, 0.1),)
            entry = Entry(MEMORY, f"with {size:,} topics", "MB", limits)
            run.figures.add(entry, subject.name, subject.resident_mb())
            _measure_listings(run, subject, size)


def _measure_listings(run: Run, subject: Subject, size: int) -> None:
    with Wire(subject.address, 60) as wire:
        for what, code in _LISTINGS.items():
            wire.request(code)
            before = subject.cpu_ms()
            for _ in range(_REPEATS):
                answer = wire.request(code)
                assert answer.code == 0, answer
            cost = (subject.cpu_ms() - before) / _REPEATS
            run.figures.add(Entry(LISTING, f"{what}, {size:,} topics", "ms"), subject.name, cost)
