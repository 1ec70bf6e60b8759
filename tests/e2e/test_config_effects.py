"""Every configuration key does what it says, in the real process: the keys that take effect at once.

Each is shown given at the start, changed by a request while the server runs, and after the restart that follows.
Keys that wait for a restart are in test_config_effects_restart.py, those about who may come in in
test_config_effects_peers.py. The last test here fails for a key that has no test in any of the three.
"""

import importlib
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pytest
from tests.support.field import Names
from tests.support.field_brokers import Listener
from tests.support.peer import (
    CFGGET,
    MIN_ID_NOTICE,
    SUCCESS,
    SYSTEM_ERROR,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_SUB_NOT_UNIT_TOPICS,
    UNIT_SUB_TOPICS,
    UNIT_TOPICS,
    Peer,
    topics_named,
)
from tests.support.server_process import ServerProcess, run_command
from tests.support.shown_keys import SHOWN, When, change, listing, shows
from tests.support.waiting import wait_until
from tests.support.wire import register

from cosmodrome.namesrv.config import FIXED_BLACK_LIST, KEYS, SECURITY_KEYS
from cosmodrome.namesrv.config_keys import Effect, Family, Kind

ORDER: Final = "ORDER_TOPIC_CONFIG"
GO_AWAY: Final = 1500
NO_PERMISSION: Final = 16
SERVED_UP_TO: Final = 475
HOUR_MS: Final = 3_600_000
HOUR_S: Final = 3600
LONGEST_WAIT_S: Final = 600
"""What a request may set."""
SOON_S: Final = 10.0
QUIET_S: Final = 0.4


