"""What a registration costs the server.

Owns: sizes, forms, and how much of the table has changed; heartbeats; how a broker leaves.
Must not know: how frames are made (estate.py).
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

from benchmarks.estate import FORMS, Estate, LastingBroker, topic_names
from benchmarks.figures import Beside, Entry, Limit
from benchmarks.run import Run
from benchmarks.subjects import APACHE, OURS, Subject

CPU: Final = "Registration: server CPU"
LEAVING: Final = "Unregistering: server CPU"
HEARTBEAT: Final = "Heartbeats: server CPU per request"
_REPEATS: Final = 3
_WARM_UP: Final = 12
_BIG: Final = 50_000
_LEAVING_TOPICS: Final = 10_000
_MOST_BY_OTHERS: Final = 4.0
"""What unregistering may cost with ten or a hundred times as many topics on the server, as a multiple: the steps are the same
ones, but in a table of a million entries each of them misses the caches of the processor."""

LIMITS: Final = {
    ("JSON", "unchanged"): 0.25,
    ("compressed", "unchanged"): 0.02,
    ("JSON", "all changed"): 0.85,
    ("JSON", "one changed"): 0.6,
}
"""Goals for 50,000 topics, as multiples of a warm Apache NameServer."""


class Bodies:
    """Bodies of one broker, made beforehand: every server gets the same ones."""

    def __init__(self, form: str, topics: list[str]) -> None:
        self.form = form
        self.topics = topics
        make = FORMS[form]
        # The JSON form carries the time of sending, so that even an unchanged table is never the same bytes.
        self.unchanged = [make(self._table(), 1, sent) for sent in range(1, _REPEATS + 2)]
        self.one_changed = [make(self._table(changed=step), 100 + step) for step in range(_REPEATS + 1)]
        self.all_changed = [make(self._table(queues=4 + step % 2), 200 + step) for step in range(_REPEATS + 1)]

    def _table(self, changed: int = -1, queues: int = 8) -> Iterator[tuple[str, int]]:
        return ((name, 16 if at == changed else queues) for at, name in enumerate(self.topics))


def measure(run: Run) -> None:
    """Measure every size and form, then leaving and heartbeats."""
    for form in FORMS:
        for size in (1000,) if run.is_quick else (1000, 10_000, _BIG):
            run.say(f"registrations: {form}, {size} topics")
            _measure_size(run, Bodies(form, topic_names(size, f"Reg{form}{size}x")))
    for total in (10_000,) if run.is_quick else (10_000, 100_000, 1_000_000):
        run.say(f"unregistering one broker: {total} topics in total")
        _measure_leaving(run, total)
    _measure_heartbeats(run)


def _measure_size(run: Run, bodies: Bodies) -> None:
    subjects = [subject for subject in run.name_servers if bodies.form in subject.forms]
    for subject in subjects:
        if subject.name != OURS:
            _warm_up(subject, bodies)
    for subject in run.turns(subjects):
        _measure_round(run, subject, bodies)


def _warm_up(subject: Subject, bodies: Bodies) -> None:
    with LastingBroker(subject.address, "warm-up", form=bodies.form) as broker:
        for step in range(_WARM_UP):
            for kind in (bodies.unchanged, bodies.one_changed, bodies.all_changed):
                broker.register(kind[step % len(kind)])
        broker.unregister()


def _measure_round(run: Run, subject: Subject, bodies: Bodies) -> None:
    with LastingBroker(subject.address, "measured", form=bodies.form) as broker:
        first = _cpu_ms(subject, lambda: broker.register(bodies.unchanged[0]))
        _note(run, subject, bodies, "first", first)
        for what, kind in (
            ("unchanged", bodies.unchanged),
            ("one changed", bodies.one_changed),
            ("all changed", bodies.all_changed),
        ):
            if what != "unchanged":
                broker.register(kind[0])
            _note(run, subject, bodies, what, _each_ms(subject, broker, kind[1:]))
        broker.unregister()


def _note(run: Run, subject: Subject, bodies: Bodies, what: str, value: float) -> None:
    goal = LIMITS.get((bodies.form, what)) if len(bodies.topics) == _BIG else None
    limits = () if goal is None else (Limit(APACHE, goal),)
    entry = Entry(CPU, f"{bodies.form}, {len(bodies.topics):,} topics, {what}", "ms", limits)
    run.figures.add(entry, subject.name, value)


def _each_ms(subject: Subject, broker: LastingBroker, bodies: list[bytes]) -> float:
    def register_all() -> None:
        for body in bodies:
            broker.register(body)

    return _cpu_ms(subject, register_all) / len(bodies)


def _cpu_ms(subject: Subject, work: Callable[[], object]) -> float:
    before = subject.cpu_ms()
    work()
    return subject.cpu_ms() - before


def _measure_leaving(run: Run, total: int) -> None:
    """Measure one broker of 10,000 topics that leaves, with so many topics on the server, each broker's its own."""
    size = _LEAVING_TOPICS
    # Its cost is to depend on what the broker had, not on what others have.
    limits = (Beside(_leaving_case(size), _MOST_BY_OTHERS),) if total > size else ()
    with ExitStack() as stack:
        for subject in run.name_servers:
            estate = stack.enter_context(Estate(subject.address))
            for number in range(total // size - 1):
                estate.add(topic_names(size, f"Stay{number}x"), prefix="stays", form=subject.forms[0])
        bodies = {form: make([(name, 8) for name in topic_names(size, "Leaves")], 1) for form, make in FORMS.items()}
        for subject in run.turns(run.name_servers):
            with LastingBroker(subject.address, "leaves", 60_000, subject.forms[0]) as broker:
                broker.register(bodies[subject.forms[0]])
                cost = _cpu_ms(subject, broker.unregister)
            entry = Entry(LEAVING, _leaving_case(total), "ms", limits)
            run.figures.add(entry, subject.name, cost)


def _leaving_case(total: int) -> str:
    return f"one broker of {_LEAVING_TOPICS:,} topics, {total:,} in total"


def _measure_heartbeats(run: Run) -> None:
    count = 500 if run.is_quick else 5000
    for subject in run.turns(run.name_servers):
        with LastingBroker(subject.address, "beats") as broker:
            broker.register(FORMS["JSON"]([("Beat", 8), ("Beat2", 8)], 1))
            fields = {"brokerName": "beats", "brokerAddr": broker.identity.addr, "clusterName": "Bench"}

            def beat(broker: LastingBroker = broker, fields: dict[str, str | None] = fields) -> None:
                for _ in range(count):
                    broker.wire.request(904, fields)

            cost = _cpu_ms(subject, beat) * 1000 / count
            broker.unregister()
        run.figures.add(Entry(HEARTBEAT, "904, one broker", "us"), subject.name, cost)
