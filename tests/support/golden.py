"""Recordings of real RocketMQ software, as tests/golden/frames holds them.

Owns: reading recordings and their manifest; comparing bodies down to the spelling of each token.
Must not know: the package under test.
"""

import base64
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support import wire

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "frames"

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?|true|false|null|[{}\[\],:]')


class RecordedFrame(NamedTuple):
    """One frame as it passed, and what it says by the reading of `wire`."""

    t_ms: float
    connection: int
    is_request: bool
    data: bytes
    command: wire.Answer


class Exchanged(NamedTuple):
    """A request and the answer that it got; None for a oneway, and where the recording ends first."""

    request: RecordedFrame
    answer: RecordedFrame | None


@dataclass(frozen=True)
class Recording:
    """One file, and what the manifest says of it."""

    name: str
    sender: str
    name_server: str
    shows: str
    frames: tuple[RecordedFrame, ...]
    manifest: dict[str, Any]

    @property
    def is_from_java(self) -> bool:
        """Whether the peer is Java software."""
        return not self.name.startswith(("client-go", "client-node", "client-py"))

    @property
    def is_answered_by_550(self) -> bool:
        """Whether the NameServer whose behaviour we follow was asked."""
        return self.name_server.endswith("5.5.0")

    def requests(self, code: int | None = None) -> list[RecordedFrame]:
        """Give the requests, in order; of one code, if it is given."""
        return [frame for frame in self.frames if frame.is_request and code in (None, frame.command.code)]

    def exchanges(self) -> list[Exchanged]:
        """Give each request with its answer, in the order of the requests."""
        answers: dict[tuple[int, int], list[RecordedFrame]] = {}
        for frame in self.frames:
            if not frame.is_request:
                answers.setdefault((frame.connection, frame.command.opaque), []).append(frame)
        exchanges = []
        for frame in self.requests():
            is_oneway = frame.command.flag & wire.FLAG_ONEWAY
            waiting = [] if is_oneway else answers.get((frame.connection, frame.command.opaque), [])
            exchanges.append(Exchanged(frame, waiting.pop(0) if waiting else None))
        return exchanges


@functools.cache
def manifest() -> dict[str, dict[str, Any]]:
    """Give the manifest's entries by file name."""
    document = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return {entry["file"]: entry for entry in document["files"]}


@functools.cache
def recording(name: str) -> Recording:
    """Read one recording; `name` is that of its file without the ending."""
    entry = manifest()[f"{name}.jsonl"]
    frames = tuple(_frames(FOLDER / f"{name}.jsonl"))
    return Recording(name, entry["sender"], entry["nameserver"], entry["shows"], frames, entry)


def recording_names() -> list[str]:
    """Give the names of all recordings but that of the NameServer's own requests."""
    names = (file.removesuffix(".jsonl") for file in manifest())
    return sorted(name for name in names if not name.endswith("-notify"))


def _frames(path: Path) -> Iterator[RecordedFrame]:
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        data = base64.b64decode(entry["frame_b64"])
        yield RecordedFrame(entry["t_ms"], entry["conn"], entry["dir"] == "request", data, wire.decode(data[4:]))


def spelled(data: bytes) -> Any:
    """Read a JSON document of either dialect and keep each key and scalar as it is spelled.

    Two documents are equal here iff they differ in the order of members alone: a bare key is not a quoted one,
    an escape is not the character, and white space is an error.
    """
    value, end = _value(_tokens(data), 0)
    assert end == len(_tokens(data)), f"something follows the document in {data!r}"
    return value


@functools.lru_cache(maxsize=4)
def _tokens(data: bytes) -> tuple[bytes, ...]:
    tokens, at = [], 0
    while at < len(data):
        match = _TOKEN.match(data, at)
        assert match is not None, f"no token at byte {at} of {data!r}"
        tokens.append(match[0])
        at = match.end()
    return tuple(tokens)


def _value(tokens: tuple[bytes, ...], at: int) -> tuple[Any, int]:
    match tokens[at]:
        case b"{":
            return _members(tokens, at + 1)
        case b"[":
            return _items(tokens, at + 1)
        case scalar:
            return scalar, at + 1


def _members(tokens: tuple[bytes, ...], at: int) -> tuple[dict[bytes, Any], int]:
    members: dict[bytes, Any] = {}
    while tokens[at] != b"}":
        key, at = tokens[at], at + 1
        assert tokens[at] == b":"
        members[key], at = _value(tokens, at + 1)
        at += tokens[at] == b","
    return members, at + 1


def _items(tokens: tuple[bytes, ...], at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while tokens[at] != b"]":
        value, at = _value(tokens, at)
        items.append(value)
        at += tokens[at] == b","
    return items, at + 1


def without_order(value: Any) -> Any:
    """Sort every list of a document: Java's order is that of its hash tables."""
    if isinstance(value, dict):
        return {key: without_order(member) for key, member in value.items()}
    if isinstance(value, list):
        return sorted((without_order(item) for item in value), key=repr)
    return value
