"""Field cases about how clients reach the server: address families, names, sockets that die, names with odd letters."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import json
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.lookups import Lookups
from tests.support.peer import (
    MASTER,
    NO_ROUTE,
    NOT_FOUND,
    ROUTE,
    SUCCESS,
    SYSTEM_ERROR,
    Peer,
    queue_data,
    read_route,
    topics_named,
)
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.tls_wire import proxy_v1, proxy_v2
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Broker, compressed_register_body, encode_request, register, topic_config

GO_AWAY: Final = 1500
OLD_CLIENT: Final = 475
ESTABLISHED: Final = "01"
KEEP_ALIVE_TIMER: Final = "02"
TICKS_A_SECOND: Final = 100
"""Of the timers in /proc/net/tcp, on every machine."""


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as sock:
        sock.bind(("::1", 0))
        return True
    return False


IPV6: Final = ("::1", "::ffff:127.0.0.1") if has_ipv6() else ()
SHOWN: Final = {"127.0.0.1": "127.0.0.1", "::1": "[::1]", "::ffff:127.0.0.1": "127.0.0.1"}


def link_local_addresses() -> list[str]:
    """Return this machine's own link-local addresses with their zones; most machines in containers have none."""
    table = Path("/proc/net/if_inet6")
    if not table.exists():
        return []
    rows = [line.split() for line in table.read_text().splitlines()]
    return [f"{socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0]))}%{row[5]}" for row in rows if row[3] == "20"]


def connected(host: str, port: int) -> Peer:
    return Peer(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


@pytest.mark.parametrize("bound", ["0.0.0.0", *(("::",) if IPV6 else ())])  # noqa: S104  # what the case is about
def test_F113_bound_everywhere_takes_both_families(own_server: StartServer, names: Names, bound: str) -> None:
    """Peers are logged in one form, whatever family brought them; the one who may configure is known in each, too."""
    server = own_server(f"--bindAddress={bound}")
    printed = server.stdout_lines[0].rpartition("address ")[2]
    hosts = ["127.0.0.1", *IPV6, *link_local_addresses()]
    for number, host in enumerate(hosts):
        broker = names.broker(f"b{number}")
        with connected(host, server.port) as peer:
            peer.registered(broker, topics_named(names("T"), names("U")))
            assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            line = wait_for_line(server, event="broker.registered", broker=broker.name)
            port = peer.local_address.rpartition(":")[2]
            shown = SHOWN.get(host) or f"[{host.partition('%')[0]}]"
            assert line["peer"] == f"{shown}:{port}"
            if host in SHOWN:
                assert peer.change_config(orderMessageEnable=True).code == SUCCESS
            peer.unreg(broker)
    host, _, port = printed.rpartition(":")
    with connected(host.strip("[]"), int(port)) as client:
        assert client.route(names("T")) is None, "the printed address is one a client can use"


@pytest.mark.parametrize("bound", ["127.0.0.1", "localhost", *(("::1",) if IPV6 else ())])
def test_F113_bound_to_one_address(own_server: StartServer, names: Names, bound: str) -> None:
    server = own_server(f"--bindAddress={bound}")
    host, _, port = server.stdout_lines[0].rpartition("address ")[2].rpartition(":")
    with connected(host.strip("[]"), int(port)) as client:
        assert client.route(names("T")) is None
    with connected(bound, int(port)) as client:
        assert client.route(names("T")) is None
    other = {"127.0.0.1": "::1", "::1": "127.0.0.1"}.get(bound)
    if other and IPV6:
        with pytest.raises(ConnectionRefusedError):
            connected(other, int(port))


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (proxy_v1("::ffff:192.0.2.9", 77), "192.0.2.9:77"),
        (proxy_v2("::ffff:192.0.2.9", 77), "192.0.2.9:77"),
        (proxy_v1("2001:DB8:0:0::9", 77), "[2001:db8::9]:77"),
        (proxy_v1("fe80::1%eth0", 77), "[fe80::1]:77"),
    ],
)
def test_F113_peers_behind_a_proxy_have_the_same_form(
    own_server: StartServer, names: Names, header: bytes, shown: str
) -> None:
    """A proxy that takes both families on one socket announces IPv4 peers as IPv6 ones."""
    server = own_server()  # of misses on a shared one only the first hundred a minute have a line
    with Peer(server.address, preface=header) as client:
        assert client.route(names("T")) is None
    assert wait_for_line(server, names("T"), event="route.missed")["peer"] == shown


