"""Field cases about files that cannot be written, or were not written to the end, with the real server.

Every fault works without rights of its own, for root as well. A full file system, and one that is remounted read-only,
need mounts: `./test tests/durability --mounts` plays the same scenario there, as root or with user namespaces.
"""

# ruff: noqa: N802  # case ids are written in capitals

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.bound_root import WRAPPER
from tests.support.disk_trouble import FAULTS, Fault, assert_harmless
from tests.support.field import Names, StartServer
from tests.support.peer import SUCCESS, Peer
from tests.support.server_log import log_lines
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule

STORAGE_EXIT = 71


@pytest.fixture
def bound_server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server for which permissions hold even if it runs as root."""
    with ServerProcess(tmp_path, wrapper=WRAPPER) as server:
        rule = StandingRule(server)
        yield server
        rule.check()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_F051_nothing_is_lost_and_routes_are_served_while_the_disk_fails(
    bound_server: ServerProcess, tmp_path: Path, names: Names, fault: Fault
) -> None:
    assert_harmless(fault, bound_server, tmp_path / "data", names)


def test_F051_the_whole_folder_is_removed(own_server: StartServer, tmp_path: Path) -> None:
    """The next change makes it anew, with all that was acknowledged before."""
    server = own_server()
    folder = tmp_path / "data"
    with Peer(server.address) as peer:
        for number in (1, 2):
            assert peer.put_kv("N", f"k{number}", "v").code == SUCCESS
        assert peer.change_config(productEnvName="a").code == SUCCESS
        assert peer.change_config(orderMessageEnable=True).code == SUCCESS
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
        assert peer.list_kv("N").json() == {"table": {"k1": "v", "k2": "v"}}
        assert peer.put_kv("N", "k3", "v").code == SUCCESS
        assert peer.change_config(unRegisterBrokerQueueCapacity=7).code == SUCCESS
    with Peer(own_server().address) as peer:
        assert peer.list_kv("N").json() == {"table": {"k1": "v", "k2": "v", "k3": "v"}}
        settings = peer.request(319).body.decode().splitlines()
        assert {"productEnvName=a", "orderMessageEnable=true", "unRegisterBrokerQueueCapacity=7"} <= set(settings)


def test_F051_damaged_files_are_set_aside_and_one_line_each_says_so(own_server: StartServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Peer(own_server().address) as peer:
        for value in ("1", "2"):
            assert peer.put_kv("N", "k", value).code == SUCCESS
            assert peer.change_config(productEnvName=f"e{value}").code == SUCCESS
    (folder / "kvConfig.json").write_bytes(b'{"configTable":{"N":{"k"')
    (folder / "namesrv.properties").write_bytes(b"\0" * 100)

    server = own_server()
    with Peer(server.address) as peer:
        assert peer.get_kv("N", "k").ext == {"value": "1"}
        assert "productEnvName=e1" in peer.request(319).body.decode().splitlines()
        assert [len(log_lines(server, "damaged (", file)) for file in ("kvConfig.json", "namesrv.properties")] == [1, 1]
        assert peer.put_kv("N", "k", "3").code == SUCCESS
        assert peer.change_config(productEnvName="e3").code == SUCCESS
    aside = {each.name.partition(".damaged-")[0]: each.read_bytes() for each in folder.glob("*.damaged-*")}
    assert aside == {"kvConfig.json": b'{"configTable":{"N":{"k"', "namesrv.properties": b"\0" * 100}

    server = own_server()
    with Peer(server.address) as peer:
        assert peer.get_kv("N", "k").ext == {"value": "3"}
        assert "productEnvName=e3" in peer.request(319).body.decode().splitlines()
    assert log_lines(server, "damaged (") == []


def test_F051_a_damaged_file_without_a_good_previous_version_ends_the_start(tmp_path: Path) -> None:
    """Going on without the entries would lose them at the next write. Nothing is touched."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "kvConfig.json").write_bytes(b"{")
    (folder / "kvConfig.json.bak").write_bytes(b"[")
    server = ServerProcess(tmp_path)
    server.start()

    assert server.wait_ended() == STORAGE_EXIT
    assert "error[NS-STORAGE]: the KV file" in server.stderr
    assert "cannot be used either" in server.stderr
    assert [(folder / name).read_bytes() for name in ("kvConfig.json", "kvConfig.json.bak")] == [b"{", b"["]


def test_F135_damaged_files_in_a_folder_that_cannot_be_written(tmp_path: Path, names: Names) -> None:
    """The server starts with what was there before, and puts things right as soon as it can."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "kvConfig.json").write_bytes(b"{")
    (folder / "kvConfig.json.bak").write_bytes(b'{"configTable":{"N":{"k":"1"}}}')
    folder.chmod(0o555)
    with ServerProcess(tmp_path, wrapper=WRAPPER) as server, Peer(server.address) as peer:
        assert peer.get_kv("N", "k").ext == {"value": "1"}
        assert peer.put_kv("N", "k", "2").code != SUCCESS
        assert len(log_lines(server, "damaged (", level="ERROR")) == 1
        folder.chmod(0o755)
        assert peer.put_kv("N", "k", "3").code == SUCCESS
    assert [each.read_bytes() for each in folder.glob("kvConfig.json.damaged-*")] == [b"{"]
    assert (folder / "kvConfig.json.bak").read_bytes() == b'{"configTable":{"N":{"k":"1"}}}'
    assert (folder / "kvConfig.json").read_bytes() == b'{"configTable":{"N":{"k":"3"}}}'


@pytest.mark.parametrize("special", ["pipe", "device"])
def test_F049_what_is_no_file_is_neither_waited_for_nor_replaced(
    own_server: StartServer, tmp_path: Path, special: str
) -> None:
    path = tmp_path / "kv"
    if special == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/full")
    was = path.stat().st_mode
    with Peer(own_server(kvConfigPath=path).address) as peer:
        assert peer.put_kv("N", "K", "V").remark == "the change could not be stored and was not made"
        assert peer.list_kv("N").code != SUCCESS
    assert path.stat().st_mode == was


def test_F139_a_link_to_a_file_on_a_volume_stays_a_link(own_server: StartServer, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    path = tmp_path / "kv.json"
    path.symlink_to(volume / "real.json")
    for value in ("1", "2"):
        with Peer(own_server(kvConfigPath=path).address) as peer:
            assert peer.put_kv("N", "K", value).code == SUCCESS
    assert path.is_symlink()
    assert (volume / "real.json").read_bytes() == b'{"configTable":{"N":{"K":"2"}}}'
    assert (volume / "real.json.bak").read_bytes() == b'{"configTable":{"N":{"K":"1"}}}'
