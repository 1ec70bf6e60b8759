"""A file of JSON lines that grows at its end."""

import json
import os
from pathlib import Path

import pytest

from cosmodrome.audit.file import AuditFile
from cosmodrome.errors import StorageError


def audit_file(folder: Path, *, max_bytes: int = 1000, files_kept: int = 3) -> AuditFile:
    return AuditFile(folder / "a.jsonl", max_bytes=max_bytes, files_kept=files_kept)


def test_nothing_is_made_before_the_first_line(tmp_path: Path) -> None:
    file = audit_file(tmp_path / "deep" / "er")
    file.mend()
    assert list(tmp_path.iterdir()) == []

    file.append(b"{}\n")
    file.close()

    assert (tmp_path / "deep" / "er" / "a.jsonl").read_bytes() == b"{}\n"


def test_full_files_get_numbers_and_the_last_is_dropped(tmp_path: Path) -> None:
    file = audit_file(tmp_path, max_bytes=20, files_kept=2)
    for number in range(7):
        file.append(b'{"n":%d}\n' % number)
    file.close()

    found = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert found == {
        "a.jsonl": ['{"n":6}'],
        "a.jsonl.1": ['{"n":4}', '{"n":5}'],
        "a.jsonl.2": ['{"n":2}', '{"n":3}'],
    }


def test_a_line_that_is_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    file = audit_file(tmp_path, max_bytes=5)
    file.append(b'{"n":1000}\n')
    file.append(b'{"n":1001}\n')
    file.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.1"]


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_file_that_was_moved_or_removed_is_begun_anew(tmp_path: Path, *, is_removed: bool) -> None:
    file, path = audit_file(tmp_path), tmp_path / "a.jsonl"
    file.append(b"{}\n")
    if is_removed:
        path.unlink()
    else:
        path.rename(tmp_path / "moved")
    file.append(b'{"n":2}\n')
    file.close()

    assert path.read_bytes() == b'{"n":2}\n'


@pytest.mark.parametrize("length", range(len('{"n":1}\n{"n":2}\n') + 1))
def test_it_parses_wherever_it_was_cut(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":2}\n'[:length])

    file = audit_file(tmp_path)
    file.mend()
    mended = path.read_bytes()
    file.mend()
    file.append(b'{"n":3}\n')
    file.close()

    assert path.read_bytes() == mended + b'{"n":3}\n'
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line["n"] for line in lines if "n" in line]
    assert kept == ([1] if length >= 7 else []) + ([2] if length >= 15 else []) + [3]
    assert sum("fragment" in line for line in lines) == (0 < length < 7) + (8 < length < 15)


@pytest.mark.parametrize("is_torn", [True, False])
def test_a_last_line_of_any_length_is_ended(tmp_path: Path, *, is_torn: bool) -> None:
    path = tmp_path / "a.jsonl"
    long = json.dumps({"n": 2, "text": "x" * 3_000_000}).encode()
    path.write_bytes(b'{"n":1}\n' + (long[:-1] if is_torn else long))

    file = audit_file(tmp_path)
    file.mend()
    file.close()

    first, last = (json.loads(line) for line in path.read_bytes().split(b"\n")[:-1])
    assert first == {"n": 1}
    assert last == ({"event": "torn", "fragment": long[:1000].decode()} if is_torn else json.loads(long))


def test_a_torn_first_line_of_any_length_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{" + b"x" * 3_000_000)

    file = audit_file(tmp_path)
    file.mend()
    file.close()

    (line,) = path.read_text().splitlines()
    assert json.loads(line)["event"] == "torn"


def test_a_line_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, path = audit_file(tmp_path), tmp_path / "a.jsonl"
    file.append(b"{}\n")
    write = os.write

    def write_half(descriptor: int, data: memoryview) -> int:
        if len(data) <= 4:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:4])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half)
        with pytest.raises(StorageError, match="No space left") as caught:
            file.append(b'{"n":2}\n')
    assert path.read_bytes() == b"{}\n"
    assert caught.value.remedy
    file.append(b'{"n":3}\n')
    file.close()
    assert path.read_bytes() == b'{}\n{"n":3}\n'


def test_a_folder_in_its_place_is_told_early(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()

    with pytest.raises(StorageError):
        audit_file(tmp_path).mend()
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        audit_file(tmp_path / "file").mend()
