"""One server per file: what a server keeps in memory and writes whole, nobody else may write meanwhile.

Owns: claiming a file so that other servers on this host see it; finding out who has one. Nothing is written for it, and
    a claim ends with its process, however that ends. Linux only: elsewhere every claim is granted.
Must not know: what the files hold.
"""

import contextlib
import hashlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cosmodrome.durable_file import make_folder, real_path
from cosmodrome.errors import StorageError
from cosmodrome.namesrv.port_owner import command_of

try:
    import fcntl
except ImportError:
    _CAN_CLAIM = False
else:
    _CAN_CLAIM = hasattr(fcntl, "F_OFD_SETLK")

_PROC: Final = Path("/proc")
_OPEN_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# struct flock: l_type, l_whence, l_start, l_len, l_pid, and padding.
_FLOCK: Final = "hhqqi0q"
_LARGEST_OFFSET: Final = 2**62 - 1
_TURN_S: Final = 1.0
_TURN_PAUSE_S: Final = 0.01


class FileClaims:
    """The files that this server alone may write.

    A claim is a lock on one byte of the file's folder, chosen by the file's name: the file itself is replaced by every
    write, and need not be there yet. An open descriptor holds it, so it counts for another server in this process too.
    """

    def __init__(self) -> None:
        """Claim nothing yet."""
        self._folders: list[int] = []

    def claim(self, path: Path, what: str) -> bool:
        """Claim a file, and tell whether that can be done here; `what` it is, for the error text.

        Its folder is made if it is missing. A folder that cannot be had, or a file system without locks, prevents
        nothing.

        Raises:
            StorageError: Another server has it; the text says which process that is, if it can be found out.
        """
        file = real_path(path)
        try:
            make_folder(file.parent)
            folder = os.open(file.parent, _OPEN_FOLDER)
            self._folders.append(folder)
            is_free = _CAN_CLAIM and _take(folder, _offset_of(file.name))
        except OSError:
            return False
        if _CAN_CLAIM and not is_free:
            raise _in_use(path, what, find_claimer(path))
        return _CAN_CLAIM

    def release(self) -> None:
        """Give all claims up. May be called again."""
        while self._folders:
            os.close(self._folders.pop())


def find_claimer(path: Path, proc: Path = _PROC) -> tuple[int, str] | None:
    """Give the process that has claimed a file, and its command; None when that cannot be found out."""
    offset = str(_offset_of(real_path(path).name))
    inode = str(real_path(path).parent.stat().st_ino)
    for process in proc.iterdir():
        if process.name.isdigit() and any(_is_of(line, inode, offset) for line in _locks_of(process)):
            return int(process.name), command_of(process)
    return None


def _take(folder: int, offset: int) -> bool:
    """Take the claim unless it is taken; of two that come at once, one gets it.

    The lock is a shared one, as a folder cannot be opened for writing: asking whether an exclusive one would be
    possible tells whether somebody has it.
    """
    with _turn(folder):
        exclusive = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, offset, 1, 0)
        present = struct.unpack(_FLOCK, fcntl.fcntl(folder, fcntl.F_OFD_GETLK, exclusive))
        if present[0] != fcntl.F_UNLCK:
            return False
        fcntl.fcntl(folder, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, offset, 1, 0))
        return True


@contextlib.contextmanager
def _turn(folder: int) -> Iterator[None]:
    """Let others who want to claim something in this folder wait; do without if a stranger has locked it."""
    until = time.monotonic() + _TURN_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                break
            time.sleep(_TURN_PAUSE_S)
        else:
            break
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _offset_of(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(os.fsencode(name), digest_size=8).digest(), "big") & _LARGEST_OFFSET


def _locks_of(process: Path) -> Iterator[str]:
    """Give the lines about locks of one process, `lock: 1: OFDLCK ADVISORY READ -1 <device>:<inode> <from> <to>`."""
    try:
        for descriptor in (process / "fdinfo").iterdir():
            text = descriptor.read_text(encoding="ascii", errors="replace")
            yield from (line for line in text.splitlines() if line.startswith("lock:"))
    except OSError:
        return  # another user's process, or one that has just ended


def _is_of(line: str, inode: str, offset: str) -> bool:
    fields = line.split()
    return len(fields) > 7 and fields[2] == "OFDLCK" and fields[6].endswith(f":{inode}") and fields[7] == offset


def _in_use(path: Path, what: str, claimer: tuple[int, str] | None) -> StorageError:
    who = "another process, perhaps of another user or in a container" if claimer is None else ""
    if claimer is not None:
        who = f"pid {claimer[0]} ({claimer[1]})"
    return StorageError(
        f"{what} {path} is in use by another server.",
        why=f"{who} has it; two servers would overwrite each other's changes.",
        remedy="stop that one, or give this one a folder of its own: cosmodrome namesrv --data-dir FOLDER",
    )
