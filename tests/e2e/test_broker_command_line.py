"""`cosmodrome broker` in a process of its own."""

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.broker_calls import send_fields
from tests.support.server_process import COMMAND, server_environment

WITHIN_S = 30.0
KILLS = 3


@contextmanager
def broker(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a broker with small files in a folder, and give its process and address once it is ready."""
    conf = folder / "broker.conf"
    conf.write_text(
        "brokerClusterName = C\n# a comment\nbrokerName=broker-e2e\nbrokerId=0\nbrokerRole=ASYNC_MASTER\ndeleteWhen=04\n"
        f"listenPort=0\nbindAddress=127.0.0.1\nstorePathRootDir={folder / 'store'}\nmappedFileSizeCommitLog=65536\n"
        "maxHashSlotNum=100\nmaxIndexNum=1000\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [*COMMAND, "broker", "-c", str(conf), *words],
        cwd=folder,
        env=server_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("The broker[broker-e2e, 127.0.0.1:"), process.communicate(timeout=WITHIN_S)
        yield process, line.partition("[")[2].partition("]")[0].split(", ")[1]
    finally:
        process.kill()
        process.communicate(timeout=WITHIN_S)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    return process.wait(WITHIN_S)


def count_of(address: str) -> int:
    with wire.Wire(address) as connection:
        return int((connection.request(30, {"topic": "T", "queueId": "0"}).ext or {})["offset"])


def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with broker(tmp_path) as (process, address):
        with wire.Wire(address) as connection:
            assert connection.request(310, send_fields("T"), b"x").code == 0
        assert ended(process, signal.SIGTERM) == 0
    assert not (tmp_path / "store" / "abort").exists()
    with broker(tmp_path) as (process, address):
        assert count_of(address) == 1
        assert ended(process, signal.SIGINT) == 0


def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    answered = 0
    for _ in range(KILLS):
        with broker(tmp_path) as (process, address):
            assert count_of(address) == answered
            with wire.Wire(address) as connection:
                for _ in range(50):
                    answered += connection.request(310, send_fields("T"), b"x" * 500).code == 0
            ended(process, signal.SIGKILL)
    with broker(tmp_path) as (_, address):
        assert count_of(address) == answered == 50 * KILLS


def test_its_lines_have_names_of_events(tmp_path: Path) -> None:
    """Those of the start say where the store is, and which address is listened on, and which is announced."""
    for how in ("is new", "was opened after a clean stop"):
        words = ["--set", "bindAddress=0.0.0.0", "--set", "brokerIP1=127.0.0.1", "--set", "listenPort=0"]
        with broker(tmp_path, *words) as (process, address):
            process.send_signal(signal.SIGUSR1)
            process.send_signal(signal.SIGHUP)
            lines = []
            assert process.stderr is not None
            for line in process.stderr:
                lines.append(json.loads(line))
                if lines[-1]["event"] == "config.reloaded" and "overridden" in lines[-1]["message"]:
                    break
            process.send_signal(signal.SIGTERM)
            lines += map(json.loads, process.stderr)
            assert process.wait(WITHIN_S) == 0
        messages = {line["event"]: line["message"] for line in lines}
        assert messages.keys() >= {
            "store.opened", "broker.started", "server.exposed", "signal.ignored", "config.reading", "config.reloaded",
            "broker.stopping", "broker.stopped",
        }  # fmt: skip
        assert not messages.keys() & {"life", "running", "signals", "serve", "master", "recovery"}
        port = address.rpartition(":")[2]
        expected = f"broker broker-e2e listens on 0.0.0.0:{port}, and is announced as 127.0.0.1:{port}"
        assert messages["broker.started"] == expected
        assert messages["config.reloaded"].endswith("overridden: bindAddress by --set")
        assert messages["store.opened"].startswith(f"the store {tmp_path / 'store'} {how}")


@pytest.mark.parametrize("setting", ["flushDiskType=MAYBE", "duplicationEnable=true", "brokerRole=SLAVE", "brokerId=1"])
def test_what_it_cannot_do_is_refused(tmp_path: Path, setting: str) -> None:
    done = subprocess.run(
        [*COMMAND, "broker", "--set", setting],
        cwd=tmp_path,
        env=server_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 78
    assert setting.partition("=")[0] in done.stderr


def quick(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `cosmodrome broker` with words that end it at once."""
    return subprocess.run(
        [*COMMAND, "broker", *words],
        cwd=folder,
        env=server_environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )


def test_settings_are_checked_and_printed(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("fileReservedTime=48\ninitAuthenticationUser={}\n", encoding="utf-8")
    done = quick(tmp_path, "-c", str(conf), "--check-config")
    assert (done.returncode, "initAuthenticationUser cannot be used" in done.stderr) == (78, True)
    conf.write_text("fileReservedTime=48\ntls.server.keyPassword=hidden\n", encoding="utf-8")
    done = quick(tmp_path, "-c", str(conf), "--check-config")
    assert (done.returncode, done.stdout) == (0, f"configuration OK: {conf}\n")
    done = quick(tmp_path, "-c", str(conf), "-p")
    assert "fileReservedTime=48\n" in done.stdout
    assert "tls.server.keyPassword=******\n" in done.stdout
    assert not (tmp_path / "store").exists()


def test_a_hangup_reads_settings_again_and_a_request_keeps_one(tmp_path: Path) -> None:
    with broker(tmp_path, "--log-level", "info", "--pid-file", str(tmp_path / "pid")) as (process, address):
        assert (tmp_path / "pid").read_text("utf-8").strip() == str(process.pid)
        conf = tmp_path / "broker.conf"
        with wire.Wire(address) as connection:
            assert connection.request(25, {}, b"rejectTransactionMessage=true\n").code == 0
            text = conf.read_text("utf-8")
            assert text.endswith("rejectTransactionMessage=true\n")
            assert "# a comment\n" in text
            assert connection.request(310, send_fields("T", TRAN_MSG="true", PGROUP="p"), b"x").code == 16
            conf.write_text(text.replace("rejectTransactionMessage=true", "rejectTransactionMessage=false"), "utf-8")
            process.send_signal(signal.SIGHUP)
            assert process.stderr is not None
            for line in process.stderr:
                if "settings read again" in line:
                    break
            assert "rejectTransactionMessage" in line
            assert connection.request(310, send_fields("T", TRAN_MSG="true", PGROUP="p"), b"x").code == 0
        assert ended(process, signal.SIGTERM) == 0
        assert not (tmp_path / "pid").exists()


def test_a_stop_answers_what_waits(tmp_path: Path) -> None:
    with broker(tmp_path) as (process, address), wire.Wire(address) as connection:
        assert connection.request(310, send_fields("T"), b"x").code == 0
        pull = {
            "consumerGroup": "g", "topic": "T", "queueId": "0", "queueOffset": "1", "maxMsgNums": "32", "sysFlag": "6",
            "commitOffset": "0", "suspendTimeoutMillis": "60000", "subVersion": "0", "subscription": "*",
        }  # fmt: skip
        connection.send(wire.encode_request(11, {**pull}, opaque=77))
        assert connection.request(30, {"topic": "T", "queueId": "0"}).code == 0
        process.send_signal(signal.SIGTERM)
        assert connection.answer_to(77).code == 19
        assert process.wait(WITHIN_S) == 0


def test_mqbroker_takes_javas_flags(tmp_path: Path) -> None:
    program = "import sys; from cosmodrome.cli import mqbroker; sys.argv[0] = 'mqbroker'; mqbroker()"
    for words, expected in (
        (["-h"], "Usage: mqbroker"),
        (["-p"], "brokerClusterName=DefaultCluster"),
        (["-m"], "listenPort=10911"),
        (["-p", "-n", "127.0.0.1:9876", "autoCreateTopicEnable=true"], "namesrvAddr=127.0.0.1:9876"),
    ):
        done = subprocess.run(
            [COMMAND[0], "-c", program, *words],
            cwd=tmp_path,
            env=server_environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout


def test_probes_metrics_and_the_audit_log(tmp_path: Path) -> None:
    with broker(tmp_path, "--http", "127.0.0.1:0", "--log-format", "text") as (process, address):
        assert process.stdout is not None
        line = process.stdout.readline()
        http = line.strip().removeprefix("http://").partition("/")[0]
        with urllib.request.urlopen(f"http://{http}/readyz", timeout=WITHIN_S) as answer:
            assert answer.read() == b"ok\n"
        with wire.Wire(address) as connection:
            assert connection.request(310, send_fields("T"), b"x").code == 0
            assert connection.request(25, {}, b"fileReservedTime=48\n").code == 0
        with urllib.request.urlopen(f"http://{http}/metrics", timeout=WITHIN_S) as answer:
            text = answer.read().decode()
        assert 'rocketmq_messages_in_total{cluster="C",node_type="broker",node_id="broker-e2e",topic="T"' in text
        assert ended(process, signal.SIGTERM) == 0
    (line,) = (tmp_path / "store" / "audit.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["after"] == {"fileReservedTime": "48"}
