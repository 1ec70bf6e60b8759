"""Shadow mode between two real servers: what it reports, and that nobody who asks notices it."""

import itertools
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.process_figures import memory_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Broker, Wire, encode_request, register, split, topic_config

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asks for reports with SIGUSR1")

PUT_KV_CONFIG = 100
ROUTE = 105
A, B = Broker(), Broker(name="broker-b", addr="10.0.0.2:10911", ha_addr="10.0.0.2:10912")
TOPICS = [topic_config("T"), topic_config("U", perm=4), topic_config("unit", sys_flag=3)]
READS: list[tuple[int, dict[str, str | None] | None]] = [
    (101, {"namespace": "n", "key": "k"}),
    (101, {"namespace": "n", "key": "missing"}),
    (ROUTE, {"topic": "T"}),
    (ROUTE, {"topic": "missing"}),
    (106, None),
    (206, None),
    (219, {"namespace": "n"}),
    (219, {"namespace": "missing"}),
    (224, {"cluster": A.cluster}),
    (304, None),
    (311, None),
    (312, None),
    (313, None),
    (901, {"clusterName": A.cluster, "brokerName": A.name}),
]
MANY = 100_000
MAY_GROW_BYTES = 48 * 1024 * 1024
"""The 16 MiB that may wait, as Python objects, and noise."""


class Shadowing:
    """A server with --shadow, and its reports."""

    def __init__(self, folder: Path, other: str, *flags: str) -> None:
        self.path = folder / "shadow.json"
        self.server = ServerProcess(folder, "--shadow", other, "--shadow-report", str(self.path), *flags)

    def report(self) -> Any:
        """Return the report as it is now, written anew."""
        before = self.path.stat().st_mtime_ns
        self.server.signal(signal.SIGUSR1)
        wait_until(lambda: self.path.stat().st_mtime_ns != before, "a new report", 10)
        return json.loads(self.path.read_text(encoding="utf-8"))

    def settled(self) -> Any:
        """Return the report once every read has its outcome."""
        report = self.report()
        while report["pending"]:
            report = wait_until(self.report, "a report", 10)
        return report


@pytest.fixture
def other(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "other") as server:
        yield server


