"""Files that hold the old content whole or the new content whole."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cosmodrome.durable_file import (
    backup_path,
    is_special,
    mode_for_group,
    remove_leftovers,
    replace_file,
    set_aside,
)
from cosmodrome.errors import StorageDoubtError, StorageError


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


@pytest.mark.parametrize("step", ["os.open", "os.write", "os.fsync", "os.replace"])
def test_a_failure_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """For every single call see tests/durability/test_disk_faults.py."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    replace_file(path, b"zero")
    replace_file(path, b"one")
    monkeypatch.setattr(step, fail)

    with pytest.raises(StorageError, match=r"cannot write .*No space left on device") as caught:
        replace_file(path, b"two")

    assert (path.read_bytes(), backup_path(path).read_bytes()) == (b"one", b"zero")
    assert names(path) == ["kvConfig.json", "kvConfig.json.bak"]
    assert caught.value.exit_code == 71
    assert caught.value.REMARK == "the change could not be stored and was not made"


def fail_syncs_of_folders(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise error
        real(descriptor)

    monkeypatch.setattr("os.fsync", fsync)


def test_a_disk_that_fails_at_the_last_moment_leaves_a_doubt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a restart of the machine finds cannot be known; whoever reads now reads the old content."""
    replace_file(path, b"one")
    fail_syncs_of_folders(monkeypatch, OSError(5, "Input/output error"))

    with pytest.raises(StorageDoubtError, match=r"safe on disk: Input/output error") as caught:
        replace_file(path, b"two")

    assert path.read_bytes() == b"one"
    assert names(path) == ["kvConfig.json"]
    assert "a restart may bring it back" in caught.value.REMARK


def test_a_file_system_that_cannot_sync_folders(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_file(path, b"one")
    fail_syncs_of_folders(monkeypatch, OSError(errno.EINVAL, "Invalid argument"))

    replace_file(path, b"two")

    assert path.read_bytes() == b"two"


def test_a_previous_version_that_cannot_be_kept_costs_no_change(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replace_file(path, b"one")
    (backup_path(path) / "something").mkdir(parents=True)

    replace_file(path, b"two")

    assert path.read_bytes() == b"two"
    assert names(path) == ["kvConfig.json", "kvConfig.json.bak"]
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"the previous version cannot be kept as {backup_path(path)}"
    ]


def test_file_and_previous_version_are_never_one_file(path: Path) -> None:
    """Else whoever writes into the one in place, as Java does, destroys both."""
    replace_file(path, b"one")
    os.link(path, backup_path(path))

    replace_file(path, b"two")
    path.write_bytes(b"by hand")

    assert backup_path(path).read_bytes() == b"one"
    assert names(path) == ["kvConfig.json", "kvConfig.json.bak"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(path: Path, tmp_path: Path) -> None:
    """As in Java, which writes through it. The previous version lies beside the file, where it can be renamed."""
    real = tmp_path / "volume" / "real.json"
    replace_file(real, b"one")
    path.parent.mkdir()
    path.symlink_to(real)

    replace_file(path, b"two")

    assert path.is_symlink()
    assert real.read_bytes() == b"two"
    assert backup_path(path) == real.with_name("real.json.bak")
    assert backup_path(path).read_bytes() == b"one"
    assert set_aside(path, 7).parent == real.parent


def test_a_link_to_nothing_yet(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "volume" / "real.json")

    replace_file(path, b"one")

    assert (tmp_path / "volume" / "real.json").read_bytes() == b"one"


def test_links_in_a_circle(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path)

    with pytest.raises(StorageError):
        replace_file(path, b"one")


def test_what_is_no_file_is_not_replaced(path: Path) -> None:
    """A rename over /dev/null would take it away from the whole system."""
    path.parent.mkdir()
    os.mkfifo(path)

    for each in (path, path.parent):
        assert is_special(each)
        with pytest.raises(StorageError, match=r"a device or a pipe|directory"):
            replace_file(each, b"one")

    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(path) == ["kvConfig.json"]
    assert is_special(Path(os.devnull))
    assert not is_special(path.with_name("nothing"))


def test_nobody_reads_a_private_file_while_it_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings may hold passwords."""
    replace_file(path, b"one")
    path.chmod(0o600)
    modes = []
    real = os.open

    def opened(name: Path, flags: int, *more: int) -> int:
        descriptor = real(name, flags, *more)
        if flags & os.O_CREAT:
            modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr("os.open", opened)
    replace_file(path, b"two")

    assert modes == [0o600]


def test_the_owner_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as this user may give files away; others get the group, or else nobody gets more than before."""
    given: list[tuple[int, int]] = []

    def refuse_owner(_: int, user: int, group: int) -> None:
        given.append((user, group))
        if user != -1:
            raise PermissionError(errno.EPERM, "Operation not permitted")

    replace_file(path, b"one")
    monkeypatch.setattr("os.fchown", refuse_owner)
    replace_file(path, b"two")

    assert given == [(os.getuid(), os.getgid()), (-1, os.getgid())]
    assert path.read_bytes() == b"two"


@pytest.mark.parametrize(
    ("mode", "same", "other"), [(0o640, 0o640, 0o600), (0o664, 0o664, 0o644), (0o600, 0o600, 0o600)]
)
def test_another_group_gets_no_more_than_everybody(mode: int, same: int, other: int) -> None:
    rights = os.stat_result((stat.S_IFREG | mode, 0, 0, 1, 1000, 1000, 0, 0, 0, 0))

    assert (mode_for_group(rights, 1000), mode_for_group(rights, 1001)) == (same, other)


def test_a_file_mounted_by_itself_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    replace_file(path, b"one")
    monkeypatch.setattr("os.replace", busy)

    with pytest.raises(StorageError) as caught:
        replace_file(path, b"two")

    assert "mount its folder instead" in (caught.value.remedy or "")


LEFTOVERS = ["kvConfig.json.{}.tmp", "kvConfig.json.bak.{}.tmp", "kvConfig.json.{}.0123abcd.tmp"]


@pytest.mark.parametrize("leftover", [*LEFTOVERS, "kvConfig.json.bak.{}.0123abcd.tmp"])
def test_at_the_start_leftovers_are_removed(path: Path, leftover: str) -> None:
    """In a container, every process of the server has the same id; its own is no reason to leave a file."""
    replace_file(path, b"one")
    own, running = (path.with_name(leftover.format(pid)) for pid in (os.getpid(), os.getppid()))
    others = [path.with_name(name) for name in ("kvConfig.json.x.tmp", "kvConfig.json.old", "other.json.1.tmp")]
    for each in (own, running, *others):
        each.write_bytes(b"half")

    remove_leftovers(path, is_ours=False)
    assert (own.exists(), running.exists()) == (False, True)
    remove_leftovers(path, is_ours=True)

    assert not running.exists()
    assert all(each.exists() for each in (path, *others))


def test_there_may_be_nothing_to_look_for_leftovers_in(path: Path) -> None:
    remove_leftovers(path, is_ours=True)

    assert not path.parent.exists()


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
