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
import yaml
from tests.support.bare_server import program
from tests.support.peer import Peer
from tests.support.server_process import COMMAND, STOP_S, ServerProcess, run_command, server_environment

from cosmodrome import errors
from cosmodrome.operating.units import KINDS
from cosmodrome.operating.units import unit as unit_text

PACKAGING: Final = Path(__file__).resolve().parents[2] / "packaging"
SOON_S: Final = 30.0
INSTALLED: Final = "/opt/cosmodrome/bin/cosmodrome"
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
    assert program_path == INSTALLED


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_is_one_to_systemd(tmp_path: Path, kind: str) -> None:
    """By its own checker, where there is one; else every line is a section, a comment, or a setting."""
    text = unit_text(kind, INSTALLED, "/etc/cosmodrome/a.conf")
    checker = shutil.which("systemd-analyze")
    if checker is None:
        lines = [line for line in text.splitlines() if line and line[0] not in "#["]
        assert all(re.fullmatch(r"[A-Z][A-Za-z]+=.*", line) for line in lines)
        return
    file = tmp_path / f"cosmodrome-{kind}.service"
    file.write_text(text.replace(INSTALLED, "/bin/true"), encoding="utf-8")
    checked = subprocess.run([checker, "verify", str(file)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_units_of_packaging_are_those_that_are_printed(tmp_path: Path, kind: str) -> None:
    printed = run_command("export", "systemd", kind, "--program", INSTALLED, folder=tmp_path)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == (PACKAGING / f"cosmodrome-{kind}.service").read_text(encoding="utf-8")
    with_file = run_command("export", "systemd", kind, "--program", INSTALLED, "-c", "a.conf", folder=tmp_path)
    assert f"{INSTALLED} {kind} -c {tmp_path.resolve() / 'a.conf'}" in with_file.stdout
    assert run_command("export", "systemd", kind, "--program", "/a b", folder=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("/home/me/cosmodrome/.venv/bin/cosmodrome", "ProtectHome=yes hides /home"),
        ("/var/tmp/x/../bin/cosmodrome", "PrivateTmp=yes hides /var/tmp"),  # noqa: S108 -- looked at only
        ("/opt/cosmodrome/bin/cosmodrome", ""),
        ("/homes/cosmodrome", ""),
    ],
)
def test_a_program_that_a_service_cannot_see_is_told_of(tmp_path: Path, program: str, reason: str) -> None:
    printed = run_command("export", "systemd", "--program", program, folder=tmp_path)
    assert printed.returncode == 0
    if not reason:
        assert ("WARNING" in printed.stdout, printed.stderr) == (False, "")
        return
    assert printed.stderr.startswith(f"warning: the service cannot see {program}: {reason}")
    assert f"# WARNING: {printed.stderr.removeprefix('warning: ')}" in printed.stdout


def test_a_broker_starts_as_its_unit_says(tmp_path: Path) -> None:
    (line,) = [each for each in unit_text("broker", INSTALLED).splitlines() if each.startswith("ExecStart=")]
    _, *words = shlex.split(line.removeprefix("ExecStart="))
    checked = run_command(*words, "--check-config", folder=tmp_path, environment={"NAMESRV_ADDR": "127.0.0.1:9876"})
    assert (checked.returncode, checked.stdout) == (0, "configuration OK: built-in defaults\n"), checked.stderr


@pytest.mark.parametrize(
    ("words", "servers"),
    [(["--broker"], 3), (["--servers", "1", "--image", "registry.example:5000/a/cosmodrome:1"], 1)],
)
def test_a_compose_file_starts_what_there_is(tmp_path: Path, words: list[str], servers: int) -> None:
    printed = run_command("export", "compose", *words, folder=tmp_path)
    assert printed.returncode == 0, printed.stderr
    document = yaml.safe_load(printed.stdout)
    services = document["services"]
    assert len([name for name in services if name.startswith("namesrv-")]) == servers
    assert set(document["volumes"]) == set(services)
    commands: set[tuple[str, ...]] = set()
    for name, service in services.items():
        assert service["volumes"] == [f"{name}:/data"]
        assert service["read_only"] is True
        assert "build" not in service, "a path that is right in one folder only"
        assert service["image"] == (words[-1] if "--image" in words else "cosmodrome")
        role, *flags = service["command"]
        assert role in entrypoint_words()
        flags = [
            each.replace("${BROKER_IP1:-127.0.0.1}", "127.0.0.1").replace("/data", str(tmp_path)) for each in flags
        ]
        commands.add(("broker" if role == "broker" else "namesrv", *flags))
    for command in commands:
        checked = run_command(*command, "--check-config", folder=tmp_path)
        assert checked.returncode == 0, checked.stderr
    if "--image" not in words:
        assert printed.stdout == (PACKAGING / "compose.yaml").read_text(encoding="utf-8")
    assert run_command("export", "compose", "--image", "a b", folder=tmp_path).returncode == 2


def entrypoint_words() -> set[str]:
    text = (PACKAGING / "entrypoint.sh").read_text(encoding="utf-8")
    return {word for line in re.findall(r"^  ([a-z |]+)\) exec", text, re.MULTILINE) for word in line.split(" | ")}


@pytest.mark.parametrize(
    ("words", "role", "started"),
    [
        ([], None, ["namesrv"]),
        ([], "nameserver", ["namesrv"]),
        ([], "broker", ["broker"]),
        (["nameserver"], None, ["namesrv"]),
        (["sh", "mqnamesrv", "-c", "/home/rocketmq/config/namesrv.p"], None, ["namesrv", "-c", "/home/rocketmq/config/namesrv.p"]),
        (["mqnamesrv", "-n", "a b"], None, ["namesrv", "-n", "a b"]),
        (["--listenPort", "9877"], None, ["namesrv", "--listenPort", "9877"]),
        (["sh", "mqbroker", "-n", "a:9876", "-c", "b.conf"], "nameserver", ["broker", "-n", "a:9876", "-c", "b.conf"]),
        (["./mqbroker", "-n", "a:9876"], None, ["broker", "-n", "a:9876"]),
        (["sh", "mqadmin", "clusterList"], None, ["admin", "clusterList"]),
        (["sh", "mqshutdown", "namesrv"], None, ["stop", "namesrv"]),
        (["cosmodrome", "doctor"], None, ["doctor"]),
    ],
)  # fmt: skip
def test_a_container_takes_the_words_of_apaches_images(
    tmp_path: Path, words: list[str], role: str | None, started: list[str]
) -> None:
    """And variables for Java, which say nothing here."""
    stand_in = tmp_path / "cosmodrome"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "JAVA_OPT_EXT": "-Xmx1g", "JAVA_OPT": "-server"}
    done = subprocess.run(
        ["/bin/sh", str(PACKAGING / "entrypoint.sh"), *words],
        env=environment | ({} if role is None else {"NODE_ROLE": role}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, started, "")


def test_a_container_refuses_what_is_no_role(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", str(PACKAGING / "entrypoint.sh"), "controller"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "controller" in done.stderr


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
    assert stage["USER"] == "3000", "as in images of Apache RocketMQ"
    assert stage["EXPOSE"] == "9876"
    assert stage["WORKDIR"] == "/home/rocketmq/bin"
    assert stage["VOLUME"] == "/data"
    variables = dict(each.split("=", 1) for each in shlex.split(stage["ENV"]))
    assert variables["COSMODROME_DATA_DIR"] == "/data"
    copied = [rest.split() for word, rest in steps if word == "COPY" and "--from" not in rest]
    sources = {source for each in copied for source in each[:-1] if not source.startswith("--")}
    (entrypoint,) = json.loads(stage["ENTRYPOINT"])
    assert ["--chmod=755", "packaging/entrypoint.sh", f"/usr/local/bin/{entrypoint}"] in copied
    made = " ".join(rest for word, rest in steps if word == "RUN")
    assert f"exec /usr/local/bin/{entrypoint} %s" in made
    assert {"mqnamesrv", "mqbroker", "mqadmin", "mqshutdown"} <= set(
        re.findall(r"for name in ([^;]+);", made)[0].split()
    )
    assert "/home/rocketmq/logs" in made
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
