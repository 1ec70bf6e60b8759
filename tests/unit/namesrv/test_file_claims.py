"""Claims on files: held by an open descriptor, seen by everybody on the host, gone with their process."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosmodrome.errors import StorageError
from cosmodrome.namesrv.file_claims import FileClaims, find_claimer

IN_A_PROCESS = """
import sys, pathlib
from cosmodrome.namesrv.file_claims import FileClaims
claims = FileClaims()
print(claims.claim(pathlib.Path(sys.argv[1]), "the file"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "kvConfig.json"


@pytest.fixture
def claims() -> Iterator[FileClaims]:
    claims = FileClaims()
    yield claims
    claims.release()


def assert_taken(path: Path) -> StorageError:
    claims = FileClaims()
    with pytest.raises(StorageError, match="is in use by another server") as caught:
        claims.claim(path, "the file")
    claims.release()
    return caught.value


def test_one_server_at_a_time(path: Path, claims: FileClaims) -> None:
    assert claims.claim(path, "the file")
    error = assert_taken(path)
    assert error.what == f"the file {path} is in use by another server."
    assert f"pid {os.getpid()} (" in (error.why or "")
    assert error.exit_code == 71

    claims.release()
    claims.release()
    assert claims.claim(path, "the file")


def test_nothing_is_written(path: Path, claims: FileClaims) -> None:
    claims.claim(path, "the file")

    assert list(path.parent.iterdir()) == []


def test_every_file_of_a_folder_has_a_claim_of_its_own(path: Path, claims: FileClaims) -> None:
    other = FileClaims()
    assert claims.claim(path, "the file")
    assert other.claim(path.with_name("other.json"), "the other file")
    other.release()
    assert_taken(path)


def test_the_file_may_be_replaced_and_its_folder_read_and_synced(path: Path, claims: FileClaims) -> None:
    """The claim is the folder's, and does not end with another descriptor of it."""
    claims.claim(path, "the file")
    path.write_bytes(b"one")
    path.unlink()
    descriptor = os.open(path.parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)

    assert_taken(path)


def test_links_to_one_file_are_one_claim(path: Path, tmp_path: Path, claims: FileClaims) -> None:
    claims.claim(path, "the file")
    link = tmp_path / "link.json"
    link.symlink_to(path)

    assert_taken(link)


def test_a_claim_ends_with_its_process_and_leaves_nothing(path: Path, claims: FileClaims) -> None:
    child = subprocess.Popen([sys.executable, "-c", IN_A_PROCESS, str(path)], stdin=-1, stdout=-1, text=True)
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        assert child.stdout.readline() == "True\n"
        assert f"pid {child.pid} (" in (assert_taken(path).why or "")
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()

    assert claims.claim(path, "the file")


def test_of_several_at_once_exactly_one_gets_it(path: Path) -> None:
    several = [FileClaims() for _ in range(8)]
    together = threading.Barrier(len(several))
    outcomes: list[str] = []

    def claim(claims: FileClaims) -> None:
        together.wait()
        try:
            outcomes.append(str(claims.claim(path, "the file")))
        except StorageError:
            outcomes.append("refused")

    threads = [threading.Thread(target=claim, args=(each,)) for each in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in several:
        each.release()

    assert sorted(outcomes) == ["True"] + ["refused"] * 7


def test_a_folder_that_a_stranger_has_locked_is_no_obstacle(path: Path, claims: FileClaims) -> None:
    path.parent.mkdir()
    stranger = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(stranger, fcntl.LOCK_EX)

    assert claims.claim(path, "the file")
    os.close(stranger)


def test_a_folder_that_cannot_be_made_prevents_nothing(tmp_path: Path, claims: FileClaims) -> None:
    (tmp_path / "file").write_bytes(b"")

    assert not claims.claim(tmp_path / "file" / "kvConfig.json", "the file")


def test_a_file_system_without_locks_prevents_nothing(
    path: Path, claims: FileClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.fcntl", refuse)

    assert not claims.claim(path, "the file")


def test_who_it_is_may_be_hidden(path: Path, tmp_path: Path, claims: FileClaims) -> None:
    """As in a container, or from another user."""
    claims.claim(path, "the file")
    (tmp_path / "proc" / "1").mkdir(parents=True)

    assert find_claimer(path, tmp_path / "proc") is None
    found = find_claimer(path)
    assert found is not None
    assert found[0] == os.getpid()
