"""Field cases about operating several servers: the manual (docs/deployment.md) is followed, and what it states is measured.

Scaled: brokers say that they are silent for two seconds at most instead of 120, and register every half second instead of
every 30 s. The times that the manual states are compared with the defaults that they follow from.
"""

# ruff: noqa: N802  # case ids are written in capitals

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest
from tests.support.field import Names
from tests.support.peer import MASTER, SUCCESS, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Broker

from cosmodrome import errors
from cosmodrome.namesrv.config import KEYS
from cosmodrome.namesrv.routing.broker_live import DEFAULT_HEARTBEAT_TIMEOUT_MS

LIFE_S: Final = 2.0
SCAN_S: Final = 0.5
PERIOD_S: Final = 0.5
SOON_S: Final = 20.0
AT_ONCE_S: Final = 5.0


@pytest.fixture(scope="module")
def manual() -> str:
    return (Path(__file__).resolve().parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8")


class RegisteringBroker:
    """A broker as it is: it registers with every server of its list, again and again, and does not mind who is down."""

    def __init__(self, broker: Broker, topics: Sequence[str], addresses: Sequence[str]) -> None:
        """Begin to register; `with` ends it."""
        self.broker = broker
        self._topics = topics_named(*topics)
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._register_with, args=(each,)) for each in addresses]

    def __enter__(self) -> Self:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End as a process does: the connections close."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _register_with(self, address: str) -> None:
        while not self._is_over.is_set():
            with suppress(OSError, AssertionError), Peer(address, 5) as peer:
                while not self._is_over.is_set():
                    peer.registered(self.broker, self._topics)
                    self._is_over.wait(PERIOD_S)
            self._is_over.wait(PERIOD_S / 5)


class Client:
    """A client as it is: it stays with one server of its list while that answers, and goes on to the next."""

    def __init__(self, addresses: Sequence[str]) -> None:
        """Take the list."""
        self._addresses = list(addresses)

    def brokers_of(self, topic: str) -> dict[str, dict[str, str]]:
        """Give the brokers of a topic, from the first server that answers."""
        for address in list(self._addresses):
            with suppress(OSError), Peer(address, 3) as peer:
                route = peer.route(topic)
                return {} if route is None else dict(route.brokers)
            self._addresses.append(self._addresses.pop(0))
        raise AssertionError("no server answers")


@contextmanager
def estate(folder: Path, stack: ExitStack) -> Iterator[list[ServerProcess]]:
    """Start three servers, each with a folder of its own."""
    config = {"scanNotActiveBrokerInterval": int(SCAN_S * 1000)}
    yield [stack.enter_context(ServerProcess(folder / name, config=config)) for name in "abc"]


def again(server: ServerProcess) -> ServerProcess:
    """Give another start of a server that has ended, on the same address."""
    return ServerProcess(server.folder, "--listenPort", str(server.port), config={"scanNotActiveBrokerInterval": 500})


def test_F139_three_servers_as_in_the_manual(tmp_path: Path, names: Names) -> None:
    """Start three, register, kill one, restore it, upgrade another; a client finds the routes at every moment."""
    broker = names.broker(heartbeat_timeout_millis=int(LIFE_S * 1000))
    told: dict[str, float] = {}
    with ExitStack() as stack, estate(tmp_path, stack) as servers:
        addresses = [server.address for server in servers]
        client = Client(addresses)
        expected = {broker.name: {MASTER: broker.addr}}
        asked: list[float] = []
        is_over = threading.Event()
        wrong: list[object] = []

        def ask_all_the_time() -> None:
            while not is_over.is_set():
                began = time.monotonic()
                answer = client.brokers_of(names("T"))
                asked.append(time.monotonic() - began)
                if answer != expected:
                    wrong.append(answer)
                is_over.wait(0.02)

        with RegisteringBroker(broker, [names("T"), names("U")], addresses):
            for server in servers:
                with Peer(server.address) as peer:
                    wait_until(lambda peer=peer: peer.route(names("T")), "the broker at each", SOON_S)  # type: ignore[misc]
                    assert peer.put_kv(names("N"), "k", "v").code == SUCCESS
            asking = threading.Thread(target=ask_all_the_time)
            asking.start()
            try:
                wait_until(lambda: len(asked) > 20, "some questions", SOON_S)
                servers[0].kill()
                wait_until(lambda: len(asked) > 60, "questions without the first", SOON_S)
                began = time.monotonic()
                restored = stack.enter_context(again(servers[0]))
                wait_for_line(restored, event="server.unclean_end")
                told["restored"] = registered_after(restored, names, began)
                with Peer(restored.address) as peer:
                    assert peer.get_kv(names("N"), "k").ext == {"value": "v"}, "what is stored is kept"

                assert servers[1].stop() == 0
                began = time.monotonic()
                upgraded = stack.enter_context(again(servers[1]))
                told["upgraded"] = registered_after(upgraded, names, began)
            finally:
                is_over.set()
                asking.join(SOON_S)
        assert wrong == []
        assert max(asked) < 3 + AT_ONCE_S, "one that is dead costs a client no more than its timeout"
        for at, server in enumerate((restored, upgraded, servers[2])):
            with Peer(server.address) as peer:
                wait_until(lambda peer=peer: peer.route(names("T")) is None, f"its end at {at}", SOON_S)  # type: ignore[misc]
        assert all(seconds < SOON_S for seconds in told.values()), told


