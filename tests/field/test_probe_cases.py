"""Field case F125: probes, in whatever state a server is, on the remoting port and over HTTP."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import signal
import socket
from pathlib import Path
from typing import Final

from tests.interop.rig.ports import free_port
from tests.support.certificates import make_pair
from tests.support.field import Names, StartServer
from tests.support.peer import Peer, topics_named
from tests.support.process_figures import descriptors_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

OK: Final = (200, "ok\n")
NOBODY: Final = (0, "")
BIND_FAILED: Final = 71
TIMEOUT_S: Final = 20.0
PORT_DISTANCE: Final = 10_000


def probe(address: str, path: str, method: str = "GET") -> tuple[int, str]:
    """Ask as a supervisor does, with nothing but a socket; `NOBODY` when nobody listens or answers."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(ConnectionError):
        with socket.create_connection((host, int(port)), TIMEOUT_S) as sock:
            sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
            received = b""
            while data := sock.recv(65536):
                received += data
        head, _, body = received.partition(b"\r\n\r\n")
        return int(head.split()[1]) if head else 0, body.decode()
    return NOBODY


class WithDefaultHttp(ServerProcess):
    """One whose HTTP is where nobody said."""

    def _usual_flags(self, flags: tuple[str, ...]) -> list[str]:
        usual = super()._usual_flags(flags)
        at = usual.index("--http")
        return usual[:at] + usual[at + 2 :]


def ports_of_a_taken_default(taken: socket.socket) -> int:
    """Take a port, and give the one for which it is the default of HTTP."""
    while True:
        port = free_port()
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port + PORT_DISTANCE))
            taken.listen()
            return port


def http_of(server: ServerProcess) -> str:
    return str(wait_for_line(server, event="http.listening")["address"])


def test_F125_ready_and_live_on_both_ports(shared_server: StartServer) -> None:
    server = shared_server()
    for address in (server.address, http_of(server)):
        for path in ("/livez", "/readyz"):
            assert probe(address, path) == OK
            assert probe(address, path, "HEAD") == (200, "")


def test_F125_on_the_port_that_is_configured_and_ten_thousand_above(tmp_path: Path) -> None:
    port = free_port()
    with WithDefaultHttp(tmp_path, f"--listenPort={port}", "--log-format=json") as server:
        assert server.address == f"127.0.0.1:{port}"
        assert probe(server.address, "/readyz") == OK
        said = wait_until(
            lambda: [line for line in log_lines(server) if line["event"].startswith("http.")], "a line about HTTP"
        )[0]
        assert said["address"] == f"127.0.0.1:{port + PORT_DISTANCE}"
        if said["event"] == "http.listening":  # unless somebody else has that port
            assert probe(said["address"], "/readyz") == OK


def test_F125_a_default_port_that_is_taken_costs_one_line_and_nothing_else(tmp_path: Path, names: Names) -> None:
    with socket.socket() as taken:
        port = ports_of_a_taken_default(taken)
        with WithDefaultHttp(tmp_path, f"--listenPort={port}", "--log-format=json") as server:
            lines = log_lines(server, event="http.unavailable")
            assert [(line["level"], line["address"]) for line in lines] == [
                ("WARN", f"127.0.0.1:{port + PORT_DISTANCE}")
            ]
            assert "address already in use" in lines[0]["reason"]
            assert probe(server.address, "/readyz") == OK
            with Peer(server.address) as peer:
                assert peer.route(names("T")) is None
        asked_for = f"--http=127.0.0.1:{port + PORT_DISTANCE}"
        second = ServerProcess(tmp_path / "second", asked_for)
        second.start()
        assert second.wait_ended() == BIND_FAILED, "what was asked for must be had"
        assert "address already in use" in second.stderr


def test_F125_nobody_is_ready_whose_port_is_taken(shared_server: StartServer, tmp_path: Path) -> None:
    first = shared_server()
    second = ServerProcess(tmp_path, f"--listenPort={first.port}")
    second.start()

    assert second.wait_ended() == BIND_FAILED
    assert probe(first.address, "/readyz") == OK


def test_F125_nobody_is_ready_whose_certificate_is_broken(tmp_path: Path) -> None:
    (tmp_path / "broken.pem").write_text("nonsense")
    broken = ServerProcess(
        tmp_path,
        "--set=tls.server.mode=enforcing",
        "--set=tls.test.mode.enable=false",
        f"--set=tls.server.certPath={tmp_path / 'broken.pem'}",
        f"--set=tls.server.keyPath={tmp_path / 'broken.pem'}",
    )
    broken.start()

    assert broken.wait_ended() not in (0, 70), broken.stderr
    assert broken.stdout_lines == [], "not a word of being ready"


def test_F125_probes_need_no_tls_where_everything_else_does(tmp_path: Path) -> None:
    pair = make_pair(tmp_path)
    with ServerProcess(
        tmp_path,
        "--set=tls.server.mode=enforcing",
        "--set=tls.test.mode.enable=false",
        f"--set=tls.server.certPath={pair.cert}",
        f"--set=tls.server.keyPath={pair.key}",
    ) as server:
        assert probe(server.address, "/readyz") == OK
        assert probe(server.address, "/livez") == OK


def test_F125_while_it_waits_for_brokers_it_is_live_and_not_ready(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"needWaitForService": True, "waitSecondsForService": 300}) as server:
        for address in (server.address, http_of(server)):
            status, text = probe(address, "/readyz")
            assert (status, "needWaitForService" in text) == (503, True)
            assert probe(address, "/livez") == OK


def test_F125_it_is_ready_when_the_wait_is_over(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"needWaitForService": True, "waitSecondsForService": 1}) as server:
        wait_until(lambda: probe(server.address, "/readyz") == OK, "ready")


def test_F125_while_it_stops_it_is_live_and_not_ready(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 30}) as server:
        http = http_of(server)
        assert probe(http, "/readyz") == OK
        server.signal(signal.SIGTERM)
        for address in (server.address, http):
            wait_until(lambda address=address: probe(address, "/readyz") == (503, "draining\n"), "not ready")  # type: ignore[misc]
            assert probe(address, "/livez") == OK
        server.kill()


def test_F125_many_probes_leave_nothing_behind(own_server: StartServer, names: Names) -> None:
    """Three hundred as fast as they go instead of ten a second for an hour."""
    server = own_server("--log-format=json")
    http = http_of(server)
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        assert probe(http, "/readyz") == OK
        lines, descriptors = len(log_lines(server)), descriptors_of(server.pid)
        for number in range(300):
            address = http if number % 4 == 0 else server.address
            assert probe(address, ("/livez", "/readyz")[number % 2]) == OK
        assert len(log_lines(server)) == lines, "not a line about any of them"
        wait_until(lambda: descriptors_of(server.pid) <= descriptors, "no connection is left")
        assert peer.route(names("T")) is not None
        peer.unreg(broker)
