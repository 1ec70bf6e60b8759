"""Store folders of real brokers, unpacked, and read by the plainest means.

Owns: unpacking a recorded store; what its files hold, by a reading of our own.
Must not know: the package under test.
"""

import json
import os
import struct
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "messages"
_MANIFEST: Final = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
_STORES: Final = {Path(each["archive"]).name.removesuffix(".tar.gz"): each for each in _MANIFEST["stores"]}
DEFAULT_SIZES: Final = {
    "mappedFileSizeCommitLog": 1024 * 1024 * 1024,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "maxHashSlotNum": 5_000_000,
    "maxIndexNum": 20_000_000,
}
STORE_NAMES: Final = tuple(sorted(_STORES))


class RawUnit(NamedTuple):
    """A unit of a consume queue."""

    log_offset: int
    size: int
    tag_code: int


class RawEntry(NamedTuple):
    """An entry of an index file."""

    key_hash: int
    log_offset: int
    seconds: int
    previous: int


@dataclass(frozen=True)
class StoreFolder:
    """An unpacked store."""

    path: Path
    release: str
    sizes: Mapping[str, int]
    steps: tuple[dict[str, Any], ...]

    def used(self, folder: str) -> dict[str, bytes]:
        """Give the files below a folder that are not all zeros, each to its last byte that is not zero."""
        found = {}
        for path in sorted((self.path / folder).rglob("*")):
            if path.is_file() and (data := used_part(path)):
                found[str(path.relative_to(self.path / folder))] = data
        return found

    def log(self) -> bytes:
        """Give the log, with zeros where its files are not written."""
        size = self.sizes["mappedFileSizeCommitLog"]
        data = b""
        for name, used in self.used("commitlog").items():
            data = data.ljust(int(name), b"\0") + used
        assert len(data) < 10 * size
        return data

    def units(self) -> dict[tuple[str, int], list[RawUnit]]:
        """Give the units of every queue that has any, by topic and number."""
        found: dict[tuple[str, int], list[RawUnit]] = {}
        for name, data in self.used("consumequeue").items():
            topic, queue_id, start = name.split("/")
            units = found.setdefault((topic, int(queue_id)), [])
            assert int(start) == len(units) * 20, "the recorded queues begin at 0"
            padded = data.ljust(-(-len(data) // 20) * 20, b"\0")
            units += [RawUnit(*each) for each in struct.iter_unpack(">qiq", padded)]
        return found

    def index_entries(self) -> list[list[RawEntry]]:
        """Give the entries of every index file, from the oldest on."""
        found = []
        at = 40 + 4 * self.sizes["maxHashSlotNum"]
        for data in self.used("index").values():
            (count,) = struct.unpack_from(">i", data, 36)
            padded = data.ljust(at + 20 * count, b"\0")
            found.append(
                [RawEntry(*struct.unpack_from(">iqii", padded, at + 20 * number)) for number in range(1, count)]
            )
        return found


def used_part(path: Path) -> bytes:
    """Give a sparse file to its last byte that is not zero; holes cost nothing."""
    data = b""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(descriptor, at, os.SEEK_HOLE)
            data = data.ljust(at, b"\0") + os.pread(descriptor, end - at, at)
            at = end
    finally:
        os.close(descriptor)
    return data.rstrip(b"\0")


def unpack(name: str, target: Path) -> StoreFolder:
    """Unpack a recorded store into a folder, each file with the length that it had."""
    with tarfile.open(FOLDER / "stores" / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")
    entry = _STORES[name]
    for each in entry["files"]:
        with (target / each["path"]).open("r+b") as file:
            file.truncate(each["size"])
    config = (entry.get("broker") or {}).get("config") or {}
    sizes = {key: int(config.get(key, default)) for key, default in DEFAULT_SIZES.items()}
    return StoreFolder(target, entry["release"], sizes, tuple(entry["steps"]))
