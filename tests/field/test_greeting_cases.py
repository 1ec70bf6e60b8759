"""Field cases about first bytes: other protocols, scanners, probes, PROXY headers, and peers that stop half-way."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import random
import socket
import ssl
import struct
import threading
import time
from typing import Final

import pytest
from tests.support.certificates import Pair, make_pair
from tests.support.field import Names, StartServer
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.peer import NO_ROUTE, ROUTE, SUCCESS, Peer, numbered, topics_named
from tests.support.process_figures import descriptors_of, memory_of
from tests.support.server_log import Line, log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.tls_by_hand import TLS_1_0, TLS_1_2, hello_record, record
from tests.support.tls_wire import PROXY_V2_SIGNATURE, credulous, proxy_v1, proxy_v2, tls_keys
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, split

NO_PERMISSION: Final = 16
MIB: Final = 1024 * 1024
PROMPT_S: Final = 2.0
GREETING_LIMIT_S: Final = 10.0
"""After which a greeting or handshake that stopped half-way is given up."""

LINES_A_MINUTE: Final = 100
"""Lines about refused connections, however many different ones there are."""

HTTP_GET: Final = b"GET /healthz HTTP/1.1\r\nHost: namesrv:9876\r\nUser-Agent: kube-probe/1.29\r\n\r\n"
HTTP_2: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04\x00\x00\x00\x00\x00"
STRANGERS: Final = {
    "HTTP": HTTP_GET,
    "HTTP/2": HTTP_2,
    "Redis": b"PING\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n",
}
"""What a log line calls a protocol → what its peers say first."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("greetings"))


def connect(server: ServerProcess, timeout: float = 5) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout)


def all_that_comes(sock: socket.socket) -> bytes:
    """Read until the close, however that comes."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := sock.recv(65536):
            received += data
    return received


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def refusals(server: ServerProcess) -> list[Line]:
    return log_lines(server, event="connection.refused")


def assert_no_trouble(server: ServerProcess) -> None:
    """Nothing that a peer sends is an error of the server's."""
    assert log_lines(server, level="ERROR") == []
    assert "Traceback" not in server.stderr


@pytest.mark.parametrize("protocol", STRANGERS)
def test_F067_other_protocols_are_closed_at_once_and_named(own_server: StartServer, protocol: str) -> None:
    server = own_server()
    greeting = STRANGERS[protocol]
    for pieces in ([greeting], [greeting[at : at + 1] for at in range(len(greeting))]):
        with connect(server) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            begin = time.monotonic()
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    sock.sendall(piece)
            answer = all_that_comes(sock)
            assert time.monotonic() - begin < PROMPT_S
            if protocol == "HTTP" and answer:
                assert answer.startswith(b"HTTP/1.1 404 ")
                assert b"RocketMQ" in answer, "a person with curl reads what is wrong"
            else:
                assert answer == b""
    line = wait_for_line(server, protocol, event="connection.refused")
    assert (line["level"], line["reason"].count("\n")) == ("WARN", 0)
    assert len(line["reason"]) < 200
    assert len(refusals(server)) == 1
    assert_no_trouble(server)


def test_F067_curl_reads_a_whole_answer(server: ServerProcess) -> None:
    with connect(server) as sock:
        sock.sendall(HTTP_GET)
        head, _, body = all_that_comes(sock).partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n")
        assert b"Connection: close" in head.split(b"\r\n")


def test_F067_two_hundred_a_second_disturb_nobody_and_do_not_fill_the_log(
    own_server: StartServer, names: Names
) -> None:
    """600 of them as fast as they go instead of 200 a second for a minute."""
    server = own_server()
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        quiet_s = quiet_p99_s(server.address, names("T"))
        with RouteReader(server.address, names("T"), lambda brokers: broker.name in brokers) as reader:
            for number in range(600):
                with connect(server) as sock:
                    sock.sendall(list(STRANGERS.values())[number % len(STRANGERS)])
                    all_that_comes(sock)
        assert_not_slowed(reader.p99_s, quiet_s)
        peer.unreg(broker)
    assert len(refusals(server)) == len(STRANGERS), "one line for each protocol"
    assert_no_trouble(server)


