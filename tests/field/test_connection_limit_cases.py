"""Field cases about peers that want too much of a connection, or too many: of bytes, time, sockets and patience."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import os
import resource
import socket
import struct
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tests.support import peer as codes
from tests.support.certificates import Pair, make_pair
from tests.support.crowds import Crowd, expect_refused, many_descriptors
from tests.support.field import Names, StartServer
from tests.support.first_statements import WITHOUT_UVLOOP, doing_first, few_descriptors
from tests.support.peer import MASTER, NOT_SUPPORTED, ROUTE, SUCCESS, Peer, numbered, peers, topics_named
from tests.support.process_figures import cpu_s_of, descriptors_of, memory_of
from tests.support.server_log import Line, log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.tls_wire import credulous, tls_keys
from tests.support.waiting import wait_until
from tests.support.wire import FLAG_ONEWAY, encode_request, identity_ext, register_body, registration_ext

KIB: Final = 1024
MIB: Final = 1024 * KIB
FRAME_LIMIT: Final = 16 * MIB
FRAME_KEY: Final = "com.rocketmq.remoting.frameMaxLength"
SOON_S: Final = 60.0
"""A generous bound on what takes a second or two."""

BEGUN_FRAME: Final = struct.pack(">iI", FRAME_LIMIT - 4, 100) + b"{"
BEGUN_HELLO: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
BEGUN_PROXY: Final = b"PROXY TCP4 192.0.2.7"


@pytest.fixture(scope="module", autouse=True)
def descriptors() -> Iterator[None]:
    with many_descriptors():
        yield


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("limits"))


def refusals(server: ServerProcess, cause: str) -> list[Line]:
    return log_lines(server, event="connection.refused", cause=cause)


def wait_for_refusal(server: ServerProcess, cause: str) -> Line:
    return wait_for_line(server, event="connection.refused", cause=cause)


def ask(topic: str, opaque: int = 1) -> bytes:
    return encode_request(ROUTE, {"topic": topic}, opaque=opaque)


def request_of(size: int, topic: str) -> bytes:
    """Return a route request with a body that makes it just so long; nothing reads the body."""
    return encode_request(ROUTE, {"topic": topic}, b"x" * (size - len(ask(topic, 7))), opaque=7)


def test_F064_a_frame_of_just_the_limit_works(own_server: StartServer, names: Names) -> None:
    server = own_server()
    with Peer(server.address, 60) as peer:
        peer.registered(names.broker(), topics_named(names("T"), names("U")))
        peer.send(request_of(FRAME_LIMIT, names("T")))
        assert peer.answer_to(7).code == SUCCESS
        assert peer.routed(names("T")).brokers == {names("broker-a"): {MASTER: names.broker().addr}}
        peer.unreg(names.broker())
    assert refusals(server, "frame_too_large") == []


@pytest.mark.parametrize("declared", [FRAME_LIMIT + 1, 64 * MIB, 2**31 + 3], ids=["limit+1", "64 MiB", "2 GiB"])
def test_F064_a_frame_over_the_limit_is_refused_before_its_data(own_server: StartServer, declared: int) -> None:
    """Only its first KiB is sent. The sizes count the length field itself; 2 GiB is the most that it can say."""
    server = own_server()
    memory = memory_of(server.pid)
    with Peer(server.address) as peer:
        peer.send((declared - 4).to_bytes(4, "big") + b"\0" * 1020)
        peer.expect_closed(SOON_S)
        line = wait_for_line(server, peer.local_address, event="connection.refused")
    assert line["cause"] == "frame_too_large"
    assert str(declared) in line["reason"]
    assert str(FRAME_LIMIT) in line["reason"]
    assert memory_of(server.pid) - memory < 4 * MIB
    assert len(log_lines(server, event="connection.refused")) == 1


def test_F064_a_raised_limit_is_honoured(own_server: StartServer, names: Names) -> None:
    server = own_server(**{FRAME_KEY: 2 * FRAME_LIMIT})
    with Peer(server.address, 60) as peer:
        peer.send(request_of(2 * FRAME_LIMIT, names("T")))
        assert peer.answer_to(7).code == codes.NO_ROUTE
        peer.send((2 * FRAME_LIMIT - 3).to_bytes(4, "big"))
        peer.expect_closed(SOON_S)
    assert str(2 * FRAME_LIMIT) in wait_for_refusal(server, "frame_too_large")["reason"]


KNOWN_CODES: Final = sorted(
    value
    for name, value in vars(codes).items()
    if name.isupper() and isinstance(value, int) and value >= codes.PUTKV and name != "MIN_ID_NOTICE"
)


def test_F073_all_kinds_of_trouble_at_once_stay_within_their_connections(server: ServerProcess, names: Names) -> None:
    """A peer that never reads, one that stops in mid-frame, one that pipelines, one that sends oneway only."""
    broker = names.broker()
    with (
        Crowd(server.address, 1, receive_buffer=4 * KIB) as greedy,
        Crowd(server.address, 1, first=BEGUN_FRAME),
        Peer(server.address) as oneway,
        Peer(server.address) as pipelining,
        Peer(server.address) as client,
    ):
        client.registered(broker, topics_named(names("T"), names("U")))
        greedy.send(ask(names("T")) * 2000)
        sent = send_mixture(pipelining, names)
        for code in KNOWN_CODES:
            oneway.send(encode_request(code, flag=FLAG_ONEWAY, opaque=1, ext={}))
            oneway.send(encode_request(code, flag=FLAG_ONEWAY, opaque=2, ext=None, body=b"\xff nonsense"))
        for data in valid_oneway_requests(names):
            oneway.send(data)
        assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
        answers = [pipelining.read_answer() for _ in sent]
        assert {answer.opaque: answer.code for answer in answers} == sent
        assert len(answers) == len(sent), "one answer to each request"
        wait_until(lambda: client.route(names("of-oneway")), "what a oneway registration did", SOON_S)
        assert oneway.is_silent(0.5), "no byte is sent in answer to a oneway request"
        assert oneway.untaken() == []
        assert greedy.drop_closed() == 1
        client.unreg(broker)
        client.unreg(names.broker("oneway"))


def send_mixture(peer: Peer, names: Names) -> dict[int, int]:
    """Pipeline requests of several kinds; return the right code by opaque."""
    right: dict[int, int] = {}
    data = []
    kinds = [
        (ROUTE, {"topic": names("T")}, SUCCESS),
        (ROUTE, {"topic": names("nobody")}, codes.NO_ROUTE),
        (codes.GETKV, {"namespace": names("N"), "key": "K"}, codes.NOT_FOUND),
        (codes.PUTKV, {"namespace": names("N"), "key": "other", "value": "1"}, SUCCESS),
        (codes.TOPICS_OF_CLUSTER, {"cluster": names("C")}, SUCCESS),
        (999, {}, codes.NOT_SUPPORTED),
    ]
    for number in range(300):
        code, ext, answer = kinds[number % len(kinds)]
        right[number] = answer
        data.append(encode_request(code, ext, opaque=number))
    peer.send(b"".join(data))
    return right


def valid_oneway_requests(names: Names) -> Iterator[bytes]:
    """Give one right request of each family, with the oneway flag."""
    broker = names.broker("oneway")
    one = partial(encode_request, flag=FLAG_ONEWAY, opaque=3)
    topics = topics_named(names("of-oneway"), names("of-oneway-2"))
    yield one(codes.REG, registration_ext(broker), register_body(topics))
    yield one(codes.HB, identity_ext(broker))
    yield one(codes.QDV, identity_ext(broker), b"{}")
    yield one(ROUTE, {"topic": names("T")})
    for code in (codes.CLUSTER, codes.TOPICS, codes.SYSTOPICS, codes.UNIT_TOPICS, codes.CFGGET):
        yield one(code)
    yield one(codes.PUTKV, {"namespace": names("N"), "key": "oneway", "value": "V"})
    yield one(codes.GETKV, {"namespace": names("N"), "key": "oneway"})
    yield one(codes.DELKV, {"namespace": names("N"), "key": "oneway"})
    yield one(codes.KVLIST, {"namespace": names("N")})
    yield one(codes.GROUP, {"clusterName": names("C"), "brokerName": broker.name})
    yield one(codes.CFGSET, None, b"enableTopicList=true")


TRICKLERS: Final = 300


@pytest.mark.parametrize(
    ("first", "cause"),
    [
        (BEGUN_FRAME, "frame_deadline"),
        (BEGUN_HELLO, "greeting_deadline"),
        (BEGUN_PROXY, "greeting_deadline"),
    ],
    ids=["frame", "TLS handshake", "PROXY header"],
)
def test_F089_tricklers_are_closed_and_brokers_register(
    own_server: StartServer, names: Names, pair: Pair, first: bytes, cause: str
) -> None:
    """300 instead of 5,000, a byte each quarter of a second instead of 10 s, and deadlines of 2 s instead of 30 and 10."""
    server = own_server(**tls_keys(pair, frameTimeoutSeconds=2, greetingTimeoutSeconds=2))
    memory = memory_of(server.pid)
    with Crowd(server.address, TRICKLERS, first=first) as tricklers, Peer(server.address) as peer:
        peer.registered(names.broker(), topics_named(names("T"), names("U")))
        grown = memory_of(server.pid) - memory
        assert grown < 3 * MIB + TRICKLERS * 16 * KIB, "in proportion to what was received"
        deadline = time.monotonic() + SOON_S
        while tricklers.drop_closed() and time.monotonic() < deadline:
            tricklers.send(b"x")
            assert peer.heartbeat(names.broker()).code == SUCCESS
            time.sleep(0.25)
        assert len(tricklers) == 0
        assert peer.routed(names("T")).perms == {names("broker-a"): 6}, "the broker beside them stays"
        peer.unreg(names.broker())
    assert wait_for_refusal(server, cause)["peer"].startswith("127.0.0.1:")


def test_F089_a_trickle_inside_a_tls_record_is_no_activity(own_server: StartServer, names: Names, pair: Pair) -> None:
    """After the handshake nothing of an unfinished record is seen but that the peer has said nothing."""
    server = own_server(**tls_keys(pair, serverChannelMaxIdleTimeSeconds=2))
    with Peer(server.address, tls=credulous()) as peer, Peer(server.address, tls=credulous()) as other:
        assert peer.route(names("T")) is None
        with socket.socket(fileno=os.dup(peer._socket.fileno())) as plain:
            plain.sendall(b"\x17\x03\x03\x40\x00")
            deadline = time.monotonic() + SOON_S
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < deadline:
                    plain.sendall(b"x")
                    assert other.route(names("T")) is None
                    time.sleep(0.1)
        assert time.monotonic() < deadline, "it was closed although bytes came"


def test_F089_a_slow_but_honest_registration_is_let_through(own_server: StartServer, names: Names) -> None:
    """It takes three times the deadline for a frame, at forty times the slowest pace that counts as honest."""
    server = own_server(frameTimeoutSeconds=2)
    body = register_body(topics_named(*numbered(names("topic"), 1200)))
    data = encode_request(codes.REG, registration_ext(names.broker()), body, opaque=9)
    assert len(data) > 200 * KIB
    piece = len(data) // 60 + 1
    with Peer(server.address) as peer:
        for at in range(0, len(data), piece):
            peer.send(data[at : at + piece])
            time.sleep(0.1)
        assert peer.answer_to(9).code == SUCCESS
        assert peer.routed(names("topic1200")).perms == {names("broker-a"): 6}
        peer.unreg(names.broker())
    assert refusals(server, "frame_deadline") == []


def test_F089_silent_connections_give_way_and_proven_ones_stay(own_server: StartServer, names: Names) -> None:
    server = own_server(maxConnections=40)
    with peers(server.address, 20) as clients, Crowd(server.address, 20) as silent:
        for client in clients:
            assert client.route(names("T")) is None
        silent.send(BEGUN_FRAME[:5])
        with Peer(server.address) as broker:
            broker.registered(names.broker(), topics_named(names("T"), names("U")))
            wait_until(lambda: silent.drop_closed() == 19, "one that gave way", SOON_S)
            assert "maxConnections" in wait_for_refusal(server, "gave_way")["reason"]
            for client in clients:
                assert client.routed(names("T")).brokers == {names("broker-a"): {MASTER: names.broker().addr}}
            broker.unreg(names.broker())


def test_F089_requests_that_nobody_serves_keep_nobody_out(own_server: StartServer, names: Names) -> None:
    server = own_server(maxConnections=5)
    with peers(server.address, 5) as strangers:
        for stranger in strangers:
            assert stranger.request(4711).code == NOT_SUPPORTED
        with Peer(server.address) as broker:
            broker.registered(names.broker(), topics_named(names("T"), names("U")))
            wait_for_refusal(server, "gave_way")
            broker.unreg(names.broker())


def test_F089_beyond_the_ceiling_newcomers_are_refused_until_others_leave(
    own_server: StartServer, names: Names
) -> None:
    server = own_server(maxConnections=20)
    with peers(server.address, 20) as clients:
        for client in clients:
            assert client.route(names("T")) is None
        expect_refused(server.address, SOON_S)
        assert "20" in wait_for_refusal(server, "too_many_connections")["reason"]
        for client in clients:
            assert client.route(names("T")) is None, "nobody else is disturbed"
        clients[0].end_sending()
        with Peer(server.address) as newcomer:
            assert newcomer.route(names("T")) is None
    assert refusals(server, "gave_way") == []


def big_route(peer: Peer, names: Names) -> str:
    """Register so many brokers for one topic that its route has some 10 KB."""
    for number in range(60):
        peer.registered(names.broker(f"b{number}"), topics_named(names("T"), names("U")))
    return names("T")


def leave(peer: Peer, names: Names) -> None:
    for number in range(60):
        peer.unreg(names.broker(f"b{number}"))


def stuff(server: ServerProcess, crowd: Crowd, topic: str) -> None:
    """Send on each 10,000 route requests, or as much as the server takes, and wait until it takes no more."""
    left = ask(topic) * 10_000
    rounds_without = 0
    while rounds_without < 10 and left:
        sent = crowd.send(left[: 64 * KIB])
        left = left[min(64 * KIB, sent // max(len(crowd), 1)) :]
        rounds_without = 0 if sent else rounds_without + 1
        time.sleep(0.02)
    seen: list[int] = []

    def is_settled() -> bool:
        seen.append(memory_of(server.pid))
        return len(seen) > 5 and max(seen[-5:]) - min(seen[-5:]) < 64 * KIB

    wait_until(is_settled, "memory that no longer changes", SOON_S)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_F073_a_peer_that_never_reads_costs_less_than_4_mb(tmp_path: Path, names: Names, loop: str) -> None:
    """10,000 pipelined requests for a route of 10 KB: 100 MB of answers."""
    with server_on(loop, tmp_path) as server, Peer(server.address) as broker:
        topic = big_route(broker, names)
        with peers(server.address, 3) as clients:
            for client in clients:
                client.routed(topic)
        memory = memory_of(server.pid)
        with Crowd(server.address, 1, receive_buffer=4 * KIB) as greedy:
            stuff(server, greedy, topic)
            assert memory_of(server.pid) - memory < 4 * MIB
            assert broker.routed(topic)
            assert greedy.drop_closed() == 1, "it is not closed for it, as long as it may still begin to read"
        leave(broker, names)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_F073_a_hundred_peers_that_never_read_cost_in_proportion(tmp_path: Path, names: Names, loop: str) -> None:
    """Each the high-water mark of 64 KiB, a burst of as much, and one read of at most 256 KiB."""
    with server_on(loop, tmp_path) as server, Peer(server.address) as broker:
        topic = big_route(broker, names)
        memory = memory_of(server.pid)
        with Crowd(server.address, 100, receive_buffer=4 * KIB) as greedy:
            stuff(server, greedy, topic)
            assert memory_of(server.pid) - memory < 100 * 384 * KIB
            assert broker.routed(topic)
        leave(broker, names)


def test_F073_peers_that_take_nothing_are_reset_in_time(own_server: StartServer, names: Names) -> None:
    server = own_server(writeTimeoutSeconds=2, serverChannelMaxIdleTimeSeconds=600)
    with Peer(server.address) as broker, Crowd(server.address, 5, receive_buffer=4 * KIB) as greedy:
        topic = big_route(broker, names)
        greedy.send(ask(topic) * 2000)
        wait_until(lambda: greedy.drop_closed() == 0, "the reset of those that do not read", SOON_S)
        assert wait_for_refusal(server, "write_stalled")["peer"].startswith("127.0.0.1:")
        assert broker.routed(topic)
        leave(broker, names)


def test_F073_peers_that_take_nothing_are_owed_a_bounded_amount_together(own_server: StartServer, names: Names) -> None:
    """40 peers that stay below what one may be owed, and together are above what all may be."""
    server = own_server(maxUnsentBytes=MIB, serverSocketSndBufSize=8 * KIB)
    with Peer(server.address) as broker, Crowd(server.address, 40, receive_buffer=4 * KIB) as greedy:
        topic = big_route(broker, names)
        greedy.send(ask(topic) * 500)
        wait_until(lambda: greedy.drop_closed() < 30, "the reset of some", SOON_S)
        assert "maxUnsentBytes" in wait_for_refusal(server, "unsent_bytes")["reason"]
        assert broker.routed(topic)
        assert greedy.drop_closed() > 0, "not of all"
        leave(broker, names)


CLIENTS: Final = 700
TLS_CLIENTS: Final = 300
PER_CONNECTION: Final = 30 * KIB


def test_F083_a_thousand_clients_come_go_and_come_back(own_server: StartServer, names: Names, pair: Pair) -> None:
    """1,000 instead of 20,000, 30% of them with TLS; they leave together and are back at once."""
    server = own_server(**tls_keys(pair))
    with Peer(server.address, 30) as broker:
        broker.registered(names.broker(), topics_named(names("T"), names("U")))
        before = descriptors_of(server.pid)
        memory = memory_of(server.pid)
        for _ in range(2):
            with peers(server.address, CLIENTS, 30) as plain:
                ask_all(plain, names)
                assert memory_of(server.pid) - memory < 3 * MIB + CLIENTS * PER_CONNECTION
                with contextlib.ExitStack() as stack:
                    encrypted = [
                        stack.enter_context(Peer(server.address, 30, tls=credulous())) for _ in range(TLS_CLIENTS)
                    ]
                    ask_all(encrypted, names)
                    assert descriptors_of(server.pid) >= before + CLIENTS + TLS_CLIENTS
        assert broker.heartbeat(names.broker()).code == SUCCESS
        wait_until(lambda: descriptors_of(server.pid) <= before, "the descriptors of before", SOON_S)
        broker.unreg(names.broker())
    assert log_lines(server, event="connection.refused") == []


def ask_all(clients: list[Peer], names: Names) -> None:
    for client in clients:
        client.send(ask(names("T"), 4))
    for client in clients:
        assert client.answer_to(4).code == SUCCESS


@contextlib.contextmanager
def server_on(loop: str, folder: Path, first: str = "") -> Iterator[ServerProcess]:
    """Start a server on one of the two event loops; the standing rule holds for it at the end."""
    statements = first + (WITHOUT_UVLOOP if loop == "asyncio" else "")
    with ServerProcess(folder, config={"http": "off"}, environment=doing_first(folder, statements)) as server:
        rule = StandingRule(server)
        yield server
        rule.check()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_F083_without_descriptors_accepting_pauses_and_resumes(tmp_path: Path, names: Names, loop: str) -> None:
    """The limit is lowered while the server runs, which it cannot foresee: as when other files use them up."""
    with server_on(loop, tmp_path) as server, Peer(server.address) as broker:
        broker.registered(names.broker(), topics_named(names("T"), names("U")))
        few = descriptors_of(server.pid) + 10
        before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (few, before[1]))
        with Crowd(server.address, 30, first=ask(names("T"))) as clients:
            wait_until(lambda: clients.answered() >= 8, "answers to those that were let in", SOON_S)
            wait_for_line(server, event="connections.exhausted")
            begun_s, begun_cpu_s = time.monotonic(), cpu_s_of(server.pid)
            while time.monotonic() < begun_s + 1:
                assert broker.heartbeat(names.broker()).code == SUCCESS
                assert broker.routed(names("T"))
                time.sleep(0.05)
            assert cpu_s_of(server.pid) - begun_cpu_s < (time.monotonic() - begun_s) * 0.7, "it waits, it does not try"
            assert clients.answered() < 20, "the others wait to be accepted"
            assert descriptors_of(server.pid) <= few

            clients.leave([sock for sock in clients.sockets if clients.is_answered(sock)])
            wait_until(lambda: clients.answered() >= 8, "answers to those that waited", SOON_S)
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
            wait_until(lambda: clients.answered() == len(clients), "answers to all", SOON_S)
        assert len(log_lines(server, event="connections.exhausted")) == 1, "one line, however often it was tried"
        assert "Traceback" not in server.stderr
        broker.unreg(names.broker())


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_F083_a_low_limit_of_descriptors_leaves_brokers_room(tmp_path: Path, names: Names, loop: str) -> None:
    """Silent connections give way, and when all have asked something newcomers are told by a reset, not by silence."""
    with (
        server_on(loop, tmp_path, few_descriptors(96)) as server,
        Crowd(server.address, 300) as silent,
        Peer(server.address) as broker,
    ):
        broker.registered(names.broker(), topics_named(names("T"), names("U")))
        wait_for_line(server, event="connections.exhausted")
        wait_until(lambda: silent.drop_closed() < 96, "those that gave way", SOON_S)
        silent.send(ask(names("T")))
        wait_until(lambda: silent.answered() == silent.drop_closed(), "answers to all that are left", SOON_S)
        with Crowd(server.address, 96, first=ask(names("T"))) as newcomers:
            wait_for_refusal(server, "descriptors")
            wait_until(lambda: newcomers.answered() == newcomers.drop_closed() < 96, "an end to waiting", SOON_S)
            assert silent.answered() == silent.drop_closed(), "nobody who has asked something gives way"
            assert silent.answered() + newcomers.answered() > 60
            assert broker.routed(names("T"))
        broker.unreg(names.broker())
