"""Under a service manager: what it is told, and the files in packaging/ that say how it starts the server.

The unit and the container file are checked as texts, and with systemd's own checker where there is one; the command lines
in them are run. No container is built here.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.bare_server import program
from tests.support.peer import Peer
from tests.support.server_process import COMMAND, STOP_S, ServerProcess, server_environment

from cosmodrome import errors

PACKAGING: Final = Path(__file__).resolve().parents[2] / "packaging"
SOON_S: Final = 30.0
NO_RESTART: Final = {2, 65, 77, 78}
"""Wrong usage, unreadable data, denied, bad configuration: starting again changes nothing."""


class ServiceManager:
    """The socket that a service tells its state to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        self._socket.settimeout(SOON_S)
        self.signs_of_life = 0

    def told(self) -> dict[str, str]:
        """Wait for the next state; signs of life are only counted."""
        while True:
            state = dict(line.split("=", 1) for line in self._socket.recv(65536).decode().split("\n"))
            if state != {"WATCHDOG": "1"}:
                return state
            self.signs_of_life += 1

    def wait_for_sign_of_life(self) -> None:
        while self._socket.recv(65536) != b"WATCHDOG=1":
            pass

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServiceManager]:
    manager = ServiceManager(str(tmp_path / "notify") if request.param == "path" else f"@cosmodrome-{os.getpid()}")
    yield manager
    manager.close()


def test_what_it_is_told(tmp_path: Path, manager: ServiceManager) -> None:
    """Ready when it can be reached and not before; reloading, and ready again; stopping; and that it is alive."""
    environment = server_environment(tmp_path) | {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "300000"}
    with program(tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        state = manager.told()
        assert state["READY"] == "1"
        address = state["STATUS"].removeprefix("listening on ")
        with Peer(address) as peer:
            assert peer.route("T") is None
        for _ in range(3):
            manager.wait_for_sign_of_life()
        child.send_signal(signal.SIGHUP)
        state = manager.told()
        assert state["RELOADING"] == "1"
        assert state["MONOTONIC_USEC"].isdecimal()
        assert manager.told()["READY"] == "1"
        child.terminate()
        assert manager.told() == {"STOPPING": "1", "STATUS": "stopping: SIGTERM"}
        assert child.wait(STOP_S) == 0


def unit() -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in (PACKAGING / "cosmodrome-namesrv.service").read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            settings.setdefault(name, []).append(value)
    return settings


def test_the_unit_says_what_the_server_does(tmp_path: Path) -> None:
    settings = unit()
    assert settings["Type"] == ["notify"]
    assert set(map(int, settings["RestartPreventExitStatus"][0].split())) == NO_RESTART
    known = {each.exit_code for each in vars(errors).values() if hasattr(each, "exit_code")}
    assert {2, 77, 78} <= known
    assert int(settings["WatchdogSec"][0]) > 3 * 10, "a stall of 10 s is no reason to kill it"
    assert int(settings["TimeoutStopSec"][0]) > 30 + 5, "shutdownWaitTimeSeconds, and requests in work"
    assert "MAINPID" in settings["ExecReload"][0]
    assert "-HUP" in settings["ExecReload"][0]
    program_path, *words = shlex.split(settings["ExecStart"][0])
    variables = dict(each.split("=", 1) for each in settings["Environment"])
    assert variables["COSMODROME_DATA_DIR"] == f"/var/lib/{settings['StateDirectory'][0]}"
    result = subprocess.run(
        [*COMMAND, *words, "--check-config"],
        env=server_environment(tmp_path) | variables | {"COSMODROME_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, "configuration OK" in result.stdout) == (0, True), result.stderr
    checker = shutil.which("systemd-analyze")
    if checker is not None:
        text = (PACKAGING / "cosmodrome-namesrv.service").read_text(encoding="utf-8")
        file = tmp_path / "cosmodrome-namesrv.service"
        file.write_text(text.replace(program_path, "/bin/true"), encoding="utf-8")
        checked = subprocess.run([checker, "verify", str(file)], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def container_steps() -> list[tuple[str, str]]:
    text = (PACKAGING / "Containerfile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n\s*", " ", "".join(line for line in text.splitlines(keepends=True) if line[0] != "#"))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


def test_the_container_runs_without_rights(tmp_path: Path) -> None:
    """Its last stage: a numbered user, one folder, the log on standard error, and commands that exist."""
    steps = container_steps()
    last = max(at for at, (word, _) in enumerate(steps) if word == "FROM")
    assert [word for word, _ in steps].count("FROM") == 2
    stage: dict[str, str] = dict(steps[last:])
    assert re.fullmatch(r"[1-9]\d+:0", stage["USER"])
    assert stage["VOLUME"] == "/data"
    variables = dict(each.split("=", 1) for each in shlex.split(stage["ENV"]))
    assert variables["COSMODROME_DATA_DIR"] == "/data"
    assert json.loads(stage["ENTRYPOINT"]) == ["cosmodrome", "namesrv"]
    sources = {source for word, rest in steps[:last] if word == "COPY" for source in rest.split()[:-1]}
    assert all((PACKAGING.parent / source).exists() for source in sources)
    ignored = (PACKAGING / "Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == sources

    health = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    assert health[0] == "cosmodrome"
    environment = server_environment(tmp_path) | {"COSMODROME_LOG_FORMAT": variables["COSMODROME_LOG_FORMAT"]}

    def is_healthy(address: str) -> bool:
        told = environment | {"NAMESRV_ADDR": address}
        return subprocess.run([*COMMAND, *health[1:]], env=told, capture_output=True, check=False).returncode == 0

    assert variables["NAMESRV_ADDR"] == "127.0.0.1:9876"
    with ServerProcess(tmp_path) as server:
        assert is_healthy(server.address)
    assert not is_healthy(server.address)
