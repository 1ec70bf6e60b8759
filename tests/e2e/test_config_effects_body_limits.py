"""Every configuration key does what it says, in the real process: the keys that bound what a request may hold."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.field import Names
from tests.support.peer import NO_ROUTE, SUCCESS, SYSTEM_ERROR, Peer, queue_data, topics_named
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


@shows("maxBrokers", when=When.START)
def test_brokers(tmp_path: Path, names: Names) -> None:
    """Those that are known are never refused, and one may take another's place."""
    one, two, three = map(names.broker, ("a", "b", "c"))
    with ServerProcess(tmp_path, config={"maxBrokers": 2}) as server, Peer(server.address) as peer:
        for broker in (one, two):
            assert peer.reg(broker, topics_named(names("T"), names("U"))).code == SUCCESS
        assert_refused(
            peer.reg(three, topics_named(names("T"), names("V"))), "the tables are full: they hold 2 brokers"
        )
        assert peer.route(names("V")) is None
        assert peer.reg(one, topics_named(names("T"), names("W")), 2).code == SUCCESS
        moved = replace(two, addr=three.addr)
        assert peer.reg(moved, topics_named(names("T"), names("U")), 3).code == SUCCESS
        peer.unreg(one)
        assert peer.reg(one, topics_named(names("T"), names("U"))).code == SUCCESS


@shows("maxTableBytes", when=When.START)
def test_all_tables(tmp_path: Path, names: Names) -> None:
    """A mebibyte has room for 3,000 topics, then for nothing new, by 217 neither. What goes makes room."""
    broker = names.broker()
    topics = [names(f"T{number}") for number in range(3000)]
    with ServerProcess(tmp_path, config={"maxTableBytes": 1024 * 1024}) as server, Peer(server.address) as peer:
        peer.registered(broker, topics_named(*topics))
        full = "the tables are full: they would hold more than 1048576 bytes"
        more = topics_named(*(names(f"U{number}") for number in range(1000)))
        assert_refused(peer.reg(broker, more, 2), full)
        assert_refused(peer.reg(names.broker("b"), more), full)
        longest = 0
        while peer.register_topic(names(f"L{longest}").ljust(1000, "x"), queue_data(broker.name or "")).code == SUCCESS:
            longest += 1
        assert 0 < longest < 1000
        assert_refused(peer.register_topic(names("L").ljust(1000, "x"), queue_data(broker.name or "")), full)
        assert len(peer.topics()) == 3000 + longest
        assert peer.reg(broker, topics_named(*topics), 3).code == SUCCESS
        for topic in topics[:10]:
            assert peer.delete_topic(topic).code == SUCCESS
        assert peer.register_topic(names("L").ljust(1000, "x"), queue_data(broker.name or "")).code == SUCCESS


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
