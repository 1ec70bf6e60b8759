"""Field cases about the process among others: its log, its end, its rights, the files that it leaves.

Scaled: an hour of load, or a day's, is some thousand requests with every one of them logged, and log files of 64 KiB.
"""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.bare_server import announced, program
from tests.support.field import Names
from tests.support.peer import MASTER, SUCCESS, SYSTEM_ERROR, Peer, numbered, topics_named
from tests.support.process_figures import memory_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import STOP_S, ServerProcess, run_command
from tests.support.standing_rule import StandingRule
from tests.support.waiting import wait_until

MIB: Final = 1024 * 1024
LOG_BYTES: Final = 64 * 1024
BIND_FAILED: Final = 71
BAD_CONFIG: Final = 78
SOME_USER: Final = 54_321
"""An id that no user of this machine has."""
BOOT: Final = "The Name Server boot success."


def misses(address: str, names: Names, count: int) -> None:
    """Have so many lines logged: each is about another topic that does not exist."""
    with Peer(address, 30) as peer:
        for topic in numbered(names(f"missing-{time.monotonic_ns()}-"), count):
            assert peer.route(topic) is None


def assert_serves(address: str, names: Names) -> None:
    broker = names.broker()
    with Peer(address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
        peer.unreg(broker)


def events_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class TestLogF126:
    """Where lines go, and that nothing about them can hold up the server."""

    def test_F126_a_path_is_obeyed_for_all_lines(self, tmp_path: Path, names: Names) -> None:
        """Of start, work and end, of events and of libraries; standard error says only where they are."""
        file = tmp_path / "logs" / "namesrv.log"
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "namesrv.properties").write_text("defaultThreadPoolNums=3\n")
        with ServerProcess(tmp_path, "--set", f"logFile={file}", "-v", "--banner") as server:
            misses(server.address, names, 3)
            server.signal(signal.SIGHUP)
            wait_until(lambda: "config.reloaded" in file.read_text(), "the reload", 10)
        seen = {event["event"] for event in events_in(file)}
        assert {"server.started", "server.ready", "route.missed", "config.reloaded", "server.stopped"} <= seen
        assert {"config", "config.reading", "log.to_file"} <= seen
        lines = [json.loads(line) for line in server.stderr.splitlines() if line.startswith("{")]
        assert [line["event"] for line in lines] == ["log.to_file"]
        assert lines[0]["path"] == str(file)
        assert re.search(rf"^  log +{re.escape(str(file))}", server.stderr, re.MULTILINE)

    def test_F126_the_start_shows_that_lines_go_to_standard_error(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path, "--banner") as server:
            pass
        assert re.search(r"^  log +standard error", server.stderr, re.MULTILINE)
        assert not list(tmp_path.rglob("*.log*"))

    def test_F126_a_day_of_traffic_stays_within_the_bound(self, tmp_path: Path, names: Names) -> None:
        file = tmp_path / "namesrv.log"
        config = {"logFile": file, "logFileMaxBytes": LOG_BYTES, "logFileBackups": 2}
        with ServerProcess(tmp_path, "-v", config=config) as server:
            rule = StandingRule(server)
            with Peer(server.address, 30) as peer:
                for number in range(1500):
                    peer.registered(names.broker(f"b-{number}"), topics_named(names("T"), names("U")))
                    peer.unreg(names.broker(f"b-{number}"))
            rule.check()
        files = sorted(tmp_path.glob("namesrv.log*"))
        assert [each.name for each in files] == ["namesrv.log", "namesrv.log.1", "namesrv.log.2"]
        assert all(0 < each.stat().st_size <= LOG_BYTES for each in files)
        assert all(event["time"] for each in files for event in events_in(each)), "whole lines only"
        assert events_in(file)[-1]["event"] == "server.stopped"

    @pytest.mark.parametrize("stream", ["stdout", "both"])
    def test_F126_a_reader_that_does_not_read_holds_up_nothing(self, tmp_path: Path, names: Names, stream: str) -> None:
        """A pipe of 64 KiB that is full already, or soon: a stopped `less`, a stuck log collector."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        streams = {name: writer if stream in (name, "both") else subprocess.DEVNULL for name in ("stdout", "stderr")}
        with announced(tmp_path, "-v", **streams) as (child, address):
            before = memory_of(child.pid)
            with Peer(address, 30) as peer:
                for number in range(1500):
                    peer.registered(names.broker(f"b-{number}"), topics_named(names("T"), names("U")))
                    peer.unreg(names.broker(f"b-{number}"))
            assert_serves(address, names)
            assert memory_of(child.pid) < before + 24 * MIB
            child.terminate()
            assert child.wait(STOP_S) == 0
        os.close(writer)
        os.close(reader)

    def test_F126_what_nobody_read_in_time_is_counted(self, tmp_path: Path, names: Names) -> None:
        reader, writer = os.pipe()
        with announced(tmp_path, "-v", stdout=subprocess.DEVNULL, stderr=writer) as (child, address):
            os.close(writer)
            with Peer(address, 60) as peer:
                for broker in (names.broker(f"b-{number}".ljust(500, "x")) for number in range(900)):
                    peer.registered(broker, topics_named(names("T"), names("U")))
                    peer.unreg(broker)
            received = bytearray()
            reading = threading.Thread(target=lambda: _read_all(reader, received))
            reading.start()
            wait_until(lambda: b"log.dropped" in received, "the count", 20)
            child.terminate()
            assert child.wait(STOP_S) == 0
        reading.join(STOP_S)
        events = [json.loads(line) for line in received.decode().splitlines()]
        dropped = sum(event["lines"] for event in events if event["event"] == "log.dropped")
        registered = sum(event["event"] == "broker.registered" for event in events)
        assert registered < 900 < registered + dropped
        assert events[-1]["event"] == "server.stopped"

    def test_F126_a_full_disk_loses_lines_and_nothing_else(self, tmp_path: Path, names: Names) -> None:
        """As seen by a process: a write fails. Lines go to standard error meanwhile, and to the file when there is room."""
        file = tmp_path / "namesrv.log"
        with ServerProcess(tmp_path, "--set", f"logFile={file}") as server:
            rule = StandingRule(server)
            misses(server.address, names, 2)
            wait_until(lambda: "route.missed" in file.read_text(), "lines in the file", 10)
            _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (file.stat().st_size, hard))
            misses(server.address, names, 2)
            line = wait_for_line(server, event="log.diverted")
            assert line["path"] == str(file)
            wait_for_line(server, event="route.missed")
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))
            size = file.stat().st_size
            misses(server.address, names, 2)
            wait_until(lambda: file.stat().st_size > size, "lines in the file again", 10)
            rule.check()
        assert events_in(file)[-1]["event"] == "server.stopped"

    @pytest.mark.parametrize("path", ["/dev/full", "/proc/nobody/namesrv.log"])
    def test_F126_a_log_file_that_cannot_be_written_prevents_nothing(
        self, tmp_path: Path, names: Names, path: str
    ) -> None:
        with ServerProcess(tmp_path, "--set", f"logFile={path}") as server:
            line = wait_for_line(server, event="log.diverted")
            assert line["path"] == path
            assert_serves(server.address, names)
        assert "server.started" in server.stderr
        assert "server.stopped" in server.stderr

    def test_F126_full_standard_streams_prevent_nothing(self, tmp_path: Path, names: Names) -> None:
        with Path("/dev/full").open("wb") as full, announced(tmp_path, "-v", stdout=full, stderr=full) as (child, at):
            assert_serves(at, names)
            child.terminate()
            assert child.wait(STOP_S) == 0

    def test_F126_a_log_file_that_is_taken_away_is_begun_anew(self, tmp_path: Path, names: Names) -> None:
        """By hand, or by a log rotator that knows nothing of ours."""
        file = tmp_path / "namesrv.log"
        with ServerProcess(tmp_path, "--set", f"logFile={file}") as server:
            wait_until(lambda: "server.ready" in file.read_text(), "the first lines", 10)
            for away in (file.unlink, lambda: file.rename(tmp_path / "moved.log")):
                away()
                misses(server.address, names, 2)
                wait_until(lambda: file.exists() and "route.missed" in file.read_text(), "a new file", 10)


def _read_all(descriptor: int, received: bytearray) -> None:
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while data := file.read(65536):
            received += data


class TestEndF128:
    """What ends the process and what must not; its last words."""

    def test_F128_a_killed_process_is_noted_by_the_next(self, tmp_path: Path) -> None:
        server = ServerProcess(tmp_path)
        server.start()
        server.wait_ready()
        killed = server.pid
        wait_until((tmp_path / "data" / "namesrv.pid").exists, "the pid file", 10)
        server.kill()
        with ServerProcess(tmp_path) as after:
            line = wait_for_line(after, event="server.unclean_end")
            assert (line["previous_pid"], line["level"]) == (str(killed), "WARN")
        with ServerProcess(tmp_path) as again:
            wait_for_line(again, event="server.ready")
        assert "unclean" not in again.stderr
        assert not (tmp_path / "data" / "namesrv.pid").exists()

    def test_F128_two_that_run_are_no_unclean_end(self, tmp_path: Path) -> None:
        flags = ("--set", f"pidFile={tmp_path / 'pid'}")
        with ServerProcess(tmp_path / "a", *flags) as first:
            result = run_command(
                "namesrv", "--listenPort", "0", "--bindAddress", "127.0.0.1", "--data-dir", str(tmp_path / "b"), *flags,
                folder=tmp_path,
            )  # fmt: skip
            assert result.returncode == BIND_FAILED
            assert str(first.pid) in result.stderr
            assert (tmp_path / "pid").read_text() == f"{first.pid}\n"
            assert first.is_alive

    def test_F128_a_closed_terminal_does_not_end_it(self, tmp_path: Path, names: Names) -> None:
        """It is the terminal's foreground process, gets a hangup, and cannot write to it any more."""
        main_end, terminal = pty.openpty()
        with announced(
            tmp_path, "-v", stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=partial_of(own_terminal, terminal)
        ) as (child, address):  # fmt: skip
            os.close(terminal)
            assert_serves(address, names)
            os.close(main_end)
            wait_until(lambda: child.poll() is not None or _has_hung_up(child.pid), "the hangup", 10)
            misses(address, names, 50)
            assert_serves(address, names)
            child.terminate()
            assert child.wait(STOP_S) == 0

    @pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE], ids=str)
    def test_F128_signals_that_do_not_end_it(self, tmp_path: Path, names: Names, number: signal.Signals) -> None:
        with ServerProcess(tmp_path) as server:
            rule = StandingRule(server)
            for _ in range(50):
                server.signal(number)
            assert_serves(server.address, names)
            if number is not signal.SIGPIPE:
                server.wait_for_stderr(number.name)
            rule.check()

    @pytest.mark.parametrize("lost", ["nothing", "log", "log and streams"])
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=str)
    def test_F128_the_last_line_has_the_reason(self, tmp_path: Path, number: signal.Signals, lost: str) -> None:
        """In the log that was asked for; the exit code is 0, even if none of it could be written."""
        file = tmp_path / "namesrv.log"
        path = file if lost == "nothing" else Path("/dev/full")
        with Path("/dev/full").open("wb") as full, (tmp_path / "err").open("wb") as err:
            streams = {"stdout": full, "stderr": full if lost == "log and streams" else err}
            with announced(tmp_path, "--set", f"logFile={path}", **streams) as (child, _):
                child.send_signal(number)
                assert child.wait(STOP_S) == 0
        if lost != "log and streams":
            last = events_in(file if lost == "nothing" else tmp_path / "err")[-1]
            assert (last["event"], last["reason"]) == ("server.stopped", number.name)

    @pytest.mark.parametrize(
        ("flags", "code"),
        [
            (("--bindAddress", "192.0.2.1"), BIND_FAILED),
            (("--set", "tls.server.certPath=/proc/nobody", "--set", "tls.server.keyPath=/proc/nobody",
              "--set", "tls.test.mode.enable=false"), BAD_CONFIG),
            (("--set", "pidFile=/proc/nobody/pid"), BIND_FAILED),
        ],
    )  # fmt: skip
    def test_F128_a_start_that_fails_says_so_in_both_places(
        self, tmp_path: Path, flags: tuple[str, ...], code: int
    ) -> None:
        file = tmp_path / "namesrv.log"
        usual = ("--listenPort", "0", "--data-dir", str(tmp_path / "data"), "--set", f"logFile={file}")
        bound = () if "--bindAddress" in flags else ("--bindAddress", "127.0.0.1")
        result = run_command("namesrv", *usual, *bound, *flags, folder=tmp_path)
        assert result.returncode == code, result.stderr
        assert "error[NS-" in result.stderr
        last = events_in(file)[-1]
        assert (last["event"], last["exit_code"], last["level"]) == ("server.failed", code, "ERROR")

    def test_F128_an_error_that_nobody_reads_ends_it_all_the_same(self, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        with program(tmp_path, "--set", "noSuchKey=1", stdout=writer, stderr=writer) as child:
            assert child.wait(STOP_S) == BAD_CONFIG
        os.close(writer)
        os.close(reader)

    def test_F128_without_memory_it_refuses_and_goes_on(self, tmp_path: Path, names: Names) -> None:
        """No room for what a request needs: that request fails, or its connection; with room again all is well."""
        big = topics_named(*numbered(names("big-"), 60_000))
        with ServerProcess(tmp_path) as server:
            rule = StandingRule(server)
            with Peer(server.address, 30) as peer:
                peer.registered(names.broker("small"), topics_named(names("V"), names("W")))
                _, hard = resource.prlimit(server.pid, resource.RLIMIT_AS)
                used = int(Path(f"/proc/{server.pid}/statm").read_text().split()[0]) * resource.getpagesize()
                resource.prlimit(server.pid, resource.RLIMIT_AS, (used + 2 * MIB, hard))
                with contextlib.suppress(OSError, AssertionError), Peer(server.address, 30) as greedy:
                    assert greedy.reg(names.broker("big"), big).code == SYSTEM_ERROR
                assert set(peer.routed(names("V")).brokers) == {names.broker("small").name}
                resource.prlimit(server.pid, resource.RLIMIT_AS, (hard, hard))
                assert_serves(server.address, names)
                peer.unreg(names.broker("small"))
            rule.check()


class TestReloadF128:
    """A hangup reads the configuration again: as a whole, and each key is told."""

    def test_F128_what_can_change_changes_and_the_rest_is_named(self, tmp_path: Path) -> None:
        config = {"enableTopicList": True, "serverSocketBacklog": 100}
        with ServerProcess(tmp_path, config=config) as server:
            file = tmp_path / "start.properties"
            file.write_text("enableTopicList=false\nserverSocketBacklog=200\nlogFileBackups=9\n")
            server.signal(signal.SIGHUP)
            line = wait_for_line(server, event="config.reloaded")
            assert line["applied"] == "enableTopicList"
            assert set(line["restart"].split(",")) == {"serverSocketBacklog", "logFileBackups"}
            with Peer(server.address) as peer:
                assert peer.request(311).remark == "disable"

    def test_F128_a_bad_file_changes_nothing(self, tmp_path: Path) -> None:
        only_when_told = ("--set", "configWatchSeconds=0")
        with ServerProcess(tmp_path, *only_when_told, config={"enableTopicList": True}) as server:
            file = tmp_path / "start.properties"
            file.write_text("enableTopicList=false\nserverChannelMaxIdleTimeSeconds=soon\nnoSuchKey=1\n")
            server.signal(signal.SIGHUP)
            line = wait_for_line(server, event="config.reload_failed")
            assert set(line["refused"].split(",")) == {"serverChannelMaxIdleTimeSeconds", "noSuchKey"}
            assert "start.properties:2" in line["reason"]
            with Peer(server.address) as peer:
                assert peer.request(311).code == SUCCESS
            file.unlink()
            server.signal(signal.SIGHUP)
            wait_until(lambda: server.stderr.count("config.reload_failed") == 2, "the second refusal", 10)
            assert "refused" not in log_lines(server, event="config.reload_failed")[-1], "no key is at fault"
            file.write_text("enableTopicList=false\n")
            server.signal(signal.SIGHUP)
            assert wait_for_line(server, event="config.reloaded")["applied"] == "enableTopicList"

    def test_F128_a_damaged_file_changes_nothing(self, tmp_path: Path) -> None:
        """One that a crash of the machine left empty: its previous version is older than what is in force."""
        with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
            for is_on in (False, True, False):
                assert peer.change_config(enableTopicList=is_on).code == SUCCESS
            (tmp_path / "data" / "namesrv.properties").write_bytes(b"")
            server.signal(signal.SIGHUP)
            assert "damaged" in wait_for_line(server, event="config.reload_failed")["reason"]
            assert peer.request(311).remark == "disable"


def partial_of(function: Callable[[int], None], argument: int) -> Callable[[], None]:
    return lambda: function(argument)


def own_terminal(descriptor: int) -> None:
    """Make a terminal that of this process and its session; called in the child."""
    import fcntl  # noqa: PLC0415  # in the child only
    import termios  # noqa: PLC0415

    os.setsid()
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def _has_hung_up(pid: int) -> bool:
    """Tell whether the process has no terminal any more."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4] == "0"