def end(sock: socket.socket, way: str) -> None:
    """End a connection as peers do: in good order, half, by reset, or after reading until the other side ends."""
    with contextlib.suppress(OSError):
        match way:
            case "half":
                sock.shutdown(socket.SHUT_WR)
                all_that_comes(sock)
            case "reset":
                reset(sock)
            case "linger":
                sock.settimeout(0.02)
                all_that_comes(sock)
        sock.close()


def send_fragments(sock: socket.socket, data: bytes, chance: random.Random) -> None:
    at = 0
    while at < len(data):
        size = chance.choice((1, 2, 7, 64, 512, 4096))
        sock.sendall(data[at : at + size])
        at += size


WAYS: Final = ("close", "half", "reset", "linger")


def test_F068_random_bytes_in_random_fragments(own_server: StartServer, pair: Pair) -> None:
    """100 seeds with all four ends, over and over for 3 seconds; the row's 10,000 connections take longer than that."""
    server = own_server(**tls_keys(pair))
    descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
    deadline = time.monotonic() + 3
    for number in range(10_000):
        if number >= 400 and time.monotonic() > deadline:
            break
        chance = random.Random(number % 100)
        with connect(server, 12) as sock, contextlib.suppress(OSError):
            send_fragments(sock, chance.randbytes(chance.randrange(1, 3000)), chance)
            end(sock, WAYS[number % 4])
        if number % 100 == 0:
            with Peer(server.address, 1) as health:
                assert health.ask_route("nobody").code == NO_ROUTE
    wait_until(lambda: descriptors_of(server.pid) <= descriptors, "the descriptors of the start", 15)
    assert memory_of(server.pid) - memory < 4 * MIB
    assert len(refusals(server)) <= LINES_A_MINUTE
    assert_no_trouble(server)


def ingredients(chance: random.Random, pair: Pair) -> bytes:
    """Return the bytes of one peer that mixes everything that may come first."""
    frame = encode_request(ROUTE, {"topic": "nobody"}, opaque=1)
    parts = (
        proxy_v1,
        lambda: proxy_v1("2001:db8::1"),
        lambda: b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n",
        lambda: b"PROXY TCP4 1.2.3.4",
        proxy_v2,
        lambda: proxy_v2("2001:db8::1", extra=chance.randbytes(chance.randrange(600))),
        lambda: proxy_v2(command=0),
        lambda: PROXY_V2_SIGNATURE[: chance.randrange(1, 12)],
        lambda: PROXY_V2_SIGNATURE + chance.randbytes(4),
        lambda: hello_record(chance.choice((TLS_1_0, TLS_1_2))),
        lambda: hello_record()[: chance.randrange(1, 100)],
        lambda: record(chance.choice((20, 21, 22, 23, 24)), chance.randbytes(chance.randrange(100))),
        lambda: b"\x16\x03\x01" + chance.randbytes(50),
        lambda: b"\x80\x2e\x01\x00\x02" + chance.randbytes(40),
        lambda: frame * chance.randrange(1, 20),
        lambda: frame[: chance.randrange(1, len(frame))],
        lambda: HTTP_GET,
        lambda: HTTP_2[: chance.randrange(1, 20)],
        lambda: STRANGERS["SSH"][: chance.randrange(1, 10)],
        lambda: b"*1\r\n$4\r\nPING\r\n",
        lambda: b"",
        lambda: chance.randbytes(chance.randrange(1, 40)),
    )
    data = b"".join(chance.choice(parts)() for _ in range(chance.randrange(1, 5)))
    if data and chance.random() < 0.3:
        at = chance.randrange(len(data))
        data = data[:at] + chance.randbytes(1) + data[at + 1 :]
    return data


