"""Who is listening on a port, as far as this user may know.

Owns: reading the system's tables of sockets and processes (Linux); on other systems nothing is known.
Must not know: why it is asked.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"
# The words of a command line that say what an interpreter runs; others may hold secrets and are not shown.
_TELLING: Final = ("namesrvstartup", "brokerstartup", "cosmodrome", "mqnamesrv")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortOwner:
    """A process that listens. `command` is its program, and what it runs if that is one of RocketMQ's."""

    pid: int
    command: str


def find_port_owner(port: int, proc: Path = _PROC) -> PortOwner | None:
    """Give the process that listens on a TCP port; None when that cannot be found out."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(_tables(proc), port)}
    if not sockets:
        return None
    for process in proc.iterdir():
        if process.name.isdigit() and any(target in sockets for target in _open_files(process)):
            return PortOwner(pid=int(process.name), command=command_of(process))
    return None


def _tables(proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        try:
            yield (proc / "net" / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue


def _listening_inodes(tables: Iterable[str], port: int) -> set[str]:
    inodes = set()
    for table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _open_files(process: Path) -> Iterator[str]:
    try:
        for descriptor in (process / "fd").iterdir():
            yield str(descriptor.readlink())
    except OSError:
        return  # another user's process, or one that has just ended


def command_of(process: Path) -> str:
    """Give the program of a process, given as its folder in /proc, and what it runs if that is one of RocketMQ's."""
    try:
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        words = []
    program = os.path.basename(words[0]) if words and words[0] else "unknown program"  # noqa: PTH119
    telling = next((word for word in words[1:] if any(each in word.lower() for each in _TELLING)), None)
    return f"{program} ... {telling.rpartition('.')[2]}" if telling else program
