"""Field cases about TLS: mixed estates on one port, certificates that are renewed, hostile handshakes."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tests.support.certificates import Pair, encrypt_key, make_pair, write_pair
from tests.support.field import Names, StartServer
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.peer import NO_ROUTE, NOT_FOUND, ROUTE, Peer, topics_named
from tests.support.process_figures import descriptors_of, memory_of
from tests.support.server_log import LINE_S, log_lines, wait_for_line
from tests.support.server_process import ServerProcess, run_command
from tests.support.standing_rule import StandingRule
from tests.support.tls_by_hand import (
    ALERT,
    APPLICATION_DATA,
    FATAL,
    GOOD_CIPHERS,
    HANDSHAKE_FAILURE,
    INSUFFICIENT_SECURITY,
    NO_RENEGOTIATION,
    PROTOCOL_VERSION,
    TLS_1_0,
    TLS_1_1,
    TLS_1_2,
    WARNING,
    WEAK_CIPHERS,
    Record,
    TlsByHand,
    hello_record,
)
from tests.support.tls_wire import (
    REFUSALS,
    OneByteAtATime,
    Renewals,
    credulous,
    is_refused,
    proxy_v1,
    proxy_v2,
    replace_by_rename,
    serial_of,
    served_serial,
    tls_keys,
)
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, split

SECONDS_S: Final = 10.0
"""What a renewal may take; the row says "within seconds"."""

NOT_USED: Final = "cannot be used"
MIB: Final = 1024 * 1024


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def renewals(tmp_path: Path) -> Renewals:
    return Renewals(tmp_path)


class OldConnections:
    """Connections that were made before something happened, and must not notice it."""

    def __init__(self, stack: contextlib.ExitStack, address: str, count: int, context: ssl.SSLContext) -> None:
        self._peers = [stack.enter_context(Peer(address, tls=context)) for _ in range(count)]
        self.assert_alive()

    def assert_alive(self) -> None:
        for peer in self._peers:
            assert peer.route("nobody") is None


def is_reported(server: ServerProcess, times: int) -> bool:
    return len(log_lines(server, NOT_USED)) >= times


def wait_served(server: ServerProcess, serial: int) -> None:
    wait_until(lambda: served_serial(server.address) == serial, "the new certificate in a new handshake", SECONDS_S)


def pem_of(pair: Pair, leaf: object) -> tuple[bytes, bytes]:
    """Return certificate and key as they would be in files."""
    folder = pair.cert.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    other = Pair(cert=folder / "cert", key=folder / "key", trust=pair.trust)
    write_pair(other, leaf)  # type: ignore[arg-type]  # trustme's leaf, only passed on
    return other.cert.read_bytes(), other.key.read_bytes()


@pytest.mark.parametrize("is_key_first", [True, False], ids=["key first", "certificate first"])
def test_F060_half_a_pair_waits_for_the_other_half(
    own_server: StartServer, renewals: Renewals, *, is_key_first: bool
) -> None:
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    second = renewals.issue()
    cert, key = pem_of(pair, second)
    halves = [(pair.key, key), (pair.cert, cert)]
    first, last = halves if is_key_first else reversed(halves)
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, pair.client_context())
        replace_by_rename(*first)
        line = wait_for_line(server, NOT_USED, level="ERROR")
        assert str(pair.cert) in line["message"], "the report names the files"
        assert served_serial(server.address) == serial_of(renewals.first)
        old.assert_alive()
        replace_by_rename(*last)
        wait_served(server, serial_of(second))
        old.assert_alive()
        assert not is_refused(server.address, pair.client_context()), "the new pair is a working one"


def test_F060_both_by_rename_at_once_again_and_again(own_server: StartServer, renewals: Renewals) -> None:
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, pair.client_context())
        for _ in range(3):
            leaf = renewals.issue()
            cert, key = pem_of(pair, leaf)
            replace_by_rename(pair.cert, cert)
            replace_by_rename(pair.key, key)
            wait_served(server, serial_of(leaf))
            old.assert_alive()


def test_F060_a_folder_that_is_exchanged_by_a_link(own_server: StartServer, tmp_path: Path) -> None:
    """As Kubernetes replaces a mounted secret: the files are links through a link to a folder."""
    versions = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        versions.append(Renewals(tmp_path / name))
    current = tmp_path / "current"
    current.symlink_to(tmp_path / "one")
    mounted = Pair(cert=tmp_path / "cert", key=tmp_path / "key", trust=versions[0].pair.trust)
    mounted.cert.symlink_to(current / "server.pem")
    mounted.key.symlink_to(current / "server.key")
    server = own_server(**tls_keys(mounted))
    assert served_serial(server.address) == serial_of(versions[0].first)
    new = tmp_path / "new"
    new.symlink_to(tmp_path / "two")
    new.replace(current)
    wait_served(server, serial_of(versions[1].first))
    assert log_lines(server, NOT_USED) == [], "there never was half a pair"


def test_F060_both_by_truncate_and_write(own_server: StartServer, renewals: Renewals) -> None:
    """A file that is being written is not used; the pair is once the last byte is there."""
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    second = renewals.issue()
    cert, key = pem_of(pair, second)
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, pair.client_context())
        with pair.key.open("wb") as key_file, pair.cert.open("wb") as cert_file:
            key_file.write(key[: len(key) // 2])
            key_file.flush()
            wait_for_line(server, NOT_USED, level="ERROR")
            assert served_serial(server.address) == serial_of(renewals.first)
            key_file.write(key[len(key) // 2 :])
            key_file.flush()
            cert_file.write(cert[: len(cert) // 2])
            cert_file.flush()
            assert served_serial(server.address) == serial_of(renewals.first)
            cert_file.write(cert[len(cert) // 2 :])
        wait_served(server, serial_of(second))
        old.assert_alive()


def test_F060_a_certificate_renewed_with_its_old_key(own_server: StartServer, renewals: Renewals) -> None:
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    again = renewals.reissue(renewals.first)
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, pair.client_context())
        replace_by_rename(pair.cert, again)
        wait_served(server, serial_of(again))
        old.assert_alive()
    assert log_lines(server, NOT_USED) == []


def _garbage(pair: Pair, _: Renewals) -> None:
    pair.cert.write_bytes(b"-----BEGIN CERTIFICATE-----\nnot a certificate\n-----END CERTIFICATE-----\n")
    pair.key.write_bytes(b"nor a key\n")


def _empty(pair: Pair, _: Renewals) -> None:
    pair.cert.write_bytes(b"")
    pair.key.write_bytes(b"")


def _strangers(pair: Pair, renewals: Renewals) -> None:
    cert, _ = pem_of(pair, renewals.issue())
    _, key = pem_of(pair, renewals.issue())
    replace_by_rename(pair.cert, cert)
    replace_by_rename(pair.key, key)


def _gone(pair: Pair, _: Renewals) -> None:
    pair.cert.unlink()
    pair.key.unlink()


def _locked(pair: Pair, renewals: Renewals) -> None:
    write_pair(pair, renewals.issue())
    encrypt_key(pair, "secret")


@pytest.mark.parametrize("spoils", [(_garbage, _strangers, _gone, _locked), (_empty,)])
def test_F060_an_invalid_pair_is_reported_and_the_old_one_kept(
    own_server: StartServer, renewals: Renewals, spoils: tuple[Callable[[Pair, Renewals], None], ...]
) -> None:
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    good = renewals.first
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, pair.client_context())
        for number, spoil in enumerate(spoils):
            spoil(pair, renewals)
            wait_until(partial(is_reported, server, number + 1), f"a line about {spoil}", LINE_S)
            line = log_lines(server, NOT_USED)[-1]
            assert line["level"] == "ERROR"
            assert "old ones stay" in line["message"]
            assert served_serial(server.address) == serial_of(good)
            old.assert_alive()
            good = renewals.issue()
            write_pair(pair, good)
            wait_served(server, serial_of(good))
        old.assert_alive()


def test_F060_trust_anchors_that_change(own_server: StartServer, renewals: Renewals, tmp_path: Path) -> None:
    ours, theirs = make_pair(tmp_path, "ours"), make_pair(tmp_path, "theirs")
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.trust.read_bytes())
    keys = tls_keys(renewals.pair, tls_server_need_client_auth="require")
    server = own_server(**keys, **{"tls.server.authClient": True, "tls.server.trustCertPath": trust})
    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 50, credulous(pair=ours))
        assert is_refused(server.address, credulous(pair=theirs))
        trust.write_bytes(b"not a certificate\n")
        wait_for_line(server, NOT_USED, str(trust), level="ERROR")
        assert not is_refused(server.address, credulous(pair=ours)), "the old anchors stay"
        assert is_refused(server.address, credulous(pair=theirs))
        replace_by_rename(trust, theirs.trust.read_bytes())
        wait_until(lambda: not is_refused(server.address, credulous(pair=theirs)), "the new anchors", SECONDS_S)
        assert is_refused(server.address, credulous(pair=ours))
        old.assert_alive()


@pytest.mark.parametrize("need", ["none", "optional", "require"])
def test_F061_plain_and_encrypted_peers_get_the_same_from_one_port(
    shared_server: StartServer, names: Names, pair: Pair, need: str
) -> None:
    auth = {"tls.server.authClient": True, "tls.server.trustCertPath": pair.trust}
    server = shared_server(**tls_keys(pair, tls_server_need_client_auth=need), **auth)
    broker = names.broker()
    plain_bodies, bodies = set(), set()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        for codec in ("JSON", "ROCKETMQ"):
            for preface in (b"", proxy_v1(), proxy_v2(), proxy_v2("2001:db8::7", extra=b"\x04\0\x03abc")):
                with Peer(server.address, preface=preface) as client:
                    plain_bodies.add(client.ask_route(names("T"), codec=codec).body)
                for context in (pair.client_context(), credulous(ssl.TLSVersion.TLSv1_2)):
                    if need == "require":
                        continue
                    with Peer(server.address, tls=context, preface=preface) as client:
                        bodies.add(client.ask_route(names("T"), codec=codec).body)
                for highest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                    context = credulous(highest, pair=pair)
                    with Peer(server.address, tls=context, preface=preface) as client:
                        bodies.add(client.ask_route(names("T"), codec=codec).body)
        assert len(plain_bodies) == 1
        assert bodies == plain_bodies
        if need == "require":
            for highest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                assert is_refused(server.address, credulous(highest)), "a peer without a certificate"
        peer.unreg(broker)


@pytest.mark.parametrize("need", ["optional", "require"])
def test_F061_a_certificate_of_an_unknown_authority_is_refused(
    shared_server: StartServer, pair: Pair, tmp_path: Path, need: str
) -> None:
    auth = {"tls.server.authClient": True, "tls.server.trustCertPath": pair.trust}
    server = shared_server(**tls_keys(pair, tls_server_need_client_auth=need), **auth)
    stranger = make_pair(tmp_path, "stranger")
    for highest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert is_refused(server.address, credulous(highest, pair=stranger))


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    "preface", [b"", proxy_v1(), proxy_v2("2001:db8::7", extra=b"\x04\0\x03abc"), proxy_v2(command=0)]
)
def test_F061_one_byte_at_a_time(
    shared_server: StartServer, names: Names, pair: Pair, preface: bytes, *, is_encrypted: bool
) -> None:
    server = shared_server(**tls_keys(pair))
    context = pair.client_context() if is_encrypted else None
    with OneByteAtATime(server.address, context, preface) as client:
        for opaque in (1, 2):
            answer = client.answer_to(encode_request(ROUTE, {"topic": names("T")}, opaque=opaque))
            assert (answer.code, answer.opaque) == (NO_ROUTE, opaque)


def test_F061_telling_peers_apart_costs_nothing_visible(shared_server: StartServer, names: Names, pair: Pair) -> None:
    """Short plain connections, one request each: what the first bytes cost would show here most."""
    servers = [shared_server(**{"tls.server.mode": "disabled"}), shared_server(**tls_keys(pair))]
    medians = []
    for server in servers * 2:
        durations = []
        for _ in range(150):
            begin = time.perf_counter()
            with Peer(server.address) as client:
                assert client.route(names("T")) is None
            durations.append(time.perf_counter() - begin)
        medians.append(sorted(durations)[len(durations) // 2])
    assert min(medians[1::2]) <= 2 * min(medians[0::2]) + 0.0005


@contextlib.contextmanager
def enforcing_server(folder: Path, config: Mapping[str, object], client: ssl.SSLContext) -> Iterator[ServerProcess]:
    """Start a server that wants TLS of everybody; `client` is how the standing rule connects to it."""
    with ServerProcess(folder, config=config) as server:
        rule = StandingRule(server, tls=client)
        yield server
        rule.check()


def test_F061_enforcing_does_nothing_for_a_plain_peer(tmp_path: Path, names: Names, pair: Pair) -> None:
    """Not even what came in the same packet as the first bytes (Java once executed that and lost the answer)."""
    with enforcing_server(tmp_path, tls_keys(pair, "enforcing"), pair.client_context()) as server:
        plain_peers_of_an_enforcing_server(server, names, pair)


def plain_peers_of_an_enforcing_server(server: ServerProcess, names: Names, pair: Pair) -> None:
    broker = names.broker()
    put = encode_request(100, {"namespace": names("N"), "key": "k", "value": "v"}, opaque=1)
    with Peer(server.address, tls=pair.client_context()) as client:
        client.registered(broker, topics_named(names("T"), names("U")))
        for preface in (b"", proxy_v1(), proxy_v2(command=0)):
            with Peer(server.address, preface=preface + put * 3) as plain:
                plain.expect_closed(5)
            with Peer(server.address, preface=preface) as plain, contextlib.suppress(ConnectionError):
                plain.unreg(broker)
                pytest.fail("a plain peer got an answer")
        assert client.get_kv(names("N"), "k").code == NOT_FOUND
        assert client.routed(names("T")).brokers == {broker.name: {"0": broker.addr}}
        client.unreg(broker)
    line = wait_for_line(server, "tls.server.mode=enforcing", event="connection.refused")
    assert line["level"] == "WARN"


def test_F061_the_throw_away_certificate_of_java_s_default(own_server: StartServer, names: Names, pair: Pair) -> None:
    """`tls.test.mode.enable` is on by default, as in Java: any TLS client that checks nothing comes in, files or not."""
    server = own_server(**{"tls.server.certPath": pair.cert, "tls.server.keyPath": pair.key})
    serials = {served_serial(server.address) for _ in range(2)}
    assert len(serials) == 1, "one certificate for the life of the process"
    assert serials.isdisjoint({serial_of(pair.cert.read_bytes())})
    with Peer(server.address, tls=credulous()) as client:
        assert client.route(names("T")) is None
    assert is_refused(server.address, pair.client_context()), "nobody can know it beforehand"


def test_F061_keys_of_the_tls_file_win(pair: Pair, tmp_path: Path) -> None:
    """`tls.config.file` is Java's properties file; it cannot change the mode."""
    encrypted = make_pair(tmp_path, "encrypted")
    encrypt_key(encrypted, "sécret word")
    file = tmp_path / "tls.properties"
    file.write_text(
        "# as in Apache's guide\n"
        "tls.server.mode=disabled\n"
        "tls.test.mode.enable=false \n"
        f"tls.server.certPath = {encrypted.cert}\n"
        f"tls.server.keyPath : {encrypted.key}\n"
        "tls.server.keyPassword=s\\u00e9cret word\n"
        "tls.server.need.client.auth=REQUIRE\n"
        "tls.server.authClient=true\n",
        encoding="ascii",
    )
    client = make_pair(tmp_path, "client")
    file.write_text(f"{file.read_text()}tls.server.trustCertPath={client.trust}\n")
    config = tls_keys(pair, "enforcing") | {"tls.config.file": file}
    with enforcing_server(tmp_path, config, credulous(pair=client)) as server:
        assert served_serial(server.address) == serial_of(encrypted.cert.read_bytes())
        assert is_refused(server.address, credulous())
        assert is_refused(server.address, credulous(pair=make_pair(tmp_path, "stranger")))
        with Peer(server.address) as plain:
            plain.send(encode_request(ROUTE, {"topic": "nobody"}, opaque=1))
            plain.expect_closed(5)