DOMAIN_NAMES: Final = (
    "broker.example.test",
    "broker.example.test.",
    "broker_a.example.test",
    "BROKER.Example.TEST",
    "xn--bcher-kva.example.test",
    "bücher.example.test",
    ".".join(["a" * 61] * 4) + ".test",
    "localhost",
    "broker",
)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_F114_no_name_of_a_broker_is_looked_up(tmp_path: Path, names: Names, loop: str) -> None:
    """Every lookup that Python makes is on record; with asyncio's own loop those of the loop are, too."""
    lookups = Lookups(tmp_path, seconds=5, is_uvloop_hidden=loop == "asyncio")
    with ServerProcess(tmp_path, environment=lookups.environment) as server:
        rule = StandingRule(server)
        begin = time.monotonic()
        with Peer(server.address) as peer:
            for number, host in enumerate(DOMAIN_NAMES):
                broker = names.broker(f"b{number}", addr=f"{host}:10911", ha_addr=f"{host}:10912")
                topic = names(f"T{number}")
                peer.registered(broker, topics_named(topic, names("U")), filter_servers=[f"{host}:10913"])
                assert peer.heartbeat(broker).code == SUCCESS
                route = peer.routed(topic)
                assert route.brokers == {broker.name: {MASTER: f"{host}:10911"}}
                assert route.raw["filterServerTable"] == {f"{host}:10911": [f"{host}:10913"]}
                assert peer.cluster().brokers[broker.name or ""] == {MASTER: f"{host}:10911"}
                assert peer.group(broker.cluster or "", broker.name or "") == {MASTER: f"{host}:10911"}
                slave = names.broker(f"b{number}", 1, addr=f"slave.{host}:10911"[-260:])
                answer = peer.registered(slave)
                assert answer.ext is not None
                assert answer.ext["haServerAddr"] == f"{host}:10912"
                assert answer.ext["masterAddr"] == f"{host}:10911"
                peer.unreg(slave)
                peer.unreg(broker)
        assert time.monotonic() - begin < 5, "one lookup would have taken that long"
        rule.check()
    assert lookups.names() == []


def test_F114_notices_to_names_that_do_not_resolve_delay_nobody(tmp_path: Path, names: Names) -> None:
    """With `notifyMinBrokerIdChanged` there is something to send to them; the resolver hangs for 20 seconds each time."""
    lookups = Lookups(tmp_path, seconds=20, is_uvloop_hidden=True)
    config = {"notifyMinBrokerIdChanged": True}
    with (
        ServerProcess(tmp_path, config=config, environment=lookups.environment) as server,
        Peer(server.address) as peer,
    ):
        master, slave = (names.broker("b", number, addr=f"b{number}.example.test:10911") for number in (0, 1))
        peer.registered(names.broker("steady"), topics_named(names("T"), names("U")))
        quiet_s = quiet_p99_s(server.address, names("T"))
        with RouteReader(server.address, names("T"), bool) as reader:
            for broker in (slave, master):
                begin = time.monotonic()
                peer.registered(broker, topics_named(names("V"), names("W")))
                peer.unreg(master)
                assert time.monotonic() - begin < 2
            wait_until(lambda: "b1.example.test" in lookups.names(), "the lookup", 10)
            wait_for_line(server, "b1.example.test", event="notice.failed")
        assert_not_slowed(reader.p99_s, quiet_s)
        begin = time.monotonic()
    assert time.monotonic() - begin < 5, "a stop does not wait for the resolver"


def ask(address: str, topic: str, within_s: float, **header: Any) -> Answer | str:
    """Return the answer to one question on a new connection, or how it went without one."""
    try:
        with Peer(address, within_s) as client:
            return client.ask_route(topic, **header)
    except TimeoutError:
        return "timeout"
    except ConnectionError:
        return "close"