class Check(Protocol):
    """Fails unless the server behaves as with the other value (`is_other`), or else as with the first one."""

    def __call__(self, server: ServerProcess, names: Names, *, is_other: bool) -> None:
        """Look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveKey:
    """A key, two of its values, and how one sees which of them is in force."""

    key: str
    first: object
    other: object
    check: Check


def order_goes_to_clients(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    topic = names("T")
    with Peer(server.address) as peer:
        peer.registered(names.broker(), topics_named(topic, names("U")))
        assert peer.put_kv(ORDER, topic, "broker-a:4").code == SUCCESS
        for version in (399, 513):
            route = peer.ask_route(topic, version=version).json()
            assert route.get("orderTopicConf") == ("broker-a:4" if is_other else None)


def order_goes_to_brokers(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    with Peer(server.address) as peer:
        assert peer.put_kv(ORDER, names("T"), "broker-a:4").code == SUCCESS
        answer = peer.registered(names.broker(), topics_named(names("T"), names("U")))
        assert (answer.body == b"") is is_other
        assert is_other or answer.json()["table"][names("T")] == "broker-a:4"


def slave_stands_in(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    slave = names.broker("broker-a", 1, enable_acting_master=True)
    with Peer(server.address) as peer:
        peer.registered(slave, topics_named(names("T"), names("U")))
        assert peer.routed(names("T")).brokers == {slave.name: {"0" if is_other else "1": slave.addr}}
        assert peer.group(names("C"), names("broker-a")) == {"1": slave.addr}


def all_topics_are_refused(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    lists_are_refused(server, names, (TOPICS,), is_other=is_other)


def other_lists_are_refused(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    codes = (TOPICS_OF_CLUSTER, UNIT_TOPICS, UNIT_SUB_TOPICS, UNIT_SUB_NOT_UNIT_TOPICS)
    lists_are_refused(server, names, codes, is_other=is_other)


def lists_are_refused(server: ServerProcess, names: Names, codes: tuple[int, ...], *, is_other: bool) -> None:
    with Peer(server.address) as peer:
        for code in codes:
            answer = peer.request(code, {"cluster": names("C")})
            if is_other:
                assert (answer.code, answer.remark, answer.body) == (SYSTEM_ERROR, "disable", b"")
            else:
                assert (answer.code, list(answer.json())) == (SUCCESS, ["topicList"])


def brokers_are_told(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    with Listener("127.0.0.2") as master, Listener("127.0.0.3") as slave, Peer(server.address) as peer:
        for broker_id, listener in enumerate((master, slave)):
            broker = names.broker("broker-a", broker_id, addr=listener.address, enable_acting_master=True)
            peer.registered(broker, topics_named(names("T"), names("U")))
        peer.unreg(names.broker("broker-a", 0, addr=master.address))
        if is_other:
            wait_until(lambda: slave.frames, "the notice", SOON_S)
            assert slave.frames[0].code == MIN_ID_NOTICE
        else:
            assert peer.is_silent(QUIET_S)
            assert slave.frames == []


def omission_deletes(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    with Peer(server.address) as peer:
        peer.registered(names.broker(), topics_named(names("T"), names("U")), 1)
        peer.registered(names.broker(), topics_named(names("U"), names("V")), 2)
        assert (peer.route(names("T")) is None) is is_other
        assert peer.route(names("U")) is not None


def silent_brokers_are_searched_for(server: ServerProcess, names: Names, *, is_other: bool) -> None:
    broker = names.broker(heartbeat_timeout_millis=0)
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, [])
        if is_other:
            wait_until(lambda: names("broker-a") not in client.cluster().brokers, "a search", SOON_S)
        else:
            assert client.is_silent(QUIET_S)
            assert names("broker-a") in client.cluster().brokers


LIVE_KEYS: Final = (
    LiveKey(key="orderMessageEnable", first=False, other=True, check=order_goes_to_clients),
    LiveKey(key="returnOrderTopicConfigToBroker", first=True, other=False, check=order_goes_to_brokers),
    LiveKey(key="supportActingMaster", first=False, other=True, check=slave_stands_in),
    LiveKey(key="enableAllTopicList", first=True, other=False, check=all_topics_are_refused),
    LiveKey(key="enableTopicList", first=True, other=False, check=other_lists_are_refused),
    LiveKey(key="notifyMinBrokerIdChanged", first=False, other=True, check=brokers_are_told),
    LiveKey(key="deleteTopicWithBrokerRegistration", first=False, other=True, check=omission_deletes),
    LiveKey(key="scanNotActiveBrokerInterval", first=HOUR_MS, other=50, check=silent_brokers_are_searched_for),
)
FIRST: Final = {each.key: each.first for each in LIVE_KEYS}
OTHER: Final = {each.key: each.other for each in LIVE_KEYS}
every_live_key: Final = pytest.mark.parametrize("live", LIVE_KEYS, ids=lambda each: each.key)


@pytest.fixture(scope="module")
def with_first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Give a server that was started with the first value of every key; tests change them and change them back."""
    with ServerProcess(tmp_path_factory.mktemp("first"), config=FIRST) as server:
        yield server


@pytest.fixture(scope="module")
def with_other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Give a server that was started with the other value of every key."""
    with ServerProcess(tmp_path_factory.mktemp("other"), config=OTHER) as server:
        yield server


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Give a server that runs again after requests changed every key of its predecessor, which had no file."""
    folder = tmp_path_factory.mktemp("restarted")
    with ServerProcess(folder) as server:
        assert change(server, **OTHER) == ""
    with ServerProcess(folder) as server:
        yield server


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


@shows(*OTHER, when=When.START)
@every_live_key
def test_given_at_the_start(with_other: ServerProcess, names: Names, live: LiveKey) -> None:
    live.check(with_other, names, is_other=True)


@shows(*OTHER, when=When.LIVE)
@every_live_key
def test_changed_by_a_request_at_once(with_first: ServerProcess, names: Names, live: LiveKey) -> None:
    for moment, (value, is_other) in enumerate([(None, False), (live.other, True), (live.first, False)]):
        if value is not None:
            assert change(with_first, **{live.key: value}) == ""
            assert listing(with_first)[live.key] == str(value).lower()
        live.check(with_first, Names(f"{names('')}{moment}"), is_other=is_other)


@every_live_key
def test_a_change_survives_a_restart(restarted: ServerProcess, names: Names, live: LiveKey) -> None:
    live.check(restarted, names, is_other=True)
    assert listing(restarted)[live.key] == str(live.other).lower()


