"""Field cases about many brokers, many topics, and routes and listings that are very long."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import itertools
import resource
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.latency import assert_not_slowed
from tests.support.peer import (
    CLUSTER,
    HB,
    MASTER,
    REG,
    ROUTE,
    SUCCESS,
    SYSTEM_ERROR,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_SUB_NOT_UNIT_TOPICS,
    UNIT_SUB_TOPICS,
    UNIT_TOPICS,
    Peer,
    peers,
    topics_named,
)
from tests.support.process_figures import cpu_s_of
from tests.support.steady_reader import SteadyReader, steady_quiet_p99_s
from tests.support.waiting import wait_until
from tests.support.wire import (
    FLAG_ONEWAY,
    Answer,
    Broker,
    Json,
    crc32_masked,
    data_version,
    dump,
    encode_request,
    identity_ext,
    registration_ext,
    topic_config,
    topic_wrapper,
)

BROKERS: Final = 1_000
TOPICS_EACH: Final = 200
SHARE: Final = 10
"""So many brokers have the same topics."""
SCAN_MS: Final = 1_000
"""What big tables cost is given back at a scan; the standing rule waits five seconds for it."""
STORM_FACTOR: Final = 20
REMOVED_S: Final = 5.0
RECOVERED_S: Final = 10.0


LISTED: Final = 100_000
AT_ONCE: Final = 10
CLIENT_LIMIT_S: Final = 3.0
LISTING_S: Final = 1.0
TENFOLD: Final = 10 * 5
"""Ten times the topics may take ten times as long, and more where they no longer fit the processor's caches; what
walks all topics for each topic takes a hundred times as long."""

FRAME_LIMIT: Final = 16 * 1024 * 1024
WIDE: Final = 3_000
REPLICAS: Final = 3
ROUTE_CLIENTS: Final = 20
ROUNDS: Final = 5


@pytest.fixture(autouse=True)
def _many_descriptors() -> Iterator[None]:
    """Let this process, and the servers that it starts, open as many connections as the administrator allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def register_body_of(topics: Sequence[Json], version: int = 1, filter_servers: Sequence[str] = ()) -> bytes:
    """Encode a table with the quick JSON writer; large ones take seconds otherwise."""
    wrapper = topic_wrapper(topics, data_version(version))
    return dump({"filterServerList": list(filter_servers), "topicConfigSerializeWrapper": wrapper})


def registration(broker: Broker, body: bytes, opaque: int = 1) -> bytes:
    return encode_request(REG, registration_ext(broker, crc=crc32_masked(body)), body, opaque=opaque)


def register_all(lines: Sequence[Peer], frames: Sequence[bytes]) -> None:
    """Send one registration over each connection, all before the first answer is read."""
    for line, frame in zip(lines, frames, strict=True):
        line.send(frame)
    assert {line.read_answer().code for line in lines} == {SUCCESS}


