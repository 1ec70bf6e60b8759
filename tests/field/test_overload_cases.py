"""Field cases about more work than can be done at once."""

# ruff: noqa: N802  # case ids are written in capitals

import subprocess
import sys
import textwrap
import time
from typing import Final

from tests.support.field import Names, StartServer
from tests.support.flood import STEADY, Flood, steady_body
from tests.support.latency import RouteReader, assert_not_slowed, p99, quiet_p99_s
from tests.support.peer import HB, MASTER, REG, ROUTE, SUCCESS, TOPICS, Peer, peers, topics_named
from tests.support.process_figures import memory_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.standing_rule import MAY_GROW
from tests.support.storm import SYSTEM_BUSY, Report, Storm, run_storm
from tests.support.waiting import wait_until
from tests.support.wire import (
    Broker,
    crc32_masked,
    encode_request,
    register,
    register_body,
    registration_ext,
)

POLLERS: Final = 500
TOPICS_EACH: Final = 20
ROUNDS: Final = 3
"""Seconds in which each poller asks for each of its topics once."""

STORM_FACTOR: Final = 20
NOISE_BYTES: Final = 16 * 1024 * 1024
ANSWER_S: Final = 30.0
CONNECTIONS: Final = 30
FLOOD_S: Final = 4.0
FLOOD_BYTES: Final = 64 * 1024 * 1024
"""Thirty connections with a write buffer and a burst of answers each, and what Python keeps."""

_POLLERS_PROGRAM: Final = """
import contextlib, sys, time
from tests.support.peer import NO_ROUTE, Peer, ROUTE, peers
from tests.support.wire import encode_request

address, prefix, pollers, topics, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
names = [f"{prefix}-deleted-{number}" for number in range(topics)]
asked = b"".join(encode_request(ROUTE, {"topic": name}, opaque=at) for at, name in enumerate(names))
slowest = 0.0
with peers(address, pollers) as lines:
    print("open", flush=True)
    begin = time.monotonic()
    for round_number in range(rounds):
        for at, line in enumerate(lines):
            due = begin + round_number + at / pollers
            time.sleep(max(0.0, due - time.monotonic()))
            asked_at = time.monotonic()
            line.send(asked)
            answers = [line.read_answer() for _ in names]
            slowest = max(slowest, time.monotonic() - asked_at)
            assert {answer.code for answer in answers} == {NO_ROUTE}, answers
            assert {answer.opaque for answer in answers} == set(range(topics)), answers
            assert all(names[answer.opaque] in (answer.remark or "") for answer in answers)
            assert not any(answer.body for answer in answers)
print("slowest", slowest, flush=True)
"""


def test_F075_polling_for_deleted_topics_disturbs_nobody(own_server: StartServer, names: Names) -> None:
    """The pollers are a process of their own, so that the reader beside them measures the server alone."""
    server = own_server()
    broker, topic = names.broker(), names("T")
    with Peer(server.address) as of_broker, Peer(server.address) as client:
        of_broker.registered(
            broker, topics_named(topic, names("U"), *(names(f"deleted-{n}") for n in range(TOPICS_EACH)))
        )
        for number in range(TOPICS_EACH):
            client.delete_topic(names(f"deleted-{number}"))
        quiet_s = quiet_p99_s(server.address, topic)
        logged = len(server.stderr)
        arguments = [server.address, names("")[:-1], str(POLLERS), str(TOPICS_EACH), str(ROUNDS)]
        pollers = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_POLLERS_PROGRAM), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert pollers.stdout is not None
            assert pollers.stdout.readline() == "open\n", pollers.communicate()
            is_right = {broker.name: {MASTER: broker.addr}}.__eq__
            with RouteReader(server.address, topic, is_right) as reader:
                output, errors = pollers.communicate(timeout=60)
        finally:
            pollers.kill()
            pollers.wait()
        assert pollers.returncode == 0, errors
        assert_not_slowed(reader.p99_s, quiet_s)
        slowest_s = float(output.split()[1])
        assert slowest_s < 3, "a client gives up after three seconds"
        of_broker.heartbeat(broker)

        wait_for_line(server, names("deleted-"), event="route.missed")
        missed = log_lines(server, names("deleted-"), event="route.missed")
        assert 1 <= len(missed) <= TOPICS_EACH, "each topic is told once a minute"
        assert "Traceback" not in server.stderr[logged:]
        assert "trace" not in {field for line in missed for field in line}
        assert len(server.stderr) - logged < TOPICS_EACH * 1000
        wait_for_line(server, names("deleted-0"), event="route.missed")
        assert wait_until(lambda: client.routed(topic).perms == {broker.name: 6}, "the route afterwards", 1)


def check_storm(report: Report, brokers: int) -> None:
    """Fail unless everybody was answered, nobody was evicted, and nobody else was slowed."""
    for one in report.rounds:
        assert one.codes == [SUCCESS] * brokers
    assert report.evictions == 0
    assert_not_slowed(p99(report.storm_s), p99(report.quiet_s), STORM_FACTOR)
    assert_not_slowed(p99(report.beats_s), p99(report.quiet_s), STORM_FACTOR)


def test_F076_every_broker_sends_its_full_table_back_to_back(own_server: StartServer, names: Names) -> None:
    """With 2,000 topics instead of 20,000, five times; `python -m benchmarks.storm` has the full size."""
    storm = Storm(brokers=60, topics=2000, moving=1, rounds=5, prefix=names("s"))

    report = run_storm(own_server(), storm)

    check_storm(report, storm.brokers)
    assert report.rounds[-1].memory_bytes <= report.rounds[1].memory_bytes * MAY_GROW + NOISE_BYTES


