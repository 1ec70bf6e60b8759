"""The replication stream of real masters and slaves: we read both directions, and real slaves say nothing that we refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.broker.replication.slave import SlaveState
from cosmodrome.protocol.messages.record import decode_records, encode_record
from cosmodrome.protocol.replication import (
    TRANSFER_HEADER_BYTES,
    ReportReader,
    decode_transfer_header,
    encode_report,
    encode_transfer_header,
)

FOLDER = Path(__file__).parent / "replication"
RELEASES = ["4.9.7", "5.5.0"]


def events(release: str, side: str) -> list[list[Any]]:
    document = json.loads((FOLDER / f"ha-{release}.json").read_text())
    return [each[2:] for each in document["events"] if side in ("", each[1])]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("piece", [1, 3, 8, 13, 4096])
def test_reports_of_a_slave(release: str, piece: int) -> None:
    data = (FOLDER / f"ha-{release}-slave-to-master.bin").read_bytes()
    reader = ReportReader()
    found = [each for at in range(0, len(data), piece) for each in reader.feed(data[at : at + piece])]

    assert [[each] for each in found] == events(release, "slave")
    assert b"".join(map(encode_report, found)) == data


@pytest.mark.parametrize("release", RELEASES)
def test_transfers_of_a_master(release: str) -> None:
    data = (FOLDER / f"ha-{release}-master-to-slave.bin").read_bytes()
    found, log, at = [], b"", 0
    while at < len(data):
        header = data[at : at + TRANSFER_HEADER_BYTES]
        offset, size = decode_transfer_header(header)
        assert encode_transfer_header(offset, size) == header
        at += TRANSFER_HEADER_BYTES
        log += data[at : at + size]
        at += size
        found.append([offset, size])

    assert found == events(release, "master")
    records = decode_records(log)
    assert records[0].commit_log_offset == 65_536
    assert b"".join(map(encode_record, records)) == log


@pytest.mark.parametrize("release", RELEASES)
def test_a_master_of_ours_would_have_believed_the_slave(release: str) -> None:
    document = json.loads((FOLDER / f"ha-{release}.json").read_text())
    start = document["segment_size"]
    end = start + sum(size for _, size in events(release, "master"))
    state = SlaveState("slave", 0)
    for at_ms, side, *numbers in document["events"]:
        if side == "slave":
            state.report(numbers[0], (start, end), int(at_ms))
        else:
            assert state.sent_to == numbers[0]
            state.sent(numbers[1], int(at_ms))

    assert state.acknowledged == end
    assert state.behind(end) == 0
    assert state.is_current
