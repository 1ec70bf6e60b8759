"""Servers and names for the field cases (tests/field/*_cases.py).

A case id in a test's name (F001) names a row of the field cases: what users of RocketMQ NameServers ran into.
Servers are shared by all tests that want the same configuration, so every test uses names of its own. After
each test the standing rule is checked for every server that it used.
"""

import contextlib
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.wire import Broker

_TEST_NUMBERS: Final = itertools.count(1)


class Names:
    """Names that no other test uses."""

    def __init__(self, prefix: str) -> None:
        """Put `prefix` before all names."""
        self._prefix = prefix

    def __call__(self, text: str) -> str:
        """Return this test's own version of a name."""
        return f"{self._prefix}-{text}"

    def broker(
        self, name: str = "broker-a", id: int = 0, addr: str | None = None, *, cluster: str = "C", **more: Any
    ) -> Broker:
        """Return a broker whose name and cluster are this test's own; each name and id has its own address."""
        host = f"10.{zlib.crc32(name.encode()) % 250}.{zlib.crc32(cluster.encode()) % 250}.{id + 1}"
        more = {"ha_addr": f"{host}:10912"} | more
        return Broker(name=self(name), id=id, addr=addr or f"{host}:10911", cluster=self(cluster), **more)


class StartServer(Protocol):
    """Starts a server for one test, or gives a shared one."""

    def __call__(self, **config: object) -> ServerProcess:
        """Return a running server with these configuration keys."""


class _Pool:
    """One running server for each configuration that was asked for."""

    def __init__(self, new_folder: Callable[[], Path], stack: contextlib.ExitStack) -> None:
        self._new_folder = new_folder
        self._stack = stack
        self._servers: dict[tuple[tuple[str, object], ...], ServerProcess] = {}

    def server(self, config: Mapping[str, object]) -> ServerProcess:
        key = tuple(sorted(config.items()))
        server = self._servers.get(key)
        if server is None or not server.is_alive:
            server = self._stack.enter_context(ServerProcess(self._new_folder(), config=config))
            self._servers[key] = server
        return server


@pytest.fixture(scope="session")
def _pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Pool]:
    with contextlib.ExitStack() as stack:
        yield _Pool(lambda: tmp_path_factory.mktemp("field"), stack)


@pytest.fixture
def shared_server(_pool: _Pool) -> Iterator[StartServer]:
    """Give the shared server of a configuration; the standing rule holds for it after the test."""
    rules: dict[int, StandingRule] = {}

    def give(**config: object) -> ServerProcess:
        server = _pool.server(config)
        rules.setdefault(server.pid, StandingRule(server))
        return server

    yield give
    for rule in rules.values():
        rule.check()


@pytest.fixture
def server(shared_server: StartServer) -> ServerProcess:
    """Give the shared server of the default configuration."""
    return shared_server()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start servers that nobody else uses; the standing rule holds for those that are alive after the test.

    All of one test have the same data folder, so that one started after another was stopped is a restart.
    """
    with contextlib.ExitStack() as stack:
        rules: list[tuple[ServerProcess, StandingRule]] = []

        def start(**config: object) -> ServerProcess:
            server = stack.enter_context(ServerProcess(tmp_path, config=config))
            rules.append((server, StandingRule(server)))
            return server

        yield start
        for server, rule in rules:
            if server.is_alive:
                rule.check()


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    """Give names that no other test uses."""
    case = re.search(r"F\d{3}", request.node.name)
    return Names(f"{case[0] if case else 'X'}.{next(_TEST_NUMBERS)}")


@pytest.fixture
def compatibility_lines(pytestconfig: pytest.Config) -> list[str]:
    """Give the rows of the tables in docs/compatibility.md."""
    text = (pytestconfig.rootpath / "docs" / "compatibility.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("|")]
