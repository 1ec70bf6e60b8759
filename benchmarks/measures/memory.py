"""What topics, brokers and idle connections cost in memory, each on a server that was just started.

A server that has done other things before would take the new from what it had and no longer uses.

Owns: the sizes; the widest estate that a goal names.
Must not know: how a server keeps its tables.
"""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from tests.interop.rig.ports import HOST
from tests.support.wire import Wire

from benchmarks.estate import Estate, topic_names
from benchmarks.figures import Ceiling, Entry
from benchmarks.measures import reads, registrations
from benchmarks.run import Run
from benchmarks.subjects import OURS, RUST, Subject

EACH: Final = "Memory: for each"
RESIDENT: Final = "Memory: resident"
_KB_PER_TOPIC: Final = 0.5
_KB_PER_CONNECTION: Final = 20
_WIDE_MB: Final = 1536
_CLUSTER_INFO: Final = 106
_SETTLE_S: Final = 2.0
"""Our server gives memory back some time after it has done with it."""


def measure(run: Run) -> None:
    """Measure each kind once per server."""
    names = [subject.name for subject in run.name_servers]
    looks = (_look_at_connections, _look_at_topics, _look_at_brokers, _look_at_wide)
    # A quick run shows that all of them work, and saves starts.
    for together in [looks] if run.is_quick else [(look,) for look in looks]:
        for subject in run.on_fresh(names):
            for look in together:
                run.say(f"memory: {look.__name__.removeprefix('_look_at_')}, {subject.name}")
                _look_if_it_can(run, subject, look)


def _look_if_it_can(run: Run, subject: Subject, look: Callable[[Run, Subject], None]) -> None:
    """Look; another server than ours may refuse so much, and then has no figure: rocketmq-rust closes connections."""
    try:
        look(run, subject)
    except ConnectionError as error:
        if subject.name == OURS:
            raise
        run.say(f"{subject.name} does not take as much: {error}")


def _look_at_topics(run: Run, subject: Subject) -> None:
    """Two brokers, each with half of the topics."""
    size = 2000 if run.is_quick else 100_000
    idle_mb = _settled_mb(run, subject)
    run.figures.add(Entry(RESIDENT, "idle", "MB"), subject.name, idle_mb)
    with Estate(subject.address) as estate:
        for half in range(2):
            estate.add(topic_names(size // 2, f"Big{half}x"), prefix="big", form=subject.forms[0])
        per_topic_kb = (_settled_mb(run, subject) - idle_mb) * 1024 / size
        limits = () if run.is_quick else (Ceiling(_KB_PER_TOPIC),)
        run.figures.add(Entry(EACH, f"of {size:,} topics", "KB", limits), subject.name, per_topic_kb)


def _look_at_brokers(run: Run, subject: Subject) -> None:
    """Brokers with the same few topics, each on a connection of its own."""
    count = 100 if run.is_quick else 1000
    with Estate(subject.address) as estate:
        estate.add(topic_names(2), 1)
        before_mb = _settled_mb(run, subject)
        estate.add(topic_names(2), count)
        per_broker_kb = (_settled_mb(run, subject) - before_mb) * 1024 / count
        run.figures.add(Entry(EACH, f"of {count:,} brokers of 2 topics", "KB"), subject.name, per_broker_kb)


def _look_at_connections(run: Run, subject: Subject) -> None:
    count = 200 if run.is_quick else 5000
    with Wire(subject.address) as wire:
        wire.request(_CLUSTER_INFO)
    before_mb = _settled_mb(run, subject)
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection((HOST, subject.port), 30))
        with Wire(subject.address) as wire:  # answered after all of them are accepted
            wire.request(_CLUSTER_INFO)
        per_connection_kb = (_settled_mb(run, subject) - before_mb) * 1024 / count
    limits = () if run.is_quick else (Ceiling(_KB_PER_CONNECTION),)
    run.figures.add(Entry(EACH, f"of {count:,} silent connections", "KB", limits), subject.name, per_connection_kb)


def _look_at_wide(run: Run, subject: Subject) -> None:
    """Many brokers with the same many topics, each of whose routes is read; then all of them leave."""
    if subject.name == RUST and not run.is_quick:
        run.say("rust: left out, 300 registrations of 10,000 topics take it minutes")
        return
    brokers, topics = (30, 500) if run.is_quick else (300, 10_000)
    what = f"{brokers} brokers of {topics:,} topics"
    with Estate(subject.address) as estate:
        estate.add(topic_names(topics, "Wide"), brokers, prefix="wide", form=subject.forms[0])
        run.figures.add(Entry(RESIDENT, f"{what}, the same ones", "MB"), subject.name, _settled_mb(run, subject))
        load = run.native.load(
            subject.port, subject.pid, conns=64, seconds=1 if run.is_quick else 10, topics=topics, prefix="Wide"
        )
        case = f"JSON, 64 connections, {brokers} brokers, {topics:,} topics in turn"
        run.figures.add(Entry(reads.CPU, case, "us"), subject.name, load["server_cpu_us_per_request"])
        limits = () if run.is_quick else (Ceiling(_WIDE_MB),)
        entry = Entry(RESIDENT, f"{what}, after reading their routes", "MB", limits)
        run.figures.add(entry, subject.name, _settled_mb(run, subject))
        before_ms = subject.cpu_ms()
        estate.leave()
        cost_ms = subject.cpu_ms() - before_ms
        run.figures.add(Entry(registrations.LEAVING, f"all of {what}, the same ones", "ms"), subject.name, cost_ms)


def _settled_mb(run: Run, subject: Subject) -> float:
    time.sleep(0 if run.is_quick else _SETTLE_S)
    return subject.resident_mb()