@pytest.mark.parametrize("password", ["wrong", ""])
def test_F061_a_key_that_does_not_open_ends_the_start(tmp_path: Path, password: str) -> None:
    pair = make_pair(tmp_path)
    encrypt_key(pair, "secret")
    keys = tls_keys(pair) | ({"tls.server.keyPassword": password} if password else {})
    file = tmp_path / "namesrv.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    result = run_command("namesrv", "-c", str(file), "--listenPort", "0", folder=tmp_path)
    assert result.returncode != 0
    assert str(pair.key) in result.stderr
    assert "password" in result.stderr
    assert "Traceback" not in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.parametrize("pieces", [1, 2, 5, 1000])
def test_F062_a_tls_client_where_tls_is_off(own_server: StartServer, names: Names, pieces: int) -> None:
    server = own_server(**{"tls.server.mode": "disabled"})
    put = encode_request(100, {"namespace": names("N"), "key": "k", "value": "v"}, opaque=1)
    for preface in (b"", proxy_v1(), proxy_v2()):
        for version in (TLS_1_0, TLS_1_2):
            assert all_that_comes(server.address, preface + hello_record(version) + put * 2, pieces) == b""
    with pytest.raises(REFUSALS):
        Peer(server.address, tls=credulous())
    line = wait_for_line(server, "TLS is off here", event="connection.refused")
    assert line["level"] == "WARN"
    assert "tls.server.mode" in line["reason"]
    with Peer(server.address) as client:
        assert client.get_kv(names("N"), "k").code == NOT_FOUND, "nothing was parsed as a frame"
    from_sockets = log_lines(server, event="connection.refused", peer=line["peer"])
    assert len(from_sockets) == 1
    hosts = {each["peer"].rpartition(":")[0] for each in log_lines(server, event="connection.refused")}
    assert len(log_lines(server, event="connection.refused")) == len(hosts), "one line for each peer, not more"
    assert log_lines(server, "frame", event="connection.refused") == []


