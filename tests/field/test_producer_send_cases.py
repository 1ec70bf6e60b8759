"""Field cases about sends that meet brokers which fail, refuse, are slow or silent."""

# ruff: noqa: N802  # case ids are written in capitals

import asyncio
import os
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.builders import eventually
from tests.support.faulty_broker import (
    SENDS,
    AnswerWith,
    CloseBefore,
    CloseInAnswer,
    CloseUnanswered,
    Delay,
    DropAnswer,
    Fault,
    FaultyBroker,
    Paced,
    Refuse,
    Silence,
    faulty_cluster,
)

from cosmodrome.client.message import Message, MessageQueue, SendResult, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import (
    ClientClosedError,
    ConnectError,
    PendingLimitError,
    RefusedError,
    RequestTimeoutError,
    RocketMQError,
    SendError,
    SendTimeoutError,
)

TWO: Final = ("broker-a", "broker-b")
T: Final = {"T": 4}
HEALTHY: Final = Message(topic="T", body=b"healthy")


async def works_again(producer: Producer) -> None:
    """The standing rule: a send on the same client works, and nothing is left open."""
    async with asyncio.timeout(5):
        assert (await producer.send(HEALTHY)).status is SendStatus.OK
    assert producer.pending_count == producer.pending_bytes == 0
    await eventually(lambda: open_requests(producer) == 0, "no open request")  # a heartbeat may be under way


def open_requests(producer: Producer) -> int:
    channels = producer._session.remoting._channels.values()
    return sum(len(channel._exchange) for channel in channels)


async def refuse(broker: FaultyBroker) -> None:
    await broker.die()


async def cut(broker: FaultyBroker) -> None:
    broker.faults.add(CloseUnanswered(), SENDS, times=None)


async def cut_in_answers(broker: FaultyBroker) -> None:
    broker.faults.add(CloseInAnswer(), SENDS, times=None)


async def hush(broker: FaultyBroker) -> None:
    broker.faults.add(Silence(), SENDS, times=None)


@pytest.mark.parametrize("spoil", [refuse, cut, hush, cut_in_answers])
async def test_C001_every_send_ends_once_and_is_tried_on_the_other_broker(
    tmp_path: Path, spoil: Callable[[FaultyBroker], Awaitable[None]]
) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=6) as producer,
    ):
        a, b = cluster.brokers
        sends = [asyncio.ensure_future(producer.send(Message(topic="T", body=b"%d" % n))) for n in range(300)]
        await asyncio.gather(*sends)
        await spoil(a)
        sends += [asyncio.ensure_future(producer.send(Message(topic="T", body=b"%d" % n))) for n in range(300, 1000)]
        results = await asyncio.gather(*sends)
        assert {result.queue.broker_name for result in results[300:]} == {"broker-b"}
        assert any(result.attempts > 1 for result in results[300:])
        stored = set(a.store.bodies("T")) | set(b.store.bodies("T"))
        assert stored == {b"%d" % n for n in range(1000)}
        await works_again(producer)


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [(refuse, ConnectError), (cut, ConnectError), (hush, RequestTimeoutError), (cut_in_answers, ConnectError)],
)
async def test_C001_with_one_broker_the_error_names_it_and_the_tries(
    tmp_path: Path, spoil: Callable[[FaultyBroker], Awaitable[None]], cause: type[Exception]
) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=0.6) as producer,
    ):
        await producer.send(HEALTHY)
        await spoil(cluster.broker)
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        outcomes = await asyncio.gather(
            *(producer.send(Message(topic="T", body=b"%d" % n)) for n in range(100)), return_exceptions=True
        )
        assert loop.time() - started_s < 20
        for error in outcomes:
            assert isinstance(error, SendError)
            assert isinstance(error.__cause__, cause)
            assert set(error.brokers) == {"broker-a"}
            assert f"[{error.attempts}] times" in str(error)
            assert "BrokersSent: [broker-a" in str(error)
        tries = {error.attempts for error in outcomes if isinstance(error, SendError)}
        assert tries == ({1} if cause is RequestTimeoutError else {3})
        cluster.broker.faults.clear()
        await cluster.broker.accept_connects()
        await works_again(producer)


PASSING: Final = [1, 2, 14, 16, 17, 1500]
FINAL: Final = [13, 29, 215, 999]


async def plainly(producer: Producer) -> SendResult:
    return await producer.send(Message(topic="T", body=b"x"))


async def as_batch(producer: Producer) -> SendResult:
    return await producer.send_batch([Message(topic="T", body=b"x"), Message(topic="T", body=b"y")])


