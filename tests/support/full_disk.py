"""A file system below a broker in this process, as full and as slow as a test wants.

Owns: what the system says of how full it is, and how long removing a file takes.
Must not know: the broker; what is claimed.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

BLOCKS: Final = 1_000_000
GATE_S: Final = 30.0


class FullDisk:
    """Patches the system's calls. `used` is 0 to 1; while `is_slow` files of the log are removed only when `go` is set."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        """Begin empty and quick."""
        self.used = 0.1
        self.is_slow = False
        self.go = threading.Event()
        self.waiting = threading.Event()
        """Somebody waits in a removal."""
        self._unlink = Path.unlink
        patches.setattr(os, "statvfs", self._statvfs)
        disk = self

        def unlink(path: Path, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 -- as the original
            disk.remove(path, missing_ok=missing_ok)

        patches.setattr(Path, "unlink", unlink)

    def remove(self, path: Path, *, missing_ok: bool) -> None:
        """Remove a file, late if that is wanted."""
        if self.is_slow and path.parent.name == "commitlog":
            self.waiting.set()
            assert self.go.wait(GATE_S), "nobody let it go"
        self._unlink(path, missing_ok=missing_ok)

    def _statvfs(self, path: object) -> os.statvfs_result:
        del path
        free = int(BLOCKS * (1 - self.used))
        return os.statvfs_result((4096, 4096, BLOCKS, free, free, 1000, 1000, 1000, 0, 255))


@contextmanager
def full_disk() -> Iterator[FullDisk]:
    """Put one below everything in this process."""
    with pytest.MonkeyPatch.context() as patches:
        disk = FullDisk(patches)
        yield disk
        disk.go.set()
