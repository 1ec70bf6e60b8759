"""A NameServer in this process, and one connection to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.builders import AsyncWire, Running, running


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path) as server:
        yield server


@pytest.fixture
async def peer(run: Running) -> AsyncWire:
    return await run.wire()
