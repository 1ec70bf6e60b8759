"""Every recorded frame can be read by a person: nothing that real software sent is a riddle."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import golden, golden_broker

from cosmodrome.recordings.layout import lines_of
from cosmodrome.recordings.readable import Reader, Reading
from cosmodrome.recordings.recorded import Recorded, read_file

FILES = sorted(golden.FOLDER.glob("*.jsonl"))
BROKER_FILES = sorted(golden_broker.SELECTION.glob("*.jsonl"))
NOT_ANY_MORE = {24, 27, 902}
"""Codes that old tools still send, and no release answers."""


def readings(path: Path) -> Iterator[tuple[Recorded, Reading]]:
    reader = Reader()
    for recorded in read_file(path):
        yield recorded, reader.read(recorded)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_frames_of_a_name_server(path: Path) -> None:
    found = list(readings(path))
    assert found
    for _, reading in found:
        assert reading.fault is None, reading
        assert reading.name != "UNKNOWN", reading
        assert reading.form != "bytes", reading
        assert (reading.question is None) == (reading.kind != "answer"), reading
        assert bool(reading.body_bytes) == (reading.form is not None), reading


@pytest.mark.parametrize("path", BROKER_FILES, ids=lambda path: path.stem)
def test_frames_of_a_broker(path: Path) -> None:
    faults = []
    for _, reading in readings(path):
        assert reading.name != "UNKNOWN" or reading.code in NOT_ANY_MORE, reading
        if reading.fault is not None:
            faults.append(reading.fault)
    assert all("of a batch" in fault for fault in faults), "damaged on purpose when they were recorded"


@pytest.mark.parametrize("path", [*FILES, *BROKER_FILES], ids=lambda path: path.stem)
def test_text_stays_within_its_lines(path: Path) -> None:
    for _, reading in readings(path):
        for line in lines_of(reading, 24):
            assert line.isprintable(), line
            assert len(line) < 2000 or "=" in line, line