def find(addresses: Sequence[str], topic: str, **header: Any) -> tuple[Answer | None, list[object]]:
    """Ask one server after the other as clients do, and return the route and what the others said."""
    said: list[object] = []
    for address in addresses:
        answer = ask(address, topic, 1.0, **header)
        if isinstance(answer, Answer) and answer.code == SUCCESS:
            return answer, said
        said.append(answer.code if isinstance(answer, Answer) else answer)
    return None, said


@pytest.fixture
def second(tmp_path: Path, names: Names) -> Iterator[ServerProcess]:
    """Give the server that has the topic."""
    with ServerProcess(tmp_path / "second") as server, Peer(server.address) as broker:
        broker.registered(names.broker(), topics_named(names("T"), names("U")))
        yield server


def test_F117_the_next_server_is_found_whatever_the_first_is_doing(
    tmp_path: Path, names: Names, second: ServerProcess
) -> None:
    """There is no overload answer (code 2): requests wait in their connections, and are answered with 17 in time."""
    topic = names("T")
    with ServerProcess(tmp_path / "idle") as first:
        assert find([first.address, second.address], topic)[1] == [NO_ROUTE]
        with Peer(first.address) as busy:
            busy.send(b"".join(encode_request(ROUTE, {"topic": topic}, opaque=number) for number in range(2000)))
            assert find([first.address, second.address], topic)[1] == [NO_ROUTE]
            assert [busy.read_answer().opaque for _ in range(2000)] == list(range(2000))
        first.signal(signal.SIGSTOP)
        route, said = find([first.address, second.address], topic)
        first.signal(signal.SIGCONT)
        assert said == ["timeout"], "only a stopped process says nothing"
        assert route is not None
        address = first.address
    assert find([address, second.address], topic)[1] == ["close"], "nobody listens there any more"


def test_F117_a_first_server_that_warms_up(tmp_path: Path, names: Names, second: ServerProcess) -> None:
    config = {"needWaitForService": True, "waitSecondsForService": 60}
    with ServerProcess(tmp_path / "new", config=config) as first:
        assert isinstance(answer := ask(first.address, names("T"), 1.0), Answer)
        assert (answer.code, answer.remark) == (SYSTEM_ERROR, "name server not ready")
        route, said = find([first.address, second.address], names("T"))
        assert said == [SYSTEM_ERROR]
        assert route is not None


def test_F117_a_first_server_that_stops(tmp_path: Path, names: Names, second: ServerProcess) -> None:
    """While it drains, newer clients are sent away and older ones still served; open connections end with a close."""
    config = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 2}
    servers = ServerProcess(tmp_path / "old", config=config)
    with servers as first, Peer(first.address) as open_one:
        assert open_one.route(names("T")) is None
        first.signal(signal.SIGTERM)
        wait_for_line(first, event="server.draining")
        wait_until(lambda: open_one.ask_route(names("T")).code == GO_AWAY, "1500 on an open connection", 1)
        assert find([first.address, second.address], names("T"))[1] == [GO_AWAY]
        assert find([first.address, second.address], names("T"), version=OLD_CLIENT)[1] == [NO_ROUTE]
        open_one.expect_closed(5)
        assert find([first.address, second.address], names("T"))[1] == ["close"]
        assert first.wait_ended() == 0


LENGTHS: Final = (1, 127, 128, 255, 256, 1000, 1024)


