"""The soak: laps of checked history and noise at one server, a quiet moment after each, and the verdict.

Owns: the server process; when noise begins and ends; what is measured in the quiet moments; what counts as a finding.
Must not know: what the checked history and the noise consist of.
"""

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.soak.answers import Facts, PatientPeer
from tests.soak.checked import CheckedHistory
from tests.soak.measures import MIB, PeakMemory, settled_descriptors_of
from tests.soak.verdict import log_findings, memory_findings
from tests.support.peer import Peer
from tests.support.process_figures import cpu_s_of, memory_of
from tests.support.server_process import ServerProcess
from tests.support.waiting import NotInTimeError, wait_until

PACE_S: Final = 0.02
"""Between two steps of the checked history, so that the noise has its share of a small machine."""
QUIET_S: Final = 30.0
GIVEN_BACK_S: Final = 8.0
GIVEN_BACK_BYTES: Final = MIB
"""How long, and to what more than after the lap before, the server may take to give memory back."""
NOISE_ENDS_S: Final = 60.0
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Lap:
    """What one lap did and what the quiet moment after it showed."""

    number: int
    steps: int
    asked: int
    noise: Counter[str]
    peak_bytes: int
    quiet_bytes: int
    descriptors: int
    cpu_s: float
    lines: int


@dataclass
class Result:
    """The laps, and what was found wrong."""

    seed: int
    laps: list[Lap] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    bad: dict[str, Counter[str]] = field(default_factory=dict)
    steps: Counter[str] = field(default_factory=Counter)
    noise: Counter[str] = field(default_factory=Counter)


class Soak:
    """One run. `tell` gets a line of text after each lap."""

    def __init__(self, folder: Path, seed: int, tell: Callable[[str], None]) -> None:
        self.result = Result(seed)
        self._server = ServerProcess(folder, config={"scanNotActiveBrokerInterval": 200})
        self._rng = random.Random(seed)
        self._tell = tell
        self._facts = Facts()
        self._begin_s = time.monotonic()
        self._idle: int | None = None

    def run(self, laps: int, lap_s: float) -> Result:
        """Do so many laps; the first finding about an answer ends the run, since the model is of no use after it."""
        with self._server as server:
            pid = server.pid
            self._begin_s = time.monotonic()
            for number in range(1, laps + 1):
                lap = self._lap(number, lap_s)
                if lap is None:
                    break
                self.result.laps.append(lap)
                self._tell(_line_of(lap))
            if not server.is_alive or server.pid != pid:
                self._found(f"the server process has ended: {server.stderr[-2000:]}")
            changes = self.result.steps.total() + self.result.noise.total()
            for finding in log_findings(server.stderr, time.monotonic() - self._begin_s, changes):
                self._found(finding)
        code = server.wait_ended()
        if code != 0:
            self._found(f"the server ended with {code}")
        for finding in memory_findings([float(lap.quiet_bytes) for lap in self.result.laps]):
            self._found(finding)
        return self.result

    def _lap(self, number: int, seconds: float) -> Lap | None:
        """Run one lap; None when it cannot be followed by another."""
        pid = self._server.pid
        asked, cpu_s = PatientPeer.asked, cpu_s_of(pid)
        history = CheckedHistory(self._server.address, random.Random(self._rng.random()), self._facts)
        noise = self._start_noise(self._rng.randrange(2**31), seconds)
        try:
            with PeakMemory(pid) as memory:
                until_s = time.monotonic() + seconds
                while time.monotonic() < until_s:
                    history.step()
                    time.sleep(PACE_S)
                counts = self._take_noise(noise)
                history.leave()
            descriptors = self._wait_quiet()
        except (AssertionError, OSError) as error:
            self._found(f"lap {number}: {type(error).__name__}: {error}")
            return None
        finally:
            history.close()
            noise.kill()
            noise.wait()
            self.result.steps += history.steps
        return Lap(
            number=number,
            steps=history.steps.total(),
            asked=PatientPeer.asked - asked,
            noise=counts,
            peak_bytes=memory.peak_bytes,
            quiet_bytes=self._quiet_memory(),
            descriptors=descriptors,
            cpu_s=cpu_s_of(pid) - cpu_s,
            lines=self._server.stderr.count("\n"),
        )

    def _start_noise(self, seed: int, seconds: float) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.soak.noise", self._server.address, str(seed), str(seconds)]
        return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _take_noise(self, noise: "subprocess.Popen[str]") -> Counter[str]:
        output, errors = noise.communicate(timeout=NOISE_ENDS_S)
        assert noise.returncode == 0, f"the noise broke: {errors[-2000:]}"
        log: dict[str, Any] = json.loads(output)
        for kind, outcomes in log["bad"].items():
            self.result.bad.setdefault(kind, Counter()).update(outcomes)
        self.result.noise.update(log["done"])
        if log["wrong"]:
            self._found(f"{log['wrong']} wrong answers to the noise: {log['examples']}")
        return Counter(log["done"])

    def _wait_quiet(self) -> int:
        """Wait until nobody is left at the server, and give its open descriptors: not more than in the first such moment."""

        def is_empty() -> bool:
            with Peer(self._server.address) as peer:
                return not peer.topics() and not peer.cluster().brokers and not peer.cluster().clusters

        wait_until(is_empty, "empty tables after everybody has left", QUIET_S)
        descriptors = settled_descriptors_of(self._server.pid)
        if self._idle is None:
            self._idle = descriptors
        if descriptors > self._idle:
            self._found(f"{descriptors} descriptors are open when nobody is connected, {self._idle} before")
        return descriptors

    def _quiet_memory(self) -> int:
        """Give the memory once it is back at the last quiet moment's, or what it is if that does not happen in time."""
        pid = self._server.pid
        if self.result.laps:
            enough = self.result.laps[-1].quiet_bytes + GIVEN_BACK_BYTES
            with contextlib.suppress(NotInTimeError):
                wait_until(lambda: memory_of(pid) <= enough, "memory given back", GIVEN_BACK_S)
        return memory_of(pid)

    def _found(self, what: str) -> None:
        self.result.findings.append(what)
        self._tell(f"FINDING {what}")


def _line_of(lap: Lap) -> str:
    memory = f"{lap.quiet_bytes / MIB:6.1f} MiB quiet, {lap.peak_bytes / MIB:6.1f} at most"
    work = f"{lap.steps} steps, {lap.asked} answers compared, {lap.noise.total()} of the noise"
    return f"lap {lap.number:2}: {memory}, {lap.descriptors} descriptors, {lap.cpu_s:5.1f} s CPU; {work}"
