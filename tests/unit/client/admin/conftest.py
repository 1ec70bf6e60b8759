"""Two brokers that a test administers."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.administered import Administered
from tests.support.faulty_broker import V4_9_7, FaultyBroker, FaultyCluster, faulty_cluster

from cosmodrome import AdminClient


@dataclass(frozen=True)
class Place:
    """Brokers a and b, with topic T of two queues each, and what is asked of them."""

    cluster: FaultyCluster
    admin: AdminClient
    administered: tuple[Administered, ...]

    @property
    def a(self) -> FaultyBroker:
        return self.cluster.brokers[0]

    @property
    def b(self) -> FaultyBroker:
        return self.cluster.brokers[1]


async def placed(folder: Path, **how: object) -> AsyncIterator[Place]:
    async with (
        faulty_cluster(folder, "broker-a", "broker-b", topics={"T": 2}, **how) as cluster,
        AdminClient(namesrv=cluster.name_server, request_timeout_s=1.0) as admin,
    ):
        yield Place(cluster, admin, tuple(Administered(each) for each in cluster.brokers))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async for one in placed(tmp_path):
        yield one


@pytest.fixture
async def old_place(tmp_path: Path) -> AsyncIterator[Place]:
    """Brokers of 4.9.7."""
    async for one in placed(tmp_path, release=V4_9_7):
        yield one
