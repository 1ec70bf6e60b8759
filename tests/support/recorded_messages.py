"""Recordings in which real brokers sent and stored messages, as tests/golden/messages holds a selection of them.

Owns: reading frames and store folders, of the whole recording too where there is one; what an answer answers.
Must not know: the package under test.
"""

import base64
import functools
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support import wire

_REPOSITORY: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = _REPOSITORY / "tests" / "golden" / "messages"
WHOLE: Final = _REPOSITORY.parent / "shared" / "golden-broker"


class MessageFrame(NamedTuple):
    """One frame as it passed, by the reading of `wire`."""

    recording: str
    is_request: bool
    command: wire.Answer
    asked: wire.Answer | None
    """Of an answer, the request."""

    @property
    def code(self) -> int | None:
        """The code of the request."""
        return self.command.code if self.is_request else self.asked and self.asked.code


@dataclass(frozen=True)
class Store:
    """One store folder."""

    name: str
    steps: tuple[dict[str, Any], ...]
    """What was sent to make it."""
    sizes: dict[str, int]
    """Of each file on the broker's disk."""

    def files(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """Give the files below a folder by path, in order, each to its last byte that is not zero."""
        with tarfile.open(FOLDER / "stores" / f"{self.name}.tar.gz") as archive:
            for member in sorted(archive.getmembers(), key=lambda each: each.name):
                if member.isfile() and member.name.startswith(f"{folder}/"):
                    content = archive.extractfile(member)
                    assert content is not None
                    yield member.name, content.read()


@functools.cache
def selected_frames() -> tuple[MessageFrame, ...]:
    """Give the frames of the selection, those of one recording in their order."""
    return tuple(_frames(FOLDER / "frames"))


def all_frames() -> Iterator[MessageFrame]:
    """Give the frames of the whole recording, or of the selection where there is no more."""
    return _frames(WHOLE / "frames") if WHOLE.is_dir() else iter(selected_frames())


@functools.cache
def stores() -> dict[str, Store]:
    """Give all stores by name."""
    document = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    found = {}
    for entry in document["stores"]:
        name = Path(entry["archive"]).name.removesuffix(".tar.gz")
        found[name] = Store(name, tuple(entry["steps"]), {file["path"]: file["size"] for file in entry["files"]})
    return found


def _frames(folder: Path) -> Iterator[MessageFrame]:
    for path in sorted(folder.glob("*.jsonl")):
        asked: dict[tuple[int, int, bool], wire.Answer] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            command = wire.decode(base64.b64decode(entry["frame_b64"])[4:])
            is_request, is_from_broker = entry["dir"] == "request", entry["from"] == "broker"
            if is_request:
                asked[entry["conn"], command.opaque, is_from_broker] = command
            answered = None if is_request else asked.get((entry["conn"], command.opaque, not is_from_broker))
            yield MessageFrame(path.stem, is_request, command, answered)
