"""Files that hold the old content whole or the new content whole."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cosmodrome.durable_file import backup_path, replace_file, set_aside
from cosmodrome.errors import StorageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "kvConfig.json"


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def test_folders_are_made(path: Path) -> None:
    replace_file(path, b"one")

    assert path.read_bytes() == b"one"
    assert names(path) == ["kvConfig.json"]


def test_the_previous_content_is_kept(path: Path) -> None:
    for data in (b"one", b"two", b"three"):
        replace_file(path, data)

    assert path.read_bytes() == b"three"
    assert backup_path(path).read_bytes() == b"two"
    assert names(path) == ["kvConfig.json", "kvConfig.json.bak"]


def test_leftovers_of_a_crash_are_no_obstacle(path: Path) -> None:
    replace_file(path, b"one")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path.with_name(f"kvConfig.json.{gone.pid}.tmp").write_bytes(b"half")
    path.with_name(f"kvConfig.json.bak.{gone.pid}.tmp").write_bytes(b"half")

    replace_file(path, b"two")

    assert path.read_bytes() == b"two"
    assert backup_path(path).read_bytes() == b"one"
    assert names(path) == ["kvConfig.json", "kvConfig.json.bak"]


def test_what_another_process_is_writing_is_left_alone(path: Path) -> None:
    replace_file(path, b"one")
    others = path.with_name(f"kvConfig.json.{os.getppid()}.tmp")
    others.write_bytes(b"half")

    replace_file(path, b"two")

    assert others.read_bytes() == b"half"


def test_permissions_stay(path: Path) -> None:
    replace_file(path, b"one")
    path.chmod(0o600)

    replace_file(path, b"two")

    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, backup_path(path))] == [0o600, 0o600]


def test_a_file_system_without_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    replace_file(path, b"one")
    monkeypatch.setattr("os.link", refuse)
    replace_file(path, b"two")

    assert (path.read_bytes(), backup_path(path).read_bytes()) == (b"two", b"one")


@pytest.mark.parametrize("step", ["os.fsync", "os.link", "pathlib.Path.replace"])
def test_a_failure_at_any_step_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    replace_file(path, b"one")
    monkeypatch.setattr(step, fail)
    if step == "os.link":
        monkeypatch.setattr("pathlib.Path.write_bytes", fail)

    with pytest.raises(StorageError, match="No space left on device") as caught:
        replace_file(path, b"two")

    assert path.read_bytes() == b"one"
    assert not path.with_name("kvConfig.json.tmp").exists()
    assert caught.value.exit_code == 71


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageError):
        replace_file(tmp_path / "file" / "kvConfig.json", b"one")


def test_a_damaged_file_is_set_aside_whole(path: Path) -> None:
    replace_file(path, b"{damaged")

    aside = set_aside(path, 1_700_000_000_000)

    assert aside.read_bytes() == b"{damaged"
    assert names(path) == ["kvConfig.json.damaged-1700000000000"]


def test_a_file_that_cannot_be_set_aside(path: Path) -> None:
    with pytest.raises(StorageError, match="set the damaged file"):
        set_aside(path, 1)
