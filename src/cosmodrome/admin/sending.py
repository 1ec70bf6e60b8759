"""Commands that send messages: sendMessage, checkMsgSendRT, sendMsgStatus, clusterRT.

Owns: their layouts; how response times are measured.
Must not know: how a message is sent.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cosmodrome.admin.client_errors import explained_by_client
from cosmodrome.admin.cluster_access import client_options, explained, placed
from cosmodrome.admin.java_text import result_text, send_status
from cosmodrome.admin.moments import local_second
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row
from cosmodrome.client.message import Message, MessageQueue, SendResult
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import MissingError, NoRouteError, RocketMQError, UsageError
from cosmodrome.shown_text import shown

TOOLS_GROUP: Final = "TOOLS_PRODUCER"
DEFAULT_BYTES: Final = 128
DEFAULT_CHECKS: Final = 100
DEFAULT_SENDS: Final = 50
DEFAULT_INTERVAL_S: Final = 10.0
_PARTLY_FAILED: Final = 1
_RT_HEAD: Final = f"{'#Broker Name':<32}  {'#QID':<4}  {'#Send Result':<20}    #RT"
_FILLING: Final = b"hello jodie"


def send_row(result: SendResult) -> Row:
    """Give what became of a message as JSON."""
    return {
        "topic": result.queue.topic,
        "broker_name": result.queue.broker_name,
        "queue_id": result.queue.queue_id,
        "queue_offset": result.queue_offset,
        "status": send_status(result),
        "msg_id": result.msg_id,
        "offset_msg_id": result.offset_msg_id,
        "attempts": result.attempts,
        "recall_handle": result.recall_handle,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class OneMessage:
    """The options of sendMessage."""

    topic: str
    body: str
    keys: str | None
    tag: str | None
    broker_name: str | None
    queue_id: int | None
    is_traced: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The options of clusterRT."""

    amount: int | None
    size: int | None
    cluster: str | None
    as_log: bool | None
    machine_room: str | None
    interval_s: float | None
    rounds: int | None


async def send_message(servers: NameServers, output: Output, **flags: Any) -> int:
    """Send one message, and print where it is."""
    asked = OneMessage(**flags)
    if asked.queue_id is not None and asked.broker_name is None:
        raise UsageError("-i without -b: a queue is one of a broker.", remedy="name the broker with -b")
    if not asked.body:
        raise UsageError("the message has no body.", remedy="for example: -p hello")
    async with explained(servers):
        body = asked.body.encode("utf-8", "surrogateescape")
        message = Message(topic=asked.topic, body=body, tag=asked.tag or None, keys=(asked.keys or "").split())
        async with Producer(TOOLS_GROUP, trace=bool(asked.is_traced), **await _options(servers)) as producer:
            queue = await _chosen_queue(producer, asked)
            result = await producer.send(message, queue=queue, timeout=servers.timeout_s)
    place, status = result.queue, send_status(result)
    output.text(f"{'#Broker Name':<32}  {'#QID':<4}  {'#Send Result':<20}    #MsgId")
    output.text(f"{shown(place.broker_name):<32}  {place.queue_id:<4}  {status:<20}    {result.msg_id}")
    output.document(send_row(result))
    return 0


async def check_msg_send_rt(
    servers: NameServers, output: Output, *, topic: str, amount: int | None, size: int | None
) -> int:
    """Send messages to all queues in turn, and print how long each took."""
    async with explained(servers), Producer(TOOLS_GROUP, **await _options(servers)) as producer:
        output.text(_RT_HEAD)
        times: list[int] = []
        failures: list[RocketMQError] = []
        message = Message(topic=topic, body=b"a" * (size or DEFAULT_BYTES))
        for number in range(amount or DEFAULT_CHECKS):
            queue = await _queue_in_turn(producer, topic, number)
            sample = await _timed(_sending(producer, message, queue, servers.timeout_s))
            place = queue if sample.result is None else sample.result.queue
            name, queue_id = ("", 0) if place is None else (place.broker_name, place.queue_id)
            times.append(sample.took_ms)
            failures += [] if sample.error is None else [sample.error]
            is_sent = sample.error is None
            output.row(
                {"broker_name": name, "queue_id": queue_id, "is_sent": is_sent, "response_time_ms": sample.took_ms},
                f"{shown(name):<32}  {queue_id:<4}  {str(is_sent).lower():<20}    {sample.took_ms}",
            )
    average = _average(times)
    output.text(f"Avg RT: {'NaN' if average is None else f'{average:.2f}'}")
    output.end("sends", topic=topic, average_ms=average, failed=len(failures))
    return await _conclude(servers, output, failures, len(times))


