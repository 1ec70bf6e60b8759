"""Field cases about time: a process that does not run for a while, and a wall clock that jumps.

Scaled: brokers say that they are silent for three seconds at most, and pauses last longer than that; with the usual 120 s
the same holds for pauses of minutes. The keys of idle connections and of greetings are set to 3 s.
"""

import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
from tests.support.broken_clock import BrokenClock
from tests.support.field import Names
from tests.support.peer import HB, MASTER, REG, SUCCESS, Peer, topics_named
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.waiting import wait_until
from tests.support.wire import (
    Broker,
    crc32_masked,
    encode_request,
    identity_ext,
    register_body,
    registration_ext,
)

LIFE_MS: Final = 3000
PAUSE_S: Final = 4.5
SCAN_MS: Final = 100
HOURS_S: Final = (5 * 3600, -7 * 3600, 30 * 24 * 3600, -365 * 24 * 3600)
CONFIG: Final = {"scanNotActiveBrokerInterval": SCAN_MS}


@pytest.fixture
def clock(tmp_path: Path) -> BrokenClock:
    return BrokenClock(tmp_path, stall_s=PAUSE_S)


@contextmanager
def suspended(server: ServerProcess, seconds: float = PAUSE_S) -> Iterator[None]:
    """Stop the process, and let it go on so long after that; what stands below `with` happens meanwhile."""
    server.signal(signal.SIGSTOP)
    until = time.monotonic() + seconds
    try:
        yield
        time.sleep(max(0.0, until - time.monotonic()))
    finally:
        server.signal(signal.SIGCONT)


def unregistered(server: ServerProcess) -> list[object]:
    return [line["broker"] for line in log_lines(server, event="broker.unregistered")]


def start_to_register(peer: Peer, broker: Broker, *topics: str) -> None:
    """Send a registration, and do not wait for its answer."""
    body = register_body(topics_named(*topics))
    peer.send(encode_request(REG, registration_ext(broker, crc=crc32_masked(body)), body, opaque=7))


def test_a_suspended_process_evicts_nobody(tmp_path: Path, names: Names) -> None:
    """Neither a broker that was heard last before it, nor one whose heartbeat came meanwhile; and each of them goes
    when it is silent afterwards, after its own time and not after the pause once more."""
    quiet = names.broker("quiet", heartbeat_timeout_millis=LIFE_MS)
    beating = names.broker("beating", heartbeat_timeout_millis=LIFE_MS)
    with ServerProcess(tmp_path, config=CONFIG) as server, Peer(server.address) as peer, Peer(server.address) as other:
        rule = StandingRule(server)
        peer.registered(quiet, topics_named(names("T"), names("U")))
        other.registered(beating, topics_named(names("T"), names("U")))
        for _ in range(2):
            with suspended(server):
                other.send(encode_request(HB, identity_ext(beating), opaque=5))
            assert set(peer.routed(names("T")).brokers) == {quiet.name, beating.name}
            assert other.answer_to(5).code == SUCCESS
            assert peer.heartbeat(quiet).code == SUCCESS
        assert unregistered(server) == []
        assert wait_for_line(server, event="server.paused")["seconds"] > 1
        silent_since = time.monotonic()
        wait_until(lambda: len(unregistered(server)) == 2, "both to go in silence", 2 * LIFE_MS / 1000 + PAUSE_S)
        assert time.monotonic() - silent_since < LIFE_MS / 1000 + PAUSE_S
        peer.close()
        other.close()
        rule.check()