@pytest.mark.parametrize("prefix", ["", "%RETRY%", "%DLQ%"])
@pytest.mark.parametrize("way", ["JSON body", "compressed body", "REGTOPIC"])
def test_F118_long_names_route_uncut(server: ServerProcess, names: Names, way: str, prefix: str) -> None:
    """Up to the stated ceiling (maxNameLength) whatever a broker announces routes, under its whole name."""
    base = f"{prefix}{names('')}"
    topics = [f"{prefix}t"] + [base + "x" * (length - len(base)) for length in LENGTHS if length > len(base)]
    broker = names.broker(cluster=f"C{prefix}")
    with Peer(server.address) as peer:
        match way:
            case "JSON body":
                peer.registered(broker, topics_named(*topics))
            case "compressed body":
                body = compressed_register_body(topics_named(*topics))
                assert register(peer, broker, body=body, ext={"compressed": "true"}).code == SUCCESS
            case _:
                peer.registered(broker)
                for topic in topics:
                    assert peer.register_topic(topic, queue_data(broker.name or "")).code == SUCCESS
        assert set(topics) <= set(peer.topics())
        assert set(peer.topics_of(broker.cluster or "")) == set(topics)
        for topic in topics:
            for codec in ("JSON", "ROCKETMQ"):
                answer = peer.ask_route(topic, codec=codec)
                assert read_route(answer).brokers == {broker.name: {MASTER: broker.addr}}
        for topic in topics[-2:]:
            for other in (topic[:-1], topic + "x"):
                answer = peer.ask_route(other, codec="ROCKETMQ")
                is_whole = len(other) <= max(LENGTHS)
                assert (answer.code, other in (answer.remark or "")) == (NO_ROUTE, is_whole)
        for topic in topics:
            assert peer.delete_topic(topic).code == SUCCESS
        peer.unreg(broker)


def test_F118_a_name_beyond_the_ceiling_is_refused(server: ServerProcess, names: Names) -> None:
    """Clearly, and nothing else of the request is done."""
    broker = names.broker()
    longest = names("").ljust(max(LENGTHS), "x")
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(longest, names("T")))
        for answer in (
            peer.reg(broker, topics_named(longest.ljust(32_767, "x"), names("U")), 2),
            peer.reg(broker, topics_named(longest + "x", names("U")), 2),
            peer.register_topic(longest + "x", queue_data(broker.name or "")),
        ):
            assert (answer.code, "more than 1024 characters" in (answer.remark or "")) == (SYSTEM_ERROR, True)
        assert set(peer.topics_of(broker.cluster or "")) == {longest, names("T")}
        peer.unreg(broker)


def test_F118_an_empty_name(server: ServerProcess, names: Names) -> None:
    with Peer(server.address) as peer:
        answer = peer.ask_route("")
        assert answer.code != SUCCESS
        assert answer.body == b""


ODD_NAMES: Final = (
    "中文主题",
    "emoji-😀-🚀",
    "caf\u00e9",
    "cafe\u0301",
    "\u202eright-to-left\u202c",
    "dot.slash/back\\slash",
    "quote\"apostrophe'",
    "per%cent%20%RETRY%",
    "semi;colon:comma,equals=and&",
    "{braces}[brackets]<angle>",
    "control\x01\x1f\x7f",
    "line\u2028paragraph\u2029",
    "zero\u200bwidth",
    "nul\x00nul",
    "\uff21fullwidth",
    "K\u212a",
)
WITH_BLANKS: Final = ("has blank", " leads", "trails ", "two  blanks", "x 8 8")


def assert_routes(peer: Peer, broker: Broker, topics: Sequence[str]) -> None:
    assert set(topics) <= set(peer.topics())
    assert set(peer.topics_of(broker.cluster or "")) == set(topics)
    for topic in topics:
        values = []
        for codec in ("JSON", "ROCKETMQ"):
            for ext, version in (({}, 399), ({}, 513), ({"acceptStandardJsonOnly": "true"}, 399)):
                answer = peer.ask_route(topic, ext, codec=codec, version=version)
                assert read_route(answer).brokers == {broker.name: {MASTER: broker.addr}}, topic
                values.append(answer.json() if version == 399 and not ext else json.loads(answer.body))
        assert all(value == values[0] for value in values)


