"""Field cases about how brokers register and ask what is known of them."""

# ruff: noqa: N802  # case ids are written in capitals

import struct
import time
import zlib
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, NO_ROUTE, QDV, REG, SUCCESS, SYSTEM_ERROR, Peer, numbered, topics_named
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import (
    Codec,
    compressed_register_body,
    crc32_masked,
    data_version,
    identity_ext,
    old_register_body,
    register_body,
    registration_ext,
)

SCAN_MS: Final = 100
GONE_S: Final = 1.0

NEWEST: Final = (612, 5000, 32767)
"""The last version ordinal that Apache RocketMQ 5.5.0 knows, and two above it."""


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
@pytest.mark.parametrize("version", [*NEWEST, 2_000_000_000])
def test_F021_versions_above_the_last_known_count_as_the_newest(
    server: ServerProcess, names: Names, version: int, codec: Codec
) -> None:
    if codec == "ROCKETMQ" and version > 32767:
        codec, version = "JSON", 2**31 - 1  # the binary header has 16 bits for it
    broker = names.broker()
    with Peer(server.address) as peer:
        answer = peer.reg(broker, topics_named(names("T"), names("U")), version=1, opaque=90_001, codec=codec)
        assert (answer.code, answer.opaque) == (SUCCESS, 90_001)
        newer = registration_ext(broker, crc=0)
        body = register_body(topics_named(names("T"), names("U"), names("V")), data_version(2))
        answer = peer.request(REG, newer, body, version=version, opaque=90_002, codec=codec)
        assert (answer.code, answer.opaque) == (SUCCESS, 90_002)
        route = peer.ask_route(names("V"), version=version, opaque=90_003, codec=codec)
        assert (route.code, route.opaque, route.codec) == (SUCCESS, 90_003, codec)
        assert route.body == peer.ask_route(names("V"), version=513).body, "standard JSON, as for the newest"
        assert b'{"0":' in route.body


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
@pytest.mark.parametrize("version", [-1, -32_768])
def test_F021_negative_versions_hurt_nobody(server: ServerProcess, names: Names, version: int, codec: Codec) -> None:
    """Apache RocketMQ NameServer 5.5.0 answers 1 to such a registration, and serves such a route request."""
    broker, other = names.broker(), names.broker("other")
    with Peer(server.address) as peer, Peer(server.address) as neighbour:
        neighbour.registered(other, topics_named(names("T"), names("U")))
        body = register_body(topics_named(names("V"), names("W")))
        refused = peer.request(REG, registration_ext(broker), body, version=version, opaque=-7, codec=codec)
        assert (refused.code, refused.opaque) == (SYSTEM_ERROR, -7)
        assert names("broker-a") not in peer.cluster().brokers
        answer = peer.ask_route(names("T"), version=version, opaque=-8, codec=codec)
        assert (answer.code, answer.opaque) == (SUCCESS, -8)
        assert answer.body == peer.ask_route(names("T"), version=399).body
        assert neighbour.routed(names("T")).brokers == {other.name: {MASTER: other.addr}}


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
def test_F021_version_zero_is_the_oldest(server: ServerProcess, names: Names, codec: Codec) -> None:
    broker = names.broker(enable_acting_master=None)
    with Peer(server.address) as peer:
        body = old_register_body(topics_named(names("T"), names("U")))
        ext = registration_ext(broker, crc=crc32_masked(body))
        answer = peer.request(REG, ext, body, version=0, opaque=90_004, codec=codec)
        assert (answer.code, answer.opaque) == (SUCCESS, 90_004)
        route = peer.ask_route(names("T"), version=0, opaque=90_005, codec=codec)
        assert (route.code, route.opaque) == (SUCCESS, 90_005)
        assert b'{0:"' in route.body


