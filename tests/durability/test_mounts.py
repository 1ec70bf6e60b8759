"""A file system that is full, and one that becomes read-only, under a running server: `./test tests/durability --mounts`.

Collected only with that option. Needs root, or `unshare -Urm ./test tests/durability --mounts`.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.disk_trouble import Fault, assert_harmless
from tests.support.field import Names
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule

SMALL = "size=128k"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of data on a file system of its own, of a few pages."""
    folder = tmp_path / "data"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", SMALL, "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def full(_: ServerProcess, folder: Path) -> Iterator[None]:
    filler = folder / "audit-of-somebody-else"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    yield
    filler.unlink()


@contextlib.contextmanager
def read_only(_: ServerProcess, folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    yield
    subprocess.run(["mount", "-o", f"remount,rw,{SMALL}", str(folder)], check=True)


@pytest.mark.parametrize("fault", [full, read_only])
def test_f051_nothing_is_lost_on_a_real_file_system(tmp_path: Path, folder: Path, fault: Fault) -> None:
    # A mount with a file that is open for writing cannot be made read-only; only the kernel does so when a disk fails.
    elsewhere = ("--set", "auditLog=off", "--pid-file", str(tmp_path / "pid"))
    with ServerProcess(tmp_path, *elsewhere) as server:
        rule = StandingRule(server)
        assert_harmless(fault, server, folder, Names("F051"))
        rule.check()
