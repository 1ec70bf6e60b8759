"""An audit log is read, the newest line first."""

import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.audit.file import AuditFile
from cosmodrome.audit.log import AuditLog
from cosmodrome.audit.reading import Wanted, id_of, read_page
from cosmodrome.errors import StorageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


async def fill(path: Path, count: int, max_bytes: int = 10**6, **fields: Any) -> list[str]:
    log = AuditLog(AuditFile(path, max_bytes=max_bytes, files_kept=50), lambda _: None)
    ids = [await log.record({"event": "change", "target": {"key": f"k{number}"}, **fields}) for number in range(count)]
    await log.close()
    return ids


def keys(path: Path, wanted: Wanted | None = None, limit: int = 100) -> list[str]:
    return [line["target"]["key"] for line in read_page(path, wanted or Wanted(), limit).lines]


def write(path: Path, *lines: Any) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_a_log_without_a_file_has_no_lines(path: Path) -> None:
    page = read_page(path, Wanted(), 5)

    assert (page.lines, page.next_cursor, page.unreadable) == ([], None, 0)


async def test_the_newest_comes_first_across_full_files(path: Path) -> None:
    await fill(path, 40, max_bytes=500)

    assert len(list(path.parent.iterdir())) > 5
    assert keys(path) == [f"k{number}" for number in reversed(range(40))]


async def test_pages_join_though_files_become_full_between_them(path: Path) -> None:
    await fill(path, 9, max_bytes=500)
    first = read_page(path, Wanted(), 4)
    assert first.next_cursor is not None
    await fill(path, 7, max_bytes=500)
    second = read_page(path, Wanted(), 4, first.next_cursor)
    assert second.next_cursor is not None
    third = read_page(path, Wanted(), 4, second.next_cursor)

    shown = [line["target"]["key"] for page in (first, second, third) for line in page.lines]
    assert shown == [f"k{number}" for number in reversed(range(9))]
    assert third.next_cursor is None


def test_long_lines_and_small_ones_are_read_whole(path: Path) -> None:
    write(path, *({"target": {"key": str(number)}, "fill": "x" * (number * 9000)} for number in range(12)))

    assert keys(path) == [str(number) for number in reversed(range(12))]


def test_what_is_still_being_written_is_left_out_and_what_is_no_line_is_counted(path: Path) -> None:
    path.write_bytes(b'{"target": {"key": "a"}}\nnonsense\n[1]\n{"target": {"key": "b"}}\n{"target": {"ke')

    page = read_page(path, Wanted(), 5)

    assert [line["target"]["key"] for line in page.lines] == ["b", "a"]
    assert page.unreadable == 2


LINES = (
    {"time": "2026-03-01T10:00:00.000Z", "id": "a1", "event": "change", "code": 100, "request": "PUT_KV_CONFIG",
     "peer": "10.0.0.1:5", "target": {"key": "k1"}},
    {"time": "2026-03-01T11:00:00.000Z", "id": "a2", "event": "denied", "code": 318, "request": "UPDATE_NAMESRV_CONFIG",
     "peer": "[::1]:7", "reason": "not in adminAllow"},
    {"time": "2026-03-01T12:00:00.000Z", "id": "a3", "event": "change", "code": 205, "request": "WIPE_WRITE_PERM_OF_BROKER",
     "peer": "10.0.0.11:5", "target": {"broker": "broker-ä"}},
)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(event="denied"), ["a2"]),
        (Wanted(request="put_kv_config"), ["a1"]),
        (Wanted(request="205"), ["a3"]),
        (Wanted(peer="10.0.0.1"), ["a1"]),
        (Wanted(peer="10.0.0.1:5"), ["a1"]),
        (Wanted(peer="::1"), ["a2"]),
        (Wanted(text="broker-ä"), ["a3"]),
        (Wanted(text="adminAllow"), ["a2"]),
        (Wanted(line_id="a2"), ["a2"]),
        (Wanted(since=1772362800.0), ["a3", "a2"]),
        (Wanted(until=1772362800.0), ["a2", "a1"]),
        (Wanted(event="change", since=1772362800.0), ["a3"]),
        (Wanted(event="torn"), []),
    ],
)
def test_lines_are_chosen(path: Path, wanted: Wanted, ids: list[str]) -> None:
    write(path, *LINES)

    assert [line["id"] for line in read_page(path, wanted, 10).lines] == ids


def test_lines_of_before_there_were_ids_have_one_by_their_time(path: Path) -> None:
    write(path, {"time": "2026-03-01T10:00:00.000Z", "event": "change"}, {"event": "torn"})

    newest, oldest = read_page(path, Wanted(), 10).lines
    assert id_of(newest) == "0000000000"
    assert int(id_of(oldest), 36) == 1_772_359_200_000_000
    assert read_page(path, Wanted(since=0), 10).lines == [oldest]


def test_a_file_that_cannot_be_read_is_told(path: Path) -> None:
    path.mkdir()

    with pytest.raises(StorageError, match="cannot read the audit log"):
        read_page(path, Wanted(), 1)