def test_a_suspended_process_keeps_brokers_that_came_back_meanwhile(tmp_path: Path, names: Names) -> None:
    """A broker whose request is not answered closes its connection and registers over a new one. When the process goes
    on it sees the end of the old connection first, and must not take that for the end of the broker."""
    broker = names.broker()
    with ServerProcess(tmp_path, config=CONFIG) as server, Peer(server.address) as client:
        rule = StandingRule(server)
        for number in range(3):
            old = Peer(server.address)
            old.registered(broker, topics_named(names("T"), names("U")))
            with suspended(server, 2.0):
                old.close()
                new = Peer(server.address)
                start_to_register(new, broker, names("T"), names("U"))
            for _ in range(50):
                assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            assert new.answer_to(7).code == SUCCESS
            assert len(unregistered(server)) == number
            new.unreg(broker)
            new.close()
            wait_until(lambda n=number: len(unregistered(server)) > n, "its leave to be logged", 5)  # type: ignore[misc]
        client.close()
        rule.check()


def test_a_suspended_process_waits_for_brokers_that_are_still_to_come_back(tmp_path: Path, names: Names) -> None:
    """They come with their next heartbeat, a second later. Without one they have up to 65 s after a pause of 5 s."""
    broker = names.broker()
    with ServerProcess(tmp_path, config=CONFIG) as server, Peer(server.address) as client:
        old = Peer(server.address)
        old.registered(broker, topics_named(names("T"), names("U")))
        with suspended(server, 6.0):
            old.close()
        for _ in range(10):
            assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            time.sleep(0.1)
        with Peer(server.address) as new:
            new.registered(broker, topics_named(names("T"), names("U")))
            for _ in range(30):
                assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
                time.sleep(0.1)
            assert unregistered(server) == []


def test_a_suspended_process_still_loses_brokers_that_left(tmp_path: Path, names: Names) -> None:
    broker = names.broker()
    with ServerProcess(tmp_path, config=CONFIG) as server, Peer(server.address) as client:
        old = Peer(server.address)
        old.registered(broker, topics_named(names("T"), names("U")))
        with suspended(server, 2.0):
            old.close()
        wait_until(lambda: client.route(names("T")) is None, "the broker to be gone", 10)


def test_a_suspended_process_closes_no_connection(tmp_path: Path, names: Names) -> None:
    """Neither as idle nor because its greeting takes long: the peers could not be heard."""
    config = CONFIG | {"serverChannelMaxIdleTimeSeconds": 3, "greetingTimeoutSeconds": 3}
    with (
        ServerProcess(tmp_path, config=config) as server,
        Peer(server.address) as idle,
        Peer(server.address) as greeting,
    ):
        assert idle.route(names("T")) is None
        whole = b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"
        greeting.send(whole[:11])
        time.sleep(0.2)
        with suspended(server):
            greeting.send(whole[11:20])
        greeting.send(whole[20:])
        assert greeting.route(names("T")) is None
        assert idle.route(names("T")) is None
        idle.expect_closed(10)


def test_a_suspended_process_does_not_count_it_as_warm_up(tmp_path: Path, names: Names) -> None:
    """`needWaitForService` gives brokers time to register; in a pause they cannot."""
    broker = names.broker()
    config = {"needWaitForService": True, "waitSecondsForService": 4}
    with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        with suspended(server):
            pass
        answer = peer.ask_route(names("T"))
        assert answer.remark == "name server not ready", answer
        wait_until(lambda: peer.ask_route(names("T")).code == SUCCESS, "the end of the warm-up", 20)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_stalled_event_loop_evicts_nobody(tmp_path: Path, names: Names, clock: BrokenClock, loop: str) -> None:
    """The process runs, and one piece of work takes longer than a broker's life; a case of 10 s, scaled."""
    hooks = tmp_path / "clock-hooks" / "sitecustomize.py"
    if loop == "asyncio":
        hooks.write_text(hooks.read_text() + "\nimport sys\nsys.modules['uvloop'] = None\n")
    broker = names.broker(heartbeat_timeout_millis=LIFE_MS)
    config = CONFIG | {"serverChannelMaxIdleTimeSeconds": 3}
    with (
        ServerProcess(tmp_path, config=config, environment=clock.environment) as server,
        Peer(server.address, 30) as peer,
        Peer(server.address, 30) as client,
    ):
        rule = StandingRule(server)
        peer.registered(broker, topics_named(names("T"), names("U")))
        for _ in range(2):
            asked = time.monotonic()
            server.signal(signal.SIGWINCH)
            time.sleep(0.2)
            for _ in range(20):
                assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            assert time.monotonic() - asked > PAUSE_S * 0.8, "it did stall"
            assert peer.heartbeat(broker).code == SUCCESS
        assert unregistered(server) == []
        peer.unreg(broker)
        peer.close()
        client.close()
        rule.check()


