"""Listings, memory per topic and per connection.

Owns: the sizes.
Must not know: how a server keeps its tables.
"""

import socket
from typing import Final

from tests.interop.rig.ports import HOST
from tests.support.wire import Wire

from benchmarks.estate import Estate, topic_names
from benchmarks.figures import Entry, Limit
from benchmarks.run import Run
from benchmarks.subjects import APACHE, Subject

LISTING: Final = "Listings: server CPU per request"
MEMORY: Final = "Resident memory"
_REPEATS: Final = 5
_LISTINGS: Final = {"106 clusters": 106, "206 all topics": 206}


def measure(run: Run) -> None:
    """Measure once per server, last of all: memory only grows."""
    size, connections = (2000, 200) if run.is_quick else (100_000, 5000)
    for subject in run.name_servers:
        run.say(f"memory and listings: {subject.name}")
        before = subject.resident_mb()
        _note(run, subject, "before these measures", before)
        with Estate(subject.address) as estate:
            for half in range(2):
                estate.add(topic_names(size // 2, f"Big{half}x"), prefix="big", form="compressed")
            limits = (Limit(APACHE, 0.1),)
            _note(run, subject, f"with {size:,} topics more", subject.resident_mb(), limits)
            per_topic = (subject.resident_mb() - before) * 1024 / size
            run.figures.add(Entry(MEMORY, "of it for each topic", "KB"), subject.name, per_topic)
            _measure_listings(run, subject, size)
        _measure_connections(run, subject, connections)


def _note(run: Run, subject: Subject, case: str, value: float, limits: tuple[Limit, ...] = ()) -> None:
    run.figures.add(Entry(MEMORY, case, "MB", limits), subject.name, value)


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


def _measure_connections(run: Run, subject: Subject, count: int) -> None:
    before = subject.resident_mb()
    sockets = [socket.create_connection((HOST, subject.port), 30) for _ in range(count)]
    with Wire(subject.address) as wire:  # answered after all of them are accepted
        wire.request(106)
    per_connection = (subject.resident_mb() - before) * 1024 / count
    entry = Entry(MEMORY, f"for each of {count:,} silent connections", "KB")
    run.figures.add(entry, subject.name, per_connection)
    for each in sockets:
        each.close()
