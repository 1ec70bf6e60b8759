"""What is measured of a broker, and what is asked of ours.

Owns: the cases, their sizes, the goals; turns and rounds.
Must not know: how brokers and clients are started.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.broker.clients import JAVA, PYTHON, Client
from benchmarks.broker.subjects import QUEUES, Subject, running
from benchmarks.figures import Entry, Figures, Limit
from benchmarks.subjects import APACHE, OURS

ASYNC: Final = "ASYNC_FLUSH"
SYNC: Final = "SYNC_FLUSH"
IN_FLIGHT: Final = 128
BODY_BYTES: Final = 100
_SYNCED_SHARE: Final = 4
"""One that waits for the disk each time takes that much longer, and says as much."""
_TOPIC: Final = "Load"
_STORED: Final = "Stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many messages of each kind one round has, and what goes before the first."""

    many: int
    single: int
    synced: int
    stored: int
    warm: int


FULL: Final = Sizes(many=100_000, single=10_000, synced=20_000, stored=100_000, warm=100_000)
QUICK: Final = Sizes(many=5_000, single=500, synced=1_000, stored=5_000, warm=5_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One load, and what ours may be of Apache's, by figure."""

    title: str
    client: str
    flush: str
    count: Callable[[Sizes], int]
    in_flight: int
    """0: it consumes what is stored."""
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Turn:
    """Whose turn it is, with which client, in which round."""

    subject: Subject
    client: Client
    sizes: Sizes
    number: int


def _sends(client: str, flush: str, in_flight: int, limits: Mapping[str, float]) -> Case:
    many = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
    counts: dict[tuple[str, bool], Callable[[Sizes], int]] = {
        (ASYNC, True): lambda sizes: sizes.single,
        (ASYNC, False): lambda sizes: sizes.many,
        (SYNC, True): lambda sizes: sizes.single // _SYNCED_SHARE,
        (SYNC, False): lambda sizes: sizes.synced,
    }
    count = counts[flush, in_flight == 1]
    title = f"{client} producer, {flush}, {many}, {BODY_BYTES} bytes"
    return Case(title=title, client=client, flush=flush, count=count, in_flight=in_flight, limits=limits)


def _takes(client: str, limits: Mapping[str, float]) -> Case:
    title = f"{client} push consumer, stored messages"
    return Case(
        title=title, client=client, flush=ASYNC, count=lambda sizes: sizes.stored, in_flight=0, limits=limits
    )  # fmt: skip


CASES: Final = (
    _sends(JAVA, ASYNC, IN_FLIGHT, {"CPU": 0.5, "time": 1 / 1.2}),
    _sends(JAVA, ASYNC, 1, {"CPU": 0.4}),
    _sends(PYTHON, ASYNC, IN_FLIGHT, {}),
    _takes(JAVA, {"CPU": 0.6, "time": 1.0}),
    _takes(PYTHON, {}),
    _sends(JAVA, SYNC, IN_FLIGHT, {"time": 1.0}),
    _sends(JAVA, SYNC, 1, {}),
)
_START: Final = Entry("Start", "from exec to the first accepted message", "s", (Limit(APACHE, 0.1),))
_MEMORY: Final = Entry("Memory", "resident after all loads", "MB", (Limit(APACHE, 0.1),))


def measure(figures: Figures, folder: Path, sizes: Sizes, rounds: int, cases: tuple[Case, ...] = CASES) -> None:
    """Start both brokers for each flush mode, and let them take turns.

    Raises:
        ProcessError: A broker or a client does not do what it should.
    """
    for flush in dict.fromkeys(case.flush for case in cases):
        chosen = [case for case in cases if case.flush == flush]
        with _loaded(folder, flush, {case.client for case in chosen}) as subjects:
            for subject, clients in subjects:
                figures.add(_START, subject.name, subject.start_s)
                _warm(subject, clients, sizes)
            for turn in range(rounds):
                for case in chosen:
                    for subject, clients in subjects if turn % 2 == 0 else reversed(subjects):
                        _say(f"round {turn + 1}: {subject.name}, {case.title}")
                        _play(figures, case, _Turn(subject, clients[case.client], sizes, turn))
            for subject, _ in subjects if flush == ASYNC else []:
                figures.add(_MEMORY, subject.name, subject.resident_mb())


def measure_starts(figures: Figures, folder: Path, rounds: int) -> None:
    """Start each broker anew, once a round."""
    for turn in range(rounds):
        for name in (OURS, APACHE) if turn % 2 == 0 else (APACHE, OURS):
            _say(f"start {turn + 1}: {name}")
            with running([name], folder / f"start-{turn}", ASYNC) as (subject,):
                figures.add(_START, name, subject.start_s)


@contextmanager
def _loaded(folder: Path, flush: str, names: set[str]) -> Iterator[list[tuple[Subject, dict[str, Client]]]]:
    """Start both brokers, and for each its clients."""
    with running([OURS, APACHE], folder, flush) as subjects, ExitStack() as stack:
        loaded = []
        for subject in subjects:
            subject.create_topic(_TOPIC)
            subject.create_topic(_STORED)
            clients = {
                name: Client(name, folder / f"{subject.name}-{flush}" / name, subject.name_server) for name in names
            }
            for client in clients.values():
                stack.callback(client.kill)
                client.start()
            loaded.append((subject, clients))
        yield loaded


def _warm(subject: Subject, clients: Mapping[str, Client], sizes: Sizes) -> None:
    """Store what is consumed later, and let virtual machines compile what they use."""
    _say(f"warming {subject.name}")
    for client in clients.values():
        client.produce(_TOPIC, sizes.warm // 5, IN_FLIGHT, BODY_BYTES)
    clients[JAVA].produce(_STORED, sizes.stored, IN_FLIGHT, BODY_BYTES)
    clients[JAVA].produce(_TOPIC, sizes.single // _SYNCED_SHARE, 1, BODY_BYTES)


def _play(figures: Figures, case: Case, turn: _Turn) -> None:
    subject, client, count = turn.subject, turn.client, case.count(turn.sizes)
    if case.in_flight == 0:
        client.make_ready(_STORED, f"{client.name}-{turn.number}", QUEUES)
    before_s = subject.cpu_s()
    if case.in_flight == 0:
        outcome = client.consume(count)
    else:
        outcome = client.produce(_TOPIC, count, case.in_flight, BODY_BYTES)
    what = {
        "CPU": ("us of the broker's CPU per message", (subject.cpu_s() - before_s) * 1e6 / count),
        "time": ("us per message (its inverse is the rate)", outcome.seconds * 1e6 / count),
    }
    if case.in_flight:
        what["p99"] = ("us, p99 of a send", outcome.p99_us)
        what["failed"] = ("sends", outcome.failed)
    for name, (unit, value) in what.items():
        limits = (Limit(APACHE, case.limits[name]),) if name in case.limits else ()
        figures.add(Entry(case.title, name, unit, limits), subject.name, value)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
