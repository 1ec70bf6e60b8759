"""Members that come and go while brokers close, hang, refuse and lie by chance: nothing is lost (C037, C038, C048, C050)."""

import asyncio
import contextlib
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, consumer, undisturbed, until
from tests.support.faulty_broker import Chaos, Disturbances, FaultyCluster, faulty_cluster

from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.message import ReceivedMessage
from cosmodrome.errors import RemotingError, RocketMQError

QUEUES = 3
MESSAGES = 400
WITHIN_S = 60.0


async def fill_slowly(cluster: FaultyCluster, chance: random.Random) -> set[bytes]:
    bodies = {b"%d" % number for number in range(MESSAGES)}
    for number in range(MESSAGES):
        chance.choice(cluster.brokers).put(TOPIC, b"%d" % number, chance.randrange(QUEUES), UNIQ_KEY=f"ID{number}")
        await asyncio.sleep(0.005)
    return bodies


async def come_and_go(cluster: FaultyCluster, seen: Seen, chance: random.Random, **options: Any) -> None:
    """Be a member for a while, again and again."""
    while True:
        member = consumer(cluster, seen, **options)
        try:
            with contextlib.suppress(RocketMQError):
                await member.start()
                await asyncio.sleep(chance.random())
        finally:
            await member.close()


@contextlib.asynccontextmanager
async def joined(cluster: FaultyCluster, seen: Seen, **options: Any) -> AsyncIterator[Consumer]:
    """Have a member that stays; a start that no NameServer answered in its short time is tried again."""
    async with asyncio.timeout(WITHIN_S), contextlib.AsyncExitStack() as stack:
        while True:
            with contextlib.suppress(RemotingError):
                reader = await stack.enter_async_context(consumer(cluster, seen, **options))
                leaving = stack.pop_all()
                break
    async with leaving:
        yield reader


def everything_is_committed(cluster: FaultyCluster) -> bool:
    return all(
        broker.groups.offsets.get((GROUP, TOPIC, queue_id), 0) == broker.store.queue(TOPIC, queue_id).end
        for broker in cluster.brokers
        for queue_id in range(QUEUES)
    )


@pytest.mark.parametrize("orderly", [False, True], ids=["concurrent", "orderly"])
async def test_c048_nothing_is_lost_whatever_happens(tmp_path: Path, member_chaos_seed: int, orderly: Any) -> None:
    seed = member_chaos_seed
    chance = random.Random(seed)

    def act(message: ReceivedMessage) -> object:
        if message.reconsume_times == 0 and chance.random() < 0.02:
            raise ValueError("the handler of this test fails")
        return None

    options: dict[str, Any] = {"orderly": orderly, "orderly_pause_s": 0.01, "request_timeout_s": 0.3, "suspend_s": 0.3}
    async with undisturbed(), faulty_cluster(tmp_path, "broker-a", "broker-b", topics={TOPIC: QUEUES}) as cluster:
        disturbances = Disturbances(cluster.brokers, seed)
        for broker in cluster.brokers:
            broker.sends.settings.level_s = 0.05
            broker.groups.lock_s = 3.0  # a lock that could not be given back is free when its life is over
            broker.faults.chaos = Chaos(seed, 0.05)
        seen = Seen(act)
        async with joined(cluster, seen, **options) as reader:
            others = [
                asyncio.create_task(disturbances.run()),
                asyncio.create_task(come_and_go(cluster, seen, chance, **options)),
            ]
            bodies = await fill_slowly(cluster, chance)
            for task in others:
                task.cancel()
            await asyncio.wait(others)
            for broker in cluster.brokers:
                broker.faults.chaos = None
            await disturbances.calm()
            await seen.until(lambda: set(seen.counts) == bodies, WITHIN_S)
            await until(lambda: everything_is_committed(cluster), "all offsets", WITHIN_S)
            await until(lambda: all(each.trouble is None for each in reader.status().queues), "peace", WITHIN_S)
        assert len(disturbances.done) > 5
        # Members that come and go hand over what they could not commit; that is little.
        assert len(seen.messages) < 3 * MESSAGES


PROGRAM = """
import asyncio, sys, uvloop
from pathlib import Path
from tests.support.consuming import TOPIC, Seen, committed, consumer, fill
from tests.support.faulty_broker import faulty_cluster

async def main() -> None:
    async with faulty_cluster(Path(sys.argv[1]), topics={TOPIC: 2}) as cluster:
        fill(cluster.broker, 100)
        seen, plain = Seen(), []
        async with consumer(cluster, seen), consumer(cluster, plain.append, group="G2"):
            await seen.came(100)
            await committed(cluster.broker, 100)
            await committed(cluster.broker, 100, group="G2")
        async with consumer(cluster, group="G3") as reader:
            async for message in reader:
                await message.ack()
                if message.queue_offset == 99:
                    break
        print(len(seen.messages), len(plain), type(asyncio.get_running_loop()).__module__)

uvloop.run(main())
"""


def test_c027_it_works_under_uvloop(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[2]
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "100 100 uvloop\n", "")
