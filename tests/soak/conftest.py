"""The option that plays the cases of clients with the figures of their rows."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full-scale", action="store_true", help="play client cases with all of their figures (17 minutes)"
    )


@pytest.fixture
def is_full(request: pytest.FixtureRequest) -> bool:
    """Whether figures are those of the rows; the option is there only when this folder was named."""
    return bool(request.config.getoption("--full-scale", default=False))
