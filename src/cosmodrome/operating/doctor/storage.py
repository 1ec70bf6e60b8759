"""Checks of the folder in which a server keeps its files.

Owns: whether it can be written, room, and what kind of file system it is.
Must not know: which files.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cosmodrome.operating.doctor.finding import Finding, fail, ok, warn

_NETWORK: Final = ("nfs", "cifs", "smb", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "afs", "gfs2", "ocfs2")
_IN_MEMORY: Final = ("tmpfs", "ramfs")
_OF_CONTAINERS: Final = ("overlay", "aufs")
_LITTLE_BYTES: Final = 1024**3
_NO_BYTES: Final = 16 * 1024**2
_FULL_PERCENT: Final = 90
_FEW_INODES: Final = 1000
_MOUNTS: Final = Path("/proc/self/mountinfo")


def folder(path: Path) -> Iterator[Finding]:
    """Look whether files can be made there; a folder that is missing is made by a start, where it can be."""
    existing = nearest(path)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        yield fail(
            "data folder",
            f"{path} cannot be written: {error.strerror or error}",
            "what must be kept is refused then; a broker does not start.",
            f"chown it to the server's user, or name another: --data-dir (was looked at as user {_user()})",
        )
    else:
        yield ok("data folder", f"{path} {'can be written' if existing == path else 'is made by the first start'}")


def room(path: Path) -> Iterator[Finding]:
    """Look how much is free."""
    existing = nearest(path)
    try:
        usage = shutil.disk_usage(existing)
    except OSError:
        return
    percent = 100 * (usage.total - usage.free) // usage.total if usage.total else 0
    what = f"{usage.free / 1024**3:.1f} GiB of {usage.total / 1024**3:.1f} GiB free ({percent} % used)"
    why = "what cannot be stored is refused; a broker takes no messages from 90 % on (diskSpaceWarningLevelRatio)."
    do = "make room, or use another disk"
    if usage.free < _NO_BYTES:
        yield fail("disk", what, why, do)
    elif percent >= _FULL_PERCENT or usage.free < _LITTLE_BYTES:
        yield warn("disk", what, why, do)
    else:
        yield ok("disk", what)
    inodes = _free_inodes(existing)
    if inodes is not None and inodes < _FEW_INODES:
        yield warn("inodes", f"{inodes} are left", "no new file can be made without one.", "remove small files there")


def file_system(path: Path, mounts: Path = _MOUNTS) -> Iterator[Finding]:
    """Look what kind of file system it is, where the system tells."""
    kind = kind_of(nearest(path), mounts)
    if not kind:
        return
    if kind.startswith(_NETWORK):
        yield warn(
            "file system",
            f"{kind}: over the network",
            "a sync waits for the network, locks may not hold, and a lost connection stops the server.",
            "use a disk of this machine",
        )
    elif kind in _IN_MEMORY:
        yield warn("file system", f"{kind}: in memory", "everything is gone with the machine.", "use a disk")
    elif kind in _OF_CONTAINERS:
        yield warn(
            "file system",
            f"{kind}: a layer of the container",
            "everything is gone with the container, and syncs are slow.",
            "mount a volume there",
        )
    else:
        yield ok("file system", kind)


def kind_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """Give the type of the file system that a path is on; empty where the system does not tell."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    target = os.path.realpath(path)
    best, kind = "", ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        words, after = fields.split(), rest.split()
        if len(words) < 5 or not after:
            continue
        point = words[4].encode().decode("unicode_escape")
        is_above = target == point or target.startswith(f"{point.rstrip('/')}/")
        if is_above and len(point) >= len(best):
            best, kind = point, after[0]
    return kind


def nearest(path: Path) -> Path:
    """Give the path itself, or the nearest folder above it that exists."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _free_inodes(path: Path) -> int | None:
    if not hasattr(os, "statvfs"):
        return None
    found = os.statvfs(path)
    return found.f_favail if found.f_files else None


def _user() -> str:
    return str(os.geteuid()) if hasattr(os, "geteuid") else "?"
