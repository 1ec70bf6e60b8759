"""A process that is told something by its pid file: who is meant, who may, and what it leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosmodrome.errors import AdminError, ConfigError, DeniedError, NoAnswerError, UnreachableError
from cosmodrome.operating import control
from cosmodrome.operating.pid_file import PidFile, addresses_path, outcome_path
from cosmodrome.operating.process import Addresses, RunningProcess

HOLDER = """
import json, signal, sys, time
from pathlib import Path
from cosmodrome.operating.pid_file import PidFile
file = PidFile(Path(sys.argv[1]), is_asked_for=True)
file.take()
def reload(*_):
    file.leave_outcome(json.loads(sys.argv[2]) | {"began_ns": time.monotonic_ns()})
def stop(*_):
    file.release({"clients": 3})
    sys.exit(0)
signal.signal(signal.SIGHUP, reload)
signal.signal(signal.SIGTERM, stop)
print("held", flush=True)
while True:
    signal.pause()
"""
WITHIN_S = 60.0


def never(waited_s: float) -> None:
    assert waited_s < WITHIN_S


def holding(path: Path, outcome: object = None) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), json.dumps(outcome or {})], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pid"


# Named before `monkeypatch`, it is ended after that is undone.
@pytest.fixture
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    child = holding(path, {"applied": ["a"], "restart": ["b"], "refused": [], "reason": ""})
    yield child
    child.kill()
    child.communicate()


def test_it_says_what_became_of_a_reload_and_what_a_stop_met(path: Path, holder: "subprocess.Popen[str]") -> None:
    outcome_path(path).write_text(json.dumps({"began_ns": 1, "applied": ["of an earlier one"]}))

    assert control.reload_process(path, WITHIN_S, never) == control.Reloaded(applied=("a",), needs_restart=("b",))
    stopped = control.stop_process(path, WITHIN_S, never)
    assert (stopped.pid, stopped.figures) == (holder.pid, {"clients": 3})
    assert holder.wait(WITHIN_S) == 0
    assert not path.exists()
    assert not outcome_path(path).exists()


def test_where_it_listens_is_known_from_itself_only(path: Path, holder: "subprocess.Popen[str]") -> None:
    """What a former process left, or anybody wrote, is no address of this one."""
    told = {"pid": holder.pid, "remoting": "127.0.0.1:1", "http": ""}
    with RunningProcess(path) as process:
        assert process.addresses() is None
        for other in ({"pid": holder.pid + 1}, {"remoting": 1}, {"http": None}):
            addresses_path(path).write_text(json.dumps(told | other))
            assert process.addresses() is None
        for garbage in ("", "[1]", "{"):
            addresses_path(path).write_text(garbage)
            assert process.addresses() is None
        addresses_path(path).write_text(json.dumps(told))
        assert process.addresses() == Addresses(remoting="127.0.0.1:1", http="")


def test_what_a_flag_wins_over_is_told_by_key() -> None:
    reloaded = control.Reloaded(applied=(), needs_restart=("a",), overridden={"listenPort": "--listenPort"})

    assert reloaded.text().splitlines()[1:] == ["at the next start: a", "listenPort: overridden by --listenPort"]


def test_a_reload_that_was_refused(path: Path) -> None:
    child = holding(path, {"refused": ["k"], "reason": "k cannot be that."})
    with pytest.raises(ConfigError, match=r"k cannot be that\.") as caught:
        control.reload_process(path, WITHIN_S, never)
    child.kill()
    child.communicate()

    assert caught.value.keys == ("k",)


@pytest.mark.parametrize("outcome", ["garbage", "[]", '{"began_ns": "x"}', '{"began_ns": 5}', "{}"])
def test_what_is_no_outcome_of_this_reload_is_not_taken_for_one(
    path: Path, outcome: str, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.kill", lambda *_: outcome_path(path).write_text(outcome))
    with pytest.raises(NoAnswerError):
        control.reload_process(path, 0.01, lambda _: None)


@pytest.mark.parametrize("content", ["", "0\n", "-1\n", "x\n", "1 2\n", "٣\n"])
def test_a_file_that_names_no_process(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(UnreachableError):
        RunningProcess(path)


def test_who_may_not(path: Path, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.kill", refuse)
    with pytest.raises(DeniedError):
        control.stop_process(path, WITHIN_S, never)

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(DeniedError):
        RunningProcess(path)


def test_one_that_ends_between(path: Path, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise ProcessLookupError

    monkeypatch.setattr("os.kill", gone)
    with pytest.raises(UnreachableError, match="just ended"):
        control.stop_process(path, WITHIN_S, never)


def test_one_that_is_killed_said_no_goodbye(
    path: Path, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = os.kill
    monkeypatch.setattr("os.kill", lambda *_: kill(holder.pid, signal.SIGKILL))
    with pytest.raises(AdminError, match="not in good order"):
        control.stop_process(path, WITHIN_S, never)


def test_where_files_have_no_locks_a_number_in_use_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", without_locks)
    path.write_text(f"{os.getpid()}\n")
    with RunningProcess(path) as process:
        assert process.pid == os.getpid()
    path.write_text("4194999\n")
    with pytest.raises(UnreachableError):
        RunningProcess(path)


def test_an_outcome_that_cannot_be_left_is_no_failure(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = PidFile(path, is_asked_for=True)
    file.leave_outcome({"applied": []})
    assert not outcome_path(path).exists(), "nobody has the file"

    file.take()
    outcome_path(path).mkdir()
    file.leave_outcome({"began_ns": time.monotonic_ns()})
    assert "cannot be written" in caplog.text
    outcome_path(path).rmdir()
    file.release({})


def test_one_is_no_several() -> None:
    def drained(connections: int) -> str:
        return control.Drained(draining=True, since="x", connections=connections).text()

    def stopped(clients: int) -> str:
        return control.Stopped(pid=1, took_s=1, figures={"clients": clients, "finished_requests": 0}).text()

    assert [drained(0).partition("; ")[2], drained(1).partition("; ")[2]] == [
        "0 connections are left",
        "1 connection is left",
    ]
    assert stopped(1).endswith("(1 client, 0 finished requests)")
    assert stopped(2).endswith("(2 clients, 0 finished requests)")