def all_that_comes(address: str, data: bytes, pieces: int) -> bytes:
    """Send in so many pieces and return what comes until the close."""
    host, _, port = address.rpartition(":")
    size = -(-len(data) // pieces)
    received = b""
    with socket.create_connection((host, int(port)), 5) as sock, contextlib.suppress(ConnectionError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), size):
            sock.sendall(data[at : at + size])
        while answer := sock.recv(4096):
            received += answer
    return received


def test_F063_short_connections_and_renewals_leave_nothing(own_server: StartServer, renewals: Renewals) -> None:
    """As many short connections with a PROXY header and TLS as 4 seconds hold instead of 20,000, and while they come
    as many renewals (the server looks at its files twice a second) instead of 1,000."""
    pair = renewals.pair
    server = own_server(**tls_keys(pair))
    context = pair.client_context()
    is_over = threading.Event()
    served = [serial_of(renewals.first)]

    def renew() -> None:
        while not is_over.is_set():
            leaf = renewals.issue()
            write_pair(pair, leaf)
            wait_served(server, serial_of(leaf))
            served.append(serial_of(leaf))

    def short_connections(deadline: float) -> None:
        for number in range(20_000):
            if number >= 100 and time.monotonic() > deadline:
                return
            preface = proxy_v1() if number % 2 else proxy_v2(extra=b"\x04\0\x03abc")
            with Peer(server.address, tls=context, preface=preface) as client:
                assert client.ask_route("nobody").code == NO_ROUTE

    with contextlib.ExitStack() as stack:
        old = OldConnections(stack, server.address, 20, context)
        short_connections(0)
        descriptors, memory = descriptors_of(server.pid), memory_of(server.pid)
        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        short_connections(time.monotonic() + 4)
        is_over.set()
        thread.join(SECONDS_S + 1)
        assert len(served) > 1
        assert served_serial(server.address) == served[-1]
        old.assert_alive()
        wait_until(lambda: descriptors_of(server.pid) <= descriptors, "the descriptors of the start", 5)
        assert memory_of(server.pid) - memory < 5 * MIB


