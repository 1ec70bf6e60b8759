"""Who is listening on a port."""

import os
import socket
import sys
from pathlib import Path

import pytest

from cosmodrome.namesrv.port_owner import PortOwner, find_port_owner

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(port: int, state: str, inode: int) -> str:
    return f"   0: 00000000:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A system in which process 4711 holds socket 99, and an unreadable one comes first."""
    (tmp_path / "net").mkdir()
    (tmp_path / "17").mkdir()
    (tmp_path / "self").mkdir()
    files = tmp_path / "4711" / "fd"
    files.mkdir(parents=True)
    (files / "0").symlink_to("/dev/null")
    (files / "5").symlink_to("socket:[99]")
    (tmp_path / "4711" / "cmdline").write_bytes(
        b"/usr/lib/jvm/bin/java\0-Dsecret=x\0org.apache.rocketmq.namesrv.NamesrvStartup\0-c\0a\0"
    )
    return tmp_path


def test_the_process_that_holds_the_listening_socket(proc: Path) -> None:
    (proc / "net" / "tcp").write_text(HEADER + row(9876, "01", 98) + row(9876, "0A", 99))

    assert find_port_owner(9876, proc) == PortOwner(pid=4711, command="java ... NamesrvStartup")


def test_a_listener_on_ipv6(proc: Path) -> None:
    (proc / "net" / "tcp6").write_text(HEADER + row(9876, "0A", 99))

    assert find_port_owner(9876, proc) is not None


def test_the_arguments_of_an_unknown_program_are_not_shown(proc: Path) -> None:
    (proc / "net" / "tcp").write_text(HEADER + row(9876, "0A", 99))
    (proc / "4711" / "cmdline").write_bytes(b"/opt/db\0--password=x\0")

    assert find_port_owner(9876, proc) == PortOwner(pid=4711, command="db")


def test_a_process_that_has_just_ended_has_no_name(proc: Path) -> None:
    (proc / "net" / "tcp").write_text(HEADER + row(9876, "0A", 99))
    (proc / "4711" / "cmdline").unlink()

    assert find_port_owner(9876, proc) == PortOwner(pid=4711, command="unknown program")


@pytest.mark.parametrize(
    "table",
    [
        HEADER,
        HEADER + row(9877, "0A", 99),
        HEADER + row(9876, "01", 99),
        HEADER + row(9876, "0A", 100),
        HEADER + "garbage\n",
        "",
    ],
)
def test_nobody_and_nobody_that_we_may_see(proc: Path, table: str) -> None:
    (proc / "net" / "tcp").write_text(table)

    assert find_port_owner(9876, proc) is None


def test_a_system_without_such_tables(tmp_path: Path) -> None:
    assert find_port_owner(9876, tmp_path / "none") is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        owner = find_port_owner(server.getsockname()[1])

    assert owner is not None
    assert owner.pid == os.getpid()
