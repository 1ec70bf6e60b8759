"""A file system in memory that a test may crash, by the loosest rules that disks have.

Owns: what of unsynced writes a power cut leaves; failing calls; the place at which a process ends.
Must not know: the files of a store.

A file is cut into sectors. Of each sector a power cut leaves one of the states that it had since the last sync, chosen
for itself; of each entry of a folder likewise. A sync makes the last state the only one.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Final

SECTOR_BYTES: Final = 512

Choose = Callable[[int], int]
"""Given a count, chooses a number below it."""


class KilledError(BaseException):
    """The process ended here: nothing that it would have done afterwards happens."""


class _Node:
    """The content of one file."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)
        self.sectors: dict[int, list[bytes]] = {}
        """States of sectors that may be on disk, the oldest first; the last one is what is read."""
        self.forgotten: dict[int, list[bytes]] = {}
        """The same of sectors that a failed sync left: nobody writes them any more, unless they are changed again."""
        self.sizes = [0, size] if size else [0]
        self.modified_ms = 0

    def write(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        touched = range(offset // SECTOR_BYTES, -(-end // SECTOR_BYTES))
        for sector in touched:
            if sector not in self.sectors:
                self.sectors[sector] = self.forgotten.pop(sector, [self._sector(sector)])
        memoryview(self.data)[offset:end] = data
        for sector in touched:
            self.sectors[sector].append(self._sector(sector))

    def _sector(self, number: int) -> bytes:
        return bytes(self.data[number * SECTOR_BYTES : (number + 1) * SECTOR_BYTES])

    def sync(self) -> None:
        self.sectors.clear()
        self.sizes = [len(self.data)]

    def fail_sync(self) -> None:
        """Forget what is to be written, as systems do: a later sync says that all is well."""
        self.forgotten.update(self.sectors)
        self.sectors.clear()

    def left(self, choose: Choose) -> "_Node":
        """Give what a power cut leaves."""
        size = self.sizes[choose(len(self.sizes))]
        node = _Node(size)
        node.sync()
        if size:
            node.data[:] = self.data
            for sector, states in [*self.forgotten.items(), *self.sectors.items()]:
                state = states[choose(len(states))]
                node.data[sector * SECTOR_BYTES : sector * SECTOR_BYTES + len(state)] = state
        return node

    def copy(self) -> "_Node":
        """Give what a killed process leaves: everything that it wrote, for the system has it."""
        node = _Node(len(self.data))
        node.data[:] = self.data
        node.sectors = {sector: list(states) for sector, states in self.sectors.items()}
        node.forgotten = {sector: list(states) for sector, states in self.forgotten.items()}
        node.sizes = list(self.sizes)
        return node


class SimulatedFile:
    """An open file."""

    def __init__(self, disk: "SimulatedDisk", node: _Node, path: Path) -> None:
        self.size = len(node.data)
        self._disk = disk
        self._node = node
        self._path = path

    def write(self, offset: int, data: bytes | memoryview) -> None:
        content = bytes(data)
        assert offset + len(content) <= self.size, "files do not grow"
        self._disk.before(
            "write", self._path, lambda part: self._node.write(offset, content[: len(content) * part // 8])
        )
        self._node.write(offset, content)

    def read(self, offset: int, length: int) -> bytes:
        self._disk.before("read", self._path)
        return bytes(self._node.data[offset : offset + length])

    def view(self) -> memoryview:
        return memoryview(self._node.data).toreadonly()

    def is_in_memory(self, offset: int, length: int) -> bool:
        return not self._disk.is_cold(self._path)

    def next_data(self, offset: int) -> int | None:
        rest = bytes(self._node.data[offset:])
        data = rest.lstrip(b"\0")
        return offset + len(rest) - len(data) if data else None

    def clear_from(self, offset: int) -> None:
        self._disk.before("write", self._path)
        self._node.write(offset, bytes(self.size - offset))

    def sync(self) -> None:
        self._disk.sync_node(self._node, self._path)

    def close(self) -> None:
        pass


class SimulatedLock:
    """A lock; it ends with its disk, as that of a process does."""

    def __init__(self, held: set[Path], path: Path) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class SimulatedDisk:
    """The file system.

    Attributes:
        calls: How many calls were made that may fail or be the last.
        last_call: The number of the call at which the process ends; None when it does not.
        fails: Asked before each call, with its kind (open, write, read, sync, remove, sync folder) and path; an errno
            makes it fail. A write that fails may have written a part.
        is_cold: Whether reading a file would have to wait.
        used: What `used_ratio` says.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.last_call: int | None = None
        self.fails: Callable[[str, Path], int | None] = lambda _, __: None
        self.is_cold: Callable[[Path], bool] = lambda _: False
        self.used = 0.1
        self.part_in_8 = 4
        self._entries: dict[Path, list[_Node | None]] = {}
        """Of each path the states that may be on disk, the oldest first; the last one is what is seen."""
        self._locks: set[Path] = set()

    def before(self, kind: str, path: Path, in_part: Callable[[int], None] | None = None) -> None:
        """Let a call happen, fail, or be the last; `in_part` does so many eighths of it."""
        if self.last_call is not None and self.calls >= self.last_call:
            if in_part is not None and self.calls == self.last_call:
                in_part(self.part_in_8)
            self.calls += 1
            raise KilledError
        self.calls += 1
        error = self.fails(kind, path)
        if error is not None:
            if in_part is not None:
                in_part(self.part_in_8)
            raise OSError(error, f"simulated {kind}")

    def after_power_cut(self, choose: Choose) -> "SimulatedDisk":
        """Give the disk as the next process finds it."""
        disk = SimulatedDisk()
        for path, states in self._entries.items():
            node = states[choose(len(states))]
            if node is not None:
                disk._entries[path] = [node.left(choose)]
        return disk

    def after_kill(self) -> "SimulatedDisk":
        """Give the disk as the next process finds it when only the process ended."""
        disk = SimulatedDisk()
        for path, states in self._entries.items():
            node = states[-1]
            if node is not None:
                disk._entries[path] = [node.copy()]
        return disk

    def content(self, path: Path) -> bytearray:
        """Give the content of a file, to look at or to damage."""
        node = self._node(path)
        assert node is not None, path
        return node.data

    def paths(self, folder: Path) -> list[Path]:
        """Give the files below a folder."""
        return sorted(path for path in self._entries if self._node(path) is not None and path.is_relative_to(folder))

    def put(self, path: Path, data: bytes) -> None:
        """Put a file there, on disk."""
        node = _Node(len(data))
        node.data[:] = data
        node.sync()
        self._entries[path] = [node]

    def sync_node(self, node: _Node | None, path: Path) -> None:
        """Sync a file, or fail to."""
        try:
            self.before("sync", path)
        except OSError:
            if node is not None:
                node.fail_sync()
            raise
        if node is not None:
            node.sync()

    def _node(self, path: Path) -> _Node | None:
        return self._entries.get(path, [None])[-1]

    def names(self, folder: Path) -> list[str]:
        depth = len(folder.parts)
        return sorted({path.parts[depth] for path in self.paths(folder) if len(path.parts) > depth})

    def is_folder(self, path: Path) -> bool:
        return bool(self.names(path))

    def size(self, path: Path) -> int | None:
        node = self._node(path)
        return None if node is None else len(node.data)

    def modified_ms(self, path: Path) -> int:
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "simulated", str(path))
        return node.modified_ms

    def set_modified_ms(self, path: Path, wall_ms: int) -> None:
        """Say when a file was written last."""
        node = self._node(path)
        assert node is not None
        node.modified_ms = wall_ms

    def open(self, path: Path, size: int, *, is_durable: bool = False) -> SimulatedFile:
        self.before("open", path)
        node = self._node(path)
        if node is None or not node.data:
            node = _Node(size)
            self._entries[path] = [*self._entries.get(path, [None]), node]
            if is_durable:
                node.sync()
                self._entries[path] = [node]
        if len(node.data) != size:
            raise OSError(errno.EINVAL, f"it has {len(node.data)} bytes, not {size}")
        return SimulatedFile(self, node, path)

    def create(self, path: Path, data: bytes) -> None:
        self.before("open", path)
        self.put(path, data)

    def sync_file(self, path: Path) -> None:
        self.sync_node(self._node(path), path)

    def remove(self, path: Path) -> None:
        self.before("remove", path)
        if self._node(path) is not None:
            self._entries[path] = [*self._entries[path], None]

    def remove_folder(self, path: Path) -> None:
        """Folders are there while something is in them."""

    def sync_folder(self, path: Path) -> None:
        self.before("sync folder", path)
        for each, states in tuple(self._entries.items()):
            if each.parent == path:
                self._entries[each] = states[-1:]

    def lock(self, path: Path, data: bytes) -> SimulatedLock | None:
        self.before("open", path)
        if path in self._locks:
            return None
        self._locks.add(path)
        self.put(path, data)
        return SimulatedLock(self._locks, path)

    def used_ratio(self, path: Path) -> float:
        return self.used
