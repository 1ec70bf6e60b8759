"""The blocking producer: threads, forks, the end of a process."""

import asyncio
import os
import signal
import threading
from collections import Counter

import pytest
from tests.support.faulty_broker import SENDS, FaultyCluster, Hold
from tests.unit.sync.conftest import run_program

from cosmodrome import ClientClosedError, Message, SendStatus
from cosmodrome.errors import ConfigError
from cosmodrome.sync import AdminClient, Consumer, Producer


def sync_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "cosmodrome-sync"]


async def test_a_message_is_sent_from_a_thread_without_a_loop(cluster: FaultyCluster) -> None:
    def work() -> SendStatus:
        with Producer("pg", namesrv=cluster.name_server) as producer:
            assert producer.client_id
            assert len(sync_threads()) == 1
            return producer.send(Message(topic="T", body=b"x")).status

    assert await asyncio.to_thread(work) is SendStatus.OK
    assert cluster.broker.store.bodies("T") == [b"x"]
    assert not sync_threads()


async def test_all_clients_share_one_thread_that_ends_with_the_last(cluster: FaultyCluster) -> None:
    def work() -> None:
        with Producer("pg", namesrv=cluster.name_server), AdminClient(namesrv=cluster.name_server) as admin:
            with Producer("pg2", namesrv=cluster.name_server) as inner:
                inner.send(Message(topic="T", body=b"x"))
                assert len(sync_threads()) == 1
            assert len(sync_threads()) == 1
            assert "T" in admin.topics.names()
        assert not sync_threads()

    await asyncio.to_thread(work)