def registered_after(server: ServerProcess, names: Names, began: float) -> float:
    """Wait until a server knows the broker, and give how long that took."""
    with Peer(server.address) as peer:
        wait_until(lambda: peer.route(names("T")), "the broker", SOON_S)
    return time.monotonic() - began


def test_F139_how_soon_a_lost_broker_is_seen(tmp_path: Path, names: Names) -> None:
    """Its process dies: at once. It falls silent: after its own time, and one look at most."""
    config = {"scanNotActiveBrokerInterval": int(SCAN_S * 1000)}
    dead, silent = (names.broker(each, heartbeat_timeout_millis=int(LIFE_S * 1000)) for each in ("dead", "silent"))
    with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as client:
        of_dead, of_silent = Peer(server.address), Peer(server.address)
        of_dead.registered(dead, topics_named(names("D"), names("E")))
        of_silent.registered(silent, topics_named(names("S"), names("Q")))
        since = time.monotonic()
        of_dead.close()
        wait_until(lambda: client.route(names("D")) is None, "the dead one to be gone", AT_ONCE_S)
        wait_until(lambda: client.route(names("S")) is None, "the silent one to be gone", SOON_S)
        took_s = time.monotonic() - since
        of_silent.close()
    assert LIFE_S - 0.1 <= took_s < LIFE_S + SCAN_S + AT_ONCE_S


def row_of(manual: str, start: str) -> str:
    found = re.findall(rf"^\| {re.escape(start)}.*$", manual, re.MULTILINE)
    assert len(found) == 1, start
    return str(found[0])


@pytest.mark.parametrize(
    ("row", "keys"),
    [
        ("a broker's machine or network vanishes", ["scanNotActiveBrokerInterval"]),
        ("... and answers no route before it can know all", ["waitSecondsForService"]),
        ("a NameServer stops", ["shutdownWaitTimeSeconds"]),
    ],
)
def test_F139_stated_times_are_those_of_the_defaults(manual: str, row: str, keys: list[str]) -> None:
    text = row_of(manual, row)
    for name in keys:
        key = KEYS[name]
        seconds = int(key.default_text) // (1000 if "milli" in key.unit else 1)
        assert f"`{name}`" in text
        assert re.search(rf"\b{seconds} s\b", text), (name, seconds)
    if "scanNotActiveBrokerInterval" in keys:
        assert f"{DEFAULT_HEARTBEAT_TIMEOUT_MS // 1000} s of silence" in text


def test_F139_the_commands_that_install_a_service_can_be_followed(manual: str) -> None:
    """What is installed is this checkout, since no release is published; a folder is there before a file is written in it."""
    (commands,) = re.findall(
        r"((?:^    .*\n)+)", manual.partition("as a service of systemd")[2].partition("\n`systemctl")[0], re.MULTILINE
    )
    made: set[str] = {"/etc/systemd/system"}
    for line in commands.splitlines():
        made |= set(re.findall(r"mkdir -p (\S+)", line))
        for written in re.findall(r"(?:> |^    cp \S+ )(/\S+)", line):
            assert written.rpartition("/")[0] in made, line
    assert re.search(r"pip install \.\s", commands)


def test_F139_stated_files_are_those_of_the_defaults(manual: str) -> None:
    """Each key whose default is a file of the data folder stands in the table, and the default as it is."""
    for name in ("kvConfigPath", "configStorePath", "pidFile", "auditLog"):
        file = KEYS[name].default_text.removesuffix(" in dataDir")
        assert f"`<dataDir>/{file}`" in row_of(manual, f"`{name}`"), name


def test_F128_every_exit_code_of_a_server_is_documented(manual: str) -> None:
    """Those that errors of the configuration, the listener, files and certificates give, and the fixed ones."""
    codes = {0, 2, 70, *(each.exit_code for each in (errors.ConfigError, errors.BindError, errors.StorageError,
                                                     errors.TlsError))}  # fmt: skip
    assert {int(found) for found in re.findall(r"^\| (\d+) \|", manual, re.MULTILINE)} == codes