def test_F022_data_version_questions(server: ServerProcess, names: Names) -> None:
    """The answers were recorded from Apache RocketMQ NameServer 5.5.0."""
    broker = names.broker()
    stored = data_version(counter=1, timestamp=5, state_version=7)
    stored_body = b'{"counter":1,"stateVersion":7,"timestamp":5}'
    with Peer(server.address) as peer:
        unknown = peer.query_version(broker, stored)
        assert (unknown.code, unknown.ext, unknown.body) == (SUCCESS, {"changed": "true"}, b"")

        peer.registered(broker, topics_named(names("T"), names("U")), stored)
        questions: list[tuple[dict[str, int] | None, str]] = [
            (stored, "false"),
            (data_version(counter=2, timestamp=5, state_version=7), "true"),
            (data_version(counter=1, timestamp=6, state_version=7), "true"),
            (data_version(counter=1, timestamp=5, state_version=8), "true"),
            ({"counter": 1, "timestamp": 5}, "true"),
            ({}, "true"),
            (None, "true"),
        ]
        for question, changed in questions:
            answer = peer.query_version(broker, question)
            assert (answer.code, answer.ext) == (SUCCESS, {"changed": changed}), question
            assert answer.body == stored_body, question
        elsewhere = peer.query_version(names.broker(cluster="other"), stored)
        assert (elsewhere.ext, elsewhere.body) == ({"changed": "true"}, b"")
        assert peer.request(QDV, identity_ext(broker), b"nonsense").code == SYSTEM_ERROR
        assert peer.query_version(broker, stored).ext == {"changed": "false"}


def test_F022_a_question_renews_the_broker(shared_server: StartServer, names: Names) -> None:
    server = shared_server(scanNotActiveBrokerInterval=SCAN_MS)
    broker = names.broker(heartbeat_timeout_millis=500)
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(names("T"), names("U")))
        begin = time.monotonic()

        def asked_past_the_expiry() -> bool:
            peer.query_version(broker, data_version())
            assert client.route(names("T")) is not None
            return time.monotonic() - begin > 2.0

        wait_until(asked_past_the_expiry, "four times the timeout to pass")
        wait_until(lambda: client.route(names("T")) is None, "the expiry, once the questions end", within_s=3)
        assert peer_is_closed(peer)


def test_F023_a_new_address_replaces_the_silent_old_one(shared_server: StartServer, names: Names) -> None:
    server = shared_server(scanNotActiveBrokerInterval=SCAN_MS)
    old = names.broker(addr="192.0.2.31:10911", heartbeat_timeout_millis=500)
    new = names.broker(addr="192.0.2.32:10911", heartbeat_timeout_millis=60_000)
    topics = [names("T"), names("U")]
    # A firewall that swallows everything looks to the server like this: the connection stays and is silent.
    with Peer(server.address) as dead, Peer(server.address) as fresh, Peer(server.address) as client:
        dead.registered(old, topics_named(*topics), 1)
        fresh.registered(new, topics_named(*topics), 1)
        begin = time.monotonic()

        def is_new() -> None:
            for topic in topics:
                route = client.routed(topic)
                assert route.brokers == {new.name: {MASTER: "192.0.2.32:10911"}}
                assert route.perms == {new.name: 6}
            assert client.cluster().brokers[names("broker-a")] == {MASTER: "192.0.2.32:10911"}
            assert client.group(names("C"), names("broker-a")) == {MASTER: "192.0.2.32:10911"}

        def expired_long_ago() -> bool:
            is_new()
            return time.monotonic() - begin > 1.5

        wait_until(expired_long_ago, "three times the timeout of the old one to pass")
        assert dict(client.query_version(old, data_version()).ext or {}) == {"changed": "true"}
        assert client.query_version(old, data_version()).body == b"", "the old entry does not live"
        dead.abort()
        assert client.query_version(new, data_version()).ext == {"changed": "false"}
        is_new()