def test_a_wall_clock_that_jumps_evicts_nobody(tmp_path: Path, names: Names, clock: BrokenClock) -> None:
    """Hours, a month and a year, there and back; log lines show the time of the day, and nothing else depends on it."""
    broker = names.broker(heartbeat_timeout_millis=LIFE_MS)
    config = CONFIG | {"serverChannelMaxIdleTimeSeconds": 3}
    with (
        ServerProcess(tmp_path, config=config, environment=clock.environment) as server,
        Peer(server.address) as peer,
        Peer(server.address) as client,
    ):
        rule = StandingRule(server)
        peer.registered(broker, topics_named(names("T"), names("U")), version=3)
        for number, offset_s in enumerate(HOURS_S):
            clock.jump(offset_s)
            for _ in range(6):
                time.sleep(2 * SCAN_MS / 1000)
                assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
                assert peer.heartbeat(broker).code == SUCCESS
            assert client.put_kv(names("N"), str(number), "v").code == SUCCESS
            line = wait_for_line(server, event="kv.put", key=str(number))
            shown = datetime.fromisoformat(line["time"]).timestamp()
            assert abs(shown - (time.time() + offset_s)) < 60
        assert unregistered(server) == []
        silent_since = time.monotonic()
        clock.jump(-HOURS_S[0])
        wait_until(lambda: unregistered(server), "the broker to go when it is silent", 3 * LIFE_MS / 1000)
        assert time.monotonic() - silent_since >= LIFE_MS / 1000 - 0.3
        peer.close()
        client.close()
        rule.check()


def test_a_wall_clock_that_jumps_leaves_versions_as_brokers_said_them(
    tmp_path: Path, names: Names, clock: BrokenClock
) -> None:
    """The server stamps nothing of a broker with its own time: it gives back what was registered, and finds it equal."""
    broker = names.broker()
    version = {"counter": 3, "stateVersion": 1, "timestamp": 1_700_000_000_000}
    with ServerProcess(tmp_path, environment=clock.environment) as server, Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")), version)
        for offset_s in HOURS_S:
            clock.jump(offset_s)
            answer = peer.query_version(broker, version)
            assert answer.ext == {"changed": "false"}
            assert {name: answer.json()[name] for name in version} == version
            peer.registered(broker, topics_named(names("T"), names("U")), version)
            assert peer.query_version(broker, version).ext == {"changed": "false"}


def test_kv_entries_of_a_server_with_a_wrong_clock_are_kept(tmp_path: Path, names: Names, clock: BrokenClock) -> None:
    """Also a damaged file is set aside under a name of its own, whatever the clock says."""
    for offset_s in (0, *HOURS_S):
        clock.jump(offset_s)
        with ServerProcess(tmp_path, environment=clock.environment) as server, Peer(server.address) as peer:
            assert peer.put_kv(names("N"), str(offset_s), "v").code == SUCCESS
    file = tmp_path / "data" / "kvConfig.json"
    assert set(json.loads(file.read_text())["configTable"][names("N")]) == {str(each) for each in (0, *HOURS_S)}
    for offset_s in (0, -HOURS_S[0]):
        clock.jump(offset_s)
        file.write_text("{", encoding="ascii")
        with ServerProcess(tmp_path, environment=clock.environment) as server, Peer(server.address) as peer:
            assert peer.put_kv(names("N"), "after", "v").code == SUCCESS
    aside = [path for path in file.parent.iterdir() if re.search(r"damaged", path.name)]
    assert len(aside) == 2
