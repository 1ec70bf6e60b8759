"""Options of the durability tests."""

from pathlib import Path
from typing import Final

import pytest
from tests.support.killing import add_kills_option

DEFAULT_KILLS: Final = 10
TIMEOUT_S: Final = 60
KILL_TIMEOUT_S: Final = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    add_kills_option(parser, DEFAULT_KILLS)
    parser.addoption("--mounts", action="store_true", help="also mount small file systems; as root, or in unshare -Urm")


@pytest.fixture(scope="session")
def kills(pytestconfig: pytest.Config) -> int:
    """How often to kill."""
    return _kills(pytestconfig)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What needs a right that few have is another run, not a test that is skipped."""
    return True if collection_path.name == "test_mounts.py" and not config.getoption("--mounts", False) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "kills" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S + KILL_TIMEOUT_S * _kills(config)))


def _kills(config: pytest.Config) -> int:
    """Give how often to kill; the option is there only when this folder was named."""
    return int(config.getoption("--kills", None) or DEFAULT_KILLS)