async def to_a_queue(producer: Producer) -> SendResult:
    return await producer.send(Message(topic="T", body=b"x"), queue=MessageQueue("T", "broker-a", 1))


async def by_a_selector(producer: Producer) -> SendResult:
    return await producer.send(Message(topic="T", body=b"x"), queue=lambda queues: queues[0])


async def by_a_key(producer: Producer) -> SendResult:
    return await producer.send(Message(topic="T", body=b"x", sharding_key="a key"))


@pytest.mark.parametrize("way", [plainly, as_batch])
@pytest.mark.parametrize("code", PASSING)
async def test_C002_codes_of_the_list_go_to_the_other_broker_with_the_same_id(
    tmp_path: Path, code: int, way: Callable[[Producer], Awaitable[SendResult]]
) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        a, b = cluster.brokers
        a.faults.add(Refuse(code, "not now"), SENDS, times=None)
        results = [await way(producer) for _ in range(8)]
        assert {result.queue.broker_name for result in results} == {"broker-b"}
        assert {result.attempts for result in results} == {1, 2}
        refused = a.journal.requests(310, 320) or [each for each in a.journal.arrivals if each.code in SENDS]
        accepted = [each for each in b.journal.arrivals if each.code in SENDS]
        assert {each.ext.get("properties") for each in refused} <= {each.ext.get("properties") for each in accepted}
        assert {each.body for each in refused} <= {each.body for each in accepted}
        await works_again(producer)


@pytest.mark.parametrize("way", [plainly, as_batch, to_a_queue, by_a_selector, by_a_key])
@pytest.mark.parametrize("code", FINAL)
async def test_C002_other_codes_are_raised_at_once(
    tmp_path: Path, code: int, way: Callable[[Producer], Awaitable[SendResult]]
) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        for broker in cluster.brokers:
            broker.faults.add(Refuse(code, "never"), SENDS)
        with pytest.raises(RefusedError) as caught:
            await way(producer)
        assert (caught.value.code, caught.value.remark) == (code, "never")
        assert sum(broker.journal.counts[310] + broker.journal.counts[320] for broker in cluster.brokers) == 1
        for broker in cluster.brokers:
            broker.faults.clear()
        await works_again(producer)


@pytest.mark.parametrize("way", [to_a_queue, by_a_selector, by_a_key])
@pytest.mark.parametrize("code", PASSING)
async def test_C002_a_chosen_queue_is_never_moved(
    tmp_path: Path, code: int, way: Callable[[Producer], Awaitable[SendResult]]
) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        for broker in cluster.brokers:
            broker.faults.add(Refuse(code, "not now"), SENDS)
        with pytest.raises(RefusedError) as caught:
            await way(producer)
        assert caught.value.code == code
        assert sum(broker.journal.counts[310] for broker in cluster.brokers) == 1


async def test_C002_a_oneway_is_sent_once(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        for broker in cluster.brokers:
            broker.faults.add(Refuse(2), SENDS)
        await producer.send_oneway(HEALTHY)
        await eventually(lambda: any(each.journal.counts[310] for each in cluster.brokers), "the oneway")
        await works_again(producer)
        sent = [each for broker in cluster.brokers for each in broker.journal.requests(310)]
        assert [each.is_oneway for each in sent].count(True) == 1


@pytest.mark.parametrize("code", [10, 11, 12])
async def test_C002_what_is_stored_and_not_safe_is_no_failure(tmp_path: Path, code: int) -> None:
    async with (
        faulty_cluster(tmp_path, *TWO, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
        Producer("again", namesrv=cluster.name_server, retry_when_not_ok=True) as insisting,
    ):
        cluster.brokers[0].faults.add(AnswerWith(code), SENDS, times=None)
        results = [await producer.send(HEALTHY) for _ in range(8)]
        assert {result.status.value for result in results} == {0, code}
        assert {result.attempts for result in results} == {1}
        insisted = [await insisting.send(HEALTHY) for _ in range(8)]
        assert {result.status for result in insisted} == {SendStatus.OK}
        assert {result.attempts for result in insisted} == {1, 2}


async def test_C003_copies_carry_one_id_and_the_result_counts_the_tries(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=2) as producer,
    ):
        cluster.broker.faults.add(CloseUnanswered(), SENDS)
        result = await producer.send(Message(topic="T", body=b"twice"))
        assert result.attempts == 2
        assert cluster.broker.store.unique_keys("T") == {result.msg_id: 2}


async def test_C003_without_retries_there_is_one_frame_and_the_outcome_is_unknown(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=0.5, retries=0) as producer,
    ):
        cluster.broker.faults.add(DropAnswer(), SENDS)
        with pytest.raises(SendTimeoutError) as caught:
            await producer.send(Message(topic="T", body=b"once"))
        assert caught.value.is_outcome_unknown
        assert cluster.broker.journal.counts[310] == 1
        assert cluster.broker.store.unique_keys("T") == {caught.value.msg_id: 1}
        await works_again(producer)


