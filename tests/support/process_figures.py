"""What the system tells about a process, from /proc.

Owns: the only readers of memory, descriptors and processor time there.
Must not know: what the process is; which figures are good.

A figure is 0 where the system does not tell, or the process has ended.
"""

import os
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_NS_PER_S: Final = 1e9
_USER_TIME: Final = 11
"""Of the fields of stat behind the name, the user time; the system time is the next one."""


def memory_of(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    fields = _text(pid, "statm").split()
    return int(fields[1]) * _PAGE_BYTES if fields else 0


def peak_memory_of(pid: int) -> int:
    """Return the largest resident memory that a process has had, in bytes."""
    lines = _text(pid, "status").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def descriptors_of(pid: int) -> int:
    """Return how many descriptors a process has open."""
    try:
        return sum(1 for _ in Path("/proc", str(pid), "fd").iterdir())
    except OSError:
        return 0


def cpu_s_of(pid: int) -> float:
    """Return the user and system time of a process in seconds, all threads that ever were; it counts in ticks of 10 ms."""
    fields = _text(pid, "stat").rpartition(")")[2].split()
    return sum(map(int, fields[_USER_TIME : _USER_TIME + 2])) / _TICKS_PER_S


def ran_s_of(pid: int) -> float:
    """Return for how many seconds the threads that a process has now have run: exact, unlike `cpu_s_of`."""
    return _of_threads(pid, 0)


def waited_s_of(pid: int) -> float:
    """Return for how many seconds these threads were ready to run and others had the processors."""
    return _of_threads(pid, 1)


def _of_threads(pid: int, field: int) -> float:
    tasks = Path("/proc", str(pid), "task")
    texts = (_read(file) for file in tasks.glob("*/schedstat"))
    return sum(int(text.split()[field]) for text in texts if text) / _NS_PER_S


def _text(pid: int, name: str) -> str:
    return _read(Path("/proc", str(pid), name))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
