"""Cases of clients whose rows ask for many, much or long: scaled down here, in full with `--full-scale`.

    ./test tests/soak/test_client_cases.py --full-scale -s

prints what was measured. Beside each figure of the short form stands that of the row.
"""

import asyncio
import contextlib
import gc
import logging
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.field.test_client_process_cases import ORDERS_OF_CLOSING, closed_in_order, requests_that_send
from tests.field.test_recipe_cases import FILES
from tests.interop.rig.ports import free_port
from tests.support.builders import eventually
from tests.support.consuming import FAST, GROUP, TOPIC, Seen, committed, consumer, fill, undisturbed, until
from tests.support.faulty_broker import PULLS, SENDS, FaultyCluster, Paced, Refuse, faulty_cluster
from tests.support.process_figures import descriptors_of, memory_of

from cosmodrome import (
    ClientConfig,
    ClientSession,
    Consumer,
    HoldingLimits,
    Later,
    LitePullConsumer,
    Message,
    PendingLimitError,
    Producer,
    ReceivedMessage,
    SendResult,
)
from cosmodrome.errors import RemotingError
from cosmodrome.protocol.messages.compression import inflate

pytestmark = pytest.mark.timeout(1500)
MIB = 1024 * 1024


def tell(**figures: object) -> None:
    """Print figures for whoever runs the full form."""
    print(" ", *(f"{name.replace('_', ' ')}: {value}" for name, value in figures.items()), sep="  ")  # noqa: T201


def held_by_us() -> int:
    """Give the bytes that this package has allocated and holds; the double is in the same process."""
    snapshot = tracemalloc.take_snapshot().filter_traces(
        (tracemalloc.Filter(inclusive=True, filename_pattern="*/cosmodrome/*"),)
    )
    return sum(each.size for each in snapshot.statistics("filename"))


@pytest.mark.parametrize("policy", ["wait", "raise"])
async def test_c006_a_program_that_never_waits_for_its_sends(tmp_path: Path, policy: Any, *, is_full: bool) -> None:
    """200,000 sends of 1 KiB at a broker of 100 a second, which then says nothing for 60 s, then recovers."""
    count, silence_s = (200_000, 60.0) if is_full else (1_500, 0.3)
    limit = 32 * MIB if is_full else MIB // 2
    options: dict[str, Any] = {
        "max_pending_bytes": limit, "max_pending_sends": 10**6, "when_full": policy, "send_timeout_s": 3600.0,
        "retries": 0,
    }  # fmt: skip
    async with faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        broker = cluster.broker
        broker.journal.is_counting_only = True
        broker.sends.settings.is_storing = False
        async with Producer("pg", namesrv=cluster.name_server, **options) as producer:
            await producer.send(Message(topic=TOPIC, body=b"x"))
            broker.faults.add(Paced(100), SENDS, times=None)
            message = Message(topic=TOPIC, body=bytes(1024))
            gc.collect()
            tracemalloc.start()
            sends = []
            for number in range(count):
                sends.append(asyncio.ensure_future(producer.send(message)))
                if number % 1000 == 0:
                    await asyncio.sleep(0)
                    assert producer.pending_bytes <= limit
            await asyncio.sleep(0)
            growth = held_by_us()
            broker.mute()
            await asyncio.sleep(silence_s)
            assert producer.pending_bytes <= limit
            broker.faults.clear()
            await broker.accept_connects()
            await broker.close_lines()
            outcomes = await asyncio.gather(*sends, return_exceptions=True)
            ends = Counter(type(each).__name__ for each in outcomes)
            del outcomes, sends
            await asyncio.sleep(0)  # what woke this task has the outcomes too, until it returns
            gc.collect()
            left = held_by_us()
            tracemalloc.stop()
            assert producer.pending_bytes == 0
            assert (await producer.send(message)).attempts == 1
    tell(policy=policy, sends=count, grown_MiB=f"{growth / MIB:.1f}", left_MiB=f"{left / MIB:.1f}", ends=dict(ends))
    assert ends.total() == count
    assert set(ends) <= {SendResult.__name__, PendingLimitError.__name__, "SendError"}
    assert left < 0.2 * growth + MIB / 4
    assert growth < 2 * limit + count * 1024, (
        "one that waits, or is refused, costs its coroutine and a place in the row"
    )
    if policy == "raise":
        assert ends[PendingLimitError.__name__] > 0


