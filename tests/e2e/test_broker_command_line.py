"""`cosmodrome broker` in a process of its own."""

import signal
import subprocess
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


@pytest.mark.parametrize(
    "setting", ["flushDiskType=MAYBE", "enablePropertyFilter=true", "brokerRole=SLAVE", "brokerId=1"]
)
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