def test_F063_a_stop_says_goodbye_in_tls(tmp_path: Path, pair: Pair) -> None:
    """Without it a client must take the end for an attack (SSL: unexpected end)."""
    with (
        ServerProcess(tmp_path, config=tls_keys(pair)) as server,
        Peer(server.address, tls=pair.client_context()) as client,
    ):
        assert client.route("nobody") is None
        client._socket.settimeout(10)
        assert server.stop() == 0
        assert client._socket.recv(1) == b"", "an end that is none of TLS raises"


def test_F086_renegotiation_is_refused(shared_server: StartServer, names: Names, pair: Pair) -> None:
    server = shared_server(**tls_keys(pair))
    with TlsByHand(server.address) as client:
        for _ in range(100):
            client.renegotiate()
            assert client.read_record() == Record(ALERT, bytes([WARNING, NO_RENEGOTIATION]))
        client.send(encode_request(ROUTE, {"topic": names("T")}, opaque=7))
        answer = client.read_record()
        assert answer.kind == APPLICATION_DATA
        ((only,), rest) = split(answer.content)
        assert (only.code, only.opaque, rest) == (NO_ROUTE, 7, b"")


def test_F086_a_flood_of_renegotiations_that_never_reads(own_server: StartServer, names: Names, pair: Pair) -> None:
    """The refusals that it does not read must not pile up here."""
    server = own_server(**tls_keys(pair))
    before = memory_of(server.pid)
    with TlsByHand(server.address, timeout=1) as client:
        client._socket.settimeout(1)
        with contextlib.suppress(TimeoutError, ConnectionError):
            for _ in range(20_000):
                client.renegotiate()
        with Peer(server.address, tls=pair.client_context()) as other:
            assert other.route(names("T")) is None
        assert memory_of(server.pid) - before < 8 * MIB