def test_F068_mixtures_of_everything_that_may_come_first(own_server: StartServer, pair: Pair) -> None:
    """PROXY headers, TLS, frames and other greetings, cut, doubled and damaged, 3 seconds long.

    Whoever ends its sending gets an end, too; the answers before that are whole frames or TLS records.
    """
    server = own_server(**tls_keys(pair))
    descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
    deadline = time.monotonic() + 3
    for number in range(20_000):
        if number >= 400 and time.monotonic() > deadline:
            break
        chance = random.Random(number)
        data = ingredients(chance, pair)
        with connect(server, 12) as sock:
            with contextlib.suppress(ConnectionError):
                send_fragments(sock, data, chance)
            if number % 2:
                end(sock, chance.choice(WAYS))
                continue
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            assert_whole(all_that_comes(sock), number)
    wait_until(lambda: descriptors_of(server.pid) <= descriptors, "the descriptors of the start", 15)
    assert memory_of(server.pid) - memory < 6 * MIB
    assert len(refusals(server)) <= LINES_A_MINUTE
    assert_no_trouble(server)


def assert_whole(answer: bytes, seed: int) -> None:
    if answer[:1] in (b"\x15", b"\x16"):
        while answer:
            _, _, length = struct.unpack_from(">BHH", answer)
            assert len(answer) >= 5 + length, f"a cut TLS record with seed {seed}"
            answer = answer[5 + length :]
    elif answer.startswith(b"HTTP/1.1 "):
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split()[1] in (b"400", b"404"), f"seed {seed}"
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n"), f"a cut page with seed {seed}"
    else:
        _, rest = split(answer)
        assert rest == b"", f"a cut frame with seed {seed}"


def test_F080_port_probes_leave_nothing(own_server: StartServer) -> None:
    """A third close at once, a third send 19 bytes of text and close, a third reset; 3 seconds long instead of 200,000."""
    server = own_server()
    descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
    lines = len(server.stderr.splitlines())
    deadline = time.monotonic() + 3
    for number in range(200_000):
        if number >= 600 and time.monotonic() > deadline:
            break
        sock = connect(server)
        match number % 3:
            case 1:
                sock.sendall(b"are you there? 123\n")
            case 2:
                reset(sock)
        sock.close()
    wait_until(lambda: descriptors_of(server.pid) <= descriptors, "the descriptors of the start", 5)
    assert memory_of(server.pid) - memory < 2 * MIB
    assert len(server.stderr.splitlines()) - lines <= 2, "no line for each probe"
    assert_no_trouble(server)


def test_F080_probes_with_texts_of_their_own_do_not_fill_the_log(own_server: StartServer) -> None:
    server = own_server()
    for number in range(400):
        with connect(server) as sock, contextlib.suppress(ConnectionError):
            sock.sendall(f"{number:03} are you there?\n".encode())
    wait_for_line(server, event="connection.refused")
    with Peer(server.address) as health:
        assert health.ask_route("nobody").code == NO_ROUTE
    assert len(refusals(server)) <= LINES_A_MINUTE
    assert_no_trouble(server)


@pytest.mark.parametrize("source", ["192.0.2.7", "2001:db8::7"])
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("version", [1, 2])
def test_F063_a_proxy_header_names_the_peer(
    shared_server: StartServer, names: Names, pair: Pair, version: int, source: str, *, is_encrypted: bool
) -> None:
    server = shared_server(**tls_keys(pair))
    header = proxy_v1(source, 4321) if version == 1 else proxy_v2(source, 4321, extra=b"\x04\0\x03abc")
    with Peer(server.address, tls=pair.client_context() if is_encrypted else None, preface=header) as client:
        assert client.route(names("T")) is None
    shown = f"[{source}]:4321" if ":" in source else f"{source}:4321"
    assert wait_for_line(server, names("T"), event="route.missed")["peer"] == shown


