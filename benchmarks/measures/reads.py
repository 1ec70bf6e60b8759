"""Route reads in a closed loop: server CPU per request, and latency.

Owns: codecs, numbers of connections and of brokers, hits and misses.
Must not know: how load is made (native/nsload.c).
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from benchmarks.estate import Estate, topic_names
from benchmarks.figures import Beside, Entry, Goal, Limit
from benchmarks.run import Run
from benchmarks.subjects import APACHE, FLOOR, OURS, RUST, Subject

CPU: Final = "Route read: server CPU per request"
P99: Final = "Route read: p99 latency in a closed loop"
_TOPICS: Final = 100
_MANY_BROKERS: Final = 100
_TOPIC_NOT_EXIST: Final = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of load. `prefix` names topics that the brokers have, or that nobody has."""

    connections: int
    codec: str = "json"
    brokers: int = 1
    is_hit: bool = True
    limits: tuple[Goal, ...] = ()
    p99_limits: tuple[Goal, ...] = ()

    @property
    def name(self) -> str:
        """As the tables call it."""
        brokers = f"{self.brokers} broker{'s' if self.brokers > 1 else ''}"
        return f"{self.codec.upper()}, {self.connections} connections, {brokers if self.is_hit else 'miss'}"

    @property
    def prefix(self) -> str:
        """What the topics that are asked for begin with."""
        return f"R{self.brokers}x" if self.is_hit else "Nowhere"


_MAIN: Final = Case(
    connections=64,
    limits=(Limit(APACHE, 0.35), Limit(RUST, 0.25), Limit(FLOOR, 2.5)),
    p99_limits=(Limit(APACHE, 0.5),),
)
_MAIN_BINARY: Final = Case(connections=64, codec="rocketmq", limits=(Beside(_MAIN.name, 1.3),))
_MISS: Final = Case(connections=64, is_hit=False)
CASES: Final = (
    Case(connections=1, limits=(Limit(APACHE, 0.3),)),
    _MAIN,
    Case(connections=256, limits=(Limit(APACHE, 0.4),)),
    Case(connections=1, codec="rocketmq"),
    _MAIN_BINARY,
    Case(connections=256, codec="rocketmq"),
    Case(connections=64, brokers=8),
    Case(connections=64, brokers=300),
    Case(connections=64, codec="rocketmq", brokers=300),
    _MISS,
    Case(connections=64, codec="rocketmq", is_hit=False),
)
QUICK: Final = (_MAIN, _MAIN_BINARY, _MISS)


def measure(run: Run) -> None:
    """Measure every case in turn on every server."""
    cases = QUICK if run.is_quick else CASES
    with_floor = [each for each in run.subjects if each.is_floor]
    for subject in run.name_servers:
        _warm_up(run, subject)
    for case in cases:
        run.say(f"route reads: {case.name}")
        has_floor = case.codec == "json" and case.brokers == 1 and case.is_hit
        _measure_case(run, case, [*_name_servers(run, case), *(with_floor if has_floor else [])])


def _name_servers(run: Run, case: Case) -> list[Subject]:
    """Give who is measured: rocketmq-rust's closes connections while hundreds of brokers register."""
    return [each for each in run.name_servers if each.name != RUST or case.brokers < _MANY_BROKERS]


def _measure_case(run: Run, case: Case, subjects: list[Subject]) -> None:
    """Measure one case; its brokers register for it alone, since some servers forget them after two minutes."""
    with ExitStack() as stack:
        for subject in subjects:
            if not subject.is_floor:
                estate = stack.enter_context(Estate(subject.address))
                estate.add(topic_names(_TOPICS, f"R{case.brokers}x"), case.brokers, prefix=f"reads-{case.brokers}")
        for subject in run.turns(subjects):
            _measure_once(run, case, subject)


def _measure_once(run: Run, case: Case, subject: Subject) -> None:
    load = run.native.load(
        subject.port,
        subject.pid,
        conns=case.connections,
        seconds=run.seconds,
        topics=_TOPICS,
        prefix=case.prefix,
        serialize=case.codec,
        expect=0 if case.is_hit else _TOPIC_NOT_EXIST,
    )
    run.figures.add(Entry(CPU, case.name, "us", case.limits), subject.name, load["server_cpu_us_per_request"])
    run.figures.add(Entry(P99, case.name, "us", case.p99_limits), subject.name, load["p99_us"])


def _warm_up(run: Run, subject: Subject) -> None:
    """Let a JVM compile what it will run: our figure is no better for it, its own is."""
    if subject.name == OURS:
        return
    run.say(f"warming up {subject.name}")
    seconds = 2 if run.is_quick else 15
    run.native.load(subject.port, subject.pid, conns=64, seconds=seconds, expect=_TOPIC_NOT_EXIST, prefix="Warm")
