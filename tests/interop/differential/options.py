"""Command line options of the differential suite."""

import pytest

DEFAULT_HISTORIES = 200
DEFAULT_SEED = 20240501


def add_options(parser: pytest.Parser) -> None:
    """Register the options; called by tests/interop/conftest.py from its `pytest_addoption`."""
    group = parser.getgroup("differential", "Cosmodrome against the Apache NameServer")
    group.addoption(
        "--histories", type=int, default=DEFAULT_HISTORIES, help="random histories to play (default %(default)s)"
    )
    group.addoption(
        "--differential-seed", type=int, default=DEFAULT_SEED, help="where they come from (default %(default)s)"
    )
