"""Field cases about containers: an arbitrary user without rights, nothing to write to, settings from the environment.

They run in namespaces of their own: another user id, no capabilities, everything read-only but one folder or none, and
the system calls refused that container runtimes refuse. Where the system forbids making them, the folders that cannot be
written are such that nobody can write them, and the rest of the container is missing.
"""

# ruff: noqa: N802  # case ids are written in capitals

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.bare_server import announced
from tests.support.container import USER, inside, is_real
from tests.support.field import Names
from tests.support.peer import CFGGET, MASTER, NOT_FOUND, SUCCESS, SYSTEM_ERROR, Peer, numbered, topics_named
from tests.support.server_process import STOP_S, server_environment
from tests.support.waiting import wait_until

NOWHERE: Final = Path("/proc/nobody")
"""A folder that nobody can make."""
MIB: Final = 1024 * 1024
LOG_BYTES: Final = 64 * 1024


@contextmanager
def contained(folder: Path, writable: Path | None, *flags: str, **variables: str) -> Iterator[tuple[int, str, Path]]:
    """Run a server in a container, with a working folder and a home that are not there to be written to.

    Gives its process id, its address, and the file that gets its standard error.
    """
    environment = server_environment(NOWHERE) | variables
    data = str(NOWHERE if writable is None else writable)
    errors = folder / "stderr"
    with errors.open("wb") as stderr, announced(
        folder, "--data-dir", data, *flags, prefix=inside(writable), env=environment, cwd="/",
        stdout=subprocess.DEVNULL, stderr=stderr,
    ) as (child, address):  # fmt: skip
        yield child.pid, address, errors
        child.terminate()
        assert child.wait(STOP_S) == 0, errors.read_text()


def assert_routes(peer: Peer, names: Names) -> None:
    broker = names.broker()
    peer.registered(broker, topics_named(names("T"), names("U")))
    assert peer.heartbeat(broker).code == SUCCESS
    assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
    peer.unreg(broker)


def events_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_F135_the_container_is_one(tmp_path: Path) -> None:
    """What the other tests here rely on, seen from outside; nothing but the folder itself where it is none."""
    with contained(tmp_path, None) as (pid, _, _):
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        if is_real():
            assert int(status["CapEff"], 16) == 0
            assert status["NoNewPrivs"] == "1"
            assert status["Seccomp"] in "02"
            assert str(USER) in Path(f"/proc/{pid}/uid_map").read_text().split()
            mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
            uppermost = {point: options for _, _, _, _, point, options, *_ in mounts}
            writable = {point for point, options in uppermost.items() if not options.startswith("ro")}
            assert all(point.startswith("/proc") for point in writable)
        assert not NOWHERE.exists()


def test_F135_one_writable_folder_is_enough(tmp_path: Path, names: Names) -> None:
    """Settings come from the environment and from a file that cannot be changed; what is kept is kept there."""
    writable = tmp_path / "var"
    writable.mkdir()
    log = writable / "namesrv.log"
    variables = {
        "COSMODROME_CONFIG_STORE_PATH": str(writable / "saved.properties"),
        "COSMODROME_ORDER_MESSAGE_ENABLE": "true",
        "COSMODROME_LOG_FILE": str(log),
        "COSMODROME_LOG_LEVEL": "debug",
    }
    for is_again in (False, True):
        with contained(tmp_path, writable, **variables) as (_, address, errors), Peer(address) as peer:
            assert (peer.get_kv(names("N"), "k").code == SUCCESS) is is_again
            listing = peer.request(CFGGET).body.decode()
            assert "orderMessageEnable=true" in listing
            assert ("enableTopicList=false" in listing) is is_again
            assert_routes(peer, names)
            assert peer.put_kv(names("N"), "k", "v").code == SUCCESS
            assert peer.change_config(enableTopicList=False).code == SUCCESS
            assert (writable / "namesrv.pid").exists()
        assert [event["event"] for event in events_in(errors)] == ["log.to_file"]
    assert {"server.started", "kv.put", "config.changed", "server.stopped"} <= {
        event["event"] for event in events_in(log)
    }


def test_F126_where_nothing_can_be_written_every_line_is_on_standard_error(tmp_path: Path, names: Names) -> None:
    """Though a path is set: it is told that it cannot be obeyed, and no line is lost."""
    log = NOWHERE / "namesrv.log"
    with contained(tmp_path, None, COSMODROME_LOG_FILE=str(log)) as (_, address, errors), Peer(address) as peer:
        assert_routes(peer, names)
    events = events_in(errors)
    assert {event["path"] for event in events if event["event"] == "log.diverted"} == {str(log)}
    assert {"server.started", "broker.registered", "broker.unregistered", "server.stopped"} <= {
        event["event"] for event in events
    }


def test_F135_settings_from_a_mounted_file(tmp_path: Path, names: Names) -> None:
    """A change that would have to be written into it is refused and changes nothing; everything else works."""
    writable, mounted = tmp_path / "var", tmp_path / "etc"
    writable.mkdir()
    mounted.mkdir()
    file = mounted / "namesrv.properties"
    file.write_text("orderMessageEnable=true\n")
    if not is_real():
        mounted.chmod(0o555)
    with contained(tmp_path, writable, "-c", str(file)) as (_, address, _), Peer(address) as peer:
        assert "orderMessageEnable=true" in peer.request(CFGGET).body.decode()
        assert_routes(peer, names)
        assert peer.put_kv(names("N"), "k", "v").code == SUCCESS
        if is_real() or os.getuid():
            answer = peer.change_config(enableTopicList=False)
            assert answer.code == SYSTEM_ERROR
            assert "could not be stored" in str(answer.remark)
            assert "enableTopicList=true" in peer.request(CFGGET).body.decode()
    mounted.chmod(0o755)


