"""Where messages of a topic can go now."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.producer.publishing import Publishing
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import NoRouteError


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, "broker-a", "broker-b", topics={"T": 4}) as one:
        yield one


@pytest.fixture
async def session(cluster: FaultyCluster) -> AsyncIterator[ClientSession]:
    async with ClientSession(ClientConfig(namesrv=cluster.name_server)) as one:
        yield one


def publishing(session: ClientSession, queues: int = 4) -> Publishing:
    settings = ProducerSettings(group="pg", namesrv=session.config.namesrv, create_topic_queues=queues)
    return Publishing(settings, session.routes)


async def test_a_plan_is_that_of_the_route_until_it_changes(session: ClientSession, cluster: FaultyCluster) -> None:
    one = publishing(session)
    assert one.known("T") is None
    plan = await one.plan("T")
    assert one.known("T") is plan is await one.plan("T")
    assert (len(plan.queues), plan.has_choice, plan.is_borrowed) == (8, True, False)
    assert plan.addresses == {broker.broker_name: broker.address for broker in cluster.brokers}
    await session.routes.refresh("T")
    assert one.known("T") is plan
    await cluster.brokers[1].withdraw()
    await session.routes.refresh("T")
    assert one.known("T") is None
    assert not (await one.plan("T")).has_choice
    one.close()
    one.close()


@pytest.mark.parametrize(("limit", "each"), [(4, 4), (1, 1), (100, 8)])
async def test_a_topic_that_is_not_there_borrows_queues(session: ClientSession, limit: int, each: int) -> None:
    plan = await publishing(session, limit).plan("New")
    assert (len(plan.queues), plan.is_borrowed) == (2 * each, True)
    assert {queue.topic for queue in plan.queues} == {"New"}


async def test_borrowed_plans_end_with_the_route_of_the_topic_or_of_the_template(
    session: ClientSession, cluster: FaultyCluster
) -> None:
    one = publishing(session)
    await one.plan("New")
    await cluster.brokers[0].set_topic("New", 2)
    await session.routes.refresh("New")
    assert one.known("New") is None
    assert len((await one.plan("New")).queues) == 2
    await one.plan("Newer")
    await one.plan("T")
    await cluster.brokers[1].withdraw()
    await session.routes.refresh("TBW102")
    assert one.known("Newer") is None
    assert one.known("T") is not None


async def test_nobody_takes_the_topic(session: ClientSession, cluster: FaultyCluster) -> None:
    for broker in cluster.brokers:
        await broker.set_topic("T", 4, perm=4)
        broker.store.topics.pop("TBW102")
        await broker.withdraw()
        await broker.announce()
    one = publishing(session)
    with pytest.raises(NoRouteError, match="No route info of this topic: T: no broker") as unwritable:
        await one.plan("T")
    with pytest.raises(NoRouteError, match="No route info of this topic: New: ") as unknown:
        await one.plan("New")
    assert (unwritable.value.is_for_writing, unknown.value.is_for_writing) == (True, True)


async def test_templates_are_made_once(session: ClientSession) -> None:
    one = publishing(session)
    plan = await one.plan("T")
    broker = plan.brokers["broker-a"]
    plain, batch = (one.template(broker, "T", is_batch=is_batch) for is_batch in (False, True))
    assert one.template(broker, "T", is_batch=False) is plain
    assert (plain.code, batch.code) == (310, 320)
