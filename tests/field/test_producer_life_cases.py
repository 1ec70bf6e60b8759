"""Field cases about the life of a producer: opening, closing, sharing, credentials, traces, addresses."""

# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import gc
import itertools
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop
from tests.support.builders import eventually
from tests.support.faulty_broker import SENDS, Delay, FaultyBroker, FaultyCluster, Refuse, Silence, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.credentials import Credentials
from cosmodrome.client.message import Message, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.transactions import TransactionState
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import (
    AuthenticationError,
    ClientClosedError,
    ConfigError,
    NoRouteError,
    RemotingError,
    RocketMQError,
    SendError,
)
from cosmodrome.protocol.acl import is_signed
from cosmodrome.protocol.messages.compression import inflate

T: Final = {"T": 4}
PLAIN: Final = Message(topic="T", body=b"plain")
SECRET: Final = "a very secret key"  # noqa: S105


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics=T) as one:
        yield one


def tasks() -> int:
    return len(asyncio.all_tasks())


def descriptors() -> int:
    return sum(1 for _ in os.scandir("/proc/self/fd"))


async def test_C015_traces_of_the_last_messages_arrive(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server, trace=True) as producer:
        results = await asyncio.gather(
            *(producer.send(Message(topic="T", body=b"x", keys=[f"key-{n}"])) for n in range(500))
        )
    traces = cluster.broker.store.messages("RMQ_SYS_TRACE_TOPIC")
    text = b"".join(body_of(record) for record in traces).decode()
    lines = [line.split("\x01") for line in text.split("\x02") if line]
    assert {line[5] for line in lines} == {result.msg_id for result in results}
    assert {line[0] for line in lines} == {"Pub"}
    assert {record.named["KEYS"].split(" ")[0] for record in traces} <= {result.msg_id for result in results}


def body_of(record: Any) -> bytes:
    return inflate(record.body, record.sys_flag)


async def test_C015_traces_with_long_keys_stay_below_the_limits(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server, trace=True) as producer:
        keys = [f"{'k' * 100}-{number}" for number in range(20)]
        await asyncio.gather(*(producer.send(Message(topic="T", body=b"x", keys=keys)) for _ in range(500)))
    traces = cluster.broker.store.messages("RMQ_SYS_TRACE_TOPIC")
    assert traces
    assert all(len(record.properties) < 32_767 for record in traces)
    assert sum(body_of(record).count(b"Pub\x01") for record in traces) == 500


