"""Blocking consumers: iteration, handlers, polls, closing from another thread."""

import asyncio
import threading
from typing import Any

import pytest
from tests.support.consuming import committed, fill
from tests.support.faulty_broker import FaultyCluster, Silence
from tests.unit.sync.conftest import run_program

from cosmodrome import ClientClosedError, Message, MessageQueue, RocketMQError
from cosmodrome.errors import ConnectError
from cosmodrome.sync import Consumer, LitePullConsumer, Producer, ReceivedMessage

FAST: dict[str, Any] = {"consume_from": "first", "persist_interval_s": 0.1, "close_timeout_s": 3.0}


def consumer(cluster: FaultyCluster, handler: Any = None) -> Consumer:
    return Consumer("G", namesrv=cluster.name_server, subscriptions={"T": None}, handler=handler, **FAST)


async def test_messages_come_one_after_the_other_and_are_settled(cluster: FaultyCluster) -> None:
    bodies = fill(cluster.broker, 5)

    def work() -> list[ReceivedMessage]:
        found = []
        with consumer(cluster) as one:
            for message in one:
                assert isinstance(message.body, bytes)
                message.ack()
                found.append(message)
                if len(found) == len(bodies):
                    assert one.status()
                    break
        return found

    found = await asyncio.to_thread(work)
    assert [each.body for each in found] == bodies
    assert {(each.topic, each.queue.queue_id) for each in found} == {("T", 0)}
    await committed(cluster.broker, 5)


async def test_a_retried_message_goes_back(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 1)

    def work() -> None:
        with consumer(cluster) as one:
            next(one).retry(delay_level=1)

    await asyncio.to_thread(work)
    assert (await cluster.broker.journal.arrived(36))[0].ext["delayLevel"] == "1"


async def test_a_plain_handler_may_block_and_send(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 3)
    threads: set[str] = set()

    def work() -> None:
        done = threading.Semaphore(0)
        with Producer("pg", namesrv=cluster.name_server) as producer:

            def handle(message: object) -> None:
                threads.add(threading.current_thread().name)
                producer.send(answer)
                done.release()

            with consumer(cluster, handle) as one:
                with pytest.raises(RuntimeError, match="go to the handler"):
                    iter(one)
                for _ in range(3):
                    assert done.acquire(timeout=20)

    answer = Message(topic="answers", body=b"done")
    await asyncio.to_thread(work)
    assert cluster.broker.store.bodies("answers") == [b"done"] * 3
    assert "cosmodrome-sync" not in threads
    assert cluster.broker.groups.offsets["G", "T", 0] == 3


async def test_the_iteration_ends_when_another_thread_closes_the_consumer(cluster: FaultyCluster) -> None:
    def work() -> tuple[list[ReceivedMessage], bool, bool]:
        one = consumer(cluster)
        one.start()
        found: list[ReceivedMessage] = []
        thread = threading.Thread(target=lambda: found.extend(one))
        thread.start()
        was_ended = one.wait(0)
        one.close()
        thread.join(20)
        assert not thread.is_alive()
        return found, was_ended, one.wait()

    assert await asyncio.to_thread(work) == ([], False, True)


async def test_subscriptions_change_while_it_runs(cluster: FaultyCluster) -> None:
    await cluster.broker.set_topic("U", 1)

    def work() -> bytes:
        with consumer(cluster) as one:
            one.subscribe("U", "*")
            one.unsubscribe("T")
            message = next(one)
            message.ack()
            return message.body

    cluster.broker.put("U", b"of U")
    assert await asyncio.to_thread(work) == b"of U"


async def test_polling(cluster: FaultyCluster) -> None:
    bodies = fill(cluster.broker, 3)
    queue = MessageQueue("T", "broker-a", 0)

    def work() -> list[bytes]:
        with LitePullConsumer("G", namesrv=cluster.name_server, **FAST) as one:
            assert queue in one.queues_of("T")
            one.assign([queue])
            assert one.assignment() == (queue,)
            found: list[bytes] = []
            while len(found) < len(bodies):
                found += [message.body for message in one.poll(timeout_s=5.0)]
            assert one.commit() == ()
            assert one.committed(queue) == one.position(queue) == len(bodies)
            one.pause([queue])
            one.resume([queue])
            one.seek(queue, 1)
            assert one.poll(timeout_s=5.0)[0].queue_offset == 1
            return found

    assert await asyncio.to_thread(work) == bodies


def test_a_start_that_fails_leaves_nothing_running_c028() -> None:
    one = Consumer("G", namesrv="127.0.0.1:1", subscriptions={"T": None}, request_timeout_s=1.0)
    with pytest.raises(ConnectError):
        one.start()
    assert "cosmodrome-sync" not in {each.name for each in threading.enumerate()}
    with pytest.raises(ClientClosedError):
        one.start()
    assert list(one) == []


async def test_a_start_that_takes_too_long_says_what_is_missing_c028(cluster: FaultyCluster) -> None:
    cluster.broker.faults.add(Silence(), 34, times=None)

    def work() -> None:
        one = Consumer(
            "G",
            namesrv=cluster.name_server,
            subscriptions={"T": None},
            start_timeout_s=0.5,
            close_timeout_s=0.5,
        )
        with pytest.raises(RocketMQError), one:
            next(one)
        assert "cosmodrome-sync" not in {each.name for each in threading.enumerate()}

    await asyncio.to_thread(work)


FORK = """
consumer = sync.Consumer("G", namesrv=address, subscriptions={"T": None}, consume_from="first")
consumer.start()
child = os.fork()
if child == 0:
    try:
        next(consumer)
    except RuntimeError as error:
        print(error, flush=True)
    consumer.close()
    with sync.Consumer("G2", namesrv=address, subscriptions={"T": None}, consume_from="first") as other:
        print(next(other).body, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(next(consumer).body, flush=True)
consumer.close()
"""


async def test_a_child_process_makes_a_consumer_of_its_own_c026(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 1)
    program = await run_program(FORK, cluster.name_server)

    assert (program.code, program.err) == (0, ""), program.err
    first, *rest = program.out.splitlines()
    assert "make one in this process" in first
    assert rest == ["b'0.0'", "b'0.0'"]


TERMINATED = """
import signal
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
def handle(message):
    os.kill(os.getpid(), signal.SIGTERM)
with sync.Consumer("G", namesrv=address, subscriptions={"T": None}, consume_from="first", handler=handle) as one:
    one.wait()
"""


async def test_a_signal_ends_a_program_that_waits_and_offsets_are_saved_c024(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 1)
    program = await run_program(TERMINATED, cluster.name_server)

    assert (program.code, program.err) == (0, ""), program.err
    assert cluster.broker.groups.offsets["G", "T", 0] == 1
    assert cluster.broker.journal.requests(35, consumerGroup="G")


INTERRUPTED = """
import signal
try:
    with sync.Consumer("G", namesrv=address, subscriptions={"T": None}, consume_from="first") as consumer:
        for message in consumer:
            message.ack()
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
except KeyboardInterrupt:
    print("interrupted", [each.name for each in threading.enumerate()], flush=True)
"""


async def test_an_interrupt_ends_an_iteration_and_offsets_are_saved_c024(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 1)
    program = await run_program(INTERRUPTED, cluster.name_server)

    assert (program.code, program.err) == (0, "")
    assert program.out == "interrupted ['MainThread']\n"
    assert cluster.broker.groups.offsets["G", "T", 0] == 1
