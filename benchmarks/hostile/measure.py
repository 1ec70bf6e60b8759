"""One server through all stages.

Owns: the order of things in a stage: watch, clients, attack, end of the attack, what remains.
Must not know: which server it is; what the stages do.
"""

import asyncio
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.peer import Peer

from benchmarks.hostile.estate import BROKERS, TOPIC, Estate
from benchmarks.hostile.stages import Stage
from benchmarks.hostile.watch import Cost, Watch, cost_of

SETTLE_S: Final = 3.0
"""Between the end of an attack and the look at what remains."""
ENDS_S: Final = 60.0
FINAL_ROUTE_S: Final = 10.0
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class StageFigures:
    """What one stage did to one server. Durations are in seconds; None when nothing was answered."""

    stage: str
    asked: int
    answered: int
    p50_s: float | None
    p99_s: float | None
    registrations_failed: int
    before: Cost
    after: Cost
    peak_memory_bytes: int
    peak_descriptors: int
    outcomes: Counter[str]
    is_alive: bool

    @property
    def growth_bytes(self) -> int:
        """How much memory the stage added at its worst instant."""
        return self.peak_memory_bytes - self.before.memory_bytes

    @property
    def cpu_s(self) -> float:
        """CPU time that the server spent."""
        return self.after.cpu_s - self.before.cpu_s


@dataclass(frozen=True, kw_only=True)
class ServerFigures:
    """All stages of one server, and how it was at the end."""

    name: str
    describes: str
    stages: Sequence[StageFigures]
    is_alive: bool
    answers_rightly: bool
    final_memory_bytes: int
    log_bytes: int


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server. `is_alive` asks the system, `folder` holds all that it writes."""

    name: str
    describes: str
    address: str
    pid: int
    is_alive: Callable[[], bool]
    folder: Path


async def measure(
    server: Server, stages: Sequence[Stage], seconds: float, seed: int, tell: Callable[[str], None]
) -> ServerFigures:
    """Run the stages one after the other, as long as the server lives."""
    estate = Estate(server.address)
    figures: list[StageFigures] = []
    await estate.start()
    try:
        for stage in stages:
            if server.is_alive():
                figures.append(await _stage(server, stage, seconds, seed, estate))
                tell(f"{server.name}: {_line_of(figures[-1])}")
        answers = await asyncio.to_thread(_answers_rightly, server.address)
    finally:
        await estate.stop()
    return ServerFigures(
        name=server.name,
        describes=server.describes,
        stages=figures,
        is_alive=server.is_alive(),
        answers_rightly=answers,
        final_memory_bytes=cost_of(server.pid).memory_bytes,
        log_bytes=_logged(server.folder),
    )


async def _stage(server: Server, stage: Stage, seconds: float, seed: int, estate: Estate) -> StageFigures:
    attack = await _attack(server, stage, seconds, seed)
    client = await _start("benchmarks.hostile.client", server.address, TOPIC, str(BROKERS))
    watch, failed = Watch(server.pid), estate.failed
    outcomes: Counter[str] = Counter()
    if attack is None:
        await asyncio.sleep(seconds)
    else:
        outcomes.update(await _end(attack))
    fared = await _end(client)
    await asyncio.sleep(SETTLE_S)
    after = await watch.stop()
    durations: list[float] = sorted(fared["durations_s"])
    return StageFigures(
        stage=stage.name,
        asked=fared["asked"],
        answered=len(durations),
        p50_s=statistics.median(durations) if durations else None,
        p99_s=durations[int(len(durations) * 0.99)] if durations else None,
        registrations_failed=estate.failed - failed,
        before=watch.begin,
        after=after,
        peak_memory_bytes=watch.peak_memory_bytes,
        peak_descriptors=watch.peak_descriptors,
        outcomes=outcomes,
        is_alive=server.is_alive(),
    )


async def _attack(server: Server, stage: Stage, seconds: float, seed: int) -> asyncio.subprocess.Process | None:
    """Start the bad peers of a stage; they wait for a line."""
    if stage.peer is None:
        return None
    words = (stage.name, server.address, TOPIC, str(seed), str(seconds))
    attack = await _start("benchmarks.hostile.attack", *words)
    assert attack.stdout is not None
    async with asyncio.timeout(ENDS_S):
        line = await attack.stdout.readline()
    assert line == b"ready\n", await attack.communicate()
    return attack


async def _start(module: str, *words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", module, *words)
    return await asyncio.create_subprocess_exec(*command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=pipe)


async def _end(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """Send the line that it waits for, and give what it prints in the end."""
    try:
        async with asyncio.timeout(ENDS_S):
            output, errors = await process.communicate(b"\n")
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, errors.decode()
    figures: dict[str, Any] = json.loads(output)
    return figures


def _answers_rightly(address: str) -> bool:
    try:
        with Peer(address, FINAL_ROUTE_S) as peer:
            return len(peer.routed(TOPIC).brokers) == BROKERS
    except (OSError, AssertionError):
        return False


def _logged(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.log") if file.is_file())


def _line_of(figures: StageFigures) -> str:
    share = 100 * figures.answered / max(1, figures.asked)
    p99 = "-" if figures.p99_s is None else f"{figures.p99_s * 1000:.1f} ms"
    memory = f"{figures.before.memory_bytes / 2**20:.0f} MiB, at most {figures.growth_bytes / 2**20:+.1f}"
    return f"{figures.stage}: {share:.1f} % answered, p99 {p99}, {memory}; {dict(figures.outcomes)}"
