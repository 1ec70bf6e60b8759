"""Servers and names for the field cases (tests/field/*_cases.py).

A case id in a test's name (F001) names a row of the field cases: what users of RocketMQ NameServers ran into.
Servers are shared by all tests that want the same configuration, so every test uses names of its own. After
each test the standing rule is checked for every server that it used.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule

_TEST_NUMBERS: Final = itertools.count(1)
DEFAULT_CHAOS_RUNS: Final = 10
DEFAULT_MEMBER_CHAOS_RUNS: Final = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--chaos",
        type=int,
        help=f"how many seeds of client chaos to play (default {DEFAULT_CHAOS_RUNS}, of members {DEFAULT_MEMBER_CHAOS_RUNS})",
    )
    parser.addoption("--chaos-seed", type=int, help="the first of them (default 1)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play client chaos once with each seed; the options are there only when this folder was named."""
    for name, usual in (("chaos_seed", DEFAULT_CHAOS_RUNS), ("member_chaos_seed", DEFAULT_MEMBER_CHAOS_RUNS)):
        if name in metafunc.fixturenames:
            first = metafunc.config.getoption("--chaos-seed", None) or 1
            count = metafunc.config.getoption("--chaos", None) or usual
            metafunc.parametrize(name, range(first, first + count))


class _Pool:
    """One running server for each configuration that was asked for."""

    def __init__(self, new_folder: Callable[[], Path], stack: contextlib.ExitStack) -> None:
        self._new_folder = new_folder
        self._stack = stack
        self._servers: dict[tuple[object, ...], ServerProcess] = {}

    def server(self, flags: tuple[str, ...], config: Mapping[str, object]) -> ServerProcess:
        key = (*flags, *sorted(config.items()))
        server = self._servers.get(key)
        if server is None or not server.is_alive:
            server = self._stack.enter_context(ServerProcess(self._new_folder(), *flags, config=config))
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

    def give(*flags: str, **config: object) -> ServerProcess:
        server = _pool.server(flags, config)
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
    """Start servers that nobody else uses, one at a time; the standing rule holds for each before it is stopped.

    All of one test have the same data folder: starting the next one is a restart.
    """
    with contextlib.ExitStack() as stack:
        running: list[tuple[ServerProcess, StandingRule]] = []

        def stop() -> None:
            while running:
                server, rule = running.pop()
                rule.check()
                server.stop()

        def start(*flags: str, **config: object) -> ServerProcess:
            stop()
            server = stack.enter_context(ServerProcess(tmp_path, *flags, config=config))
            running.append((server, StandingRule(server)))
            return server

        yield start
        stop()


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
