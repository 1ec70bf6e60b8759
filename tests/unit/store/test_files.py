"""The disk and its simulation keep the same promises."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest
from tests.support.simulated_disk import KilledError, SimulatedDisk

from cosmodrome.store.files import DiskFiles, FileSystem


@pytest.fixture(params=["disk", "simulated"])
def files(request: pytest.FixtureRequest) -> FileSystem:
    return DiskFiles() if request.param == "disk" else SimulatedDisk()


def test_a_new_file_is_zeros_of_its_size_in_a_new_folder(files: FileSystem, tmp_path: Path) -> None:
    file = files.open(tmp_path / "a" / "b" / "file", 5000, is_durable=True)

    assert file.size == files.size(tmp_path / "a" / "b" / "file") == 5000
    assert file.read(0, 9999) == bytes(5000)
    assert file.next_data(0) is None
    assert files.names(tmp_path / "a") == ["b"]
    assert files.names(tmp_path / "missing") == []
    assert files.is_folder(tmp_path / "a")
    assert not files.is_folder(tmp_path / "a" / "b" / "file")
    assert files.size(tmp_path / "a") is None
    file.close()
    file.close()


def test_what_is_written_is_read_and_seen(files: FileSystem, tmp_path: Path) -> None:
    file = files.open(tmp_path / "file", 10_000)
    view = file.view()
    file.write(4000, b"one")
    file.write(9999, memoryview(b"2"))

    assert file.read(3999, 5) == b"\0one\0"
    assert file.read(9998, 100) == b"\x002"
    assert file.read(10_000, 1) == b""
    assert bytes(view[4000:4003]) == b"one"
    found = file.next_data(0)
    assert found is not None
    assert found <= 4000
    file.close()


def test_a_view_outlives_its_file(files: FileSystem, tmp_path: Path) -> None:
    file = files.open(tmp_path / "file", 100)
    file.write(0, b"kept")
    view = file.view()
    file.close()
    files.remove(tmp_path / "file")
    files.remove(tmp_path / "file")

    assert bytes(view[:4]) == b"kept"
    assert files.size(tmp_path / "file") is None
    with pytest.raises(TypeError):
        view[0] = 1


def test_the_end_of_a_file_can_be_cleared(files: FileSystem, tmp_path: Path) -> None:
    file = files.open(tmp_path / "file", 10_000)
    file.write(0, b"x" * 10_000)
    view = file.view()

    file.clear_from(5)

    assert file.read(0, 10_000) == b"x" * 5 + bytes(9995)
    assert bytes(view[4:6]) == b"x\0"
    file.sync()
    file.close()


def test_a_file_of_another_size_is_not_opened(files: FileSystem, tmp_path: Path) -> None:
    files.open(tmp_path / "file", 100).close()

    with pytest.raises(OSError, match="100 bytes, not 200"):
        files.open(tmp_path / "file", 200)


def test_small_files_replace_others(files: FileSystem, tmp_path: Path) -> None:
    files.create(tmp_path / "new" / "file", b"long content")
    files.create(tmp_path / "new" / "file", b"short")

    assert files.size(tmp_path / "new" / "file") == 5
    files.sync_file(tmp_path / "new" / "file")
    files.sync_file(tmp_path / "gone")
    files.sync_folder(tmp_path / "new")
    files.remove_folder(tmp_path / "new")
    assert files.names(tmp_path / "new") == ["file"]


def test_a_lock_is_held_until_it_is_released(files: FileSystem, tmp_path: Path) -> None:
    held = files.lock(tmp_path / "lock", b"lock")
    assert held is not None
    assert files.lock(tmp_path / "lock", b"lock") is None
    held.release()
    held.release()

    again = files.lock(tmp_path / "lock", b"lock")
    assert again is not None
    again.release()
    assert files.size(tmp_path / "lock") == 4


def test_the_use_of_a_disk_is_known_before_its_folder_is_made(files: FileSystem, tmp_path: Path) -> None:
    assert 0 < files.used_ratio(tmp_path / "not" / "yet") < 1


def _locks(path: Path) -> None:
    import fcntl  # noqa: PLC0415 -- where there is none this does not run

    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
    except OSError as error:
        os._exit(1 if error.errno in {errno.EAGAIN, errno.EACCES} else 2)
    os._exit(0)


def test_the_lock_is_the_one_that_java_takes(tmp_path: Path) -> None:
    held = DiskFiles().lock(tmp_path / "lock", b"lock")
    assert held is not None
    context = multiprocessing.get_context("spawn")
    for expected in (1, 0):
        process = context.Process(target=_locks, args=(tmp_path / "lock",))
        process.start()
        process.join()
        assert process.exitcode == expected
        held.release()


def test_a_sync_of_a_file_that_was_closed_is_nothing(tmp_path: Path) -> None:
    file = DiskFiles().open(tmp_path / "file", 10)
    file.close()
    file.sync()


def test_the_simulation_loses_what_was_not_synced() -> None:
    disk = SimulatedDisk()
    file = disk.open(Path("/a"), 2000, is_durable=True)
    file.write(0, b"1" * 2000)
    file.sync()
    file.write(400, b"2" * 1000)

    assert disk.after_kill().content(Path("/a")).count(b"2") == 1000
    assert disk.after_power_cut(lambda _: 0).content(Path("/a")) == b"1" * 2000
    assert disk.after_power_cut(lambda count: count - 1).content(Path("/a")).count(b"2") == 1000
    turns = iter(range(100))
    torn = disk.after_power_cut(lambda count: next(turns) % count)
    assert 0 < torn.content(Path("/a")).count(b"2") < 1000


def test_the_simulation_loses_files_that_nobody_made_durable() -> None:
    disk = SimulatedDisk()
    disk.open(Path("/f/a"), 10).sync()
    disk.open(Path("/f/b"), 10, is_durable=True)
    disk.open(Path("/f/c"), 10, is_durable=True)
    disk.remove(Path("/f/c"))

    assert disk.after_power_cut(lambda _: 0).names(Path("/f")) == ["b", "c"]
    assert disk.after_power_cut(lambda count: count - 1).names(Path("/f")) == ["a", "b"]
    disk.sync_folder(Path("/f"))
    assert disk.after_power_cut(lambda _: 0).names(Path("/f")) == ["a", "b"]


def test_the_simulation_forgets_after_a_failed_sync_what_is_to_be_written() -> None:
    disk = SimulatedDisk()
    file = disk.open(Path("/a"), 10, is_durable=True)
    file.write(0, b"1")
    disk.fails = lambda kind, _: errno.EIO if kind == "sync" else None
    with pytest.raises(OSError, match="simulated"):
        file.sync()
    disk.fails = lambda _, __: None
    file.sync()

    assert file.read(0, 1) == b"1"
    assert disk.after_power_cut(lambda _: 0).content(Path("/a"))[:1] == b"\0"
    file.write(0, b"1")
    file.sync()
    assert disk.after_power_cut(lambda _: 0).content(Path("/a"))[:1] == b"1"


def test_the_simulation_ends_a_process_in_the_middle_of_a_write() -> None:
    disk = SimulatedDisk()
    file = disk.open(Path("/a"), 8, is_durable=True)
    disk.last_call = disk.calls
    with pytest.raises(KilledError):
        file.write(0, b"12345678")
    with pytest.raises(KilledError):
        file.write(0, b"x")

    assert disk.after_kill().content(Path("/a")) == b"1234\0\0\0\0"