@pytest.mark.parametrize("way", ["raw JSON", "escaped JSON", "compressed"])
def test_F119_odd_letters_make_the_round_trip(server: ServerProcess, names: Names, way: str) -> None:
    """Letters outside ASCII are raw UTF-8 in both dialects, as Apache RocketMQ NameServer 5.5.0 writes them; releases up
    to 5.3 wrote escapes in the standard one, which is the same to every reader."""
    topics = [names(name) for name in ODD_NAMES]
    broker = names.broker("bröker-😀", cluster="集群")
    with Peer(server.address) as peer:
        if way == "compressed":
            body = compressed_register_body(topics_named(*topics))
            answer = register(peer, broker, body=body, ext={"compressed": "true"})
        else:
            topics += [names(name) for name in WITH_BLANKS]
            answer = (
                peer.reg(broker, topics_named(*topics), codec="ROCKETMQ")
                if way == "raw JSON"
                else escaped(peer, broker, topics)
            )
        assert answer.code == SUCCESS, answer
        assert_routes(peer, broker, topics)
        assert peer.group(broker.cluster or "", broker.name or "") == {MASTER: broker.addr}
        assert broker.name in peer.cluster().clusters[broker.cluster or ""]
        for look_alike in ("cafe", "CAFE\u0301", "cafe\u0301 ", "A fullwidth", "Afullwidth", "KK", "zerowidth"):
            assert peer.route(names(look_alike)) is None
        peer.unreg(broker)


def escaped(peer: Peer, broker: Broker, topics: Sequence[str]) -> Answer:
    """Register with every letter outside ASCII as an escape, those outside the BMP as pairs."""
    tables = {topic: topic_config(topic) for topic in topics}
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1}
    wrapper = {"dataVersion": version, "mappingDataVersion": version, "topicConfigTable": tables}
    body = json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode("ascii")
    assert b"\\ud83d\\ude00" in body
    return register(peer, broker, body=body)


def test_F119_forms_that_look_alike_are_different_names(server: ServerProcess, names: Names) -> None:
    composed, decomposed = names("caf\u00e9"), names("cafe\u0301")
    one, two = names.broker("b1"), names.broker("b2")
    with Peer(server.address) as peer:
        peer.registered(one, topics_named(composed, names("U")))
        peer.registered(two, topics_named(decomposed, names("U")))
        assert set(peer.routed(composed).brokers) == {one.name}
        assert set(peer.routed(decomposed).brokers) == {two.name}
        assert peer.delete_topic(composed).code == SUCCESS
        assert peer.route(composed) is None
        assert set(peer.routed(decomposed).brokers) == {two.name}
        peer.unreg(one)
        peer.unreg(two)


@pytest.mark.parametrize("name", WITH_BLANKS)
def test_F119_what_the_compressed_layout_cannot_carry_is_reported(
    server: ServerProcess, names: Names, name: str
) -> None:
    """A blank separates its fields; a name that holds one must not be read as another name."""
    broker = names.broker()
    before = topics_named(names("A"), names("B"))
    with Peer(server.address) as peer:
        peer.registered(broker, before)
        known = set(peer.topics())
        body = compressed_register_body(topics_named(names("A"), name, names("C")))
        answer = register(peer, broker, body=body, ext={"compressed": "true"})
        assert answer.code == SYSTEM_ERROR
        assert name.split(maxsplit=1)[0] in (answer.remark or ""), "the answer says which"
        assert set(peer.topics()) == known, "all or nothing"
        peer.unreg(broker)


def test_F119_odd_letters_in_kv_entries(server: ServerProcess, names: Names) -> None:
    namespace = names("命名空间 😀")
    odd = (*ODD_NAMES, *WITH_BLANKS)
    with Peer(server.address) as peer:
        for codec in ("JSON", "ROCKETMQ"):
            for number, key in enumerate(odd):
                fields = {"namespace": namespace, "key": key, "value": f"{key}={number}"}
                assert peer.request(100, fields, codec=codec).code == SUCCESS
            for number, key in enumerate(odd):
                answer = peer.request(101, {"namespace": namespace, "key": key}, codec=codec)
                assert answer.ext == {"value": f"{key}={number}"}
            listed = peer.list_kv(namespace).json()["table"]
            assert listed == {key: f"{key}={number}" for number, key in enumerate(odd)}
            for key in odd:
                assert peer.delete_kv(namespace, key).code == SUCCESS
                assert peer.get_kv(namespace, key).code == NOT_FOUND


