"""`cosmodrome why`, `capture` and `replay` of Apache's NameServers, which know only the wire protocol."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V4_9, V5_5
from tests.support.admin_tool import Tool
from tests.support.peer import Peer, topics_named
from tests.support.server_process import server_environment
from tests.support.wire import Broker

A = Broker(name="broker-a", cluster="C", id=0, addr="127.0.0.1:10911")
SLAVE = Broker(name="broker-b", cluster="C", id=1, addr="127.0.0.1:10921")


@contextmanager
def captured(address: str, file: Path, folder: Path) -> Iterator[str]:
    """Record what passes to a server; give where to connect to instead."""
    command = [sys.executable, "-m", "cosmodrome", "capture", "-n", address, "--out", str(file)]
    with subprocess.Popen(command, env=server_environment(folder), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.match(r"recording on (\S+),", process.stderr.readline())
        assert found is not None
        try:
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.stderr.read().endswith(f"recorded in {file}\n")
    assert process.returncode == 0


@pytest.mark.parametrize("release", [V5_5, pytest.param(V4_9, marks=pytest.mark.full)])
def test_apaches_name_server_is_explained_recorded_and_asked_again(
    new_stage: StageMaker, tmp_path: Path, release: str
) -> None:
    tool = Tool(tmp_path)
    file = tmp_path / "frames.jsonl"
    with new_stage(f"why-{release}") as stage:
        apache, ours = stage.started_name_server(release), stage.name_server()
        with captured(apache.address, file, tmp_path) as address, Peer(address) as peer:
            peer.registered(A, topics_named("orders", "payments"))
            peer.registered(SLAVE, topics_named("left", "behind"))
            assert peer.route("orders") is not None
            assert peer.route("nothing") is None

            def said(*words: str) -> tuple[int, str]:
                done = tool.cosmodrome("why", *words, "-n", apache.address, "-o", "json")
                return done.code, json.loads(done.out)["situation"]

            assert said("orders") == (0, "routed")
            assert said("order") == (66, "misspelt")
            # 4.9 knows no routes of brokers without a master.
            assert said("left") == ((1, "no_master") if release == V5_5 else (66, "unknown"))
            assert said("--broker", "broker-a") == (0, "alive")
            assert said("--broker", "broker-b") == (1, "no_master")
            assert said("--broker", "nobody") == (66, "unknown")
            done = tool.cosmodrome("why", "orders", "-n", f"{ours.address},{apache.address}")
            assert f"other NameServers have it: {apache.address}" in done.out
            # The same requests again find the same brokers: at Apache's server, and then at ours.
            for server in (apache, ours) if release == V5_5 else (apache,):
                again = tool.cosmodrome("replay", str(file), "-n", server.address, "-o", "json").json
                assert [each["differences"] for each in again["requests"] if not each["same"]] == [], server.address
        assert "103 REGISTER_BROKER" in tool.cosmodrome("decode", str(file)).out
