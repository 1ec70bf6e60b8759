"""`cosmodrome capture`, `replay` and `decode` as a person uses them."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.admin_tool import Tool
from tests.support.peer import Peer
from tests.support.server_process import ServerProcess, server_environment

from cosmodrome.protocol.command import encode_command, request

FRAME = encode_command(request(105, {"topic": "Orders"}, opaque=7))


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server")) as process:
        yield process


def test_capture_decode_replay(tmp_path: Path, tool: Tool, server: ServerProcess) -> None:
    file = tmp_path / "frames.jsonl"
    command = [sys.executable, "-m", "cosmodrome", "capture", "-n", server.address, "--out", str(file)]
    with subprocess.Popen(
        command, env=server_environment(tmp_path), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as capture:
        assert capture.stderr is not None
        first = capture.stderr.readline()
        found = re.fullmatch(rf"recording on (\S+), for {re.escape(server.address)}\n", first)
        assert found is not None, first
        with Peer(found[1]) as peer:
            assert peer.ask_route("Orders").code == 17
            assert peer.topics() == []
        capture.send_signal(signal.SIGTERM)
        assert capture.stderr.read() == f"4 frames recorded in {file}\n"
    assert capture.returncode == 0

    shown = tool.cosmodrome("decode", str(file))
    assert shown.code == 0, shown.err
    assert "105 GET_ROUTEINFO_BY_TOPIC" in shown.out
    assert "to GET_ROUTEINFO_BY_TOPIC" in shown.out
    assert "topic=Orders" in shown.out

    rows = [json.loads(line) for line in tool.cosmodrome("decode", "-o", "ndjson", str(file)).out.splitlines()]
    assert [(row["kind"], row["code"]) for row in rows] == [
        ("request", 105),
        ("answer", 17),
        ("request", 206),
        ("answer", 0),
    ]

    again = tool.cosmodrome("replay", str(file), "-n", server.address)
    assert (again.code, again.out) == (0, "2 requests, 2 answered as recorded, 0 not\n"), again.err
    with Peer(server.address) as peer:
        peer.put_kv("ORDER_TOPIC_CONFIG", "k", "v")
    assert tool.cosmodrome("capture", "-n", server.address, "--out", str(file)).code == 71, "it does not overwrite"


def test_replay_ends_with_1_when_something_differs(tmp_path: Path, tool: Tool, server: ServerProcess) -> None:
    file = tmp_path / "frames.jsonl"
    golden = Path(__file__).resolve().parents[1] / "golden" / "frames" / "client-go-ns-5.5.0.jsonl"
    file.write_bytes(golden.read_bytes())
    done = tool.cosmodrome("replay", str(file), "-n", server.address, "--reads-only", "-o", "json")
    found = json.loads(done.out)
    assert done.code == 1
    assert found["differing"] == sum(not each["same"] for each in found["requests"]) > 0
    assert all(each["differences"] for each in found["requests"] if not each["same"])


def test_decode_takes_digits_and_standard_input(tmp_path: Path, tool: Tool) -> None:
    assert "105 GET_ROUTEINFO_BY_TOPIC" in tool.cosmodrome("decode", FRAME.hex()).out
    for given in (FRAME, FRAME.hex().encode()):
        done = subprocess.run(
            [sys.executable, "-m", "cosmodrome", "decode", "-"],
            env=server_environment(tmp_path), input=given, capture_output=True, check=True,
        )  # fmt: skip
        assert b"topic=Orders" in done.stdout


@pytest.mark.parametrize("what", ["no-such-file", "00000003", FRAME.hex()[:-2]])
def test_decode_says_what_cannot_be_read(tool: Tool, what: str) -> None:
    done = tool.cosmodrome("decode", what)
    assert (done.code, done.out) == (65, "")
    assert "error[NS-RECORDING]" in done.err


def test_replay_of_nothing_and_of_no_server(tmp_path: Path, tool: Tool) -> None:
    (tmp_path / "a").write_bytes(FRAME)
    assert tool.cosmodrome("replay", "a", "--code", "206").code == 2
    assert tool.cosmodrome("replay", "a", "-n", "127.0.0.1:9,127.0.0.1:8").code == 2
    assert tool.cosmodrome("replay", "a", "-n", "127.0.0.1:1").code == 1
