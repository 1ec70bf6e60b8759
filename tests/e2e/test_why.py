"""`cosmodrome why` as a person types it, of a server of ours and of one that tells only the present."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.admin_tool import Tool
from tests.support.peer import Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.wire import Broker

A = Broker(name="broker-a", cluster="C", id=0, addr="10.0.0.5:10911")


@pytest.fixture(scope="module", params=["127.0.0.1:0", "off"])
def where(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Give the flags that name a server with HTTP, and one without."""
    with (
        ServerProcess(tmp_path_factory.mktemp("server"), config={"http": request.param}) as process,
        Peer(process.address) as peer,
    ):
        peer.registered(A, topics_named("order-events", "payments"))
        flags: tuple[str, ...] = ("-n", process.address)
        if request.param != "off":
            flags += ("--http", str(wait_for_line(process, event="http.listening")["address"]))
        yield flags


def test_a_misspelt_topic(where: tuple[str, ...], tmp_path: Path) -> None:
    done = Tool(tmp_path).cosmodrome("why", "order-event", *where)
    assert (done.code, done.err) == (66, "")
    lines = done.out.splitlines()
    assert lines[0] == f"order-event has no route on {where[1]}."
    assert "  ? similar: order-events" in lines
    assert lines[-2] == "Most likely: a misspelt topic. Next: fix the client, or create it:"
    assert lines[-1] == f"  cosmodrome admin updateTopic -n {where[1]} -c DefaultCluster -t order-event"


def test_what_is_well_ends_with_0(where: tuple[str, ...], tmp_path: Path) -> None:
    for words in (("payments",), ("--broker", "broker-a")):
        done = Tool(tmp_path).cosmodrome("why", *words, "-o", "json", *where)
        assert (done.code, done.json["is_well"]) == (0, True)


def test_bad_words(tmp_path: Path) -> None:
    tool = Tool(tmp_path)
    assert tool.cosmodrome("why").code == 2
    assert tool.cosmodrome("why", "T", "--broker", "b").code == 2
    assert tool.cosmodrome("why", "T", "--http", "127.0.0.1:1").code == 69
    assert tool.cosmodrome("why", "T", "-n", "127.0.0.1:1").code == 69


def test_other_servers_of_the_list_are_asked_too(where: tuple[str, ...], tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "other", config={"http": "off"}) as other, Peer(other.address) as peer:
        peer.registered(Broker(name="broker-b", cluster="C", id=0), topics_named("stock", "else"))
        both = ("-n", f"{where[1]},{other.address},127.0.0.1:1", *where[2:])
        for words in (("stock",), ("--broker", "broker-b")):
            done = Tool(tmp_path).cosmodrome("why", *words, *both)
            assert f"  x other NameServers have it: {other.address}" in done.out.splitlines()
            assert "127.0.0.1:1 could not be asked" in done.out
