"""`cosmodrome reload`, `drain` and `stop`, and servers in processes of their own that they are said to."""

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support import wire
from tests.support.broker_process import BrokerProcess
from tests.support.peer import Peer
from tests.support.server_process import COMMAND, ServerProcess, run_command, server_environment
from tests.support.waiting import wait_until

UNREACHABLE: Final = 69
DENIED: Final = 77
BAD_CONFIGURATION: Final = 78
LATE: Final = 75


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path, "--http", "127.0.0.1:0", config={"scanNotActiveBrokerInterval": 5000}) as one:
        wait_until(pid_file(tmp_path).exists, "the pid file")
        yield one


def pid_file(folder: Path) -> Path:
    return folder / "data" / "namesrv.pid"


def http_of(server: ServerProcess) -> str:
    events = [json.loads(line) for line in server.wait_for_stderr('"http.listening"').splitlines()]
    return str(next(each["address"] for each in events if each["event"] == "http.listening"))


def told(server: ServerProcess, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_command(*words, folder=server.folder)


def by_each_way(server: ServerProcess) -> list[list[str]]:
    return [
        ["--pid-file", str(pid_file(server.folder))],
        ["--data-dir", str(server.folder / "data")],
        ["--http", http_of(server)],
    ]


def test_a_reload_says_what_came_of_it(server: ServerProcess) -> None:
    conf = server.folder / "start.properties"
    for number, way in enumerate(by_each_way(server)):
        conf.write_text(f"scanNotActiveBrokerInterval={6000 + number}\nclusterTest=true\n")
        done = told(server, "reload", *way)
        assert (done.returncode, done.stdout, done.stderr) == (
            0, "applied: scanNotActiveBrokerInterval\nat the next start: clusterTest\n", "",
        )  # fmt: skip
        again = told(server, "reload", *way, "-o", "json")
        assert json.loads(again.stdout) == {"applied": [], "needs_restart": ["clusterTest"], "overridden": {}}


def test_a_reload_says_what_flags_win_over(server: ServerProcess) -> None:
    conf = server.folder / "start.properties"
    conf.write_text("listenPort=1\nscanNotActiveBrokerInterval=5000\n")
    expected = "nothing changed that can change now\nlistenPort: overridden by --listenPort\n"
    for way in by_each_way(server):
        done = told(server, "reload", *way)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert '"overridden": "listenPort"' in server.wait_for_stderr('"config.reloaded"')


def test_a_reload_of_what_cannot_be_used_changes_nothing(server: ServerProcess) -> None:
    (server.folder / "start.properties").write_text("scanNotActiveBrokerInterval=never\n")
    for way in by_each_way(server):
        done = told(server, "reload", *way)
        assert done.returncode == BAD_CONFIGURATION
        assert done.stderr.startswith("error[NS-CONFIG]")
        assert "scanNotActiveBrokerInterval" in done.stderr
        assert done.stdout == ""


def test_a_server_is_taken_out_of_use_and_back(server: ServerProcess) -> None:
    http = http_of(server)
    with Peer(server.address) as peer:
        assert peer.request(105, {"topic": "T"}, version=500).code == 17
        done = told(server, "drain", "--http", http)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("out of use since ")
        assert done.stdout.endswith("; 1 connection is left\n")
        assert peer.request(105, {"topic": "T"}, version=500).code == 1500
        late = told(server, "drain", "--http", http, "--until", "0", "--timeout", "0.2")
        assert (late.returncode, "has 1 connection after" in late.stderr) == (LATE, True)
        assert told(server, "drain", "--http", http, "--undo").stdout == "in use again\n"
        assert peer.request(105, {"topic": "T"}, version=500).code == 17
    assert told(server, "drain", "--http", http, "--until", "0", "-q").stdout == ""
    assert told(server, "drain", "broker").returncode == UNREACHABLE


def test_one_at_a_port_that_a_flag_chose_is_found_to_be_drained(server: ServerProcess, tmp_path: Path) -> None:
    http = http_of(server)
    wait_until((tmp_path / "data" / "namesrv.pid.addresses").exists, "its addresses")
    taken = socket.socket()  # bound, so that nobody else listens there either
    taken.bind(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    name_server = f"127.0.0.1:{port - 10_000}"
    elsewhere = {"NAMESRV_ADDR": name_server}
    for way in (["--data-dir", str(tmp_path / "data")], ["--pid-file", str(pid_file(tmp_path))], ["--http", http]):
        done = run_command("drain", *way, folder=tmp_path, environment=elsewhere)
        assert (done.returncode, done.stdout.partition(" since")[0]) == (0, "out of use"), done.stderr
    for words, environment in ((["-n", name_server], {}), ([], elsewhere)):
        done = run_command("drain", *words, folder=tmp_path, environment=environment)
        assert (done.returncode, f"127.0.0.1:{port}" in done.stderr) == (UNREACHABLE, True), done.stderr
    several = run_command("drain", folder=tmp_path, environment={"NAMESRV_ADDR": "127.0.0.1:1;127.0.0.1:2"})
    assert (several.returncode, "several NameServers" in several.stderr) == (2, True)
    for command in ("stop", "reload"):
        done = run_command(command, "-n", name_server, folder=tmp_path)
        assert (done.returncode, f"127.0.0.1:{port}" in done.stderr) == (UNREACHABLE, True), done.stderr
        broker = run_command(command, "broker", "-n", server.address, folder=tmp_path)
        assert (broker.returncode, server.is_alive) == (2, True), "-n is not the broker's address"
    taken.close()


def test_one_without_http_says_so(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--http", "off"):
        wait_until((tmp_path / "data" / "namesrv.pid.addresses").exists, "its addresses")
        done = run_command("drain", "--data-dir", str(tmp_path / "data"), folder=tmp_path)
        assert (done.returncode, "has no HTTP" in done.stderr) == (UNREACHABLE, True), done.stderr


@pytest.mark.parametrize("way", range(3), ids=["pid file", "data folder", "HTTP"])
def test_a_stop_waits_for_the_end_and_says_what_it_met(server: ServerProcess, way: int) -> None:
    with Peer(server.address) as peer:
        peer.route("T")
        done = told(server, "stop", *by_each_way(server)[way])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"process {server.pid} ended in good order after ")
    assert ("1 client, 0 finished requests" if way < 2 else "1 connection") in done.stdout
    assert server.wait_ended() == 0
    assert '"reason":"SIGTERM"' in server.stderr.replace(" ", "")
    assert not pid_file(server.folder).exists()


def test_who_is_not_there_cannot_be_told(tmp_path: Path) -> None:
    left = tmp_path / "left.pid"
    left.write_text(f"{os.getpid()}\n")
    taken = socket.socket()  # bound, so that nobody else listens there either
    taken.bind(("127.0.0.1", 0))
    http = f"127.0.0.1:{taken.getsockname()[1]}"
    for words, text in (
        (["stop", "--pid-file", str(left)], "left it behind"),
        (["stop", "--data-dir", str(tmp_path / "none")], "No such file"),
        (["stop", "broker", "--data-dir", str(tmp_path / "none")], "broker.pid"),
        (["reload", "--http", http], "nobody answers HTTP"),
    ):
        done = run_command(*words, folder=tmp_path)
        assert (done.returncode, text in done.stderr) == (UNREACHABLE, True), done.stderr
    taken.close()
    assert run_command("stop", "--http", "no:port", folder=tmp_path).returncode == 2


def test_nobody_is_sent_a_signal_who_does_not_have_the_file(server: ServerProcess) -> None:
    """Whoever can write the file could have anybody stopped."""
    path = pid_file(server.folder)
    path.write_text(f"{os.getpid()}\n")
    done = told(server, "stop", "--pid-file", str(path))
    assert (done.returncode, f"process {server.pid} has" in done.stderr) == (DENIED, True), done.stderr
    assert server.is_alive
    path.write_text(f"{server.pid}\n")


def test_one_that_does_not_end_in_time_is_told_of(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        wait_until(pid_file(tmp_path).exists, "the pid file")
        server.signal(signal.SIGSTOP)
        for command in ("reload", "stop"):
            done = told(server, command, "--data-dir", str(tmp_path / "data"), "--timeout", "0.2")
            assert (done.returncode, f"process {server.pid} did not" in done.stderr) == (LATE, True)
        server.signal(signal.SIGCONT)
        assert server.wait_ended() == 0


def test_one_that_is_killed_did_not_end_in_good_order(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        wait_until(pid_file(tmp_path).exists, "the pid file")
        server.signal(signal.SIGSTOP)
        words = ["stop", "--data-dir", str(tmp_path / "data")]
        stopping = subprocess.Popen(
            [*COMMAND, *words], env=server_environment(tmp_path), stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        wait_until(lambda: _has_pending(server.pid, signal.SIGTERM), "its SIGTERM")
        server.kill()
        _, err = stopping.communicate(timeout=60)
        assert (stopping.returncode, b"not in good order" in err) == (1, True)


def test_a_broker(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        where = ["broker", "-c", str(tmp_path / "broker.conf")]
        wait_until((tmp_path / "store" / "broker.pid").exists, "the pid file")
        (tmp_path / "broker.conf").write_text(
            (tmp_path / "broker.conf").read_text() + "fileReservedTime=48\nmaxMessageSize=5\n"
        )
        done = run_command("reload", *where, folder=tmp_path)
        assert done.stdout == "applied: fileReservedTime\nat the next start: maxMessageSize\n", done.stderr
        (tmp_path / "broker.conf").write_text(f"storePathRootDir={tmp_path / 'store'}\nfileReservedTime=no\n")
        bad = run_command("reload", "broker", "--data-dir", str(tmp_path / "store"), folder=tmp_path)
        assert (bad.returncode, "fileReservedTime" in bad.stderr) == (BAD_CONFIGURATION, True)
        with wire.Wire(broker.address) as peer:
            assert peer.request(30, {"topic": "T", "queueId": "0"}).code == 0
            done = run_command("stop", "broker", "--data-dir", str(tmp_path / "store"), folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "(1 client, 0 finished requests)" in done.stdout
        assert broker.stop() == 0
    assert not (tmp_path / "store" / "broker.pid").exists()


def test_mqshutdown(server: ServerProcess) -> None:
    program = "from cosmodrome.cli import mqshutdown; mqshutdown()"
    done = subprocess.run(
        [COMMAND[0], "-c", program, "namesrv"],
        env=server_environment(server.folder) | {"COSMODROME_DATA_DIR": str(server.folder / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert server.wait_ended() == 0


def test_over_http_a_page_cannot_stop_anything(server: ServerProcess) -> None:
    asked = urllib.request.Request(
        f"http://{http_of(server)}/api/v1/stop",
        b"{}",
        {"Content-Type": "application/json", "Origin": "http://evil.example"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(asked, timeout=30)  # noqa: S310  # our own address
    caught.value.close()
    assert caught.value.code == 403
    assert server.is_alive


def _has_pending(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("ShdPnd:", "SigPnd:"))]
    return any(mask & 1 << number - 1 for mask in masks)
