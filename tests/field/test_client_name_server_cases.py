"""Field cases F117 and F122, played by our clients: several NameServers, of which one lacks a topic, hangs or vanishes."""

# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.builders import eventually
from tests.support.consuming import FAST, GROUP, TOPIC, Seen, undisturbed
from tests.support.faulty_broker import (
    CloseBefore,
    FaultyBroker,
    FaultyCluster,
    Hold,
    Place,
    Refuse,
    Silence,
    faulty_cluster,
    no_route,
    route_reply,
)
from tests.support.field import StartServer

from cosmodrome import AdminClient, ClientConfig, ClientSession, Consumer, Message, NoRouteError, Producer
from cosmodrome.errors import RemotingError

ROUTE = 105
PLAIN = Message(topic=TOPIC, body=b"x")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={TOPIC: 2}) as one:
        yield one


@contextlib.asynccontextmanager
async def first_server(state: str) -> AsyncIterator[FaultyBroker]:
    """Run a NameServer that does not know the topic, in one of the states of F117."""
    async with FaultyBroker() as double:
        double.works[ROUTE] = lambda under: no_route(under.arrival.ext["topic"])
        faults: dict[str, Any] = {
            "warming up": Refuse(1, "name server not ready"),
            "overloaded": Refuse(2, "[OVERLOAD]system busy, start flow control for a while"),
            "stopping": CloseBefore(),
            "silent": Silence(),
        }
        if state in faults:
            double.faults.add(faults[state], ROUTE, times=None)
        if state == "mute":
            double.mute()
        if state == "black hole":
            await double.black_hole()
        if state == "gone":
            await double.refuse_connects()
        yield double


STATES = ["without the topic", "warming up", "overloaded", "stopping", "silent", "mute", "black hole", "gone"]


@pytest.mark.parametrize("state", STATES)
async def test_F117_a_topic_that_the_first_server_lacks_is_found_at_the_next(
    cluster: FaultyCluster, state: str
) -> None:
    """By a producer, a consumer and the admin client, each within one round of questions."""
    async with first_server(state) as first:
        namesrv = f"{first.address};{cluster.name_server}"
        options: dict[str, Any] = {"namesrv": namesrv, "request_timeout_s": 1}
        seen = Seen()
        async with undisturbed(), Producer("pg", **options) as producer:
            await producer.send(PLAIN)
            consuming = FAST | options | {"subscriptions": {TOPIC: None}, "handler": seen}
            async with Consumer(GROUP, **consuming), AdminClient(**options) as admin:
                await seen.came(1)
                if state == "without the topic":
                    with pytest.raises(NoRouteError):
                        await admin.topics.route(TOPIC)  # a tool tells what a server says
                else:
                    assert (await admin.topics.route(TOPIC)).queue_datas
        assert cluster.broker.store.bodies(TOPIC) == [b"x"]


async def test_F117_a_topic_that_nobody_knows_is_refused_by_all_of_them_and_quickly(cluster: FaultyCluster) -> None:
    async with first_server("without the topic") as first, first_server("without the topic") as second:
        config = ClientConfig(namesrv=f"{first.address};{second.address}", request_timeout_s=5)
        async with ClientSession(config) as session:
            with pytest.raises(NoRouteError, match="No route info of this topic: nowhere"):
                await session.routes.route("nowhere")
        assert [server.journal.counts[ROUTE] for server in (first, second)] == [1, 1]


async def test_F117_a_silent_server_is_not_asked_for_its_opinion_again_and_again(cluster: FaultyCluster) -> None:
    """One says that there is no such topic; the other one does not answer, and is waited for once, and not long."""
    async with first_server("silent") as silent:
        config = ClientConfig(namesrv=f"{cluster.name_server};{silent.address}", request_timeout_s=30)
        async with ClientSession(config) as session:
            async with asyncio.timeout(10):
                for _ in range(5):
                    with pytest.raises(NoRouteError):
                        await session.routes.route("nowhere")
        assert silent.journal.counts[ROUTE] == 1


async def test_F122_a_server_that_vanishes_in_mid_traffic_is_left_and_may_come_back(cluster: FaultyCluster) -> None:
    """Nothing comes from it any more, with questions open: routes come from elsewhere, sends go on; later it answers."""
    place = Place(name="broker-a", addresses={0: cluster.broker.address}, queues=2)
    async with FaultyBroker() as first:
        first.works[ROUTE] = lambda _: route_reply([place])
        config = ClientConfig(
            namesrv=f"{first.address};{cluster.name_server}", request_timeout_s=0.3, route_interval_s=0.05
        )
        async with undisturbed(), ClientSession(config) as session, Producer("pg", session=session) as producer:
            await producer.send(PLAIN)
            hold = Hold()
            first.faults.add(hold, ROUTE, times=None)
            await first.journal.arrived(ROUTE, 2)
            for _ in range(20):
                await producer.send(PLAIN)
                assert await session.routes.refresh(TOPIC)
            with pytest.raises(NoRouteError):
                await session.routes.route("nowhere")
            first.faults.clear()
            hold.release()  # answers to questions that were given up long ago
            await producer.send(PLAIN)
            assert await session.routes.refresh(TOPIC)
    assert len(cluster.broker.store.bodies(TOPIC)) == 22


async def test_F122_the_only_server_stands_still_for_a_while(own_server: StartServer) -> None:
    """What is known is used meanwhile; what is not known is an error in its time, and found when the server runs again."""
    server = own_server()
    async with FaultyBroker(server.address, "broker-b", {TOPIC: 2, "later": 1}) as broker:
        config = ClientConfig(namesrv=server.address, request_timeout_s=0.3, route_interval_s=0.05)
        async with ClientSession(config) as session, Producer("pg", session=session) as producer:
            await producer.send(PLAIN)
            os.kill(server.pid, signal.SIGSTOP)
            try:
                for _ in range(3):
                    await producer.send(PLAIN)
                    assert not await session.routes.refresh(TOPIC)
                with pytest.raises(RemotingError):
                    await session.routes.route("later")
            finally:
                os.kill(server.pid, signal.SIGCONT)
            await eventually(lambda: session.routes.cached("later"), "the server that runs again")
            await producer.send(PLAIN)
        assert len(broker.store.bodies(TOPIC)) == 5