def test_F026_a_broken_body_changes_nothing(shared_server: StartServer, names: Names) -> None:
    server = shared_server(scanNotActiveBrokerInterval=SCAN_MS)
    timeout_s = 1.5
    broker = names.broker(heartbeat_timeout_millis=int(timeout_s * 1000), zone="z1")
    claims = names.broker(heartbeat_timeout_millis=600_000, zone="z2", ha_addr="10.9.9.9:1", enable_acting_master=True)
    topics = numbered(names("T"), 100)
    more = topics_named(*topics[50:], names("new"), perm=4)
    newer = compressed_register_body(more, data_version(2), filter_servers=["f:1"])
    plain = register_body(more, data_version(2), filter_servers=["f:1"])
    deflate = zlib.decompress(newer)
    raw = zlib.compressobj(wbits=-15)
    broken: dict[str, tuple[bytes, str, int | None]] = {
        "wrong crc": (newer, "true", crc32_masked(newer) ^ 1),
        "wrong crc of plain JSON": (plain, "false", crc32_masked(plain) ^ 1),
        "cut in half": (newer[: len(newer) // 2], "true", None),
        "cut before the checksum": (newer[:-4], "true", None),
        "trailing garbage": (newer + b"garbage", "true", None),
        "checksum of the stream": (newer[:-1] + bytes([newer[-1] ^ 1]), "true", None),
        "compressed that is plain": (plain, "true", None),
        "plain that is deflate": (raw.compress(deflate) + raw.flush(), "false", None),
        "a count beyond the end": (zlib.compress(deflate[:60] + struct.pack(">i", 2**31 - 1)), "true", None),
    }
    with Peer(server.address) as good, Peer(server.address) as client:
        good.registered(broker, topics_named(*topics), 1)
        before = _state(client, names, topics)
        with Peer(server.address) as bad:
            for what, (body, compressed, crc) in broken.items():
                ext = registration_ext(claims, compressed=compressed, crc=crc32_masked(body) if crc is None else crc)
                answer = bad.request(REG, ext, body)
                assert answer.code == SYSTEM_ERROR, what
                assert answer.body == b"", what
                assert answer.remark, what
                assert _state(client, names, topics) == before, what
            assert bad.query_version(names.broker("stranger"), None).code == SUCCESS, "the connection stays usable"
        assert _state(client, names, topics) == before, "the broker has not moved to a connection that was refused"

        good.registered(broker, topics_named(*topics), 1)
        begin = time.monotonic()
        with Peer(server.address) as bad:

            def is_gone_in_spite_of_refused_ones() -> bool:
                for body, compressed, crc in broken.values():
                    ext = registration_ext(
                        claims, compressed=compressed, crc=crc32_masked(body) if crc is None else crc
                    )
                    assert bad.request(REG, ext, body).code == SYSTEM_ERROR
                return client.route(topics[0]) is None

            wait_until(is_gone_in_spite_of_refused_ones, "the expiry that was registered", within_s=timeout_s + 2)
        assert time.monotonic() - begin >= timeout_s


def test_F026_the_first_byte_decides_whether_a_body_is_compressed(
    server: ServerProcess, names: Names, compatibility_lines: list[str]
) -> None:
    """A wanted difference from the row: 5.x brokers send `compressed=false` over a compressed body."""
    broker = names.broker()
    with Peer(server.address) as peer:
        body = compressed_register_body(topics_named(names("T"), names("U")), data_version(2))
        answer = peer.request(REG, registration_ext(broker, compressed="false", crc=crc32_masked(body)), body)
        assert answer.code == SUCCESS
        assert sorted(peer.topics_of(names("C"))) == [names("T"), names("U")], "all of it"
        cut = body[: len(body) // 2]
        refused = peer.request(REG, registration_ext(names.broker("b"), compressed="false", crc=crc32_masked(cut)), cut)
        assert refused.code == SYSTEM_ERROR
        assert names("b") not in peer.cluster().brokers
        assert peer.ask_route(names("V")).code == NO_ROUTE
    assert any("`compressed-body-sniffed`" in line for line in compatibility_lines)


def _state(client: Peer, names: Names, topics: list[str]) -> Any:
    """Return everything that is known of the broker, but for its liveness."""
    version = client.query_version(names.broker(), data_version(1))
    cluster = client.cluster()
    return (
        [client.ask_route(topic).body for topic in topics],
        client.ask_route(names("new")).code,
        sorted(client.topics_of(names("C"))),
        cluster.raw["brokerAddrTable"][names("broker-a")],
        cluster.clusters[names("C")],
        (version.ext, version.body),
    )


def peer_is_closed(peer: Peer) -> bool:
    """Return whether the server has closed this connection, or does within a second."""
    return not peer.is_silent(1.0)