async def test_C003_a_failure_before_anything_was_written_is_known(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=0.5) as producer,
    ):
        await cluster.broker.die()
        with pytest.raises(SendError) as caught:
            await producer.send(HEALTHY)
        assert not caught.value.is_outcome_unknown


async def test_C003_a_cancelled_send_says_that_its_outcome_is_unknown(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        await producer.send(HEALTHY)
        cluster.broker.faults.add(Delay(0.3), SENDS)
        sending = asyncio.ensure_future(producer.send(Message(topic="T", body=b"x", msg_id="MY-ID")))
        await cluster.broker.journal.arrived(310, 2)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await sending
        assert any("MY-ID" in note and "unknown" in note for note in caught.value.__notes__)
        assert cluster.broker.store.unique_keys("T")["MY-ID"] == 1
        await works_again(producer)


@pytest.mark.parametrize("fault", [Delay(0.2), Fault()])
async def test_C004_close_waits_for_open_sends(tmp_path: Path, fault: Fault) -> None:
    async with faulty_cluster(tmp_path, topics=T) as cluster:
        producer = Producer("pg", namesrv=cluster.name_server)
        await producer.start()
        cluster.broker.faults.add(fault, SENDS, times=None)
        sends = [asyncio.ensure_future(producer.send(Message(topic="T", body=b"%d" % n))) for n in range(500)]
        await asyncio.sleep(0)
        await producer.close()
        assert all(each.done() for each in sends)
        results = await asyncio.gather(*sends)
        assert set(cluster.broker.store.unique_keys("T")) == {result.msg_id for result in results}
        with pytest.raises(ClientClosedError):
            await producer.send(HEALTHY)


async def test_C004_close_ends_the_rest_with_one_clear_error(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path, topics=T) as cluster:
        producer = Producer("pg", namesrv=cluster.name_server, close_timeout_s=0.3, send_timeout_s=60)
        await producer.start()
        await producer.send(HEALTHY)
        cluster.broker.faults.add(DropAnswer(), SENDS, times=None)
        sends = [asyncio.ensure_future(producer.send(Message(topic="T", body=b"%d" % n))) for n in range(500)]
        await asyncio.sleep(0)
        await producer.close()
        assert all(each.done() for each in sends)
        for outcome in await asyncio.gather(*sends, return_exceptions=True):
            assert isinstance(outcome, ClientClosedError)
            assert outcome.is_outcome_unknown
            assert "closed" in str(outcome)


async def test_C004_leaving_by_an_exception_closes_too(tmp_path: Path) -> None:
    async with faulty_cluster(tmp_path, topics=T) as cluster:
        cluster.broker.faults.add(Delay(0.1), SENDS, times=None)
        sends: list[asyncio.Future[SendResult]] = []

        async def fail() -> None:
            async with Producer("pg", namesrv=cluster.name_server) as producer:
                sends.extend(asyncio.ensure_future(producer.send(HEALTHY)) for _ in range(50))
                await asyncio.sleep(0)
                raise KeyError("the user's")

        with pytest.raises(KeyError):
            await fail()
        assert all(each.done() for each in sends)
        assert len(await asyncio.gather(*sends)) == 50


async def test_C004_close_while_the_broker_cannot_be_reached(tmp_path: Path) -> None:
    """Sends that wait for a connection end with the rest, also when connections are shared with others."""
    async with faulty_cluster(tmp_path, topics=T) as cluster:
        await cluster.broker.black_hole()
        producer = Producer("pg", namesrv=cluster.name_server, close_timeout_s=0.2, send_timeout_s=60)
        await producer.start()
        other = Producer("other", session=producer._session)
        await other.start()
        sends = [asyncio.ensure_future(producer.send(HEALTHY)) for _ in range(20)]
        await asyncio.sleep(0.05)
        await producer.close()
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        assert {type(each) for each in outcomes} == {ClientClosedError}
        await cluster.broker.accept_connects()
        await works_again(other)
        await other.close()


async def test_C006_open_sends_hold_no_more_than_their_limit(tmp_path: Path) -> None:
    limit = 2 * 1024 * 1024
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, max_pending_bytes=limit, send_timeout_s=60) as producer,
    ):
        broker = cluster.broker
        broker.journal.is_counting_only = True
        broker.sends.settings.is_storing = False
        await producer.send(HEALTHY)
        broker.mute()
        message = Message(topic="T", body=b"x" * 1024)
        sends = [asyncio.ensure_future(producer.send(message)) for _ in range(20_000)]
        await asyncio.sleep(0.2)
        assert producer.pending_bytes <= limit
        tracemalloc.start()
        sends += [asyncio.ensure_future(producer.send(message)) for _ in range(5_000)]
        for _ in range(5):
            await asyncio.sleep(0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 5_000 * 4096, "one that waits costs its task and a place in the row"
        await broker.accept_connects()
        results = await asyncio.gather(*sends)
        assert len(results) == 25_000
        await works_again(producer)


async def test_C006_a_send_without_retries_waits_for_a_broker_that_takes_no_bytes_as_long_as_it_may(
    tmp_path: Path,
) -> None:
    """The time of one request that is no send is over many times meanwhile."""
    options: dict[str, Any] = {
        "retries": 0,
        "send_timeout_s": 60,
        "request_timeout_s": 0.05,
        "max_pending_sends": 10**6,
    }
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, **options) as producer,
    ):
        broker = cluster.broker
        broker.sends.settings.is_storing = False
        await producer.send(HEALTHY)
        broker.mute()
        message = Message(topic="T", body=os.urandom(100_000))
        sends = [asyncio.ensure_future(producer.send(message)) for _ in range(200)]
        channel = producer._session.remoting._channels[broker.address]
        await eventually(lambda: not channel.is_writable, "a connection that takes nothing")
        waiting = asyncio.ensure_future(producer.send(HEALTHY))
        _, early = await asyncio.wait({waiting}, timeout=0.4)
        assert early == {waiting}
        await broker.accept_connects()
        assert (await waiting).status is SendStatus.OK
        await asyncio.gather(*sends)
        await works_again(producer)


