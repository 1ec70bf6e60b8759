"""The option that plays the cases of clients and brokers with the figures of their rows."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full-scale",
        action="store_true",
        help="play cases of clients (20 minutes) and brokers (30) with all of their figures",
    )


@pytest.fixture
def is_full(request: pytest.FixtureRequest) -> bool:
    """Whether figures are those of the rows; the option is there only when this folder was named."""
    return bool(request.config.getoption("--full-scale", default=False))