@shows("needWaitForService", "waitSecondsForService", when=When.START)
@shows("needWaitForService", "waitSecondsForService", when=When.LIVE)
def test_the_warm_up(tmp_path: Path, names: Names) -> None:
    topic = names("T")

    def is_refused(server: ServerProcess) -> bool:
        with Peer(server.address) as peer:
            peer.registered(names.broker(), topics_named(topic, names("U")))
            answer = peer.ask_route(topic)
        assert answer.code == SUCCESS or (answer.code, answer.remark) == (SYSTEM_ERROR, "name server not ready")
        return answer.code != SUCCESS

    config = {"needWaitForService": True, "waitSecondsForService": HOUR_S}
    with ServerProcess(tmp_path, config=config) as server:
        assert is_refused(server)
        assert change(server, waitSecondsForService=0) == ""
        assert not is_refused(server)
    with ServerProcess(tmp_path, config=config) as server:
        assert not is_refused(server), "no wait, as changed before the restart"
        assert change(server, waitSecondsForService=LONGEST_WAIT_S) == ""
        assert is_refused(server)
        assert change(server, needWaitForService=False) == ""
        assert not is_refused(server)
    with ServerProcess(tmp_path, config=config) as server:
        assert listing(server)["waitSecondsForService"] == str(LONGEST_WAIT_S)
        assert not is_refused(server), "switched off, as changed before the restart"
        assert change(server, needWaitForService=True) == ""
        assert is_refused(server)


@shows("serverChannelMaxIdleTimeSeconds", when=When.START)
@shows("serverChannelMaxIdleTimeSeconds", when=When.LIVE)
def test_idle_connections(tmp_path: Path) -> None:
    config = {"serverChannelMaxIdleTimeSeconds": 1}
    with ServerProcess(tmp_path, config=config) as server:
        connected = time.monotonic()
        with Peer(server.address) as idle:
            idle.expect_closed(SOON_S)
        assert time.monotonic() - connected > 0.9
        assert change(server, serverChannelMaxIdleTimeSeconds=HOUR_S) == ""
        with Peer(server.address) as idle:
            assert idle.is_silent(3)
    with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as idle:
        assert idle.is_silent(3), "as changed before the restart"


@shows("enableShutdownGracefully", "shutdownWaitTimeSeconds", when=When.START)
@shows("enableShutdownGracefully", when=When.LIVE)
def test_newer_clients_are_sent_away_before_the_end(tmp_path: Path, names: Names) -> None:
    config = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": HOUR_S}
    with ServerProcess(tmp_path, config=config) as server:
        assert change(server, enableShutdownGracefully=False) == ""
        assert ends_after(server) < SOON_S, "switched off"
    with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
        assert listing(server)["enableShutdownGracefully"] == "false", "as changed before the restart"
        assert change(server, enableShutdownGracefully=True) == ""
        peer.registered(names.broker(), topics_named(names("T"), names("U")))
        server.signal(signal.SIGTERM)
        server.wait_for_stderr("server.draining")
        with Peer(server.address) as later:
            for each in (peer, later):
                for version, code in (
                    (513, GO_AWAY),
                    (SERVED_UP_TO + 1, GO_AWAY),
                    (SERVED_UP_TO, SUCCESS),
                    (0, SUCCESS),
                ):
                    answer = each.ask_route(names("T"), version=version)
                    assert answer.code == code, version
                    assert answer.remark == ("please go away" if code == GO_AWAY else None)
                broker = names.broker("broker-b")
                topics = topics_named(names("T"), names("V"))
                assert each.reg(broker, topics).code == GO_AWAY
                assert register(each, broker, topics, version=399).code == SUCCESS
        assert server.is_alive
        server.kill()


@shows("shutdownWaitTimeSeconds", when=When.LIVE)
def test_how_long_newer_clients_are_sent_away(tmp_path: Path) -> None:
    config = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": HOUR_S}
    with ServerProcess(tmp_path, config=config) as server:
        assert change(server, shutdownWaitTimeSeconds=1) == ""
        assert 1 <= ends_after(server) < SOON_S
    with ServerProcess(tmp_path, config=config) as server:
        assert 1 <= ends_after(server) < SOON_S, "as changed before the restart"


def ends_after(server: ServerProcess) -> float:
    """Send SIGTERM and return how many seconds later the process has ended well."""
    told = time.monotonic()
    assert server.stop() == 0
    return time.monotonic() - told


