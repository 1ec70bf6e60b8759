"""Field cases about starting: few resources, odd shells and paths, no names to look up, a controller that is not here."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.lookups import Lookups
from tests.support.peer import MASTER, NOT_SUPPORTED, SUCCESS, Peer, numbered, peers, topics_named
from tests.support.process_figures import descriptors_of, memory_of
from tests.support.server_process import START_S, STOP_S, ServerProcess, run_command
from tests.support.standing_rule import StandingRule
from tests.support.waiting import wait_until

MIB: Final = 1024 * 1024
SOURCE: Final = Path(__file__).resolve().parents[2] / "src"
BOOT_LINE: Final = "The Name Server boot success. serializeType=JSON, address "
CONTROLLER_CODES: Final = range(1001, 1019)
CONFIG_ERROR: Final = 78
ODD_FOLDERS: Final = {
    "blanks, quotes and shell letters": ' leading/it\'s "quoted"/$HOME `id` $(id) %20 ~ * ?/trailing ',
    "other scripts and properties letters": "中文 目录/emoji 🚀/back\\slash=equals#hash!bang",
    "long": "x" * 200,
}


@contextlib.contextmanager
def program(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], **more: object
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command that becomes a server, and give it with its address once it has printed that."""
    output = folder / "stdout"
    folder.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as stdout, (folder / "stderr").open("w", encoding="utf-8") as stderr:
        child = subprocess.Popen(  # type: ignore[call-overload]  # `more` is preexec_fn or nothing
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, **more
        )
        try:
            what = f"the boot line of {command[-6:]}"
            wait_until(lambda: BOOT_LINE in output.read_text() or child.poll() is not None, what, START_S)
            text = output.read_text(encoding="utf-8")
            assert BOOT_LINE in text, (folder / "stderr").read_text(encoding="utf-8")
            yield child, re.findall(r"address (\S+)", text)[0]
            child.send_signal(signal.SIGTERM)
            assert child.wait(STOP_S) == 0, (folder / "stderr").read_text(encoding="utf-8")
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def namesrv(folder: Path) -> tuple[str, ...]:
    flags = ("--listenPort", "0", "--bindAddress", "127.0.0.1", "--data-dir", str(folder / "data"))
    return (sys.executable, "-m", "cosmodrome", "namesrv", *flags)


def assert_serves(address: str, names: Names) -> None:
    broker = names.broker()
    with Peer(address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
        assert peer.put_kv(names("N"), "k", "v").code == SUCCESS
        peer.unreg(broker)


SHELLS: Final = [
    [path, *arguments]
    for name, arguments in (("sh", ()), ("dash", ()), ("bash", ("--posix",)), ("busybox", ("sh",)), ("zsh", ()))
    if (path := shutil.which(name))
]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_F130_any_shell_and_an_empty_environment(tmp_path: Path, names: Names, shell: list[str]) -> None:
    """Whatever shells this machine has; busybox is not on every one."""
    folder = tmp_path / "elsewhere"
    script = 'ulimit -v 524288; exec "$0" "$@"'
    command = [*shell, "-c", script, *namesrv(tmp_path)]
    with program(command, folder, {"PYTHONPATH": str(SOURCE)}) as (child, address):
        assert_serves(address, names)
        assert descriptors_of(child.pid) < 50


def test_F130_no_environment_variables_at_all(tmp_path: Path, names: Names) -> None:
    """Where it is installed, not even a search path is needed; here the source folder must be told."""
    program_text = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); sys.argv[0] = 'cosmodrome'; from cosmodrome.cli import main; main()"
    command = [sys.executable, "-c", program_text, *namesrv(tmp_path)[3:]]
    with program(command, tmp_path / "elsewhere", {}) as (_, address):
        assert_serves(address, names)


