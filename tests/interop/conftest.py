"""Options, markers and the one fixture of the interoperability tests."""

from collections.abc import Callable, Generator

import pytest
from tests.interop.differential.options import add_options
from tests.interop.rig.built_once import build_ahead
from tests.interop.rig.jars import RELEASES
from tests.interop.rig.process import living
from tests.interop.rig.stage import OURS, Stage
from tests.support.killing import add_kills_option

DEFAULT_KILLS = 20
KILL_TIMEOUT_S = 10
HISTORY_TIMEOUT_S = 2
TEST_TIMEOUT_S = 600
"""A test's own waits end much earlier; the setup of the mqadmin module runs two whole scripts."""

StageMaker = Callable[[str], Stage]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--name-server",
        choices=[OURS, *RELEASES],
        default=OURS,
        help="run the tests against our NameServer, or check the tests themselves against Apache's of a release",
    )
    add_options(parser)
    add_kills_option(parser, DEFAULT_KILLS)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: left out of the core selection that ./interop runs without --full")
    config.addinivalue_line("markers", "builds(build): needs a program that is built once, and takes long to build")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kills, histories = config.getoption("--kills") or 0, config.getoption("--histories") or 0
    timeout_s = max(TEST_TIMEOUT_S, KILL_TIMEOUT_S * kills, HISTORY_TIMEOUT_S * histories)
    for item in items:
        item.add_marker(pytest.mark.timeout(timeout_s))


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.option.collectonly:
        marks = [mark for item in session.items for mark in item.iter_markers("builds")]
        build_ahead({mark.args[0].name: mark.args[0] for mark in marks}.values())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what the programs wrote last below a failure: they are other people's, and it may not happen again."""
    report = yield
    if report.failed and report.when != "teardown":
        report.sections.extend((f"logs of {process.command[-1]}", process.log_tails()) for process in living())
    return report


@pytest.fixture(scope="session")
def new_stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StageMaker:
    """Make a stage for a group of tests; the caller enters it, and leaving it ends its programs."""
    kind = request.config.getoption("--name-server")

    def make(name: str) -> Stage:
        return Stage(tmp_path_factory.mktemp(name), kind)

    return make