async def test_c015_many_traces_a_second_all_arrive_or_are_counted(tmp_path: Path, *, is_full: bool) -> None:
    """5,000 a second for 10 s, with 20 long keys each, closed at once."""
    rate, seconds = (5_000, 10) if is_full else (500, 1)
    keys = [f"{'k' * 60}-{number}" for number in range(20)]
    async with faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        cluster.broker.journal.is_counting_only = True
        producer = Producer("pg", namesrv=cluster.name_server, trace=True, send_timeout_s=30, close_timeout_s=20)
        await producer.start()
        await producer.send(Message(topic=TOPIC, body=b"x"))
        opened = producer._open
        assert opened is not None
        tracer = opened.tracer
        assert tracer is not None
        began_s = time.monotonic()
        for _ in range(seconds * 10):
            await asyncio.gather(
                *(producer.send(Message(topic=TOPIC, body=b"x", keys=keys)) for _ in range(rate // 10))
            )
        took_s = time.monotonic() - began_s
        await producer.close()
        traces = cluster.broker.store.messages("RMQ_SYS_TRACE_TOPIC")
        found = sum(inflate(record.body, record.sys_flag).count(b"Pub\x01") for record in traces)
        tell(sends=rate * seconds + 1, per_s=f"{rate * seconds / took_s:.0f}", traced=found, dropped=tracer.dropped)
        assert found + tracer.dropped == rate * seconds + 1
        assert all(len(record.properties) < 32_767 and len(record.body) < 4 * MIB for record in traces)


Figures = tuple[int, int, int]


def figures() -> Figures:
    gc.collect()
    return len(asyncio.all_tasks()), descriptors_of(os.getpid()), memory_of(os.getpid())


@pytest.mark.parametrize("kind", ["producer", "consumer", "lite pull", "failing start"])
async def test_c020_c021_cycles_leave_nothing_behind(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, *, is_full: bool
) -> None:
    """500 of each, every other one with traffic; the first ten are for what is made once."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    cycles = 500 if is_full else 6
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        cluster.broker.journal.is_counting_only = True
        settled: Figures = (0, 0, 0)
        for number in range(cycles + 10):
            if number == 10:
                await cluster.broker.journal.until(lambda: not cluster.broker.lines, "the end of all connections")
                settled = figures()
            if number % 20 == 0:
                await cluster.broker.announce()  # else a NameServer takes it for dead after two minutes
            await _cycle(cluster, kind, with_traffic=number % 2 == 0)
        await cluster.broker.journal.until(lambda: not cluster.broker.lines, "the end of all connections")
        await eventually(lambda: figures()[1] <= settled[1] + 2, "closed descriptors")
        tasks, descriptors, resident = figures()
        tell(kind=kind, cycles=cycles, tasks=(settled[0], tasks), descriptors=(settled[1], descriptors),
             grown_MiB=f"{(resident - settled[2]) / MIB:.1f}")  # fmt: skip
        assert tasks <= settled[0] + 1
        assert resident - settled[2] < (24 if is_full else 32) * MIB


async def _cycle(cluster: FaultyCluster, kind: str, *, with_traffic: bool) -> None:
    namesrv = cluster.name_server
    if kind == "producer":
        async with Producer("pg", namesrv=namesrv) as producer:
            if with_traffic:
                await producer.send(Message(topic=TOPIC, body=b"x"))
    elif kind == "consumer":
        seen = Seen()
        async with consumer(cluster, seen, group="cycles"):
            if with_traffic:
                cluster.broker.put(TOPIC, b"x")
                await seen.came(1)
    elif kind == "lite pull":
        async with LitePullConsumer(GROUP, namesrv=namesrv, subscriptions={TOPIC: None}, **FAST) as polled:
            if with_traffic:
                cluster.broker.put(TOPIC, b"x")
                assert await polled.poll(10)
    else:
        nowhere = Consumer("G", namesrv="127.0.0.1:1", subscriptions={TOPIC: None}, request_timeout_s=0.5)
        with pytest.raises(RemotingError):
            await nowhere.start()
        async with consumer(cluster, Seen(), subscriptions={"missing": None}):
            pass


async def test_c022_one_group_again_and_again_under_load(tmp_path: Path, *, is_full: bool) -> None:
    """50 times, while a second client of the session sends and consumes."""
    times = 50 if is_full else 3
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2, "other": 1}) as cluster:
        async with ClientSession(ClientConfig(namesrv=cluster.name_server, persist_interval_s=0.1)) as session:
            others = Seen()
            options: dict[str, Any] = {"consume_from": "first", "session": session}
            async with (
                Producer("pg", session=session) as producer,
                Consumer("G2", subscriptions={"other": None}, handler=others, **options),
            ):
                slowest_s = 0.0
                for number in range(times):
                    load = [
                        asyncio.ensure_future(producer.send(Message(topic="other", body=b"%d" % each)))
                        for each in range(20)
                    ]
                    began_s = time.monotonic()
                    async with Consumer(GROUP, subscriptions={TOPIC: None}, handler=(seen := Seen()), **options):
                        await producer.send(Message(topic=TOPIC, body=b"%d" % number))
                        await seen.until(lambda: b"%d" % number in seen.bodies)  # noqa: B023 -- waited for here
                    slowest_s = max(slowest_s, time.monotonic() - began_s)
                    assert {result.attempts for result in await asyncio.gather(*load)} == {1}
                await others.came(20 * times)
            assert len(others.messages) == 20 * times
        tell(times=times, slowest_s=f"{slowest_s:.2f}")


async def test_c028_a_thousand_topics(tmp_path: Path, *, is_full: bool) -> None:
    topics = {f"T{number}": 1 for number in range(1000 if is_full else 20)}
    async with undisturbed(), faulty_cluster(tmp_path, topics=topics) as cluster:
        seen = Seen()
        began_s = time.monotonic()
        async with consumer(cluster, seen, subscriptions=dict.fromkeys(topics)):
            started_s = time.monotonic() - began_s
            for topic in topics:
                cluster.broker.put(topic, topic.encode())
            await seen.came(len(topics), 60)
        tell(topics=len(topics), start_s=f"{started_s:.1f}")
        assert started_s < 30


async def test_c033_a_handler_that_blocks_the_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_full: bool
) -> None:
    """For 150 s, in which the broker throws the member out."""
    blocked_s = 150.0 if is_full else 4.0
    async with faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 200)

        async def act(message: ReceivedMessage) -> None:
            if message.body == b"0.5" and message.reconsume_times == 0:
                time.sleep(blocked_s)  # noqa: ASYNC251 -- what the case is about

        seen = Seen(act)
        async with consumer(cluster, seen, heartbeat_interval_s=0.5, concurrency=1):
            await seen.until(lambda: b"0.5" in seen.bodies)
            await cluster.broker.close_lines()
            ended_s = asyncio.get_running_loop().time()
            await seen.until(lambda: set(seen.counts) == set(bodies), 60)
            back_s = asyncio.get_running_loop().time() - ended_s
            await committed(cluster.broker, 200)
        tell(blocked_s=blocked_s, back_after_s=f"{back_s:.2f}")
        assert back_s < 30
        assert "the event loop stood still for" in caplog.text


@pytest.mark.parametrize(
    "how", ["a handler blocks", "flow control", "an orderly queue is suspended", "the network is dead"]
)
async def test_c039_a_wanted_pause_is_no_dead_pull(tmp_path: Path, how: str, *, is_full: bool) -> None:
    """5 minutes, 5 minutes, 10 minutes and 2 minutes; then consumption is back within 5 s, in order."""
    minutes = {"an orderly queue is suspended": 10.0, "the network is dead": 2.0}.get(how, 5.0)
    pause_s = minutes * 60 if is_full else 1.5
    orderly = how == "an orderly queue is suspended"
    until_s = 0.0

    async def act(message: ReceivedMessage) -> object:
        left_s = until_s - asyncio.get_running_loop().time()
        if how == "a handler blocks":
            await asyncio.sleep(max(0.0, left_s))
        return Later() if orderly and left_s > 0 else None

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.journal.is_counting_only = False
        seen = Seen(act)
        options: dict[str, Any] = {"orderly": orderly, "orderly_pause_s": 1.0 if is_full else 0.1, "suspend_s": 1.0}
        options |= {"limits": HoldingLimits(messages=8), "request_timeout_s": 2.0, "concurrency": 2}
        async with consumer(cluster, seen, **options) as reader:
            await until(lambda: len(reader.status().queues) >= 1, "the queue")
            asked = len(broker.journal.requests(14, topic=TOPIC))
            until_s = asyncio.get_running_loop().time() + pause_s
            if how == "flow control":
                broker.faults.add(Refuse(215, "flow control"), PULLS, times=None)
            if how == "the network is dead":
                broker.mute()
            bodies = fill(broker, 40)
            await asyncio.sleep(max(0.0, until_s - asyncio.get_running_loop().time()))
            broker.faults.clear()
            if how == "the network is dead":
                await broker.accept_connects()
                await broker.close_lines()
            woken_s = asyncio.get_running_loop().time()
            done = [message for message in seen.messages if message.body == bodies[-1]]
            assert not done or how == "a handler blocks"
            await seen.until(lambda: set(seen.counts) == set(bodies) and seen.at_s[-1] > woken_s - 1, 30)
            first_s = next(at_s for at_s in seen.at_s if at_s >= woken_s - 1.5)
            assert len(broker.journal.requests(14, topic=TOPIC)) <= asked + 1, "never dropped and added again"
            await committed(broker, 40)
        tell(how=how, paused_s=pause_s, resumed_after_s=f"{max(0.0, first_s - woken_s):.2f}")
        assert first_s - woken_s < 5
        if orderly:
            order = list(dict.fromkeys(seen.bodies))
            assert order == bodies


async def test_c044_a_broadcasting_member_without_its_three_brokers(tmp_path: Path, *, is_full: bool) -> None:
    """Cut off until the route is empty, and a topic that leaves the route for a minute; 100 messages meanwhile."""
    away_s = 60.0 if is_full else 0.5
    names = ("broker-a", "broker-b", "broker-c")
    options: dict[str, Any] = {"broadcasting": True, "consume_from": "last", "offset_folder": tmp_path / "offsets"}
    async with undisturbed(), faulty_cluster(tmp_path / "ns", *names, topics={TOPIC: 1}) as cluster:
        seen = Seen()
        async with consumer(cluster, seen, route_interval_s=0.2, **options):
            sent = _spread(cluster, 0, 9)
            await seen.came(9)
            for broker in cluster.brokers:
                await broker.withdraw()
                await broker.die()
            sent |= _spread(cluster, 9, 109)
            await asyncio.sleep(away_s)
            for broker in cluster.brokers:
                await broker.accept_connects()
                await broker.announce()
            await seen.came(109, 60)
            for broker in cluster.brokers:
                await broker.delete_topic(TOPIC)
            await asyncio.sleep(away_s)
            for broker in cluster.brokers:
                await broker.set_topic(TOPIC, 1)
            sent |= _spread(cluster, 109, 120)
            await seen.came(120, 60)
        tell(away_s=away_s, messages=len(seen.messages))
        assert seen.counts == dict.fromkeys(sent, 1)


def _spread(cluster: FaultyCluster, first: int, end: int) -> set[bytes]:
    for number in range(first, end):
        cluster.brokers[number % 3].put(TOPIC, b"%d" % number)
    return {b"%d" % number for number in range(first, end)}


SAVING = """
import asyncio, sys
from cosmodrome.client.consumer.offset_store import LocalOffsets
from cosmodrome.client.message import MessageQueue

async def main() -> None:
    store = LocalOffsets(sys.argv[1], "DEFAULT", "G")
    await store.open()
    queues = [MessageQueue("T", "broker-a", each) for each in range(50)]
    number = await store.load(queues[0], is_exact=False)
    print("begun", number, flush=True)
    while True:
        number += 1
        await store.save(dict.fromkeys(queues, number), is_confirmed=False)
        print(number, flush=True)

asyncio.run(main())
"""


def test_c045_killed_while_it_saves(tmp_path: Path, *, is_full: bool) -> None:
    """In 300 moments: what was saved last before the kill is there, or the save that was under way."""
    kills, chance = (300 if is_full else 6), random.Random(1)
    last = -2
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", SAVING, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            begun = child.stdout.readline().split()
            assert begun[:1] == ["begun"], child.stderr.read()
            assert int(begun[1]) in (last, last + 1) or last < 0
            for _ in range(chance.randrange(1, 20)):
                last = int(child.stdout.readline())
            time.sleep(chance.random() * 0.003)
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().split()
            last = int(rest[-1]) if rest else last
    tell(kills=kills, last=last)
    assert last > kills


async def test_c048_a_hundred_thousand_messages_and_the_offset_is_at_the_end(tmp_path: Path, *, is_full: bool) -> None:
    count = 100_000 if is_full else 4_000
    async with faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        for number in range(count):
            cluster.broker.put(TOPIC, b"%d" % number, number % 4)
        handled = 0

        async def handle(_: ReceivedMessage) -> None:
            nonlocal handled
            handled += 1

        began_s = time.monotonic()
        async with consumer(cluster, handle, persist_interval_s=1.0):
            await until(lambda: handled >= count, "all of them", 300)
            took_s = time.monotonic() - began_s
            offsets = cluster.broker.groups.offsets
            ends = {(GROUP, TOPIC, each): count // 4 for each in range(4)}
            await until(lambda: ends.items() <= offsets.items(), "all offsets, within two saves", 10)
        tell(messages=count, per_s=f"{count / took_s:.0f}")
        assert handled == count


async def test_c056_many_queues_with_large_messages(tmp_path: Path, *, is_full: bool) -> None:
    """64 queues with 512 KiB messages and a slow handler, 1,000 with small ones, a limit of a topic, one of 4 MiB."""
    each, total = (4, 256 * MIB) if is_full else (1, 4 * MIB)
    small = 1000 if is_full else 20
    topics = {TOPIC: 64, "small": small}
    async with undisturbed(), faulty_cluster(tmp_path, topics=topics) as cluster:
        broker = cluster.broker
        broker.journal.is_counting_only = True
        large, limit = bytes(512 * 1024), total if not is_full else 32 * MIB
        for queue_id in range(64):
            for _ in range(each):
                broker.put(TOPIC, large, queue_id)
        broker.put(TOPIC, bytes(4 * MIB - 1024), 0)
        for queue_id in range(small):
            broker.put("small", b"s", queue_id)
        highest = 0

        async def act(_: ReceivedMessage) -> None:
            nonlocal highest
            highest = max(highest, reader.status().held_bytes)
            await asyncio.sleep(0.001)

        seen = Seen(act)
        limits = HoldingLimits(total_bytes=limit, size_bytes=MIB)
        options: dict[str, Any] = {"subscriptions": dict.fromkeys(topics), "limits": limits, "topic_bytes": limit // 2}
        async with consumer(cluster, seen, concurrency=4, **options) as reader:
            await seen.came(64 * each + 1 + small, 120)
        tell(queues=64 + small, limit_MiB=limit / MIB, highest_MiB=f"{highest / MIB:.1f}")
        # A message above a queue's limit still passes, and so does what one pull brought before the limit was felt.
        assert highest <= limit + 4 * MIB
        assert len(seen.messages) == 64 * each + 1 + small


async def test_c057_quiet_minutes(tmp_path: Path, *, is_full: bool) -> None:
    """Ten of them: pulls are held as long as brokers hold them, and no connection is made anew."""
    quiet_s = 600.0 if is_full else 2.0
    suspend = {} if is_full else {"suspend_s": 0.2}
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pulls.settings.extra_hold_s = 5.0 if is_full else 0.3
        options: dict[str, Any] = {"namesrv": cluster.name_server, "subscriptions": {TOPIC: None}}
        polled: list[ReceivedMessage] = []
        async with (
            consumer(cluster, seen := Seen(), **suspend) as reader,
            LitePullConsumer("lite", **options, consume_from="first") as lite,
        ):
            polling = asyncio.create_task(lite.poll(quiet_s + 60))
            await broker.journal.arrived(11, 1, topic=TOPIC)
            connects = broker.journal.connects
            await asyncio.sleep(quiet_s)
            assert all(each.trouble is None for each in reader.status().queues)
            fill(broker, 1)
            await seen.came(1)
            polled = await polling
        tell(quiet_s=quiet_s, connects=(connects, broker.journal.connects))
        assert len(polled) == 1
        assert broker.journal.connects == connects


async def test_c041_twenty_consumers_and_a_broker_that_restarts(tmp_path: Path, *, is_full: bool) -> None:
    members = 20 if is_full else 3
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: members}) as cluster:
        broker = cluster.broker
        seen = Seen()
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(members):
                await stack.enter_async_context(consumer(cluster, seen))
            bodies: list[bytes] = []
            for round_number in range(3):
                for queue_id in range(members):
                    bodies += fill(broker, 2, queue_id, first=2 * round_number)
                await seen.until(lambda: set(seen.counts) == set(bodies), 60)  # noqa: B023 -- waited for here
                await broker.restart()
            await until(lambda: _all_committed(cluster, members, 6), "all offsets", 60)
        tell(members=members, messages=len(bodies), deliveries=len(seen.messages))


def _all_committed(cluster: FaultyCluster, queues: int, end: int) -> bool:
    offsets = cluster.broker.groups.offsets
    return all(offsets.get((GROUP, TOPIC, queue_id)) == end for queue_id in range(queues))


async def test_c023_two_producers_and_two_consumers_close_in_all_orders(tmp_path: Path, *, is_full: bool) -> None:
    """24 of them."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        began_s = time.monotonic()
        orders = ORDERS_OF_CLOSING if is_full else ORDERS_OF_CLOSING[:1]
        for number, order in enumerate(orders):
            await closed_in_order(cluster, order, is_watched=number % 6 == 0)
        tell(orders=len(orders), took_s=f"{time.monotonic() - began_s:.1f}")


async def test_c027_a_thousand_requests_under_uvicorn(tmp_path: Path, *, is_full: bool) -> None:
    (tmp_path / "app.py").write_text(FILES["app.py"], encoding="utf-8")
    async with faulty_cluster(tmp_path / "ns", topics={"orders": 4}) as cluster:
        port = free_port()
        arguments = ("-m", "uvicorn", "app:app", "--port", str(port), "--loop", "uvloop", "--log-level", "warning")
        began_s = time.monotonic()
        await requests_that_send(tmp_path, cluster, *arguments, port=port, count=1000 if is_full else 20)
        tell(requests=1000 if is_full else 20, took_s=f"{time.monotonic() - began_s:.1f}")