class Crowd:
    """A thousand brokers; each ten of them have the same two hundred topics."""

    def __init__(self, names: Names, topics_each: int, **more: Any) -> None:
        self.names = names
        self.brokers = [names.broker(f"b{n}", addr=f"10.77.{n // 250}.{n % 250}:10911", **more) for n in range(BROKERS)]
        self.topics = [[names(f"T{group}-{n}") for n in range(topics_each)] for group in range(BROKERS // SHARE)]
        bodies = [register_body_of(topics_named(*topics)) for topics in self.topics]
        self.frames = [registration(broker, bodies[at // SHARE], at) for at, broker in enumerate(self.brokers)]

    def is_whole(self, client: Peer, present: Sequence[Broker], others: int) -> bool:
        """Tell whether just these brokers of the crowd are there, beside `others`, and sampled routes have them."""
        expected = {str(broker.name): {MASTER: str(broker.addr)} for broker in present}
        listed = client.cluster().brokers
        if len(listed) != len(expected) + others or not expected.items() <= dict(listed).items():
            return False
        for at, topics in enumerate(self.topics[::9]):
            own = [str(broker.name) for broker in self.brokers[at * 9 * SHARE : (at * 9 + 1) * SHARE]]
            for topic in (topics[0], topics[-1]):
                route = client.route(topic)
                if (dict(route.brokers) if route else {}) != {name: expected[name] for name in own if name in expected}:
                    return False
        return True


def test_F077_a_thousand_brokers_lose_their_connections_and_come_back(own_server: StartServer, names: Names) -> None:
    """Every second one comes back at once, while the others are still being removed."""
    server = own_server(scanNotActiveBrokerInterval=SCAN_MS)
    steady, crowd = names.broker("steady"), Crowd(names, TOPICS_EACH)
    early = crowd.brokers[::2]
    with Peer(server.address, 30) as of_steady, Peer(server.address, 30) as client:
        of_steady.registered(steady, topics_named(names("S"), names("S2")))
        quiet_s = steady_quiet_p99_s(server.address, names("S"))
        with (
            peers(server.address, BROKERS, 30) as lines,
            peers(server.address, BROKERS, 30) as again,
            SteadyReader(server.address, names("S")) as reader,
        ):
            register_all(lines, crowd.frames)
            assert crowd.is_whole(client, crowd.brokers, others=1)
            for line in lines:
                line.abort()
            due = time.monotonic()
            register_all(again[::2], crowd.frames[::2])
            wait_until(lambda: crowd.is_whole(client, early, others=1), "the others to be gone", left(due, REMOVED_S))
            register_all(again[1::2], crowd.frames[1::2])
            last = time.monotonic()
            wait_until(lambda: crowd.is_whole(client, crowd.brokers, others=1), "all", left(last, RECOVERED_S))
            assert len(client.topics()) == len(crowd.topics) * TOPICS_EACH + 2
            assert crowd.is_whole(client, crowd.brokers, others=1), "and they stay"
        assert_not_slowed(reader.p99_s, quiet_s, STORM_FACTOR)


def left(since: float, seconds: float) -> float:
    """Return how much of a deadline is left."""
    return max(0.0, since + seconds - time.monotonic())


def test_F077_a_thousand_brokers_fall_silent(own_server: StartServer, names: Names) -> None:
    """With 20 topics each and over ten connections; of every connection half of the brokers go on to speak."""
    timeout_s = 3.0
    server = own_server()
    steady, crowd = names.broker("steady"), Crowd(names, 20, heartbeat_timeout_millis=int(timeout_s * 1000))
    speaking = crowd.brokers[::2]
    beats = [
        b"".join(encode_request(HB, identity_ext(broker), opaque=0, flag=FLAG_ONEWAY) for broker in speaking[at::10])
        for at in range(10)
    ]
    next_beat = 0.0
    with (
        Peer(server.address, 30) as of_steady,
        Peer(server.address, 30) as client,
        peers(server.address, 10, 30) as lines,
    ):
        of_steady.registered(steady, topics_named(names("S"), names("S2")))
        quiet_s = steady_quiet_p99_s(server.address, names("S"))
        for at, line in enumerate(lines):
            line.send(b"".join(frame for n, frame in enumerate(crowd.frames) if n // 2 % 10 == at))
        assert {line.read_answer().code for line in lines for _ in range(BROKERS // 10)} == {SUCCESS}
        due = time.monotonic() + timeout_s

        def are_just_those_who_speak() -> bool:
            nonlocal next_beat
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + timeout_s / 6
                for line, beat in zip(lines, beats, strict=True):
                    line.send(beat)
            assert len(client.cluster().brokers) > len(speaking), "none of those who speak was removed"
            return time.monotonic() > due and crowd.is_whole(client, speaking, others=1)

        with SteadyReader(server.address, names("S")) as reader:
            wait_until(are_just_those_who_speak, "the silent ones to be gone", left(due, REMOVED_S + 1))
            silent = crowd.frames[1::2]
            lines[0].send(b"".join(silent))
            assert {lines[0].read_answer().code for _ in silent} == {SUCCESS}
            last = time.monotonic()
            wait_until(lambda: crowd.is_whole(client, crowd.brokers, others=1), "all", left(last, RECOVERED_S))
        assert_not_slowed(reader.p99_s, quiet_s, STORM_FACTOR)


def test_F084_listings_of_a_hundred_thousand_topics(own_server: StartServer, names: Names) -> None:
    server = own_server(scanNotActiveBrokerInterval=SCAN_MS)
    brokers = [names.broker(f"b{n}", addr=f"10.84.0.{n}:10911") for n in range(10)]
    topics = [[names(f"T{part}-{n}") for n in range(LISTED // 10)] for part in range(10)]
    every = {
        TOPICS: LISTED,
        TOPICS_OF_CLUSTER: LISTED,
        UNIT_TOPICS: LISTED // 2,
        UNIT_SUB_TOPICS: LISTED // 2,
        UNIT_SUB_NOT_UNIT_TOPICS: LISTED // 4,
        CLUSTER: len(brokers),
    }
    with Peer(server.address, 30) as of_brokers, contextlib.ExitStack() as stack:
        clients = stack.enter_context(peers(server.address, AT_ONCE, CLIENT_LIMIT_S))

        def register(count: int) -> None:
            for part, (broker, its_topics) in enumerate(zip(brokers, topics, strict=True)):
                table = [topic_config(topic, sys_flag=at % 4) for at, topic in enumerate(its_topics[: count // 10])]
                of_brokers.send(registration(broker, register_body_of(table, count), opaque=part))
                assert of_brokers.answer_to(part).code == SUCCESS

        def listing_s(code: int) -> float:
            """Return how long a listing takes right after a change, with nothing kept from the one before."""
            durations = []
            for number in range(10):
                body = register_body_of([topic_config(topics[0][0], read=number + 1)], 2 * LISTED + number)
                of_brokers.send(registration(brokers[0], body))
                assert of_brokers.answer_to(1).code == SUCCESS
                begin = time.perf_counter()
                assert clients[0].request(code, {"cluster": names("C")}).code == SUCCESS
                durations.append(time.perf_counter() - begin)
            return min(durations)

        def all_listings_s() -> dict[int, float]:
            return {code: listing_s(code) for code in every if code != CLUSTER}

        def ten_at_once(code: int) -> list[Answer]:
            """Ask over ten connections at once; the best of three tries is what counts on a busy machine."""
            durations, answers = [], []
            for _ in range(3):
                begin = time.monotonic()
                for at, client in enumerate(clients):
                    client.send(encode_request(code, {"cluster": names("C")}, opaque=at))
                answers = [client.answer_to(at) for at, client in enumerate(clients)]
                durations.append(time.monotonic() - begin)
            assert min(durations) < LISTING_S, f"{code}: {durations}"
            return answers

        register(LISTED // 10)
        tenth_s = all_listings_s()
        register(LISTED)
        whole_s = all_listings_s()
        for code, seconds in whole_s.items():
            assert seconds <= TENFOLD * (tenth_s[code] + 0.002), f"{code}: {tenth_s[code]} s, then {seconds} s"

        quiet_s = steady_quiet_p99_s(server.address, topics[0][0])
        with SteadyReader(server.address, topics[0][0]) as reader:
            for code, count in every.items():
                answers = ten_at_once(code)
                assert {answer.code for answer in answers} == {SUCCESS}
                assert len({answer.body for answer in answers}) == 1
                body = answers[0].json()
                listed = list(body["brokerAddrTable"]) if code == CLUSTER else body["topicList"]
                assert len(listed) == len(set(listed)) == count
        assert_not_slowed(reader.p99_s, quiet_s, STORM_FACTOR)
        for broker in brokers:
            of_brokers.unreg(broker)


def test_F085_a_route_over_thousands_of_brokers(own_server: StartServer, names: Names) -> None:
    """A hundred routes as fast as they come, twenty at once, instead of in one second."""
    server = own_server(scanNotActiveBrokerInterval=SCAN_MS)
    topic = names("T")
    groups = [
        [
            names.broker(f"b{n}", id_, addr=f"10.{85 + id_}.{n // 250}.{n % 250}:10911", ha_addr="192.0.2.1:10912")
            for id_ in range(REPLICAS)
        ]
        for n in range(WIDE)
    ]
    topics = topics_named(topic, names("U"))
    with (
        Peer(server.address, 30) as of_brokers,
        Peer(server.address, 30) as client,
        peers(server.address, ROUTE_CLIENTS, 30) as clients,
    ):
        for at in range(0, WIDE, 100):
            some = [broker for group in groups[at : at + 100] for broker in group]
            bodies = [register_body_of(topics, 1, [f"{broker.addr}1"]) for broker in some]
            of_brokers.send(b"".join(map(registration, some, bodies)))
            assert {of_brokers.read_answer().code for _ in some} == {SUCCESS}

        route = client.routed(topic)
        assert dict(route.brokers) == {
            str(group[0].name): {str(broker.id): str(broker.addr) for broker in group} for group in groups
        }
        assert set(route.perms.values()) == {6}
        assert route.raw["filterServerTable"] == {
            broker.addr: [f"{broker.addr}1"] for group in groups for broker in group
        }

        right = client.ask_route(topic).body

        def slowest_s(askers: Sequence[Peer]) -> float:
            """Ask over these connections at once and return when the last of them had its answer."""
            begin = time.perf_counter()
            for at, asker in enumerate(askers):
                asker.send(encode_request(ROUTE, {"topic": topic}, opaque=at))
            assert all(asker.answer_to(at).body == right for at, asker in enumerate(askers))
            return time.perf_counter() - begin

        quiet_s = min(slowest_s([client]) for _ in range(ROUNDS))
        assert_not_slowed(min(slowest_s(clients) for _ in range(ROUNDS)), quiet_s)

        def cpu_of(rounds: int, *, changes: bool) -> float:
            before = cpu_s_of(server.pid)
            for number in range(rounds):
                if changes:
                    body = register_body_of(topics, 10 + number, [f"filter-{number}:1"])
                    of_brokers.send(registration(groups[0][0], body))
                    assert of_brokers.read_answer().code == SUCCESS
                assert client.ask_route(topic).code == SUCCESS
            return cpu_s_of(server.pid) - before

        with_changes_s = cpu_of(20, changes=True)
        without_s = cpu_of(20, changes=False)
        assert without_s <= with_changes_s / 3, "encoded once per change, not per call"


def test_F085_an_answer_over_the_frame_limit_is_an_error(own_server: StartServer, names: Names) -> None:
    """A route of 18 MiB, made by filter servers; the same route is good again once it is shorter."""
    server = own_server(scanNotActiveBrokerInterval=SCAN_MS, maxFilterServers=20_000)
    brokers = [names.broker(f"b{n}", addr=f"10.85.9.{n}:10911") for n in range(40)]
    filter_servers = [f"filter-{n:05}.internal.example:10911" for n in range(13_000)]
    body = register_body_of(topics_named(names("T"), names("U")), 1, filter_servers)
    assert len(body) * len(brokers) > FRAME_LIMIT
    with Peer(server.address, 30) as of_brokers, Peer(server.address, 30) as client:
        for broker in brokers:
            of_brokers.send(registration(broker, body))
            assert of_brokers.read_answer().code == SUCCESS
        for version, codec in itertools.product((399, 513), ("JSON", "ROCKETMQ")):
            answer = client.ask_route(names("T"), version=version, codec=codec)
            assert (answer.code, answer.body, answer.codec) == (SYSTEM_ERROR, b"", codec)
            assert "frame limit" in (answer.remark or "")
        assert len(client.cluster().brokers) == len(brokers), "the connection stays open"
        for broker in brokers[30:]:
            assert of_brokers.unreg(broker).code == SUCCESS
        route = client.ask_route(names("T"))
        assert FRAME_LIMIT * 3 / 4 < len(route.body) < FRAME_LIMIT
        assert set(route.json()["filterServerTable"]) == {broker.addr for broker in brokers[:30]}
        for broker in brokers[:30]:
            of_brokers.unreg(broker)