@pytest.mark.parametrize("fault", [Refuse(2, "busy"), Silence(), Refuse(17, "no such topic")])
async def test_C015_a_send_never_waits_for_or_fails_because_of_a_trace(cluster: FaultyCluster, fault: Any) -> None:
    cluster.broker.faults.add(
        fault, SENDS, times=None, when=lambda arrival: arrival.ext["topic"] == "RMQ_SYS_TRACE_TOPIC"
    )
    producer = Producer("pg", namesrv=cluster.name_server, trace=True, close_timeout_s=0.5, send_timeout_s=1)
    await producer.start()
    for _ in range(20):
        assert (await producer.send(PLAIN)).status is SendStatus.OK
    opened = producer._open
    assert opened is not None
    async with asyncio.timeout(10):
        await producer.close()
    assert opened.tracer is not None
    assert opened.tracer.dropped == 20


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        (1, "org.apache.rocketmq.acl.common.AclException: Check signature failed for accessKey=K, x.java:1"),
        (1, "org.apache.rocketmq.acl.common.AclException: No acl config for K, x.java:1"),
        (16, "check signature failed."),
        (16, "User:K is not found."),
        (16, "username cannot be null."),
        (16, "User:K has no permission to access Topic:T from 127.0.0.1, no matched policies."),
    ],
)
async def test_C016_wrong_credentials_are_raised_at_once(
    cluster: FaultyCluster, code: int, remark: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    cluster.broker.faults.add(Refuse(code, remark), SENDS, times=None)
    credentials = Credentials("K", SECRET, "a token")
    async with Producer("pg", namesrv=cluster.name_server, credentials=credentials) as producer:
        with pytest.raises(AuthenticationError) as caught:
            await producer.send(PLAIN)
        assert cluster.broker.journal.counts[310] == 1
        for text in (str(caught.value), repr(caught.value), repr(credentials), repr(producer.settings), caplog.text):
            assert SECRET not in text
            assert "a token" not in text


async def test_C016_every_request_of_a_producer_is_signed(cluster: FaultyCluster) -> None:
    credentials = Credentials("K", SECRET)
    async with Producer(
        "pg", namesrv=cluster.name_server, credentials=credentials, check_transaction=lambda _: TransactionState.COMMIT
    ) as producer:
        await producer.send(Message(topic="T", body="消息".encode(), tag="标签", properties={"ü": "ß"}))
        await producer.send_batch([PLAIN, PLAIN])
        await producer.send_oneway(PLAIN)
        result = await producer.send(Message(topic="T", body=b"x", delay=60))
        assert result.recall_handle is not None
        await producer.recall("T", result.recall_handle)
        await producer.send_transaction(PLAIN, lambda *_: TransactionState.COMMIT)
        await cluster.broker.journal.arrived(34)
        await cluster.broker.journal.arrived(37)
    await cluster.broker.journal.arrived(35)
    seen = set()
    for arrival in cluster.broker.journal.arrivals:
        ext = {name: str(text) for name, text in (arrival.command.ext or {}).items()}
        assert ext["AccessKey"] == "K"
        assert is_signed(ext, arrival.body, SECRET), arrival
        seen.add(arrival.code)
    assert {310, 320, 34, 35, 37, 370} <= seen


@pytest.mark.parametrize(("access", "secret"), [("", ""), ("K", ""), ("", "S"), (None, "S"), ("K", None)])
def test_C017_half_a_pair_is_refused(access: Any, secret: Any) -> None:
    with pytest.raises(ConfigError, match="is missing"):
        Credentials(access, secret)


async def test_C017_no_credentials_mean_no_signature(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server, credentials=None) as producer:
        await producer.send(PLAIN)
    assert "AccessKey" not in cluster.broker.journal.requests(310)[0].ext


async def test_C020_C021_cycles_leave_nothing(cluster: FaultyCluster) -> None:
    """With asyncio's debug mode; warnings are errors in these tests."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)

    async def cycle(number: int) -> None:
        producer = Producer("pg", namesrv=cluster.name_server)
        await producer.start()
        if number % 3:
            await producer.send(PLAIN)
        if number % 3 == 2:
            sends = [asyncio.ensure_future(producer.send(PLAIN)) for _ in range(5)]
            await asyncio.sleep(0)
            await producer.close()
            await asyncio.gather(*sends)
        await producer.close()

    for number in range(10):
        await cycle(number)
    await cluster.broker.journal.until(lambda: not cluster.broker.lines, "the end of all connections")
    before = (tasks(), descriptors(), threading.active_count())
    for number in range(60):
        await cycle(number)
    await cluster.broker.journal.until(lambda: not cluster.broker.lines, "the end of all connections")
    await eventually(lambda: descriptors() <= before[1], "closed descriptors")
    assert (tasks(), threading.active_count()) == (before[0], before[2])


async def test_C020_closing_while_it_connects(cluster: FaultyCluster) -> None:
    await cluster.broker.black_hole()
    producer = Producer("pg", namesrv=cluster.name_server, close_timeout_s=0.1)
    await producer.start()
    sending = asyncio.ensure_future(producer.send(PLAIN))
    await asyncio.sleep(0.05)
    await asyncio.gather(producer.close(), producer.close())
    with pytest.raises(ClientClosedError):
        await sending
    with pytest.raises(ClientClosedError, match="make a new one"):
        await producer.start()


async def test_C020_closing_without_starting_and_starting_twice(cluster: FaultyCluster) -> None:
    producer = Producer("pg", namesrv=cluster.name_server)
    with pytest.raises(ClientClosedError, match="not started"):
        await producer.send(PLAIN)
    await producer.close()
    async with Producer("pg", namesrv=cluster.name_server) as other:
        with pytest.raises(RuntimeError, match="open already"):
            await other.start()


def test_C020_a_dropped_producer_gives_one_warning_and_no_traceback(tmp_path: Path) -> None:
    async def leave() -> None:
        producer = Producer("pg", namesrv="127.0.0.1:1")
        await producer.start()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(leave())
        gc.collect()
    assert [each.category for each in caught] == [ResourceWarning]
    assert "was not closed" in str(caught[0].message)


async def test_C022_a_group_is_opened_again_and_again_beside_others(cluster: FaultyCluster) -> None:
    async with ClientSession(ClientConfig(namesrv=cluster.name_server)) as session:
        async with Producer("other", session=session) as other:
            for _ in range(50):
                async with Producer("pg", session=session) as producer:
                    assert (await producer.send(PLAIN)).attempts == 1
                    assert (await other.send(PLAIN)).attempts == 1
        assert cluster.broker.journal.connects == 1


async def test_C023_producers_of_one_client_close_in_any_order(cluster: FaultyCluster) -> None:
    for order in itertools.permutations(range(3)):
        session = ClientSession(ClientConfig(namesrv=cluster.name_server))
        producers = [Producer(f"group-{number}", session=session) for number in range(3)]
        for producer in producers:
            await producer.start()
        await asyncio.gather(*(producer.send(PLAIN) for producer in producers))
        cluster.broker.journal.clear()
        for closed, number in enumerate(order):
            await producers[number].close()
            left = cluster.broker.journal.requests(35)
            assert [each.ext["producerGroup"] for each in left] == [f"group-{each}" for each in order[: closed + 1]]
            for other in order[closed + 1 :]:
                assert (await producers[other].send(PLAIN)).attempts == 1
        assert not session.is_open


async def test_C023_producers_of_one_client_close_at_once_under_traffic(cluster: FaultyCluster) -> None:
    session = ClientSession(ClientConfig(namesrv=cluster.name_server))
    producers = [Producer(f"group-{number}", session=session) for number in range(4)]
    for producer in producers:
        await producer.start()
    sends = [asyncio.ensure_future(producer.send(PLAIN)) for producer in producers for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.gather(*(producer.close() for producer in producers))
    assert len(await asyncio.gather(*sends)) == 200
    assert not session.is_open


PROGRAM: Final = """
import asyncio, sys
from cosmodrome import Message, Producer
async def main():
    producer = Producer("pg", namesrv=sys.argv[1])
    await producer.start()
    await producer.send(Message(topic="T", body=b"x"))
    {end}
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("await producer.close()", 0), ("pass", 0), ("raise ValueError(1)", 1), ("sys.exit(7)", 7)],
)
async def test_C024_a_program_ends_with_its_own_exit_code(cluster: FaultyCluster, end: str, code: int) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM.format(end=end), cluster.name_server, stderr=subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, errors = await program.communicate()
    assert program.returncode == code
    assert (b"Traceback" in errors) == (code == 1)