@pytest.mark.parametrize(
    ("version", "ciphers", "alerts"),
    [
        (TLS_1_0, (0xC009, 0xC013, 0x002F), {PROTOCOL_VERSION}),
        (TLS_1_1, (0xC009, 0xC013, 0x002F), {PROTOCOL_VERSION}),
        (TLS_1_0, GOOD_CIPHERS, {PROTOCOL_VERSION}),
        (TLS_1_2, WEAK_CIPHERS, {HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY}),
        (0x0300, (0x0005, 0x000A), {PROTOCOL_VERSION, HANDSHAKE_FAILURE}),
    ],
    ids=["TLS 1.0", "TLS 1.1", "TLS 1.0 with good ciphers", "weak ciphers", "SSL 3"],
)
def test_F086_old_versions_and_weak_ciphers_are_refused(
    shared_server: StartServer, pair: Pair, version: int, ciphers: tuple[int, ...], alerts: set[int]
) -> None:
    server = shared_server(**tls_keys(pair))
    with socket.create_connection(("127.0.0.1", server.port), 5) as sock:
        sock.sendall(hello_record(version, ciphers))
        received = b""
        while data := sock.recv(4096):
            received += data
    kind, _, length, level, alert = struct.unpack(">BHHBB", received)
    assert (kind, length, level) == (ALERT, 2, FATAL)
    assert alert in alerts


def test_F086_routes_during_a_flood_of_handshakes(own_server: StartServer, names: Names, pair: Pair) -> None:
    """About 500 hellos a second for 3 seconds; each makes the server sign, and is left alone then."""
    server = own_server(**tls_keys(pair))
    broker = names.broker()
    is_over = threading.Event()
    hellos = [0]

    def flood() -> None:
        hello = hello_record()
        while not is_over.is_set():
            begin = time.monotonic()
            for _ in range(25):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 5) as sock:
                    sock.sendall(hello)
                    assert sock.recv(16)
                    hellos[0] += 1
            is_over.wait(max(0.0, begin + 0.05 - time.monotonic()))

    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        quiet_s = quiet_p99_s(server.address, names("T"))
        thread = threading.Thread(target=flood, daemon=True)
        with RouteReader(server.address, names("T"), lambda brokers: broker.name in brokers) as reader:
            thread.start()
            is_over.wait(3)
            is_over.set()
            thread.join(10)
        peer.unreg(broker)
    assert hellos[0] > 100
    assert_not_slowed(reader.p99_s, quiet_s)