async def test_C006_a_slow_broker_makes_sends_wait_and_all_end(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, max_pending_sends=10) as producer,
    ):
        cluster.broker.faults.add(Paced(500), SENDS, times=None)
        highest = 0

        async def send(number: int) -> SendResult:
            nonlocal highest
            result = await producer.send(Message(topic="T", body=b"%d" % number))
            highest = max(highest, producer.pending_count)
            return result

        results = await asyncio.gather(*(send(number) for number in range(300)))
        assert highest <= 10
        bodies = cluster.broker.store.bodies("T")
        assert len(results) == len(bodies) == 300
        await works_again(producer)


async def test_C006_beyond_the_limit_sends_are_refused_if_that_is_set(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, max_pending_sends=10, when_full="raise") as producer,
    ):
        await producer.send(HEALTHY)
        cluster.broker.faults.add(Delay(0.1), SENDS, times=None)
        outcomes = await asyncio.gather(*(producer.send(HEALTHY) for _ in range(30)), return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, PendingLimitError)]
        assert len(refused) == 20
        assert "10 sends" in str(refused[0])
        await works_again(producer)


async def test_C006_who_waits_for_room_too_long_is_told(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, max_pending_sends=5, send_timeout_s=0.4, retries=0) as producer,
    ):
        await producer.send(HEALTHY)
        cluster.broker.faults.add(Silence(), SENDS, times=5)
        outcomes = await asyncio.gather(*(producer.send(HEALTHY) for _ in range(10)), return_exceptions=True)
        assert all(isinstance(each, (RocketMQError, SendResult)) for each in outcomes)
        assert sum(isinstance(each, SendTimeoutError) for each in outcomes) == 5
        await works_again(producer)


async def test_C030_errors_last_no_longer_than_the_outage(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server, send_timeout_s=1) as producer,
    ):
        for _ in range(2):
            await producer.send(HEALTHY)
            await cluster.broker.die()
            with pytest.raises(SendError):
                await producer.send(HEALTHY)
            await cluster.broker.accept_connects()
            await works_again(producer)


async def test_a_closed_connection_before_the_request_was_read_is_tried_again(tmp_path: Path) -> None:
    async with (
        faulty_cluster(tmp_path, topics=T) as cluster,
        Producer("pg", namesrv=cluster.name_server) as producer,
    ):
        cluster.broker.faults.add(CloseBefore(is_reset=True), SENDS, times=2)
        result = await producer.send(HEALTHY)
        assert result.attempts == 3
