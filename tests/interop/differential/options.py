"""Command line options of the differential suite."""

import pytest

DEFAULT_HISTORIES = 300
DEFAULT_OLD_HISTORIES = 100
DEFAULT_SEED = 20240501


def add_options(parser: pytest.Parser) -> None:
    """Register the options; called by tests/interop/conftest.py from its `pytest_addoption`."""
    group = parser.getgroup("differential", "Cosmodrome against the Apache NameServer")
    group.addoption(
        "--histories",
        type=int,
        help=f"random histories to play (default {DEFAULT_HISTORIES}, against 4.9.7 {DEFAULT_OLD_HISTORIES})",
    )
    group.addoption(
        "--differential-seed", type=int, default=DEFAULT_SEED, help="where they come from (default %(default)s)"
    )
