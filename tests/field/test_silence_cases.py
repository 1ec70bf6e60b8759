"""Field cases about how soon a route shows that a broker is gone."""

# ruff: noqa: N802  # case ids are written in capitals

import time
from collections.abc import Callable

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

TIMEOUT_S = 3.0
SCAN_S = 1.0
GONE_S = 1.0


@pytest.mark.parametrize(("how", "leave"), [("FIN", Peer.close), ("RST", Peer.abort)])
def test_F027_a_closed_socket_is_gone_within_a_second(
    server: ServerProcess, names: Names, how: str, leave: Callable[[Peer], None]
) -> None:
    """Whatever the heartbeat timeout is; the slave that is left is what the route shows from then on."""
    with Peer(server.address) as client, Peer(server.address) as of_slave:
        for number, timeout_ms in enumerate((3000, None)):
            master = names.broker(f"broker-{number}", 0, heartbeat_timeout_millis=timeout_ms)
            slave = names.broker(f"broker-{number}", 1)
            topics = [names(f"T{number}"), names(f"U{number}")]
            of_master = Peer(server.address)
            of_master.registered(master, topics_named(*topics))
            of_slave.registered(slave, topics_named(*topics))
            assert client.routed(topics[0]).brokers == {master.name: {MASTER: master.addr, "1": slave.addr}}
            leave(of_master)
            left = {master.name: {"1": slave.addr}}
            wait_until(
                lambda topic=topics[0], left=left: client.routed(topic).brokers == left,  # type: ignore[misc]  # defaults of a lambda
                f"the master to be gone after {how}",
                GONE_S,
            )


def test_F027_a_silent_broker_is_gone_between_its_timeout_and_one_scan_later(
    shared_server: StartServer, names: Names
) -> None:
    """The default of 120 s is seen only as far as this test waits: such a broker is still there at its end."""
    server = shared_server(scanNotActiveBrokerInterval=int(SCAN_S * 1000))
    silent = names.broker("silent", 0, heartbeat_timeout_millis=int(TIMEOUT_S * 1000))
    its_slave = names.broker("silent", 1)
    patient = names.broker("patient", heartbeat_timeout_millis=None)
    lone, its_slave_s, patient_s = ([names(f"{kind}-T"), names(f"{kind}-U")] for kind in ("lone", "slave", "patient"))
    alone = names.broker("alone", heartbeat_timeout_millis=int(TIMEOUT_S * 1000))
    with (
        Peer(server.address) as of_silent,
        Peer(server.address) as of_alone,
        Peer(server.address) as others,
        Peer(server.address) as client,
    ):
        others.registered(patient, topics_named(*patient_s))
        others.registered(its_slave, topics_named(*its_slave_s))
        earliest = time.monotonic() + TIMEOUT_S
        of_silent.registered(silent, topics_named(*its_slave_s))
        of_alone.registered(alone, topics_named(*lone))
        latest = time.monotonic() + TIMEOUT_S + SCAN_S + 1
        last_seen = dict.fromkeys(("silent", "alone"), 0.0)
        first_missed: dict[str, float] = {}

        def are_gone() -> bool:
            asked = time.monotonic()
            route = client.route(lone[0])
            there = {
                "silent": MASTER in client.routed(its_slave_s[0]).brokers[names("silent")],
                "alone": route is not None,
            }
            for name, is_there in there.items():
                if is_there:
                    last_seen[name] = asked
                    assert name not in first_missed, f"{name} came back"
                else:
                    first_missed.setdefault(name, time.monotonic())
            assert route is None or route.brokers == {alone.name: {MASTER: alone.addr}}
            return len(first_missed) == len(there)

        wait_until(are_gone, "both to be gone", within_s=latest - time.monotonic() + 5)
        for name in ("silent", "alone"):
            assert first_missed[name] >= earliest, f"{name} left too early"
            assert last_seen[name] <= latest, f"{name} left too late"
        for closed in (of_silent, of_alone):
            closed.expect_closed(GONE_S)
        assert client.routed(its_slave_s[0]).brokers == {its_slave.name: {"1": its_slave.addr}}
        for broker in (silent, alone):
            line = wait_for_line(server, event="broker.unregistered", broker=broker.name, addr=broker.addr)
            assert "heartbeat" in line["reason"]
        assert client.routed(patient_s[0]).brokers == {patient.name: {MASTER: patient.addr}}
        assert others.is_silent(0.1), "its connection stays open"