@pytest.mark.parametrize("header", [b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN a b c d\r\n", proxy_v2(command=0)])
def test_F063_a_proxy_header_that_names_nobody(own_server: StartServer, names: Names, header: bytes) -> None:
    """As health checks of proxies send it."""
    server = own_server()
    with Peer(server.address, preface=header) as client:
        assert client.route(names("T")) is None
        line = wait_for_line(server, names("T"), event="route.missed")
        assert line["peer"] == client.local_address


@pytest.mark.parametrize(
    "header",
    [
        b"PROXY \r\n",
        b"PROXYGET / HTTP/1.1\r\n\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 99999 9876\r\n",
        b"PROXY TCP4 1.2.3 1.2.3.4 1 9876\r\n",
        b"PROXY TCP4 1.2.3.4 nobody 1 9876\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 nowhere\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1_0 9876\r\n",
        b"PROXY TCP4 2001:db8::1 2001:db8::2 1 9876\r\n",
        b"PROXY TCP6 1.2.3.4 1.2.3.4 1 9876\r\n",
        b"PROXY UDP4 1.2.3.4 1.2.3.4 1 9876\r\n",
        b"PROXY TCP4 " + b"1" * 200,
        proxy_v1() * 2,
        proxy_v1() + proxy_v2(),
        proxy_v2() + proxy_v1(),
        proxy_v2()[:12] + b"\x11" + proxy_v2()[13:],
        proxy_v2()[:12] + b"\x22" + proxy_v2()[13:],
        PROXY_V2_SIGNATURE + b"\x21\x11\x00\x04abcd",
        PROXY_V2_SIGNATURE + b"\x21\x21\x00\x0c" + bytes(12),
    ],
)
def test_F063_a_malformed_proxy_header_is_closed_at_once(server: ServerProcess, header: bytes) -> None:
    with connect(server, PROMPT_S) as sock:
        sock.sendall(header + encode_request(ROUTE, {"topic": "nobody"}, opaque=1))
        assert all_that_comes(sock) == b""
    assert_no_trouble(server)


@pytest.mark.parametrize(
    ("allowed", "source"),
    [("192.0.2.0/24", "192.0.2.7"), ("192.0.2.0/24", "127.0.0.1"), ("127.0.0.0/8", "192.0.2.7"), ("127.0.0.1", "::1")],
)
def test_F063_a_proxy_header_gives_nobody_rights(
    shared_server: StartServer, names: Names, allowed: str, source: str
) -> None:
    """Anybody can send one: the proxy's own address must be allowed as well as the one that it names."""
    server = shared_server("--set", f"adminAllow={allowed}")
    for header in (proxy_v1(source), proxy_v2(source)):
        with Peer(server.address, preface=header) as client:
            assert client.change_config(orderMessageEnable=True).code == NO_PERMISSION
            assert client.route(names("T")) is None


def test_F063_the_longest_proxy_header(server: ServerProcess, names: Names) -> None:
    header = proxy_v2(extra=b"\x04" + struct.pack(">H", 65535 - 15) + b"x" * (65535 - 15))
    for pieces in (1, 500):
        with Peer(server.address) as client:
            for at in range(0, len(header), len(header) // pieces):
                client.send(header[at : at + len(header) // pieces])
            assert client.route(names("T")) is None


STOPS: Final = (
    b"\x16",
    hello_record()[:40],
    hello_record(),
    hello_record() + record(22, b"\x10\x00\x00\x42\x41"),
    b"PROXY TCP4 192.0.2",
    PROXY_V2_SIGNATURE[:7],
    proxy_v2()[:20],
    proxy_v2() + hello_record()[:20],
    b"GE",
    b"SSH",
)


def test_F086_peers_that_stop_half_way_are_given_up_and_silent_ones_are_not(
    own_server: StartServer, names: Names, pair: Pair
) -> None:
    """Given up also if they go on a byte at a time, which is no progress.

    A client may connect ahead of its first request, a proxy's header before it or not: that is silence like any other.
    """
    server = own_server(**tls_keys(pair))
    descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
    with contextlib.ExitStack() as stack:
        begin = time.monotonic()
        silent = [
            stack.enter_context(Peer(server.address, preface=preface)) for preface in (b"", proxy_v1(), proxy_v2())
        ]
        stuck = []
        for greeting in STOPS * 20:
            sock = stack.enter_context(connect(server))
            sock.sendall(greeting)
            stuck.append(sock)
        slow = stack.enter_context(connect(server))
        slow.settimeout(0.2)
        hello = iter(hello_record())
        is_slow_closed = False
        while not is_slow_closed and time.monotonic() - begin < GREETING_LIMIT_S + 6:
            with contextlib.suppress(TimeoutError):
                try:
                    slow.sendall(bytes([next(hello, 0)]))
                    is_slow_closed = slow.recv(1) == b""
                except ConnectionError:
                    is_slow_closed = True
        assert is_slow_closed
        assert time.monotonic() - begin > GREETING_LIMIT_S - 2, "honest slow peers have some seconds"
        with Peer(server.address, tls=pair.client_context()) as client:
            assert client.route(names("T")) is None
        for sock in stuck:
            sock.settimeout(5)
            all_that_comes(sock)
        assert descriptors_of(server.pid) <= descriptors + 1 + len(silent)
        assert memory_of(server.pid) - memory < 16 * MIB
        for client in silent:
            assert client.route(names("T")) is None, "closed long before serverChannelMaxIdleTimeSeconds"
    assert_no_trouble(server)


def big_route(peer: Peer, names: Names) -> str:
    """Register so many brokers for one topic that its route has some 10 KB."""
    for number in range(60):
        peer.registered(names.broker(f"b{number}"), topics_named(names("T"), names("U")))
    return names("T")


def leave(peer: Peer, names: Names) -> None:
    for number in range(60):
        peer.unreg(names.broker(f"b{number}"))


def send_until_stuck(sock: socket.socket, data: bytes, times: int) -> None:
    """Send `data` so often, or until the peer takes no more for a second."""
    sock.settimeout(1)
    with contextlib.suppress(TimeoutError, ConnectionError, ssl.SSLError):
        for _ in range(times):
            sock.sendall(data)


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
def test_F063_ten_thousand_pipelined_requests_that_nobody_reads_the_answers_of(
    own_server: StartServer, names: Names, pair: Pair, *, is_encrypted: bool
) -> None:
    """100 MB of answers; once that peer has been silent for long it is reset, and nothing of it is left."""
    server = own_server(**tls_keys(pair, serverChannelMaxIdleTimeSeconds=3))
    context = pair.client_context() if is_encrypted else None
    with Peer(server.address) as broker:
        topic = big_route(broker, names)
        quiet_s = quiet_p99_s(server.address, topic)
        descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
        requests = encode_request(ROUTE, {"topic": topic}, opaque=1) * 100
        with Peer(server.address, tls=context) as greedy, Peer(server.address, tls=context) as other:
            send_until_stuck(greedy._socket, requests, 100)
            assert memory_of(server.pid) - memory < 8 * MIB
            with RouteReader(server.address, topic, lambda _: True) as reader:
                for _ in range(200):
                    assert other.ask_route(topic).code == SUCCESS
            assert_not_slowed(reader.p99_s, quiet_s)
            keep_alive = threading.Event()
            while descriptors_of(server.pid) > descriptors + 1 and not keep_alive.wait(0.2):
                assert broker.ask_route(topic).code == SUCCESS
                assert other.ask_route(topic).code == SUCCESS
        leave(broker, names)


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
def test_F063_a_thousand_pipelined_requests_are_all_answered_to_a_late_reader(
    own_server: StartServer, names: Names, pair: Pair, *, is_encrypted: bool
) -> None:
    server = own_server(**tls_keys(pair))
    context = pair.client_context() if is_encrypted else None
    with Peer(server.address) as broker:
        topic = big_route(broker, names)
        with Peer(server.address, 30, tls=context) as greedy:
            requests = b"".join(encode_request(ROUTE, {"topic": topic}, opaque=number) for number in range(1000))
            greedy.send(requests)
            assert [greedy.read_answer().opaque for _ in range(1000)] == list(range(1000))
        leave(broker, names)


def test_F063_a_tls_peer_that_says_goodbye_and_stays(own_server: StartServer, names: Names, pair: Pair) -> None:
    """It gets its answers, our goodbye and a close, and no descriptor is kept for it."""
    server = own_server(**tls_keys(pair))
    descriptors = descriptors_of(server.pid)
    with contextlib.ExitStack() as stack:
        for highest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for _ in range(10):
                plain = stack.enter_context(connect(server))
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = credulous(highest).wrap_bio(incoming, outgoing)
                shake_hands(plain, tls, incoming, outgoing)
                requests = [encode_request(ROUTE, {"topic": names("T")}, opaque=number) for number in range(50)]
                tls.write(b"".join(requests))
                with contextlib.suppress(ssl.SSLError):
                    tls.unwrap()
                plain.sendall(outgoing.read())
                incoming.write(all_that_comes(plain))
                answers, rest = split(read_to_the_end(tls))
                assert [answer.opaque for answer in answers] == list(range(50))
                assert rest == b""
        wait_until(lambda: descriptors_of(server.pid) <= descriptors, "the descriptors of the start", 5)
    assert_no_trouble(server)


def shake_hands(sock: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            sock.sendall(outgoing.read())
            incoming.write(sock.recv(65536))
        else:
            sock.sendall(outgoing.read())
            return


def read_to_the_end(tls: ssl.SSLObject) -> bytes:
    """Return what was encrypted before the goodbye, which must be there."""
    data = b""
    while True:
        try:
            part = tls.read(65536)
        except ssl.SSLZeroReturnError:
            return data
        if not part:
            return data
        data += part


def test_F063_damage_in_the_middle_of_a_session_ends_it_only(own_server: StartServer, names: Names, pair: Pair) -> None:
    """A bad record after good requests: those were answered, an alert comes, nobody else notices."""
    server = own_server(**tls_keys(pair))
    with Peer(server.address, tls=pair.client_context()) as other:
        for damage in (
            record(23, bytes(64)),
            b"\x17\x03\x03\xff\xff" + bytes(200),
            b"GET / HTTP/1.1\r\n\r\n",
            bytes(50),
        ):
            with connect(server) as plain:
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = credulous().wrap_bio(incoming, outgoing)
                shake_hands(plain, tls, incoming, outgoing)
                tls.write(encode_request(ROUTE, {"topic": names("T")}, opaque=1))
                plain.sendall(outgoing.read())
                data = b""
                while not split(data)[0]:
                    incoming.write(plain.recv(65536))
                    with contextlib.suppress(ssl.SSLWantReadError):
                        data += tls.read(65536)
                plain.sendall(damage)
                incoming.write(all_that_comes(plain))
                with pytest.raises(ssl.SSLError, match="ALERT"):
                    tls.read(10)
            assert other.route(names("T")) is None
    assert_no_trouble(server)


def test_F063_frames_of_many_megabytes_over_tls(own_server: StartServer, names: Names, pair: Pair) -> None:
    server = own_server(**tls_keys(pair))
    topics = numbered(names("a-topic-with-a-longer-name-"), 20_000)
    with Peer(server.address, 60, tls=pair.client_context()) as peer:
        peer.registered(names.broker(), topics_named(*topics))
        assert set(topics) <= set(peer.topics())
        assert peer.unreg(names.broker()).code == SUCCESS
