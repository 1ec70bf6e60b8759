"""Field cases about what the log says of faults."""

# ruff: noqa: N802  # case ids are written in capitals

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    CFGSET,
    DELKV,
    GETKV,
    HB,
    KVLIST,
    NO_ROUTE,
    NOT_FOUND,
    NOT_SUPPORTED,
    PUTKV,
    QDV,
    REG,
    REGTOPIC,
    SUCCESS,
    SYSTEM_ERROR,
    UNREG,
    Peer,
    topics_named,
)
from tests.support.server_log import Line, log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Broker, identity_ext, register_body, registration_ext

BROKER: Final = Broker()
UNKNOWN_CODE: Final = 29_999

_OPAQUES: Final = itertools.count(712_700_001)
"""Numbers that are in no other line."""


class Fault(NamedTuple):
    """A request that fails, and what its line must say beside code, peer and opaque."""

    code: int
    cause: str
    ext: Mapping[str, str | None]
    body: bytes = b""
    answer: int = SYSTEM_ERROR


def _without(ext: Mapping[str, str | None], name: str) -> dict[str, str | None]:
    return {key: value for key, value in ext.items() if key != name}


FAULTS: Final = {
    "put without a value": Fault(PUTKV, "value", {"namespace": "N", "key": "K"}),
    "put without a key": Fault(PUTKV, "key", {"namespace": "N", "value": "V"}),
    "registration with a wrong crc": Fault(REG, "crc32 not match", registration_ext(BROKER, crc=1), register_body()),
    "registration that is not JSON": Fault(REG, "decode", registration_ext(BROKER), b"{nonsense"),
    "registration without a name": Fault(REG, "brokerName", _without(registration_ext(BROKER), "brokerName")),
    "unregistration without an id": Fault(UNREG, "brokerId", _without(identity_ext(BROKER), "brokerId")),
    "topic that is not JSON": Fault(REGTOPIC, "", {"topic": "T"}, b"{nonsense"),
    "configuration with a bad value": Fault(
        CFGSET, "scanNotActiveBrokerInterval", {}, b"scanNotActiveBrokerInterval=often\n"
    ),
    "version that is not JSON": Fault(QDV, "", identity_ext(BROKER), b"{nonsense"),
    "version without an address": Fault(QDV, "brokerAddr", _without(identity_ext(BROKER), "brokerAddr"), b"{}"),
    "heartbeat without a cluster": Fault(HB, "clusterName", _without(identity_ext(BROKER), "clusterName")),
    "code that nobody serves": Fault(UNKNOWN_CODE, "not supported", {}, answer=NOT_SUPPORTED),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_F127_a_fault_is_one_line_with_the_true_operation(shared_server: StartServer, fault: Fault) -> None:
    server = shared_server("--log-format=json")  # a server without the faults of other tests: repeats get no line
    opaque = next(_OPAQUES)
    with Peer(server.address) as peer:
        answer = peer.request(fault.code, fault.ext, fault.body, opaque=opaque)
        assert answer.code == fault.answer
        wait_until(lambda: _lines_of(server, peer, opaque), "the line of the fault", within_s=3)
        peer.request(GETKV, {"namespace": "N", "key": "K"})
        (line,) = _lines_of(server, peer, opaque)
        assert re.search(rf"\b{fault.code}\b", str(line)), "the operation"
        assert fault.cause in str(line)
        assert line["level"] == "WARN"
        assert "trace" not in line


@pytest.mark.parametrize("code", [PUTKV, DELKV])
def test_F127_a_failed_write_is_an_error(own_server: StartServer, tmp_path: Path, code: int) -> None:
    path = tmp_path / "kv" / "kvConfig.json"
    server = own_server(kvConfigPath=path)
    opaque = next(_OPAQUES)
    ext = {"namespace": "N", "key": "K", "value": "V"}
    with Peer(server.address) as peer:
        assert peer.request(PUTKV, ext).code == SUCCESS
        path.parent.rename(tmp_path / "away")
        path.parent.write_bytes(b"")
        assert peer.request(code, ext, opaque=opaque).code == SYSTEM_ERROR
        wait_until(lambda: _lines_of(server, peer, opaque), "the line of the fault", within_s=3)
        (line,) = _lines_of(server, peer, opaque)
        assert re.search(rf"\b{code}\b", str(line)), "the operation"
        assert "cannot write" in str(line)
        assert line["level"] == "ERROR"


def test_F127_a_lone_topic_is_one_warning(own_server: StartServer, names: Names) -> None:
    server = own_server()
    with Peer(server.address) as peer:
        assert peer.reg(names.broker(), topics_named(names("T"))).code == SYSTEM_ERROR
        wait_for_line(server, names("broker-a"), "single topic", level="WARN")
        assert len(log_lines(server, names("broker-a"))) == 1


def test_F127_misses_are_no_faults(own_server: StartServer, names: Names) -> None:
    server = own_server()
    with Peer(server.address) as peer:
        assert peer.ask_route(names("T")).code == NO_ROUTE
        assert peer.get_kv(names("N"), "K").code == NOT_FOUND
        assert peer.request(KVLIST, {"namespace": names("N")}).code == NOT_FOUND
        wait_for_line(server, names("T"), event="route.missed", level="INFO")
        assert [line for line in log_lines(server) if line["level"] in {"WARN", "ERROR"}] == []


@pytest.mark.parametrize("how", ["unregister", "close", "reset", "silence"])
def test_F127_a_broker_loss_is_a_warning(shared_server: StartServer, names: Names, how: str) -> None:
    server = shared_server(scanNotActiveBrokerInterval=100)
    timeout = 300 if how == "silence" else None
    broker = names.broker(heartbeat_timeout_millis=timeout)
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        registered = wait_for_line(server, event="broker.registered", broker=names("broker-a"))
        assert (registered["level"], registered["peer"]) == ("INFO", peer.local_address)
        match how:
            case "unregister":
                assert peer.unreg(broker).code == SUCCESS
            case "close":
                peer.close()
            case "reset":
                peer.abort()
        lost = wait_for_line(server, event="broker.unregistered", broker=names("broker-a"))
        assert (lost["level"], lost["addr"], lost["cluster"]) == ("WARN", broker.addr, names("C"))
        reasons = {
            "unregister": "unregistered",
            "close": "connection_closed",
            "reset": "connection_closed",
            "silence": "heartbeat_expired",
        }
        assert lost["reason"] == reasons[how]
        assert len(log_lines(server, event="broker.unregistered", broker=names("broker-a"))) == 1


def test_F127_a_probe_is_told_at_level_debug_only(own_server: StartServer) -> None:
    for flags, levels in ((("--log-level=debug",), {"DEBUG"}), ((), set[str]())):
        server = own_server(*flags)
        probes = [Peer(server.address) for _ in range(5)]
        addresses = [probe.local_address for probe in probes]
        with Peer(server.address) as peer:
            assert peer.ask_route("nobody").code == NO_ROUTE  # so the probes before it were accepted
            for probe in probes[:3]:
                probe.end_sending()
            for probe in probes[3:]:
                probe.abort()
            assert peer.ask_route("nobody-else").code == NO_ROUTE
            wait_for_line(server, "nobody-else", event="route.missed")
        for address in addresses:
            if levels:
                wait_for_line(server, address, level="DEBUG")
            assert {line["level"] for line in log_lines(server, address)} == levels


def _lines_of(server: ServerProcess, peer: Peer, opaque: int) -> list[Line]:
    return log_lines(server, peer.local_address, str(opaque))
