"""Whose a pid file is, and what one that was left behind means."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosmodrome.errors import StorageError
from cosmodrome.operating.pid_file import PidFile, addresses_path

HOLDER = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, f"{os.getpid()}\\n".encode())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pid"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs and has the file."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    yield child
    child.communicate()


def test_it_holds_the_process_id_and_goes(path: Path) -> None:
    file = PidFile(path, is_asked_for=True)

    assert file.take() is None
    assert path.read_text() == f"{os.getpid()}\n"
    file.release({})
    file.release({})
    assert not path.exists()


@pytest.mark.parametrize("left", ["4711", "1", "our own", "99999999999999", "not a number"])
def test_one_that_is_left_tells_of_an_unclean_end(path: Path, left: str) -> None:
    """Even one with this very number, as in a container, or with that of a process that runs now and is another."""
    number = f"{os.getpid()}" if left == "our own" else left
    path.write_text(f"{number}\n")
    file = PidFile(path, is_asked_for=True)

    assert file.take() == number
    assert path.read_text() == f"{os.getpid()}\n"
    file.release({})


def test_the_addresses_are_beside_it_and_go_with_it(path: Path) -> None:
    file = PidFile(path, is_asked_for=True)
    file.leave_addresses("127.0.0.1:1", "")
    assert not addresses_path(path).exists(), "whose it would be is not known yet"

    file.take()
    file.leave_addresses("127.0.0.1:1", "127.0.0.1:2")
    assert json.loads(addresses_path(path).read_text()) == {
        "pid": os.getpid(), "remoting": "127.0.0.1:1", "http": "127.0.0.1:2",
    }  # fmt: skip
    assert path.read_text() == f"{os.getpid()}\n", "scripts read a number, and nothing else"
    file.release({})
    assert list(path.parent.iterdir()) == []


def test_an_empty_one_tells_nothing(path: Path) -> None:
    """It was made on a full disk."""
    path.touch()
    file = PidFile(path, is_asked_for=True)

    assert file.take() is None
    file.release({})


def test_that_of_a_process_that_runs_is_not_taken(path: Path, holder: subprocess.Popen[str]) -> None:
    file = PidFile(path, is_asked_for=True)
    with pytest.raises(StorageError, match=f"running process {holder.pid}"):
        file.take()
    file.release({})

    assert path.read_text() == f"{holder.pid}\n"


def test_one_that_nobody_asked_for_is_done_without(
    path: Path, holder: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    for each in (path, Path("/proc/self/nowhere/pid"), path / "below a file"):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            file = PidFile(each, is_asked_for=False)
            assert file.take() is None
            file.release({})
        assert "no pid file is kept" in caplog.text
    assert path.read_text() == f"{holder.pid}\n"


def test_one_that_was_asked_for_must_be_had(tmp_path: Path) -> None:
    """A mistyped path makes no folders."""
    with pytest.raises(StorageError, match="cannot write the pid file"):
        PidFile(tmp_path / "none" / "pid", is_asked_for=True).take()

    assert not (tmp_path / "none").exists()


def test_one_that_is_not_asked_for_makes_its_folder(tmp_path: Path) -> None:
    file = PidFile(tmp_path / "data" / "pid", is_asked_for=False)

    assert file.take() is None
    assert file.path.exists()
    file.release({})


def test_one_that_another_has_replaced_is_left_to_it(path: Path) -> None:
    file = PidFile(path, is_asked_for=True)
    file.take()
    path.write_text("4711\n")
    file.release({})

    assert path.read_text() == "4711\n"
