"""The two clients that load a broker: Apache's Java client and this one.

Owns: their processes, which stay and are warm; the commands that they take (BrokerLoad.java has the list).
Must not know: brokers; what is measured.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import V5_5
from tests.interop.rig.java import DONE_MARK, JVM_FLAGS, READY_MARK, JavaProcess, JavaProgram
from tests.interop.rig.process import RigProcess

JAVA: Final = "Java"
PYTHON: Final = "Python"
_ROOT: Final = Path(__file__).resolve().parents[2]
_LOAD_S: Final = 120.0
# The compilers of a JVM whose load is measured are its own; the rig's quick flags would make it slower.
_FLAGS: Final = (*(flag for flag in JVM_FLAGS if "Tiered" not in flag and "SerialGC" not in flag), "-XX:+UseG1GC")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a load came to, as its client saw it."""

    seconds: float
    median_us: float
    p99_us: float
    failed: float


class Client:
    """One client process, from `start` to `kill`."""

    def __init__(self, name: str, folder: Path, name_server: str) -> None:
        """Prepare a client of brokers at this NameServer."""
        self.name = name
        self._name_server = name_server
        self._numbers = itertools.count(1)
        self._process = _java(folder) if name == JAVA else _python(folder)

    def start(self) -> None:
        """Start it, and its producer."""
        self._process.start()
        self._process.wait_for_text(READY_MARK)
        self._run("open", self._name_server)

    def kill(self) -> None:
        """End it. May be called again."""
        self._process.kill()

    def produce(self, topic: str, count: int, in_flight: int, body_bytes: int) -> Outcome:
        """Send so many messages."""
        return _outcome(self._run("produce", topic, str(count), str(in_flight), str(body_bytes)))

    def make_ready(self, topic: str, group: str, queues: int) -> None:
        """Let a consumer of this group have its queues, without pulling."""
        self._run("ready", self._name_server, topic, group, str(queues))

    def consume(self, count: int) -> Outcome:
        """Let that consumer take so many messages; the time is that from the first to the last."""
        return _outcome(self._run("consume", str(count)))

    def _run(self, *words: str) -> str:
        begins_at = len(self._process.output())
        self._process.send_line("\t".join(words))
        done = f"{DONE_MARK} {next(self._numbers)}\n"
        return self._process.wait_for_text(done, _LOAD_S, after=begins_at).partition(done)[0]


def _outcome(output: str) -> Outcome:
    assert "RESULT " in output, output
    return Outcome(*map(float, output.partition("RESULT ")[2].split()[:4]))


def _java(folder: Path) -> RigProcess:
    program = JavaProgram(
        release=V5_5,
        main_class="BrokerLoad",
        properties={"rocketmq.client.logRoot": str(folder / "logs")},
        jvm_flags=_FLAGS,
    )
    return JavaProcess(program, folder)


def _python(folder: Path) -> RigProcess:
    command = [sys.executable, "-m", "benchmarks.broker.load_ours"]
    return RigProcess(command, folder, {"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"})