async def test_32_threads_send_with_one_producer_c030(cluster: FaultyCluster) -> None:
    def work() -> None:
        with Producer("pg", namesrv=cluster.name_server) as producer:

            def send(number: int) -> None:
                for _ in range(10):
                    producer.send(Message(topic="T", body=b"%d" % number))

            threads = [threading.Thread(target=send, args=(number,)) for number in range(32)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    await asyncio.to_thread(work)
    assert Counter(cluster.broker.store.bodies("T")) == {b"%d" % number: 10 for number in range(32)}


async def test_a_closed_one_says_so_and_may_be_closed_again_c030(cluster: FaultyCluster) -> None:
    def work() -> None:
        producer = Producer("pg", namesrv=cluster.name_server)
        with pytest.raises(ClientClosedError, match="not started"):
            producer.send(Message(topic="T", body=b"x"))
        producer.start()
        with pytest.raises(RuntimeError, match="open already"):
            producer.start()
        producer.close()
        producer.close()
        with pytest.raises(ClientClosedError, match="closed"):
            producer.send(Message(topic="T", body=b"x"))
        with pytest.raises(ClientClosedError, match="make a new one"):
            producer.start()

    await asyncio.to_thread(work)


async def test_closing_in_one_thread_ends_a_send_in_another(cluster: FaultyCluster) -> None:
    hold = Hold()
    cluster.broker.faults.add(hold, SENDS)

    def work() -> BaseException | None:
        failures: list[BaseException] = []
        producer = Producer("pg", namesrv=cluster.name_server, close_timeout_s=0.1, send_timeout_s=60)
        producer.start()

        def send() -> None:
            try:
                producer.send(Message(topic="T", body=b"x"))
            except ClientClosedError as error:
                failures.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        arrived.wait()
        producer.close()
        thread.join()
        return failures[0]

    arrived = threading.Event()
    working = asyncio.create_task(asyncio.to_thread(work))
    await cluster.broker.journal.arrived(310)
    arrived.set()
    failure = await working
    hold.release()
    assert isinstance(failure, ClientClosedError)


def test_settings_are_checked_when_it_is_made() -> None:
    with pytest.raises(ConfigError, match="retries"):
        Producer("pg", namesrv="127.0.0.1:9876", retries=-1)


async def test_a_call_in_the_loops_own_thread_is_refused(cluster: FaultyCluster) -> None:
    """It would wait for itself for ever."""
    met: list[BaseException] = []

    def work() -> None:
        with Producer("pg", namesrv=cluster.name_server, check_transaction=lambda _: None) as producer:

            async def execute(message: Message, result: object) -> None:
                try:
                    producer.send(message)
                except RuntimeError as error:
                    met.append(error)

            producer.send_transaction(Message(topic="T", body=b"x"), execute)

    await asyncio.to_thread(work)
    assert "stop the event loop" in str(met[0])


FORK = """
producer = sync.Producer("pg", namesrv=address)
producer.start()
producer.send(Message(topic="T", body=b"parent"))
mine = producer.client_id
child = os.fork()
if child == 0:
    producer.send(Message(topic="T", body=b"child"))
    assert producer.client_id != mine
    assert [each.name for each in threading.enumerate()].count("cosmodrome-sync") == 1
    producer.close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
producer.send(Message(topic="T", body=b"parent again"))
assert producer.client_id == mine
producer.close()
"""


async def test_a_child_process_sends_over_connections_of_its_own(cluster: FaultyCluster) -> None:
    program = await run_program(FORK, cluster.name_server)

    assert program.code == 0, program.err
    assert program.err == ""
    assert cluster.broker.store.bodies("T") == [b"parent", b"child", b"parent again"]
    peers = {each.peer for each in cluster.broker.journal.requests(310)}
    assert len(peers) == 2


FORK_CLOSED = """
producer = sync.Producer("pg", namesrv=address)
producer.start()
child = os.fork()
if child == 0:
    producer.close()
    try:
        producer.send(Message(topic="T", body=b"child"))
    except Exception as error:
        print(type(error).__name__, flush=True)
    os._exit(0)
os.waitpid(child, 0)
producer.send(Message(topic="T", body=b"parent"))
producer.close()
"""


async def test_closing_in_a_child_leaves_the_parent_its_own(cluster: FaultyCluster) -> None:
    program = await run_program(FORK_CLOSED, cluster.name_server)

    assert (program.code, program.out, program.err) == (0, "ClientClosedError\n", "")
    assert cluster.broker.store.bodies("T") == [b"parent"]


UNCLOSED = """
producer = sync.Producer("pg", namesrv=address)
producer.start()
producer.send(Message(topic="T", body=b"x"))
sys.exit(3)
"""


async def test_a_program_that_does_not_close_ends_with_its_own_code_c024(cluster: FaultyCluster) -> None:
    program = await run_program(UNCLOSED, cluster.name_server)

    assert (program.code, program.err) == (3, "")
    await cluster.broker.journal.arrived(35)


DROPPED = """
producer = sync.Producer("pg", namesrv=address)
producer.start()
producer.send(Message(topic="T", body=b"x"))
del producer
for thread in threading.enumerate():
    if thread.name == "cosmodrome-sync":
        thread.join()
"""


async def test_a_dropped_one_warns_once_and_is_closed_c020(cluster: FaultyCluster) -> None:
    program = await run_program(DROPPED, cluster.name_server)

    assert program.code == 0
    assert program.err.count("ResourceWarning:") == 1, program.err
    assert "Traceback" not in program.err
    await cluster.broker.journal.arrived(35)


INTERRUPTED = """
import signal
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, interrupt)
with sync.Producer("pg", namesrv=address, send_timeout_s=60) as producer:
    print(os.getpid(), flush=True)
    try:
        producer.send(Message(topic="T", body=b"held"))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(producer.send(Message(topic="T", body=b"next")).status.name, flush=True)
"""


async def test_an_interrupt_ends_the_wait_and_the_producer_stays_usable(cluster: FaultyCluster) -> None:
    hold = Hold()
    cluster.broker.faults.add(hold, SENDS)
    interrupting = asyncio.create_task(_interrupt(cluster))
    program = await run_program(INTERRUPTED, cluster.name_server)
    hold.release()
    await interrupting

    assert (program.code, program.err) == (0, "")
    assert program.out.splitlines()[1:] == ["interrupted", "OK"]


async def _interrupt(cluster: FaultyCluster) -> None:
    """Send the signal to who holds the connection, when its send is there."""
    arrived = await cluster.broker.journal.arrived(310)
    assert arrived
    client_id = next(iter(cluster.broker.groups.producers["pg"].values()))[1]
    pid = int(client_id.split("@")[1].split("#")[0])
    os.kill(pid, signal.SIGUSR1)


async def test_batches_and_everything_else_that_a_producer_does(cluster: FaultyCluster) -> None:
    def work() -> None:
        with Producer("pg", namesrv=cluster.name_server) as producer:
            (batch,) = producer.split_batch([Message(topic="T", body=b"%d" % number) for number in range(3)])
            assert producer.send_batch(batch).queue.topic == "T"
            assert producer.send_oneway(Message(topic="T", body=b"oneway"), queue=producer.queues("T")[0])

    await asyncio.to_thread(work)
    await cluster.broker.journal.until(lambda: len(cluster.broker.store.bodies("T")) == 4, "four messages")


async def test_a_request_and_its_reply_between_threads(cluster: FaultyCluster) -> None:
    def answer(consumer: Consumer, producer: Producer) -> None:
        for message in consumer:
            producer.reply(message, b"reply to " + message.body)
            message.ack()

    def work() -> bytes:
        with (
            Producer("pg", namesrv=cluster.name_server) as producer,
            Consumer("G", namesrv=cluster.name_server, subscriptions={"T": None}, consume_from="first") as consumer,
        ):
            thread = threading.Thread(target=answer, args=(consumer, producer))
            thread.start()
            try:
                return producer.request(Message(topic="T", body=b"x"), timeout=20).body
            finally:
                consumer.close()
                thread.join()

    assert await asyncio.to_thread(work) == b"reply to x"


async def test_both_who_close_at_once_return_when_it_is_closed(cluster: FaultyCluster) -> None:
    def work() -> None:
        producer = Producer("pg", namesrv=cluster.name_server)
        producer.start()
        producer.send(Message(topic="T", body=b"x"))
        closing = [threading.Thread(target=producer.close) for _ in range(4)]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        assert not sync_threads()

    await asyncio.to_thread(work)
    assert len(cluster.broker.journal.requests(35)) == 1


IN_A_LOOP = """
import asyncio
async def main():
    with sync.Producer("pg", namesrv=address) as producer:
        print(producer.send(Message(topic="T", body=b"x")).status.name, flush=True)
asyncio.run(main())
"""


async def test_a_thread_that_runs_a_loop_of_its_own_may_block_it_c024(cluster: FaultyCluster) -> None:
    """A notebook, where a loop runs all the time."""
    program = await run_program(IN_A_LOOP, cluster.name_server)

    assert (program.code, program.out, program.err) == (0, "OK\n", "")