@pytest.fixture
def shadowing(tmp_path: Path, other: ServerProcess) -> Iterator[Shadowing]:
    ours = Shadowing(tmp_path / "ours", other.address)
    with ours.server:
        yield ours


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A listener that takes connections and whatever comes over them, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    """An address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def read_all(wire: Wire) -> None:
    for version, codec in itertools.product((63, 513), ("JSON", "ROCKETMQ")):
        for code, ext in READS:
            wire.request(code, ext, version=version, codec=codec)


def test_servers_that_know_the_same_answer_the_same(shadowing: Shadowing, other: ServerProcess) -> None:
    with Wire(shadowing.server.address) as ours, Wire(other.address) as theirs:
        for wire, brokers in ((ours, (A, B)), (theirs, (B, A))):
            for broker in brokers:
                register(wire, broker, TOPICS)
            wire.request(PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})
        read_all(ours)
        report = shadowing.settled()

    assert report["differences"] == []
    assert report["same"] == report["reads"] == 4 * len(READS)


def test_a_broker_that_only_one_knows_is_a_difference_with_both_answers(
    shadowing: Shadowing, other: ServerProcess
) -> None:
    with Wire(shadowing.server.address) as ours, Wire(other.address) as theirs:
        for broker, wires in ((A, (ours, theirs)), (B, (ours,))):
            for wire in wires:
                register(wire, broker, TOPICS)
        ours.request(ROUTE, {"topic": "T"})
        ours.request(ROUTE, {"topic": "T"})
        report = shadowing.settled()

    assert (report["same"], report["different"]) == (0, 2)
    (found,) = report["differences"]
    assert (found["code"], found["question"]) == (ROUTE, "topic=T")
    assert [each["where"] for each in found["differences"]] == [
        "body.brokerDatas[broker-b]",
        "body.queueDatas[broker-b]",
    ]
    assert {each["brokerName"] for each in found["ours"]["body"]["brokerDatas"]} == {"broker-a", "broker-b"}
    assert {each["brokerName"] for each in found["theirs"]["body"]["brokerDatas"]} == {"broker-a"}
    line = wait_for_line(shadowing.server, event="shadow.difference")
    assert (line["level"], line["code"], line["question"]) == ("WARN", ROUTE, "topic=T")


def test_a_broker_that_registers_a_moment_later_is_none(shadowing: Shadowing, other: ServerProcess) -> None:
    with Wire(shadowing.server.address) as ours, Wire(other.address) as theirs:
        register(ours, A, TOPICS)
        ours.request(ROUTE, {"topic": "T"})
        wait_for_line(other, event="route.missed", topic="T")
        register(theirs, A, TOPICS)
        report = shadowing.settled()

    assert (report["same"], report["different"]) == (1, 0)


def test_two_servers_that_shadow_each_other_do_not_ask_for_ever(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    one = Shadowing(tmp_path / "one", f"127.0.0.1:{port}")
    with one.server:
        two = Shadowing(tmp_path / "two", one.server.address, "--listenPort", str(port))
        with two.server:
            with Wire(one.server.address) as wire:
                read_all(wire)
            assert one.settled()["same"] == 4 * len(READS)
            assert two.report()["reads"] == 0


def test_the_end_leaves_a_summary_in_the_log_and_in_the_file(shadowing: Shadowing) -> None:
    with Wire(shadowing.server.address) as wire:
        read_all(wire)
    shadowing.settled()

    assert shadowing.server.stop() == 0

    report = json.loads(shadowing.path.read_text(encoding="utf-8"))
    (line,) = log_lines(shadowing.server, event="shadow.summary")
    for name in ("other", "reads", "same", "different", "dropped", "failed"):
        assert line[name] == report[name]
    assert report["pending"] == 0


@pytest.mark.parametrize("kind", ["nobody", "black_hole", "suspended"])
def test_the_other_server_s_troubles_are_not_ours(
    tmp_path: Path, kind: str, other: ServerProcess, request: pytest.FixtureRequest
) -> None:
    """Answers come as quickly as from a server that shadows nobody."""
    with Wire(other.address) as wire:
        register(wire, A, TOPICS)
        quiet_s = quiet_p99_s(other.address, "T")
    address = other.address if kind == "suspended" else request.getfixturevalue(kind)
    ours = Shadowing(tmp_path / "ours", address)
    with ours.server, Wire(ours.server.address) as wire:
        register(wire, A, TOPICS)
        other.signal(signal.SIGSTOP)
        try:
            with RouteReader(ours.server.address, "T", lambda brokers: A.name in brokers) as reader:
                wait_until(lambda: ours.report()["failed"] > 0, "a failure", 20)
            report = ours.report()
        finally:
            other.signal(signal.SIGCONT)
        assert_not_slowed(reader.p99_s, quiet_s)
    assert report["same"] == report["different"] == 0
    assert report["failed"] > 0
    assert report["last_failure"]


def test_a_hundred_thousand_reads_wait_in_bounded_memory(tmp_path: Path, black_hole: str) -> None:
    ours = Shadowing(tmp_path / "ours", black_hole)
    with ours.server, Wire(ours.server.address) as wire:
        topics = [topic_config(f"topic-{number}") for number in range(500)]
        register(wire, A, topics)
        for number in range(500):
            wire.request(ROUTE, {"topic": f"topic-{number}"})
        before = memory_of(ours.server.pid)
        read_many(wire, MANY)
        after = memory_of(ours.server.pid)
        report = ours.report()

    assert report["reads"] == MANY + 500
    assert report["dropped"] > MANY // 2
    assert report["pending"] < 2000
    assert after - before < MAY_GROW_BYTES


def read_many(wire: Wire, count: int, burst: int = 1000) -> None:
    """Ask for routes and other things, many requests at a time, and take all answers."""
    asked = [(ROUTE, {"topic": f"topic-{number}", "note": "x" * 300}) for number in range(400)] + [(206, None)] * 2
    frames = itertools.cycle(encode_request(code, ext, opaque=7) for code, ext in asked)
    for _ in range(count // burst):
        wire._socket.sendall(b"".join(itertools.islice(frames, burst)))
        answers, rest = 0, b""
        while answers < burst:
            found, rest = split(rest + wire._socket.recv(1 << 20))
            answers += len(found)


def test_without_the_flag_there_is_no_shadow(other: ServerProcess) -> None:
    with Wire(other.address) as wire:
        read_all(wire)
    other.stop()

    assert "shadow" not in other.stderr


def test_the_banner_says_that_reads_go_elsewhere_too(tmp_path: Path, nobody: str) -> None:
    ours = Shadowing(tmp_path, nobody, "--banner", "--log-format", "text")
    with ours.server:
        assert f"shadow     {nobody}" in ours.server.wait_for_stderr("Try: ")


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        (["--shadow-report", "f"], 78, "name the other server: --shadow HOST:PORT"),
        (["--shadow", "nonsense"], 78, "must be one address such as"),
        (["--shadow", "127.0.0.1:1", "--shadow-report", os.devnull + "/f"], 71, "cannot write the shadow report"),
    ],
)
def test_a_start_that_cannot_work_says_why(tmp_path: Path, flags: list[str], code: int, text: str) -> None:
    server = ServerProcess(tmp_path, *flags)
    server.start()

    assert server.wait_ended(20) == code
    assert text in server.stderr