def test_F078_three_hundred_brokers_register_and_register_again(own_server: StartServer, names: Names) -> None:
    """With 300 topics instead of 10,000 and without the pauses; `python -m benchmarks.storm` has the full size."""
    storm = Storm(brokers=300, topics=300, moving=0.1, rounds=4, prefix=names("s"))
    server = own_server()

    report = run_storm(server, storm)

    check_storm(report, storm.brokers)
    assert report.rounds[-1].memory_bytes <= report.rounds[1].memory_bytes * MAY_GROW + NOISE_BYTES
    with Peer(server.address, 30) as client:
        wait_until(lambda: client.topics() == [], "the brokers to be gone with their connections", 30)


def test_F078_changes_have_no_room_without_end_and_repetitions_always_do(own_server: StartServer, names: Names) -> None:
    """Registrations that find no room are answered busy at once, and are taken when they are repeated later."""
    server = own_server(maxPendingRegistrations=4)
    storm = Storm(brokers=40, topics=3000, moving=0.5, rounds=2, prefix=names("s"))

    report = run_storm(server, storm)

    first, second = report.rounds
    assert set(first.codes) == {SUCCESS, SYSTEM_BUSY}
    assert first.codes.count(SUCCESS) >= 4
    known = [at for at, code in enumerate(first.codes) if code == SUCCESS]
    repeated = [second.codes[at] for at in known if at >= storm.brokers * storm.moving]
    assert set(repeated) <= {SUCCESS}, "what says nothing new is a heartbeat"
    assert report.evictions == 0
    engaged = wait_for_line(server, "registrations", event="brake.engaged")
    released = wait_for_line(server, "registrations", event="brake.released")
    assert engaged["pending"] >= 4
    assert released["refused"] >= 1


def test_F082_more_is_asked_than_can_be_answered(own_server: StartServer, names: Names) -> None:
    """For seconds instead of a minute: routes, heartbeats, repetitions and listings as fast as connections take them."""
    server = own_server(maxPendingListings=3)
    busy, topic = names.broker("busy"), names("T")
    listed = topics_named(*(names(f"L{number}") for number in range(1500)))
    before = memory_of(server.pid)
    largest = 0
    outcomes: dict[str, list[int]] = {"heartbeat": [], "registration": []}
    with Peer(server.address, ANSWER_S) as of_steady, Peer(server.address, ANSWER_S) as of_busy:
        register(of_steady, STEADY, body=steady_body(topic))
        of_busy.registered(busy, listed)
        with Flood(server.address, topic, CONNECTIONS) as flood:
            until = time.monotonic() + FLOOD_S
            version = 1
            while time.monotonic() < until:
                version += 1
                outcomes["registration"].append(of_busy.reg(busy, listed, version).code)
                outcomes["heartbeat"].append(of_steady.heartbeat(STEADY).code)
                largest = max(largest, memory_of(server.pid))
        begin = time.monotonic()
        assert wait_until(lambda: of_steady.request(TOPICS).code == SUCCESS, "a listing afterwards", 5)
        assert time.monotonic() - begin < 5

        assert set(outcomes["registration"]) == set(outcomes["heartbeat"]) == {SUCCESS}
        assert set(flood.answers[ROUTE]) == set(flood.answers[HB]) == set(flood.answers[REG]) == {SUCCESS}
        assert set(flood.answers[TOPICS]) == {SUCCESS, SYSTEM_BUSY}, "the cheapest to refuse"
        assert of_steady.routed(topic).perms == {STEADY.name: 6}
        of_steady.unreg(STEADY)
        of_busy.unreg(busy)
    assert largest <= before + FLOOD_BYTES
    assert wait_for_line(server, "listings", event="brake.engaged")["pending"] == 3
    assert wait_for_line(server, "listings", event="brake.released")["refused"] >= 1
    assert len(log_lines(server, event="brake.engaged")) < sum(flood.answers[TOPICS].values()) / 2, "not each refusal"


def test_F082_work_that_nobody_waits_for_is_not_done(own_server: StartServer, names: Names) -> None:
    """Brokers that gave up while their registrations waited behind others."""
    server = own_server()
    ahead = [names.broker(f"ahead{number}", addr=f"10.82.0.{number}:10911") for number in range(8)]
    gone = [names.broker(f"gone{number}", addr=f"10.82.1.{number}:10911") for number in range(8)]
    body = register_body(topics_named(*(names(f"T{number}") for number in range(10_000))))

    def frame(broker: Broker) -> bytes:
        return encode_request(REG, registration_ext(broker, crc=crc32_masked(body)), body, opaque=1)

    with peers(server.address, len(ahead), 60) as lines, peers(server.address, len(gone), 60) as leaving:
        for line, broker in zip(lines, ahead, strict=True):
            line.send(frame(broker))
        for line, broker in zip(leaving, gone, strict=True):
            line.send(frame(broker))
            line.close()
        assert {line.read_answer().code for line in lines} == {SUCCESS}
        wait_for_line(server, names("ahead7"), event="broker.registered")
        taken = log_lines(server, names("gone"), event="broker.registered")
        assert len(taken) < len(gone), "those that came to their turn after their brokers had left"
        here = {broker.name for broker in ahead}
        wait_until(lambda: set(lines[0].cluster().brokers) == here, "the others to have left", 30)
