"""Field cases about many peers that want what is not there."""

# ruff: noqa: N802  # case ids are written in capitals

import subprocess
import sys
import textwrap
from typing import Final

from tests.support.field import Names, StartServer
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.peer import MASTER, Peer, topics_named
from tests.support.server_log import log_lines, wait_for_line
from tests.support.waiting import wait_until

POLLERS: Final = 500
TOPICS_EACH: Final = 20
ROUNDS: Final = 3
"""Seconds in which each poller asks for each of its topics once."""

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


def test_F075_polling_for_deleted_topics_disturbs_nobody(shared_server: StartServer, names: Names) -> None:
    """The pollers are a process of their own, so that the reader beside them measures the server alone."""
    server = shared_server()
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

        missed = log_lines(server, names("deleted-"), event="route.missed")
        assert 1 <= len(missed) <= TOPICS_EACH, "each topic is told once a minute"
        assert "Traceback" not in server.stderr[logged:]
        assert "trace" not in {field for line in missed for field in line}
        assert len(server.stderr) - logged < TOPICS_EACH * 1000
        wait_for_line(server, names("deleted-0"), event="route.missed")
        assert wait_until(lambda: client.routed(topic).perms == {broker.name: 6}, "the route afterwards", 1)
