"""What was seen, phase by phase.

Owns: counts and durations of the phase that goes on; what the server's process spent in it.
Must not know: who asks; what a right answer is.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tests.support.process_figures import cpu_s_of, memory_of, peak_memory_of

PATIENCE_S: Final = 3.0
"""What clients of RocketMQ wait for a route."""
_MOST_FAULTS_SHOWN: Final = 10


@dataclass(kw_only=True)
class Phase:
    """One phase of the estate. Durations are in seconds, memory in bytes; 0 or None is what was not looked at."""

    name: str
    seconds: float = 0.0
    answers: int = 0
    durations_s: list[float] = field(default_factory=list)
    late: int = 0
    """Answers that came after `PATIENCE_S`."""
    behind: int = 0
    """Polls that were due before the client's last one was over."""
    lost: int = 0
    """Connections that the server closed, or never let in."""
    registrations_s: list[float] = field(default_factory=list)
    refused: int = 0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    peak_bytes: int = 0
    stall_ms: float | None = None
    own_stall_ms: float | None = None
    routed_after_s: float | None = None
    """From its beginning until all registrations of the phase had been answered."""

    def percentile_ms(self, part: float) -> float:
        """Give what this part of the answers took at most; 0 when there were none."""
        durations = sorted(self.durations_s)
        return durations[min(len(durations) - 1, int(part * len(durations)))] * 1000 if durations else 0.0


class Tally:
    """Counts into the phase that goes on; faults are of the whole run."""

    def __init__(self, pid: int) -> None:
        self.phases: list[Phase] = []
        self.wrong = 0
        self.faults: Counter[str] = Counter()
        self.unfinished: str | None = None
        """The phase that did not come to its end in time, which was the last one."""
        self._pid = pid
        self._cpu_s = 0.0
        self.now = Phase(name="before")

    def begin(self, name: str) -> None:
        """Begin a phase."""
        self.now = Phase(name=name)
        self.phases.append(self.now)
        self._cpu_s = cpu_s_of(self._pid)

    def look_at(self, pid: int) -> None:
        """Take another process for the server from now on; all that it has spent so far is of this phase."""
        self._pid, self._cpu_s = pid, 0.0

    def end(self, seconds: float) -> None:
        """End it; what comes now until the next one begins is counted in it too."""
        self.now.seconds = seconds
        self.now.cpu_s = cpu_s_of(self._pid) - self._cpu_s
        self.now.memory_bytes = memory_of(self._pid)
        self.now.peak_bytes = peak_memory_of(self._pid)

    def take_answer(self, duration_s: float, fault: str | None) -> None:
        """Count the answer to a question about a route."""
        self.now.answers += 1
        self.now.durations_s.append(duration_s)
        self.now.late += duration_s > PATIENCE_S
        if fault is not None:
            self.wrong += 1
            if fault in self.faults or len(self.faults) < _MOST_FAULTS_SHOWN:
                self.faults[fault] += 1

    def take_registration(self, duration_s: float, code: int) -> None:
        """Count the answer to a registration."""
        self.now.registrations_s.append(duration_s)
        self.now.refused += code != 0