@shows(*FIXED_BLACK_LIST, *SECURITY_KEYS, when=When.NEVER_BY_REQUEST)
def test_keys_that_no_request_may_change(with_first: ServerProcess) -> None:
    before = listing(with_first)
    with Peer(with_first.address) as peer:
        for key in (*FIXED_BLACK_LIST, *SECURITY_KEYS):
            answer = peer.change_config(**{key: "x", "productEnvName": "x"})
            assert (answer.code, answer.remark) == (NO_PERMISSION, "Can not update config in black list.")
    assert listing(with_first) == before


def test_keys_of_no_java_class_are_not_known_to_requests(with_first: ServerProcess) -> None:
    """As in Java, whose system properties are no part of the configuration; the remark says that nothing happened."""
    before = listing(with_first)
    with Peer(with_first.address) as peer:
        for name, key in KEYS.items():
            if key.family is Family.SYSTEM:
                answer = peer.change_config(**{name: "x"})
                assert (answer.code, answer.remark) == (SUCCESS, f"unknown, not stored: {name}")
    assert listing(with_first) == before


def test_keys_without_effect_are_kept_and_named(tmp_path: Path, names: Names) -> None:
    without = {name: key for name, key in KEYS.items() if key.effect is Effect.NONE}
    changed = {name: other_value(name, tmp_path) for name in without.keys() - {"rocketmqHome"}}
    with ServerProcess(tmp_path, environment={"ROCKETMQ_HOME": "/opt/rocketmq"}) as server:
        remark = change(server, **changed)
        assert remark.startswith("kept without effect: ")
        assert set(remark.partition(": ")[2].split(", ")) == set(changed)
        for _ in range(2):
            assert {name: listing(server)[name] for name in without} == {**changed, "rocketmqHome": "/opt/rocketmq"}
            with Peer(server.address) as peer:
                peer.registered(names.broker(), topics_named(names("T"), names("U")))
                assert peer.routed(names("T")).brokers == {names("broker-a"): {"0": names.broker().addr}}
    with ServerProcess(tmp_path) as server:
        shown = listing(server)
        assert {name: shown[name] for name in changed} == changed
        assert "rocketmqHome" not in shown, "not set, as Java leaves out what is null"
        assert "accepted, no effect: " in server.stderr


OF_KIND: Final = {
    Kind.LABELS: "region:eu,rack:7",
    Kind.SERIALIZE_TYPE: "ROCKETMQ",
    Kind.ADMIN_POLICY: "open",
    Kind.NETWORKS: "192.0.2.0/24",
    Kind.ADDRESS: "192.0.2.1:9876",
    Kind.LISTENER: "127.0.0.1:19876",
    Kind.TEXT: "another",
}


def other_value(name: str, folder: Path) -> str:
    """Return a value of this key that is not its default, unless it can have no other."""
    key = KEYS[name]
    if name == "enableControllerInNamesrv":
        return "false"
    match key.kind:
        case Kind.BOOLEAN:
            return "false" if key.default_text == "true" else "true"
        case Kind.INT | Kind.LONG:
            return str(int(key.default_text) + 1)
        case Kind.PATH:
            return str(folder / f"of-{name}")
        case Kind.CHOICE:
            return next(word for word in key.choices if word != key.default_text)
        case kind:
            return OF_KIND[kind]