def small_container() -> None:
    """Run on one processor, with 128 MB of data and stack and a thread or two; called in the child."""
    resource.setrlimit(resource.RLIMIT_DATA, (128 * MIB, 128 * MIB))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def test_F130_a_small_container(tmp_path: Path, names: Names) -> None:
    """Listening within 2 s, or 50 times what the interpreter itself takes to start on a busy machine; below 60 MB."""
    begin = time.monotonic()
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    interpreter_s = time.monotonic() - begin
    begin = time.monotonic()
    environment = {"PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}
    with program(namesrv(tmp_path), tmp_path, environment, preexec_fn=small_container) as (child, address):
        assert time.monotonic() - begin < max(2.0, 50 * interpreter_s)
        empty = memory_of(child.pid)
        assert empty < 60 * 1000 * 1000
        assert_serves(address, names)
        with Peer(address, 60) as peer:
            peer.registered(names.broker(), topics_named(*numbered(names("topic"), 20_000)))
            full = memory_of(child.pid)
            assert full > empty + 2 * MIB, "memory follows content"
            assert full < empty + 60 * MIB
            peer.unreg(names.broker())


def few_descriptors(soft: int, hard: int) -> None:
    """Called in the child."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_F130_a_low_soft_limit_of_descriptors_is_raised(tmp_path: Path, names: Names) -> None:
    """Login shells set it to 1024 or less; the Java virtual machine raises it by itself, so nobody knows that it counts."""
    environment = {"PYTHONPATH": str(SOURCE)}
    limits = partial(few_descriptors, 64, 1024)
    with program(namesrv(tmp_path), tmp_path, environment, preexec_fn=limits) as (_, address):
        assert_serves(address, names)
        with peers(address, 200) as clients:
            assert [client.route(names("T")) for client in clients] == [None] * 200


def test_F080_running_out_of_descriptors_is_told_and_heals(tmp_path: Path, names: Names) -> None:
    """Connections that are there are served, a person is told why others are not, and all is well once some leave."""
    environment = {"PYTHONPATH": str(SOURCE)}
    limits = partial(few_descriptors, 64, 64)
    broker = names.broker()
    with program(namesrv(tmp_path), tmp_path, environment, preexec_fn=limits) as (child, address), Peer(address) as old:
        old.registered(broker, topics_named(names("T"), names("U")))
        before = descriptors_of(child.pid)
        with peers(address, 200):
            wait_until(lambda: old.route(names("T")) and descriptors_of(child.pid) > 50, "the limit", 10)
            assert old.heartbeat(broker).code == SUCCESS
            log = tmp_path / "stderr"
            wait_until(lambda: re.search("descriptors|open files", log.read_text()), "a line that says why", 10)
        wait_until(lambda: descriptors_of(child.pid) <= before, "free descriptors", 5)
        with Peer(address, 1) as new:
            assert new.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
        assert len(log.read_text().splitlines()) < 20, "not a line for each connection"


def test_F130_many_at_once(tmp_path: Path, names: Names) -> None:
    """Three on one machine, from one working folder, do not disturb each other."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(ServerProcess(tmp_path / str(number))) for number in range(3)]
        for server in servers:
            assert_serves(server.address, names)


@pytest.mark.parametrize("odd", ODD_FOLDERS.values(), ids=ODD_FOLDERS)
def test_F131_odd_paths_for_everything(tmp_path: Path, names: Names, odd: str) -> None:
    """Working folder, data, KV entries, the file of settings, and the program itself, through a link."""
    folder = tmp_path / odd
    folder.mkdir(parents=True)
    source = folder / "source"
    source.symlink_to(SOURCE)
    link = tmp_path / "link"
    link.symlink_to(folder)
    kv = folder / "kv folder" / "kv file.json"
    (folder / "my settings.properties").write_text(
        f"kvConfigPath={''.join(map(as_escape, str(kv)))}\n", encoding="ascii"
    )
    for way in (folder, link):
        file = way / "my settings.properties"
        with ServerProcess(folder, "-c", str(file), environment={"PYTHONPATH": str(source)}) as server:
            rule = StandingRule(server)
            with Peer(server.address) as peer:
                if way == link:
                    assert peer.get_kv(names("N"), "k").ext == {"value": "v"}, "kept where it was said"
                assert peer.change_config(orderMessageEnable=True).code == SUCCESS
            assert_serves(server.address, names)
            rule.check()
        assert server.stdout_lines[0].endswith(f"{file}"), "the path as it was given"
        assert kv.exists()
        assert "orderMessageEnable=true" in file.read_text(encoding="ascii")


def as_escape(letter: str) -> str:
    """Write a letter as properties files may: as one escape, or two outside the BMP."""
    data = letter.encode("utf-16-be")
    return "".join(rf"\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))


@pytest.mark.parametrize("flag", ["-c", "--data-dir"])
def test_F131_a_bad_path_is_named_in_one_line(tmp_path: Path, flag: str) -> None:
    bad = tmp_path / "no such folder" / "it's.properties"
    if flag == "--data-dir":
        bad.parent.parent.joinpath("a file").write_text("")
        bad = tmp_path / "a file" / "中文 data"
    result = run_command("namesrv", "--listenPort", "0", flag, str(bad), folder=tmp_path)
    assert result.returncode not in (0, None)
    assert "Traceback" not in result.stderr
    error = next(line for line in result.stderr.splitlines() if line.startswith("error["))
    assert bad.name in error, result.stderr


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("bound", ["0.0.0.0", "127.0.0.1"])  # noqa: S104  # Java's default, and the nearest
def test_F132_nothing_is_looked_up_on_the_way_up(tmp_path: Path, names: Names, bound: str, loop: str) -> None:
    """The resolver hangs for 30 seconds, and fails then, whatever it is asked, this host's own name among it."""
    lookups = Lookups(tmp_path, seconds=30, is_uvloop_hidden=loop == "asyncio")
    environment = {"HOSTNAME": "nobody.invalid"} | dict(lookups.environment)
    begin = time.monotonic()
    flags = (f"--bindAddress={bound}", "--banner")
    with ServerProcess(tmp_path, *flags, environment=environment) as server:
        rule = StandingRule(server)
        assert time.monotonic() - begin < START_S / 2
        assert_serves(server.address, names)
        rule.check()
    assert lookups.names() == []


def test_F132_a_name_to_listen_on_that_does_not_resolve(tmp_path: Path) -> None:
    """The only lookup there is; it is asked for, and its failure is told in a line."""
    lookups = Lookups(tmp_path, seconds=0, is_uvloop_hidden=False)
    with (
        contextlib.suppress(AssertionError),
        ServerProcess(tmp_path, "--bindAddress=nobody.invalid", environment=lookups.environment),
    ):
        pytest.fail("it started")
    assert set(lookups.names()) == {"nobody.invalid"}


@pytest.mark.parametrize("way", ["environment", "--set", "toml", "--lenient"])
def test_F136_asking_for_the_controller_in_any_way_ends_the_start(tmp_path: Path, way: str) -> None:
    flags: list[str] = []
    environment: dict[str, str] = {}
    toml, properties = tmp_path / "namesrv.toml", tmp_path / "namesrv.properties"
    toml.write_text("enableControllerInNamesrv = true\n")
    properties.write_text("enableControllerInNamesrv=TRUE\nunknownKey=1\n")
    match way:
        case "environment":
            environment = {"COSMODROME_ENABLE_CONTROLLER_IN_NAMESRV": "true"}
        case "--set":
            flags = ["--set", "enableControllerInNamesrv=true"]
        case "toml":
            flags = ["-c", str(toml)]
        case _:
            flags = ["--lenient", "-c", str(properties)]
    result = run_command("namesrv", "--listenPort", "0", *flags, folder=tmp_path, environment=environment)
    assert result.returncode == CONFIG_ERROR
    assert "no embedded controller" in result.stderr
    assert "Traceback" not in result.stderr
    assert BOOT_LINE not in result.stdout


def test_F136_requests_for_a_controller_get_answer_3(own_server: StartServer, names: Names) -> None:
    """Also with bodies and fields of a controller's clients, in both header codecs; the connection stays."""
    server = own_server(controllerDLegerGroup="g", enableControllerInNamesrv=False)
    fields = {"clusterName": "C", "brokerName": "b", "brokerId": "0", "masterAddress": "192.0.2.1:1"}
    with Peer(server.address) as peer:
        for code in CONTROLLER_CODES:
            for codec in ("JSON", "ROCKETMQ"):
                answer = peer.request(code, fields, b'{"syncStateSet":[0]}', codec=codec)
                assert (answer.code, answer.body) == (NOT_SUPPORTED, b"")
                assert answer.remark == f" request type {code} not supported"
        assert peer.route(names("T")) is None
