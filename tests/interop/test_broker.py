"""Our broker and Apache's Java clients, which find each other through our NameServer."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.clients import JavaClients
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import Stage

from cosmodrome import Broker, Consumer, Message, Producer

MESSAGES = 200
WITHIN_S = 60.0


@dataclass(frozen=True)
class Place:
    """Java clients of one release, and where they begin."""

    name_server: NameServer
    clients: JavaClients

    async def send(self, topic: str, count: int) -> str:
        """Send from Java, while the broker in this process runs on."""
        return await asyncio.to_thread(self.clients.send, self.name_server.address, topic, count)

    async def receive(self, topic: str, count: int) -> str:
        return await asyncio.to_thread(self.clients.receive, self.name_server.address, topic, count)


@pytest.fixture(scope="module")
def stage(new_stage: StageMaker) -> Iterator[Stage]:
    with new_stage("our-broker") as one:
        yield one


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def place(request: pytest.FixtureRequest, stage: Stage) -> Place:
    return Place(stage.name_server(), stage.clients(request.param))


def topic_of(test: Callable[..., object], place: Place) -> str:
    """Give a topic that no other test has."""
    return f"{test.__name__[-40:]}-{place.clients.release}".replace(".", "_")


async def test_java_sends_and_receives(place: Place) -> None:
    """The quickstart: a topic that nobody made, one message after the other, a new group from the first offset."""
    topic = topic_of(test_java_sends_and_receives, place)
    async with Broker(namesrv=place.name_server.address):
        assert f"SENT {MESSAGES}/{MESSAGES}" in await place.send(topic, MESSAGES)
        assert f"RECEIVED {MESSAGES}/{MESSAGES}" in await place.receive(topic, MESSAGES)


async def test_java_receives_after_a_restart_of_the_broker(place: Place, tmp_path: Path) -> None:
    topic = topic_of(test_java_receives_after_a_restart_of_the_broker, place)
    async with Broker(namesrv=place.name_server.address, store=tmp_path):
        assert f"SENT {MESSAGES}/{MESSAGES}" in await place.send(topic, MESSAGES)
    async with Broker(namesrv=place.name_server.address, store=tmp_path):
        assert f"RECEIVED {MESSAGES}/{MESSAGES}" in await place.receive(topic, MESSAGES)


async def test_what_java_sends_our_consumer_gets(place: Place) -> None:
    topic = topic_of(test_what_java_sends_our_consumer_gets, place)
    async with Broker(namesrv=place.name_server.address):
        await place.send(topic, MESSAGES)
        seen = set()
        async with (
            asyncio.timeout(WITHIN_S),
            Consumer(
                "ours", namesrv=place.name_server.address, subscriptions={topic: None}, consume_from="first"
            ) as one,
        ):
            async for message in one:
                seen.add(message.body)
                await message.ack()
                if len(seen) == MESSAGES:
                    break
    assert seen == {b"m%d" % number for number in range(MESSAGES)}


async def test_what_our_producer_sends_java_gets(place: Place) -> None:
    topic = topic_of(test_what_our_producer_sends_java_gets, place)
    async with Broker(namesrv=place.name_server.address):
        async with Producer("ours", namesrv=place.name_server.address) as producer:
            await asyncio.gather(
                *(producer.send(Message(topic=topic, body=b"m%d" % number)) for number in range(MESSAGES))
            )
        assert f"RECEIVED {MESSAGES}/{MESSAGES}" in await place.receive(topic, MESSAGES)