def test_F119_halves_of_pairs_and_broken_utf8_hurt_nobody(server: ServerProcess, names: Names) -> None:
    """Not text at all: whatever they become, every list stays readable for everybody, and no error is ours."""
    steady = names.broker("steady")
    lone = json.dumps(names("\ud800half"))[1:-1].encode()
    with Peer(server.address) as peer, Peer(server.address) as other:
        peer.registered(steady, topics_named(names("T"), names("U")))
        broker = names.broker("odd")
        for bad in (lone, b"\xff\xfe", b"\xed\xa0\x80", b"\\udc00\\ud800"):
            body = (
                b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"%b":'
                b'{"topicName":"%b","readQueueNums":1,"writeQueueNums":1,"perm":6},"%b":'
                b'{"topicName":"%b","readQueueNums":1,"writeQueueNums":1,"perm":6}}}}'
            ) % (bad, bad, names("V").encode(), names("V").encode())
            with contextlib.suppress(ConnectionError):
                register(other, broker, body=body)
        for code in (206, 106, 304, 311, 312, 313):
            answer = peer.request(code)
            assert answer.code == SUCCESS
            answer.body.decode("utf-8")
        assert peer.routed(names("T")).brokers == {steady.name: {MASTER: steady.addr}}
        peer.unreg(broker)
        peer.unreg(steady)
    assert log_lines(server, level="ERROR") == []


def test_F122_a_server_that_stood_still_answers_or_closes(own_server: StartServer, names: Names) -> None:
    """Stopped by a signal for 4 seconds instead of 60, with questions open; packets cannot be dropped without rights."""
    server = own_server()
    broker = names.broker(heartbeat_timeout_millis=3000)
    with Peer(server.address, 15) as peer, Peer(server.address, 15) as client:
        peer.registered(broker, topics_named(names("T"), names("U")))
        client.send(encode_request(ROUTE, {"topic": names("T")}, opaque=1))
        assert client.answer_to(1).code == SUCCESS
        server.signal(signal.SIGSTOP)
        begin = time.monotonic()
        client.send(encode_request(ROUTE, {"topic": names("T")}, opaque=2))
        assert ask(server.address, names("T"), 1.0, opaque=2) == "timeout"
        assert ask(server.address, names("other"), 3.0, opaque=2) == "timeout"
        server.signal(signal.SIGCONT)
        woken = time.monotonic()
        assert woken - begin > 3.5, "longer than the broker's own timeout"
        answer = client.answer_to(2)
        assert time.monotonic() - woken < 5
        assert set(read_route(answer).brokers) == {broker.name}, "a time in which we did not run is nobody's silence"
        with Peer(server.address) as again:
            answer = again.ask_route(names("T"), opaque=2)
            assert set(read_route(answer).brokers) == {broker.name}
            assert again.is_silent(0.3), "no answer to a number of another connection"
        assert peer.heartbeat(broker).code == SUCCESS
        peer.unreg(broker)


def test_F122_keep_alive_is_on_and_tuned(server: ServerProcess) -> None:
    """The system's default of two hours would keep a dead host's connection for two hours."""
    with Peer(server.address) as client:
        assert client.route("nobody") is None
        timer, ticks = wait_until(lambda: timer_of(client.local_address, server.port), "an idle server socket", 5)
        assert timer == KEEP_ALIVE_TIMER
        assert ticks / TICKS_A_SECOND <= 120


def timer_of(peer_address: str, server_port: int) -> tuple[str, int] | None:
    """Return kind and ticks of the timer of the server's end of a connection, once that has nothing to send."""
    peer_port = int(peer_address.rpartition(":")[2])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state, _, timer, *_ = line.split()
        ends = int(local.rpartition(":")[2], 16), int(remote.rpartition(":")[2], 16)
        if ends == (server_port, peer_port) and state == ESTABLISHED:
            kind, _, ticks = timer.partition(":")
            return None if kind == "01" else (kind, int(ticks, 16))
    return None
