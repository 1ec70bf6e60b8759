"""What a process costs, read all the time.

Owns: resident memory, descriptors and CPU time of a process at one instant, and their peaks.
Must not know: what the process is.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from tests.support.process_figures import cpu_s_of, descriptors_of, memory_of

LOOK_S: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Cost:
    """At one instant. A process that has ended costs nothing."""

    memory_bytes: int
    descriptors: int
    cpu_s: float


def cost_of(pid: int) -> Cost:
    """Read what a process costs now."""
    return Cost(memory_bytes=memory_of(pid), descriptors=descriptors_of(pid), cpu_s=cpu_s_of(pid))


class Watch:
    """Looks at a process until it is told to stop; a task of the running loop."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.begin = cost_of(pid)
        self.peak_memory_bytes = self.begin.memory_bytes
        self.peak_descriptors = self.begin.descriptors
        self._task = asyncio.create_task(self._look())

    async def stop(self) -> Cost:
        """End, and give what the process costs now."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return cost_of(self._pid)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            cost = cost_of(self._pid)
            self.peak_memory_bytes = max(self.peak_memory_bytes, cost.memory_bytes)
            self.peak_descriptors = max(self.peak_descriptors, cost.descriptors)
