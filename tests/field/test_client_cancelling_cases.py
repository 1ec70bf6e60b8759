"""Clients that are cancelled or closed at any step of what they do leave nothing (C020, C021).

The session is shared and stays open: nothing else would end what is left.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, undisturbed, until
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.lite_pull import LitePullConsumer
from cosmodrome.client.message import Message
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.session import ClientSession

STEPS: Final = range(0, 100, 4)
KINDS: Final[dict[str, Callable[[ClientSession], Consumer | LitePullConsumer]]] = {
    "concurrent": lambda session: Consumer(GROUP, session=session, **_common(), handler=Seen()),
    "orderly": lambda session: Consumer(GROUP, session=session, **_common(), handler=Seen(), orderly=True),
    "pop": lambda session: Consumer(GROUP, session=session, **_common(), handler=Seen(), pop=True),
    "polling": lambda session: LitePullConsumer(GROUP, session=session, **_common()),
}


def _common() -> dict[str, Any]:
    return {"subscriptions": {TOPIC: None}, "consume_from": "first"}


@asynccontextmanager
async def shared(tmp_path: Path) -> AsyncIterator[tuple[FaultyCluster, ClientSession]]:
    async with (
        undisturbed(),
        faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster,
        ClientSession(ClientConfig(namesrv=cluster.name_server)) as session,
    ):
        await until(lambda: "cosmodrome-offsets" in _of_session(asyncio.all_tasks()), "the work of the session itself")
        yield cluster, session
        gc.collect()


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def ended(work: asyncio.Task[Any]) -> None:
    """Wait for the end; whichever it is, it is no fault."""
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()


def _of_session(tasks: set[asyncio.Task[Any]]) -> set[str]:
    """Give the names of those that end with a consumer; a heartbeat to a new connection ends by itself."""
    return {name for name in (task.get_name() for task in tasks) if name.startswith("cosmodrome-")} - {
        name for name in (task.get_name() for task in tasks) if name.startswith("cosmodrome-heartbeat-")
    }


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "closed"])
@pytest.mark.parametrize("kind", KINDS)
async def test_c020_a_start_that_ends_at_any_step_leaves_nothing(
    tmp_path: Path, kind: str, *, is_cancelled: bool
) -> None:
    async with shared(tmp_path) as (_, session):
        before = _of_session(asyncio.all_tasks())
        for count in STEPS:
            reader = KINDS[kind](session)
            starting = asyncio.create_task(reader.start())
            await steps(count)
            if is_cancelled:
                starting.cancel()
                await asyncio.wait({starting})
            await reader.close()
            await ended(starting)
            await until(lambda: _of_session(asyncio.all_tasks()) <= before, f"the end of all tasks after {count} steps")


async def test_c020_a_change_of_topics_that_ends_at_any_step_leaves_nothing(tmp_path: Path) -> None:
    async with shared(tmp_path) as (cluster, session):
        before = _of_session(asyncio.all_tasks())
        for count in STEPS:
            seen = Seen()
            async with Consumer(GROUP, session=session, **_common(), handler=seen) as reader:
                changing = asyncio.create_task(reader.unsubscribe(TOPIC))
                await steps(count)
                changing.cancel()
                await ended(changing)
                await reader.subscribe(TOPIC)
                cluster.broker.put(TOPIC)
                await seen.came(1)
            await until(lambda: _of_session(asyncio.all_tasks()) <= before, f"the end of all tasks after {count} steps")


async def test_c020_a_send_that_is_cancelled_at_any_step_leaves_nothing(tmp_path: Path) -> None:
    async with shared(tmp_path) as (cluster, session), Producer("pg", session=session) as producer:
        for count in STEPS:
            if count % 8 == 0:
                await cluster.broker.close_lines()
            sending = asyncio.create_task(producer.send(Message(topic=TOPIC, body=b"x")))
            await steps(count)
            sending.cancel()
            await ended(sending)
            assert (producer.pending_count, producer.pending_bytes) == (0, 0)
        assert (await producer.send(Message(topic=TOPIC, body=b"last"))).queue.topic == TOPIC
