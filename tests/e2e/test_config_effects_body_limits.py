"""Every configuration key does what it says, in the real process: the keys that bound what a request may hold."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.field import Names
from tests.support.peer import NO_ROUTE, SUCCESS, SYSTEM_ERROR, Peer, topics_named
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, shows
from tests.support.wire import Answer, compressed_register_body, register

LIMITS: Mapping[str, int] = {
    "maxHeaderBytes": 4096,
    "maxInflatedRegisterBytes": 65_536,
    "maxTopicsPerRegistration": 4,
    "maxFilterServers": 2,
    "maxNameLength": 255,
    "maxKvValueBytes": 1024,
    "maxKvEntries": 3,
    "maxKvBytes": 2048,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("limits"), config=LIMITS) as server:
        yield server


@pytest.fixture
def peer(server: ServerProcess) -> Iterator[Peer]:
    with Peer(server.address) as peer:
        yield peer


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


def assert_refused(answer: Answer, remark: str) -> None:
    assert (answer.code, remark in (answer.remark or "")) == (SYSTEM_ERROR, True), answer


@shows("maxHeaderBytes", when=When.START)
def test_headers(server: ServerProcess, names: Names) -> None:
    with Peer(server.address) as peer:
        assert peer.ask_route("x" * 3000).code == NO_ROUTE
        peer.oneway(105, {"topic": "x" * 4096})
        peer.expect_closed()


@shows("maxInflatedRegisterBytes", when=When.START)
def test_inflated_bytes(peer: Peer, names: Names) -> None:
    def sent(attributes: str) -> Answer:
        topics = [{**topic, "attributes": {"+a": attributes}} for topic in topics_named(names("T"), names("U"))]
        return register(peer, names.broker(), body=compressed_register_body(topics))

    assert sent("x" * 30_000).code == SUCCESS
    assert_refused(sent("x" * 33_000), "inflates to more than 65536 bytes")


@shows("maxTopicsPerRegistration", when=When.START)
def test_topics(peer: Peer, names: Names) -> None:
    assert peer.reg(names.broker(), topics_named(*map(names, "ABCD"))).code == SUCCESS
    assert_refused(peer.reg(names.broker(), topics_named(*map(names, "ABCDE")), 2), "more than 4 topics")
    assert peer.route(names("E")) is None


@shows("maxFilterServers", when=When.START)
def test_filter_servers(peer: Peer, names: Names) -> None:
    topics = topics_named(names("T"), names("U"))
    assert peer.reg(names.broker(), topics, filter_servers=["f:1", "f:2"]).code == SUCCESS
    assert_refused(peer.reg(names.broker(), topics, 2, filter_servers=["f:1", "f:2", "f:3"]), "2 filter servers")


@shows("maxNameLength", when=When.START)
def test_names(peer: Peer, names: Names) -> None:
    longest = names("x").ljust(255, "x")
    assert peer.reg(names.broker(), topics_named(longest, names("T"))).code == SUCCESS
    assert_refused(peer.reg(names.broker(), topics_named(longest + "x", names("T")), 2), "more than 255 characters")
    assert_refused(peer.put_kv("N", "k" * 256, "v"), "more than 255 characters")
    answer = peer.ask_route("y" * 256)
    assert (answer.code, "y" * 256 in (answer.remark or "")) == (NO_ROUTE, False)


def kv_server(tmp_path: Path, **limits: int) -> ServerProcess:
    return ServerProcess(tmp_path, config=limits)


@shows("maxKvValueBytes", when=When.START)
def test_kv_values(tmp_path: Path) -> None:
    with kv_server(tmp_path, maxKvValueBytes=1024) as server, Peer(server.address) as peer:
        assert peer.put_kv("N", "K", "é" * 512).code == SUCCESS
        assert_refused(peer.put_kv("N", "K", "é" * 512 + "x"), "a KV value of more than 1024 bytes")
        assert (peer.get_kv("N", "K").ext or {})["value"] == "é" * 512


@shows("maxKvEntries", when=When.START)
def test_kv_entries(tmp_path: Path) -> None:
    with kv_server(tmp_path, maxKvEntries=3) as server, Peer(server.address) as peer:
        assert [peer.put_kv("N", key, "v").code for key in "abb"] == [SUCCESS] * 3
        assert_refused(peer.put_kv("N", "c", "v"), "holds 3 entries already")
        assert peer.delete_kv("N", "a").code == SUCCESS
        assert peer.put_kv("N", "c", "v").code == SUCCESS


@shows("maxKvBytes", when=When.START)
def test_kv_bytes(tmp_path: Path) -> None:
    with kv_server(tmp_path, maxKvBytes=2048) as server, Peer(server.address) as peer:
        assert peer.put_kv("N", "a", "v" * 1500).code == SUCCESS
        assert_refused(peer.put_kv("N", "b", "v" * 600), "would hold more than 2048 bytes")
        assert peer.put_kv("N", "b", "v" * 500).code == SUCCESS