FORKING: Final = """
import asyncio, os, sys
from cosmodrome import Message, Producer
async def send(producer):
    async with producer:
        result = await producer.send(Message(topic="T", body=b"x"))
        return producer.client_id, result.msg_id
async def main():
    async with Producer("pg", namesrv=sys.argv[1]) as producer:
        await producer.send(Message(topic="T", body=b"x"))
        prepared = Producer("pg", namesrv=sys.argv[1])
        pid = os.fork()
        if pid == 0:
            asyncio.events._set_running_loop(None)
            try:
                async def use():
                    try:
                        await producer.send(Message(topic="T", body=b"x"))
                    except RuntimeError as error:
                        print("refused" if "another event loop" in str(error) else error, flush=True)
                asyncio.run(use())
                print(*asyncio.run(send(prepared)), flush=True)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        print(producer.client_id, (await producer.send(Message(topic="T", body=b"x"))).msg_id, flush=True)
asyncio.run(main())
"""


async def test_C026_a_child_process_has_an_id_of_its_own_and_cannot_use_the_parents(cluster: FaultyCluster) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FORKING, cluster.name_server, stdout=subprocess.PIPE
    )
    async with asyncio.timeout(30):
        output, _ = await program.communicate()
    refused, child, parent = output.decode().splitlines()
    assert refused == "refused"
    for mine, theirs in zip(child.split(), parent.split(), strict=True):
        assert mine != theirs
    assert child.split()[1][:20] != parent.split()[1][:20], "the ids differ by more than the counter"


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_C027_it_works_on_both_event_loops(tmp_path: Path, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def scenario() -> None:
        async with (
            faulty_cluster(tmp_path, topics=T) as cluster,
            Producer("pg", namesrv=cluster.name_server, send_timeout_s=30) as producer,
        ):
            results = await asyncio.gather(*(producer.send(PLAIN) for _ in range(300)))
            assert len({result.msg_id for result in results}) == 300
            cluster.broker.faults.add(Delay(0.05), SENDS, times=10)
            sends = [asyncio.ensure_future(producer.send(PLAIN)) for _ in range(10)]
            await asyncio.sleep(0)
            await producer.close()
            await asyncio.gather(*sends)

    with asyncio.Runner(loop_factory=new_loop, debug=True) as runner:
        runner.run(scenario())


async def test_C027_a_large_body_does_not_hold_up_the_loop(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=cluster.name_server) as producer:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        await producer.send(Message(topic="T", body=os.urandom(2_000_000) + bytes(2_000_000)))
        counting.cancel()
        assert turns > 20, "it went on while the body was compressed"


@pytest.mark.parametrize("namesrv", ["127.0.0.1", "http://{}", "{},{}", "{} ; {}", "\n{}\n", "localhost:{port}"])
async def test_C032_addresses_in_every_form(cluster: FaultyCluster, namesrv: str) -> None:
    given = namesrv.replace("{port}", cluster.name_server.rpartition(":")[2]).replace("{}", cluster.name_server)
    producer = Producer("pg", namesrv=given, send_timeout_s=2)
    if namesrv == "127.0.0.1":
        assert str(producer.settings.name_servers[0]) == "127.0.0.1:9876"
        return
    async with producer:
        assert (await producer.send(PLAIN)).status is SendStatus.OK


@pytest.mark.parametrize("given", ["", "   ", ";", "host:port", "a b:c:d", "127.0.0.1:70000", []])
def test_C032_an_address_that_is_none_is_named(given: Any) -> None:
    with pytest.raises(ConfigError, match="namesrv") as caught:
        Producer("pg", namesrv=given)
    assert "HOST:PORT" in (caught.value.remedy or "")


def test_C032_no_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMESRV_ADDR", "ROCKETMQ_NAMESRV_ADDR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no NameServer is given"):
        Producer("pg")
    monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.1:9876;10.0.0.2:9876")
    assert len(Producer("pg").settings.name_servers) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nameserver": "127.0.0.1:1"}, "unknown setting nameserver"),
        ({"namesrv": "127.0.0.1:1", "send_timeout_s": 0}, "send_timeout_s"),
        ({"namesrv": "127.0.0.1:1", "send_timeout_s": "3"}, "send_timeout_s"),
        ({"namesrv": "127.0.0.1:1", "retries": -1}, "retries"),
        ({"namesrv": "127.0.0.1:1", "compression": "gzip"}, "compression"),
        ({"namesrv": "127.0.0.1:1", "when_full": "drop"}, "when_full"),
        ({"namesrv": "127.0.0.1:1", "credentials": ("K", "S")}, "credentials"),
    ],
)
def test_C032_a_setting_that_cannot_be_used_is_named(options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Producer("pg", **options)


@pytest.mark.parametrize("group", ["", "a b", "DEFAULT_PRODUCER", "g" * 121])
def test_C032_a_group_that_cannot_be_used_is_named(group: str) -> None:
    with pytest.raises(ConfigError, match="group"):
        Producer(group, namesrv="127.0.0.1:1")


async def test_C032_there_is_nowhere_to_send_to(cluster: FaultyCluster) -> None:
    """Whoever is asked and does not answer is named; nothing is accepted."""
    async with Producer("pg", namesrv="127.0.0.1:1", send_timeout_s=1) as producer:
        with pytest.raises(RemotingError, match=r"127\.0\.0\.1:1"):
            await producer.send(PLAIN)
    cluster.broker.store.topics.pop("TBW102")
    async with Producer("pg", namesrv=cluster.name_server) as producer:
        await cluster.broker.withdraw()
        await cluster.broker.announce()
        with pytest.raises(NoRouteError, match="No route info of this topic: Unknown"):
            await producer.send(Message(topic="Unknown", body=b"x"))


async def test_C066_brokers_at_ipv6_addresses_and_names(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T, host="::1") as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        result = await producer.send(PLAIN)
        assert len(result.offset_msg_id) == 56
        assert (await producer.send(PLAIN)).status is SendStatus.OK


async def test_C066_a_name_with_a_dead_family(tmp_path: Path) -> None:
    """`localhost` stands for ::1 and 127.0.0.1; the broker listens at one of them."""
    async with faulty_cluster(tmp_path, topics={}) as cluster:
        broker = FaultyBroker(cluster.name_server, "broker-named", T)
        broker.advertised = f"localhost:{broker.port}"
        async with broker, Producer("pg", namesrv=cluster.name_server) as producer:
            assert (await producer.send(PLAIN)).queue.broker_name == "broker-named"


async def test_the_next_name_server_is_asked_when_one_is_gone(cluster: FaultyCluster) -> None:
    async with Producer("pg", namesrv=f"127.0.0.1:1;{cluster.name_server}") as producer:
        assert (await producer.send(PLAIN)).status is SendStatus.OK


async def test_slow_brokers_are_left_alone_if_that_is_set(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, "broker-a", "broker-b", topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, latency_fault_tolerance=True) as producer,
    ):
        cluster.brokers[0].faults.add(Delay(0.7), SENDS)
        async with asyncio.timeout(20):
            while cluster.brokers[0].faults.rules[0].met == 0:
                await producer.send(PLAIN)
                await asyncio.sleep(0.01)  # the double keeps all that arrives
        names = {(await producer.send(PLAIN)).queue.broker_name for _ in range(20)}
        assert names == {"broker-b"}
        cluster.brokers[1].faults.add(Refuse(2, "busy"), SENDS)
        assert (await producer.send(PLAIN)).queue.broker_name == "broker-a", "the least bad one is better than none"


async def test_errors_are_ours(cluster: FaultyCluster) -> None:
    assert issubclass(SendError, RocketMQError)
    with pytest.raises(ConfigError, match="set by the session"):
        Producer("pg", session=ClientSession(ClientConfig(namesrv=cluster.name_server)), namesrv="127.0.0.1:1")