async def send_msg_status(
    servers: NameServers, output: Output, *, broker_name: str, size: int | None, count: int | None
) -> int:
    """Send messages to the topic that has a broker's name, and print what became of each."""
    failures: list[RocketMQError] = []
    async with explained(servers), Producer(TOOLS_GROUP, **await _options(servers)) as producer:
        body = _FILLING * -(-(size or DEFAULT_BYTES) // len(_FILLING))
        await producer.send(Message(topic=broker_name, body=_FILLING * 2), timeout=servers.timeout_s)
        message = Message(topic=broker_name, body=body)
        for _ in range(count or DEFAULT_SENDS):
            sample = await _timed(_sending(producer, message, None, servers.timeout_s))
            if sample.result is None:
                failures += [] if sample.error is None else [sample.error]
                continue
            row = {"response_time_ms": sample.took_ms, **send_row(sample.result)}
            output.row(row, shown(f"rt={sample.took_ms}ms, SendResult={result_text(sample.result)}"))
    output.end("sends", failed=len(failures))
    return await _conclude(servers, output, failures, count or DEFAULT_SENDS)


async def cluster_rt(servers: NameServers, output: Output, **flags: Any) -> int:
    """Send messages to the topic of each broker's name, and print the response times, again and again."""
    asked = Rounds(**flags)
    if not asked.as_log:
        output.text(f"{'#Cluster Name':<24}  {'#Broker Name':<24}  {'#RT':<4}  {'#successCount':<8}  {'#failCount':<8}")
    done = failed = 0
    async with explained(servers), Producer(TOOLS_GROUP, **await _options(servers)) as producer:
        while asked.rounds is None or done < asked.rounds:
            if done:
                await asyncio.sleep(asked.interval_s or DEFAULT_INTERVAL_S)
            info = (await placed(servers, asked.cluster)).info
            for name, brokers in sorted(info.cluster_addr_table.items()):
                for broker_name in sorted(brokers) if asked.cluster in (None, name) else ():
                    found = await _rt_of(servers, producer, broker_name, asked)
                    failed += found.failed
                    output.row(*_rt_row(name, broker_name, found, asked))
                    output.flush()
            done += 1
    output.end("brokers")
    return _PARTLY_FAILED if failed else 0


class _Sample(NamedTuple):
    took_ms: int
    result: SendResult | None
    error: RocketMQError | None


class _Times(NamedTuple):
    average_ms: float | None
    succeeded: int
    failed: int


async def _rt_of(servers: NameServers, producer: Producer, topic: str, asked: Rounds) -> _Times:
    message = Message(topic=topic, body=b"a" * (asked.size or DEFAULT_BYTES))
    samples = [
        await _timed(_sending(producer, message, None, servers.timeout_s))
        for _ in range(asked.amount or DEFAULT_CHECKS)
    ]
    failed = sum(sample.error is not None for sample in samples)
    return _Times(_average([sample.took_ms for sample in samples]), len(samples) - failed, failed)


def _rt_row(cluster: str, broker_name: str, times: _Times, asked: Rounds) -> tuple[Row, str]:
    row = {"cluster": cluster, "broker_name": broker_name, **times._asdict()}
    average = times.average_ms
    if not asked.as_log:
        shown_ms = "NaN" if average is None else f"{average:.2f}"
        counts = f"{times.succeeded:<16}  {times.failed:<16}"
        return row, f"{shown(cluster):<24}  {shown(broker_name):<24}  {shown_ms:<8}  {counts}"
    now = local_second(time.time_ns() // 1_000_000)
    rounded = "NaN" if average is None else int(average + 0.5)
    return row, f"{now}|{shown(asked.machine_room or 'noname')}|{shown(cluster)}|{shown(broker_name)}|{rounded}"


def _sending(
    producer: Producer, message: Message, queue: MessageQueue | None, timeout_s: float
) -> Awaitable[SendResult]:
    return producer.send(message, queue=queue, timeout=timeout_s)


async def _timed(send: Awaitable[SendResult]) -> _Sample:
    begun_ns = time.monotonic_ns()
    result, failure = None, None
    try:
        result = await send
    except RocketMQError as error:
        failure = error
    return _Sample((time.monotonic_ns() - begun_ns) // 1_000_000, result, failure)


def _average(times: Sequence[int]) -> float | None:
    """Give the mean without the first, which found the route and connected; None if there are no others."""
    return sum(times[1:]) / (len(times) - 1) if len(times) > 1 else None


async def _chosen_queue(producer: Producer, asked: OneMessage) -> MessageQueue | None:
    topic, broker_name = asked.topic, asked.broker_name
    if broker_name is None:
        return None
    if asked.queue_id is not None:
        return MessageQueue(topic, broker_name, asked.queue_id)
    queues = await producer.queues(topic)
    found = next((queue for queue in queues if queue.broker_name == broker_name), None)
    if found is None:
        names = ", ".join(sorted({queue.broker_name for queue in queues})) or "none"
        raise MissingError(f"topic {topic} is not written at a broker {broker_name!r}.", why=f"it is at: {names}.")
    return found


async def _queue_in_turn(producer: Producer, topic: str, number: int) -> MessageQueue | None:
    """Give a queue; None for a topic that the first message makes."""
    try:
        queues = await producer.queues(topic)
    except NoRouteError:
        return None
    return queues[number % len(queues)]


async def _options(servers: NameServers) -> dict[str, Any]:
    return client_options(servers, (await placed(servers)).name_server)


async def _conclude(servers: NameServers, output: Output, failures: Sequence[RocketMQError], count: int) -> int:
    """Give the exit code; the error of the first failure stands for all."""
    if not failures:
        return 0
    first = await explained_by_client(servers, failures[0])
    if len(failures) == count:
        raise first
    output.error(first)
    return _PARTLY_FAILED
