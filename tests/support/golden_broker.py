"""Frames between real clients and brokers, as tests/golden/broker_frames holds a selection of them.

Owns: reading the selection, and the whole recording where there is one; which answer belongs to which request.
Must not know: the package under test.
"""

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support import wire

_REPOSITORY: Final = Path(__file__).resolve().parents[2]
SELECTION: Final = _REPOSITORY / "tests" / "golden" / "broker_frames"
WHOLE: Final = _REPOSITORY.parent / "shared" / "golden-broker" / "frames"


class BrokerFrame(NamedTuple):
    """A frame; `code` is that of the request, also in an answer."""

    release: str
    scenario: str
    code: int
    is_request: bool
    is_from_broker: bool
    data: bytes
    command: wire.Answer


@functools.cache
def selected_broker_frames() -> tuple[BrokerFrame, ...]:
    """Give the frames of the selection."""
    return tuple(frame for path in sorted(SELECTION.glob("*.jsonl")) for frame in _selected(path))


@functools.cache
def broker_frames() -> tuple[BrokerFrame, ...]:
    """Give all frames there are."""
    whole = sorted(WHOLE.glob("*.jsonl")) if WHOLE.is_dir() else []
    return (*selected_broker_frames(), *(frame for path in whole for frame in _recorded(path)))


def _selected(path: Path) -> Iterator[BrokerFrame]:
    release = path.stem.rpartition("-")[2]
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        yield _frame(entry, release, entry["scenario"], entry["code"])


def _recorded(path: Path) -> Iterator[BrokerFrame]:
    scenario, _, release = path.stem.rpartition("-")
    asked: dict[tuple[int, int, bool], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        header = entry["decoded"].get("header", entry["decoded"])
        is_request, is_from_broker = entry["dir"] == "request", entry["from"] == "broker"
        if is_request:
            asked[entry["conn"], header["opaque"], is_from_broker] = header["code"]
        code = asked.get((entry["conn"], header["opaque"], is_from_broker is is_request))
        if code is not None:
            yield _frame(entry, release, scenario, code)


def _frame(entry: dict[str, Any], release: str, scenario: str, code: int) -> BrokerFrame:
    data = base64.b64decode(entry["frame_b64"])
    is_request, is_from_broker = entry["dir"] == "request", entry["from"] == "broker"
    return BrokerFrame(release, scenario, code, is_request, is_from_broker, data, wire.decode(data[4:]))