JAVA_LISTING: Final = """\
bindAddress=0.0.0.0
clientRequestThreadPoolNums=8
clientRequestThreadPoolQueueCapacity=50000
clusterTest=false
configBlackList=configBlackList;configStorePath;kvConfigPath
configStorePath={folder}/namesrv.properties
defaultThreadPoolNums=16
defaultThreadPoolQueueCapacity=10000
deleteTopicWithBrokerRegistration=false
enableAllTopicList=true
enableControllerInNamesrv=false
enableShutdownGracefully=false
enableTopicList=true
kvConfigPath={folder}/kvConfig.json
listenPort=9876
needWaitForService=false
notifyMinBrokerIdChanged=false
orderMessageEnable=false
productEnvName=center
returnOrderTopicConfigToBroker=true
rocketmqHome=/opt/rocketmq
scanNotActiveBrokerInterval=5000
serverAsyncSemaphoreValue=64
serverCallbackExecutorThreads=0
serverChannelMaxIdleTimeSeconds=120
serverNettyWorkerGroupEnable=true
serverOnewaySemaphoreValue=256
serverPooledByteBufAllocatorEnable=true
serverSelectorThreads=3
serverSocketBacklog=1024
serverSocketRcvBufSize=0
serverSocketSndBufSize=0
serverWorkerThreads=8
shutdownWaitTimeSeconds=30
supportActingMaster=false
unRegisterBrokerQueueCapacity=3000
useEpollNativeSelector=false
waitSecondsForService=45
writeBufferHighWaterMark=0
writeBufferLowWaterMark=0
"""
"""What the Java NameServer lists when nothing is configured; the folder is Java's `~/namesrv`."""


def test_the_listing_is_java_s_with_java_s_defaults(tmp_path: Path) -> None:
    environment = {"ROCKETMQ_HOME": "/opt/rocketmq"}
    with ServerProcess(tmp_path, environment=environment) as server, Peer(server.address) as peer:
        body = peer.request(CFGGET).body.decode()
    expected = JAVA_LISTING.format(folder=tmp_path / "data")
    for key, value in (("bindAddress=0.0.0.0", "127.0.0.1"), ("listenPort=9876", server.port)):
        expected = expected.replace(key, f"{key.partition('=')[0]}={value}")
    assert body == expected

    flags = ("--data-dir", str(tmp_path / "data"))
    printed = run_command("namesrv", "-p", *flags, folder=tmp_path, environment=environment)
    lines = dict(line.split("=", 1) for line in printed.stdout.splitlines())
    listed = dict(line.split("=", 1) for line in JAVA_LISTING.format(folder=tmp_path / "data").splitlines())
    assert {key: lines[key] for key in listed} == listed
    assert list(lines) == list(KEYS), "in order of declaration, Java's first"
    assert set(list(lines)[: len(listed)]) == set(listed)


def test_every_key_can_come_from_everywhere(tmp_path: Path) -> None:
    values = {name: other_value(name, tmp_path) for name in KEYS}
    file = tmp_path / "all.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in values.items()), encoding="utf-8")
    values["configStorePath"] = str(file)
    environment = {KEYS[name].environment_name: text for name, text in values.items()}
    flags = [part for name, text in values.items() for part in ("--set", f"{name}={text}")]

    of_file = run_command("namesrv", "-p", "-c", str(file), folder=tmp_path)
    of_environment = run_command("namesrv", "-p", folder=tmp_path, environment=environment)
    of_flags = run_command("namesrv", "-p", *flags, folder=tmp_path)

    expected = {name: "********" if KEYS[name].is_secret else text for name, text in values.items()}
    for result in (of_file, of_environment, of_flags):
        lines = [line for line in result.stdout.splitlines() if not line.startswith("load config properties file OK")]
        assert dict(line.split("=", 1) for line in lines) == expected


def test_no_key_is_without_a_test() -> None:
    """Each key that has an effect is entered by `shows` for everything that can be done to it."""
    for module in (
        "test_config_effects_restart",
        "test_config_effects_process",
        "test_config_effects_peers",
        "test_config_effects_body_limits",
        "test_config_effects_connections",
        "test_config_effects_overload",
        "test_config_effects_policy",
    ):
        importlib.import_module(module)
    assert {name: SHOWN[name] for name in KEYS if moments(name)} == {
        name: moments(name) for name in KEYS if moments(name)
    }
    assert set(SHOWN) <= set(KEYS)


def moments(name: str) -> set[When]:
    """Return when the effect of a key must be shown."""
    key = KEYS[name]
    if key.effect is Effect.NONE:
        return set()
    if name in {*FIXED_BLACK_LIST, *SECURITY_KEYS}:
        return {When.START, When.NEVER_BY_REQUEST}
    if key.family not in {Family.NAMESRV, Family.NETTY_SERVER}:
        return {When.START}
    return {When.START, When.LIVE if key.effect is Effect.LIVE else When.RESTART}
