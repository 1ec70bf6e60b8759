"""Servers of ours, one pair for a module, with a new topic and a new group name for each test."""

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.support.messaging_bench import MessagingBench, messaging_bench


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def messaging_servers() -> AsyncIterator[MessagingBench]:
    async with messaging_bench() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def messaging(messaging_servers: MessagingBench) -> MessagingBench:
    """For tests that are marked `asyncio(loop_scope="module")`."""
    await messaging_servers.new_topic()
    return messaging_servers
