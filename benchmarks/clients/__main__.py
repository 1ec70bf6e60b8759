"""This client beside Apache's Java client and the PyPI package `rocketmq`, in one run: `python -m benchmarks.clients`.

All load one Apache broker 5.5.0 in turn, round by round, behind this NameServer. The figures that count are ratios of one
run. They are printed and appended to benchmarks/results.md.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.built_once import built
from tests.interop.rig.jars import V5_5, RigError
from tests.interop.rig.java import JVM_FLAGS, JavaProcess, JavaProgram
from tests.interop.rig.name_servers import OurNameServer
from tests.interop.rig.process import ProcessError, RigProcess
from tests.interop.rig.python_client import BUILD as WHEEL_BUILD
from tests.interop.rig.python_client import environment_python
from tests.support.waiting import wait_until

from benchmarks.figures import Entry, Figures, Limit, markdown
from benchmarks.published import heading, publish
from benchmarks.subjects import OURS

JAVA: Final = "java"
WHEEL: Final = "wheel"
SERVERS: Final = (OURS, JAVA, WHEEL)
TOPIC: Final = "ClientLoad"
_HERE: Final = Path(__file__).parent
# The compilers of a JVM that is measured are its own; the rig's quick flags would make it slower.
_CLIENT_FLAGS: Final = (
    *(flag for flag in JVM_FLAGS if "Tiered" not in flag and "SerialGC" not in flag),
    "-XX:+UseG1GC",
)
_BROKER_FLAGS: Final = (*_CLIENT_FLAGS, "-Xmx1g", "-XX:MaxDirectMemorySize=1g")
_LOAD_S: Final = 300.0

_LIMITS: Final[Mapping[tuple[str, str], tuple[Limit, ...]]] = {
    ("produce", "CPU"): (Limit(JAVA, 0.35), Limit(WHEEL, 1.0)),
    ("produce", "time"): (Limit(JAVA, 1 / 1.5), Limit(WHEEL, 1.0)),
    ("produce", "memory"): (Limit(JAVA, 0.2), Limit(WHEEL, 1.0)),
    ("produce", "p99"): (Limit(WHEEL, 1.0),),
    ("produce", "start"): (Limit(WHEEL, 1.0),),
    ("consume", "CPU"): (Limit(JAVA, 0.5), Limit(WHEEL, 1.0)),
    ("consume", "time"): (Limit(JAVA, 1.0), Limit(WHEEL, 1.0)),
    ("consume", "memory"): (Limit(JAVA, 0.2), Limit(WHEEL, 1.0)),
    ("consume", "start"): (Limit(WHEEL, 1.0),),
}
"""What ours may be of the others': the goals."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much of it. The first `warm` messages are not counted."""

    warm: int
    count: int
    in_flight: int = 128
    body_bytes: int = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one client needed, of its own, for the messages that count."""

    start_s: float
    seconds: float
    cpu_s: float
    p99_us: float
    failed: float
    resident_mb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, append. Gives 0, or 2 when it could not run; goals that are missed are only told."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer messages, one round: shows that it works")
    parser.add_argument("--rounds", type=int, help="how often each case is measured (5; quick: 1)")
    parser.add_argument("--clients", nargs="+", choices=SERVERS, default=SERVERS, help="which clients")
    parser.add_argument("--only", nargs="+", choices=["produce", "consume"], default=["produce", "consume"])
    parser.add_argument("--no-save", dest="save", action="store_false", help="do not append to benchmarks/results.md")
    options = parser.parse_args(arguments)
    load = Load(2_000, 20_000) if options.quick else Load(20_000, 200_000)
    rounds = options.rounds or (1 if options.quick else 5)
    figures = Figures()
    try:
        with tempfile.TemporaryDirectory(prefix="cosmodrome-bench-") as folder:
            measure(figures, Path(folder), load, rounds, options)
    except (ProcessError, RigError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    text = f"{heading('clients', rounds, options.quick)}{markdown(figures, SERVERS)}"
    publish(text, figures, is_saved=options.save)
    return 0


def measure(figures: Figures, folder: Path, load: Load, rounds: int, options: argparse.Namespace) -> None:
    """Let each client produce and then consume, in turn."""
    with _broker(folder) as name_server:
        clients = [(name, _LOADS[name](folder / name)) for name in options.clients]
        for turn in range(rounds):
            shift = turn % len(clients)
            for name, command in clients[shift:] + clients[:shift]:
                for kind in options.only:
                    print(f"round {turn + 1}: {name}, {kind}", file=sys.stderr, flush=True)
                    words = _words(kind, name_server, load, f"{name}-{turn}")
                    _note(figures, kind, name, load, _played(command, words, folder / name / f"{kind}-{turn}"))


def _words(kind: str, name_server: str, load: Load, group: str) -> list[str]:
    counts = [str(load.warm), str(load.count)]
    if kind == "produce":
        return ["produce", name_server, TOPIC, *counts, str(load.in_flight), str(load.body_bytes)]
    return ["consume", name_server, TOPIC, group, *counts]


def _note(figures: Figures, kind: str, client: str, load: Load, outcome: Outcome) -> None:
    what = {
        "CPU": ("us of CPU per message", outcome.cpu_s * 1e6 / load.count),
        "time": ("us per message (its inverse is the rate)", outcome.seconds * 1e6 / load.count),
        "memory": ("MB resident at the end", outcome.resident_mb),
        "start": ("s from exec to the first message", outcome.start_s),
        **(
            {"p99": ("us, p99 of a send", outcome.p99_us), "failed": ("sends", outcome.failed)}
            if kind == "produce"
            else {}
        ),
    }
    title = {
        "produce": f"Producer, {load.in_flight} sends of {load.body_bytes} bytes in flight",
        "consume": "Consumer, of stored messages",
    }
    for case, (unit, value) in what.items():
        figures.add(Entry(title[kind], case, unit, _LIMITS.get((kind, case), ())), client, value)


def _played(command: Callable[[list[str], Path], RigProcess], words: list[str], folder: Path) -> Outcome:
    process = command(words, folder)
    began = time.monotonic()
    process.start()
    try:
        process.wait_for_text("FIRST")
        start_s = time.monotonic() - began
        process.wait_for_text("RESULT ", _LOAD_S)
        wait_until(lambda: process.output().endswith("\n"), "the end of the line", 5)
        seconds, cpu_s, _, p99_us, failed = map(float, process.output().partition("RESULT ")[2].split()[:5])
        resident_mb = _peak_resident_mb(process.pid)
        return Outcome(start_s, seconds, cpu_s, p99_us, failed, resident_mb)
    finally:
        process.kill()


def _peak_resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def _broker(folder: Path) -> Iterator[str]:
    name_server = OurNameServer(folder / "namesrv")
    settings = BrokerSettings(
        release=V5_5,
        name="bench",
        name_servers=[name_server.address],
        config={"mappedFileSizeCommitLog": "268435456", "mappedFileSizeConsumeQueue": "6000000"},
    )
    broker = ApacheBroker(settings, folder / "broker", jvm_flags=_BROKER_FLAGS)
    try:
        name_server.start()
        broker.start_registered()
        broker.create_topic(TOPIC, queues=8)
        yield name_server.address
    finally:
        broker.kill()
        name_server.kill()


def _ours(_: Path) -> Callable[[list[str], Path], RigProcess]:
    command = [sys.executable, "-m", "benchmarks.clients.load_ours"]
    return lambda words, folder: RigProcess([*command, *words], folder, {"PYTHONPATH": str(_HERE.parents[1])})


def _java(_: Path) -> Callable[[list[str], Path], RigProcess]:
    def process(words: list[str], folder: Path) -> RigProcess:
        program = JavaProgram(
            release=V5_5,
            main_class="ClientLoad",
            arguments=words,
            properties={"rocketmq.client.logRoot": str(folder / "logs")},
            jvm_flags=_CLIENT_FLAGS,
        )
        return JavaProcess(program, folder)

    return process


def _wheel(home: Path) -> Callable[[list[str], Path], RigProcess]:
    python = str(environment_python(built(WHEEL_BUILD)))
    command = [python, "-u", str(_HERE / "load_wheel.py")]
    return lambda words, folder: RigProcess([*command, *words], folder, {"HOME": str(home)})


_LOADS: Final = {OURS: _ours, JAVA: _java, WHEEL: _wheel}

if __name__ == "__main__":
    sys.exit(main())