def test_F135_without_any_writable_folder_routing_works(tmp_path: Path, names: Names) -> None:
    """KV writes and changes of the configuration are refused, leave no trace, and say why; a person is told at the start."""
    with contained(tmp_path, None) as (_, address, errors), Peer(address) as peer:
        for round_number in range(3):
            assert_routes(peer, names)
            answer = peer.put_kv(names("N"), "k", str(round_number))
            assert answer.code == SYSTEM_ERROR
            assert "could not be stored" in str(answer.remark)
            assert peer.get_kv(names("N"), "k").code == NOT_FOUND
            answer = peer.change_config(enableTopicList=False)
            assert answer.code == SYSTEM_ERROR
            assert "could not be stored" in str(answer.remark)
            assert "enableTopicList=true" in peer.request(CFGGET).body.decode()
        assert peer.wipe(names("nobody")) == 0
        wait_until(lambda: "storage.failed" in errors.read_text(), "a line that says why", 10)
    events = events_in(errors)
    assert any(f"{NOWHERE} cannot be written" in event.get("message", "") for event in events), "told at the start"
    assert any(str(NOWHERE) in event["reason"] for event in events if event["event"] == "storage.failed")
    assert not any("trace" in event for event in events)


@pytest.mark.parametrize("places", ["the default ones", "the configured ones"])
def test_F137_every_file_that_is_written(tmp_path: Path, names: Names, places: str) -> None:
    """After registrations, KV writes, changes of the configuration, bad requests and a kill: nothing elsewhere.

    Looked at are all folders that a process may usually write to; of files there before, their sizes.
    """
    home, scratch, work = tmp_path / "home", tmp_path / "scratch", tmp_path / "work"
    for folder in (home, scratch, work):
        folder.mkdir()
    data = home / ".local" / "share" / "cosmodrome" / "namesrv"
    flags: list[str] = []
    allowed = {data / name for name in ("kvConfig.json", "kvConfig.json.bak", "namesrv.properties",
                                        "namesrv.properties.bak", "namesrv.pid", "namesrv.pid.addresses")}  # fmt: skip
    if places != "the default ones":
        configured = {"kvConfigPath": "kv", "configStorePath": "saved", "pidFile": "pid", "logFile": "log",
                      "auditLog": "audit"}  # fmt: skip
        settings = {key: tmp_path / "var" / name for key, name in configured.items()}
        flags = [part for key, path in settings.items() for part in ("--set", f"{key}={path}")]
        flags += ["--set", f"logFileMaxBytes={LOG_BYTES}", "--set", "logFileBackups=2", "-v"]
        (tmp_path / "var").mkdir()
        files = ("kv", "kv.bak", "saved", "saved.bak", "pid", "pid.addresses", "log", "log.1", "log.2", "audit")
        allowed = {tmp_path / "var" / name for name in files}
    environment = server_environment(home) | {"TMPDIR": str(scratch)}
    before = files_of_all(tmp_path)
    for _ in range(2):
        with (
            (tmp_path / "ignored").open("wb") as errors,
            announced(work, *(flags or ("--data-dir", str(data))), "--set", f"dataDir={data}", env=environment,
                      stdout=errors, stderr=errors) as (child, address),
        ):  # fmt: skip
            load(address, names)
            child.kill()
            child.wait()
    written = {path for path, size in files_of_all(tmp_path).items() if before.get(path) != size}
    written -= {tmp_path / "ignored"}
    audits = {path for path in written if "audit" in path.name}
    assert written - audits <= allowed
    assert {path.name for path in written} >= {"namesrv.pid"} if not flags else {"pid", "log", "kv"}
    assert sum(path.stat().st_size for path in written if path.exists()) < 2 * MIB


def load(address: str, names: Names) -> None:
    """Do something of everything a NameServer is asked for."""
    with Peer(address, 60) as peer:
        for number in range(100):
            broker = names.broker(f"b-{number % 50}")
            peer.registered(broker, topics_named(*numbered(names("T"), 20)), version=number + 1)
            assert peer.put_kv(names("N"), f"k-{number % 20}", "v" * 100).code == SUCCESS
            assert peer.route(names(f"missing-{number}")) is None
            peer.request(9999, {"number": str(number)})
        for number in range(5):
            assert peer.change_config(waitSecondsForService=number).code == SUCCESS
    with Peer(address) as bad:
        bad.send(b"\0\0\0\1nonsense")
        bad.expect_closed(10)


def files_of_all(folder: Path) -> dict[Path, int]:
    """Give the sizes of all files below a test's folder and below the folders that any process may write to.

    The fuzz targets, whose tests may run beside this one, keep theirs in memory.
    """
    roots = [folder, Path("/dev/shm"), Path("/var/tmp"), Path("/run/user")]  # noqa: S108
    shared = Path(tempfile.gettempdir())
    found: dict[Path, int] = {}
    for root in roots:
        for path in root.rglob("*") if root.exists() else ():
            is_of_a_target = any(part.startswith("cosmodrome-fuzz-") for part in path.parts)
            if not is_of_a_target and path.is_file() and not path.is_symlink():
                found[path] = path.stat().st_size
    found |= {path: path.stat().st_size for path in shared.glob("cosmodrome*") if path.is_file()}
    return found
