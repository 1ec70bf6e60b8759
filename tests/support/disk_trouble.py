"""Faults of a disk under a running server, and what must hold while they last and afterwards.

Owns: making and mending the faults; the scenario that every one of them must survive.
Must not know: the package under test, beyond its command line and the names of its files.
"""

import contextlib
import json
import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.support.field import Names
from tests.support.peer import CFGGET, MASTER, SUCCESS, SYSTEM_ERROR, Peer, topics_named
from tests.support.server_log import log_lines
from tests.support.server_process import ServerProcess

Fault = Callable[[ServerProcess, Path], contextlib.AbstractContextManager[None]]
"""Given a server and the folder of its data, makes something fail for as long as it is entered."""

REMARK: Final = "the change could not be stored and was not made"
KV_FILE: Final = "kvConfig.json"
SETTINGS_FILE: Final = "namesrv.properties"
ROUNDS: Final = 5


@contextlib.contextmanager
def no_room(server: ServerProcess, _: Path) -> Iterator[None]:
    """No file may have a single byte; this holds for root as well."""
    with _largest_file(server, 0):
        yield


@contextlib.contextmanager
def little_room(server: ServerProcess, _: Path) -> Iterator[None]:
    """Files may have a few bytes: writes succeed in part."""
    with _largest_file(server, 9):
        yield


@contextlib.contextmanager
def _largest_file(server: ServerProcess, size: int) -> Iterator[None]:
    limits = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, limits[1]))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, limits)


@contextlib.contextmanager
def read_only_folder(_: ServerProcess, folder: Path) -> Iterator[None]:
    """Nothing may be made, renamed or removed in it; the server must be one for which permissions hold."""
    folder.chmod(0o555)
    yield
    folder.chmod(0o755)


@contextlib.contextmanager
def folder_is_a_file(_: ServerProcess, folder: Path) -> Iterator[None]:
    """Somebody moved the folder away and put something else in its place."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.write_bytes(b"")
    yield
    folder.unlink()
    away.rename(folder)


@contextlib.contextmanager
def no_descriptors(server: ServerProcess, _: Path) -> Iterator[None]:
    """The process may open nothing more."""
    limits = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (0, limits[1]))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, limits)


FAULTS: Final[Mapping[str, Fault]] = {
    "no room": no_room,
    "little room": little_room,
    "read-only folder": read_only_folder,
    "folder is a file": folder_is_a_file,
    "no descriptors": no_descriptors,
}


def assert_harmless(fault: Fault, server: ServerProcess, folder: Path, names: Names) -> None:
    """Fail unless changes are refused in fixed words while the fault lasts, all else goes on, and it heals by itself."""
    broker, topic = names.broker(), names("T")
    with Peer(server.address) as peer:
        assert peer.put_kv("N", "old", "1").code == SUCCESS
        assert peer.change_config(productEnvName="old").code == SUCCESS
        peer.registered(broker, topics_named(topic, names("U")))
        before = _contents(folder)
        with fault(server, folder):
            for _ in range(ROUNDS):
                refused = [
                    peer.put_kv("N", "new", "2" * 1000),
                    peer.put_kv("N2", "old", "2"),
                    peer.delete_kv("N", "old"),
                    peer.change_config(productEnvName="new"),
                ]
                assert [(answer.code, answer.remark, answer.body) for answer in refused] == [
                    (SYSTEM_ERROR, REMARK, b"")
                ] * len(refused)
                _has_old_state(peer)
                peer.registered(broker, topics_named(topic, names("V")), 2)
                assert peer.routed(topic).brokers == {broker.name: {MASTER: broker.addr}}
        assert _contents(folder) == before, "nothing half-written is left"
        for value in ("3", "4"):
            assert peer.put_kv("N", "new", value).code == SUCCESS, "it heals without a restart"
            assert peer.change_config(productEnvName=f"new{value}").code == SUCCESS
        assert peer.delete_kv("N", "old").code == SUCCESS
        peer.unreg(broker)
    assert json.loads((folder / KV_FILE).read_bytes()) == {"configTable": {"N": {"new": "4"}}}
    assert (folder / SETTINGS_FILE).read_text(encoding="utf-8") == "productEnvName=new4\n"
    _was_told_once(server)


def _has_old_state(peer: Peer) -> None:
    assert peer.list_kv("N").json() == {"table": {"old": "1"}}
    assert peer.list_kv("N2").code != SUCCESS
    assert "productEnvName=old" in peer.request(CFGGET).body.decode().splitlines()


def _contents(folder: Path) -> dict[str, bytes]:
    """Give what is kept; the audit log may have grown by what was refused."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if "audit" not in each.name}


def _was_told_once(server: ServerProcess) -> None:
    lines = [(line["event"], line.get("reason")) for line in log_lines(server, level="ERROR")]
    assert lines, "an operator must be told"
    assert len(lines) == len(set(lines)), lines
