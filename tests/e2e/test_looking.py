"""`cosmodrome history`, `misses` and `clients` as a person types them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.admin_tool import Tool
from tests.support.peer import Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.wire import Broker

A = Broker(name="broker-a", cluster="C", id=0, addr="10.0.0.5:10911")


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    with (
        ServerProcess(tmp_path_factory.mktemp("server"), config={"http": "127.0.0.1:0"}) as process,
        Peer(process.address) as peer,
    ):
        peer.registered(A, topics_named("orders", "payments"))
        for topic in ("order", "order", "paymets"):
            assert peer.route(topic) is None
        assert peer.wipe("broker-a") == 2
        yield ("--http", str(wait_for_line(process, event="http.listening")["address"]))


def test_history_of_all_of_a_broker_and_of_a_topic(where: tuple[str, ...], tmp_path: Path) -> None:
    tool = Tool(tmp_path)
    names = [row["event"] for row in tool.cosmodrome("history", "-o", "ndjson", *where).rows]
    assert names.index("broker.registered") < names.index("perm.wiped")
    done = tool.cosmodrome("history", "broker-a", *where)
    assert (done.code, done.err) == (0, "")
    assert {line.split()[2] for line in done.out.splitlines()} == {"broker.registered", "topic.added", "perm.wiped"}
    assert [row["event"] for row in tool.cosmodrome("history", "order", "-o", "ndjson", *where).rows] == [
        "route.missed"
    ]
    assert tool.cosmodrome("history", "nobody", "-o", "json", *where).json == {"is_whole": True, "events": []}
    assert len(tool.cosmodrome("history", "--limit", "1", *where).out.splitlines()) == 1


def test_misses_most_asked_first(where: tuple[str, ...], tmp_path: Path) -> None:
    tool = Tool(tmp_path)
    lines = tool.cosmodrome("misses", *where).out.splitlines()
    assert [line.split()[:2] for line in lines] == [["#Topic", "#Count"], ["order", "2"], ["paymets", "1"]]
    assert lines[1].endswith("127.0.0.1 (2)")
    found = tool.cosmodrome("misses", "--prefix", "pay", "-o", "json", *where).json
    assert ([each["topic"] for each in found["misses"]], found["total"]) == (["paymets"], 3)
    assert len(tool.cosmodrome("misses", "--limit", "1", "-o", "ndjson", *where).rows) == 1


def test_clients(where: tuple[str, ...], tmp_path: Path) -> None:
    found = Tool(tmp_path).cosmodrome("clients", "-o", "json", *where).json
    assert [(each["role"], each["connections"]) for each in found["clients"]] == [("broker", 1)]
    assert Tool(tmp_path).cosmodrome("clients", *where).out.splitlines()[0].split()[0] == "#Role"


@pytest.mark.parametrize("command", ["history", "misses", "clients"])
def test_nobody_there(command: str, tmp_path: Path) -> None:
    done = Tool(tmp_path).cosmodrome(command, "--http", "127.0.0.1:1")
    assert (done.code, done.out) == (69, "")
    assert "error[NS-UNREACHABLE]" in done.err
