"""The metrics of a broker.

Owns: the name, kind, labels and meaning of each, once; how it is read from the parts of a broker.
Must not know: how text for Prometheus is written; how far groups are behind (lag.py); who asks.

Names, labels and units are those that a broker of 5.5.0 shows to Prometheus; those that begin with `rocketmq_broker_` are
ours, but for the permission. Series of deleted topics and groups are gone.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

from cosmodrome.broker.arrivals import BOUNDS_BYTES
from cosmodrome.broker.metrics.lag import LagWatch, is_system_group
from cosmodrome.broker.metrics.native import Native, flag, request_word, response_word
from cosmodrome.broker.statistics import (
    DLQ_PUT_NUMS,
    GROUP_GET_NUMS,
    GROUP_GET_SIZE,
    GROUP_LOST_NUMS,
    TIMER_DEQUEUE_NUMS,
    TIMER_ENQUEUE_NUMS,
    TRANSACTION_COMMIT_NUMS,
    TRANSACTION_ROLLBACK_NUMS,
)
from cosmodrome.broker.view import BrokerView, Seen
from cosmodrome.metrics.family import Family, Histogram, Kind, milliseconds, seconds
from cosmodrome.protocol.bodies.heartbeat import ConsumeType
from cosmodrome.protocol.versions import version_name

_ARRIVED: Final = ("topic", "message_type", "is_system")
_GIVEN: Final = ("topic", "consumer_group", "is_system")
_LAG: Final = ("consumer_group", "topic", "is_retry", "is_system")
_MODES: Final = {
    ConsumeType.CONSUME_ACTIVELY: "pull",
    ConsumeType.CONSUME_PASSIVELY: "push",
    ConsumeType.CONSUME_POP: "pop",
}
_REMOTING: Final = "remoting"


class Measures:
    """Measures one broker."""

    def __init__(self, view: BrokerView) -> None:
        """Measure this."""
        self._view = view
        self._lag: LagWatch | None = None

    async def families(self) -> list[Family]:
        """Give every metric as it is now; until the store is open, only what there is then."""
        seen = self._view.seen
        native = Native(self._view.config if seen is None else seen.config())
        found = [*self._itself(native)]
        if seen is None:
            return found
        found += [*_tables(native, seen), *_requests(native, seen), *_connections(native, seen)]
        found += [each async for each in _messages(native, seen)]
        found += [each async for each in _ended(native, seen)]
        if self._lag is None:
            self._lag = LagWatch(seen.state, seen.store.reader, self._view.clock)
        found += await _lags(native, seen, self._lag)
        found += await _storage(native, seen, self._view.clock.wall_ms())
        return [*found, *_timers(native, seen, self._view.clock.wall_ms())]

    def _itself(self, native: Native) -> Iterator[Family]:
        view = self._view
        yield native.one("rocketmq_broker_up", "1 while the process answers", 1)
        is_ready = not any(check.reason for check in view.checks())
        yield native.one("rocketmq_broker_ready", "whether anybody should be sent here, as /readyz says", int(is_ready))
        started = "when the start was asked for, Unix time"
        yield native.one("rocketmq_broker_start_time_seconds", started, view.started_s)
        meaning = "how late the event loop calls a timer; everything else waits as long"
        lag = [((), seconds(view.lag.durations))]
        yield native.few("rocketmq_broker_event_loop_lag_seconds", Kind.HISTOGRAM, meaning, (), lag)


def _tables(native: Native, seen: Seen) -> Iterator[Family]:
    state, config = seen.state, seen.config()
    meaning = "brokerPermission: 2 may be written, 4 may be read"
    yield native.one("rocketmq_broker_permission", meaning, config.broker_permission)
    yield native.one("rocketmq_topic_number", "topics", len(state.topics))
    yield native.one("rocketmq_consumer_group_number", "consumer groups", len(state.groups))
    watermark = [((name,), float(count)) for name, count in {"pull": 0, **seen.cold_reads}.items()]
    meaning = "what waits for a thread: requests and deliveries of messages that are not in memory; nothing else waits for one"
    yield native.few("rocketmq_processor_watermark", Kind.GAUGE, meaning, ("processor",), watermark)
    name, meaning = "rocketmq_pop_checkpoint_buffer_size", "pops of which something is not acknowledged"
    yield native.one(name, meaning, len(state.pop.in_flight))
    held = [(("pull",), float(len(state.polls))), (("pop",), float(len(state.pop.waiting)))]
    yield native.few("rocketmq_broker_held_requests", Kind.GAUGE, "long polls that wait for messages", ("kind",), held)
    yield native.one("rocketmq_half_messages", "half messages without an end", len(state.transactions))


def _requests(native: Native, seen: Seen) -> Iterator[Family]:
    traffic = list(seen.server.dispatcher.traffic)
    latencies = [
        ((request_word(code), _REMOTING, "false"), milliseconds(each.durations))
        for code, each in traffic
        if each.responses
    ]
    labels = ("request_code", "protocol_type", "is_long_polling")
    meaning = (
        "time from a request's being read to its answer's being there; without pulls and pops that waited for messages"
    )
    yield native.few("rocketmq_rpc_latency_milliseconds", Kind.HISTOGRAM, meaning, labels, latencies)
    answered = [
        ((request_word(code), response_word(response)), float(count))
        for code, each in traffic
        for response, count in sorted(each.responses.items())
    ]
    codes = ("request_code", "response_code")
    yield native.few(
        "rocketmq_broker_requests",
        Kind.COUNTER,
        "requests answered; those of rocketmq_rpc_latency_milliseconds",
        codes,
        answered,
    )


def _connections(native: Native, seen: Seen) -> Iterator[Family]:
    members = seen.state.members
    producers = Counter(
        (each.language.lower(), version_name(each.version).lower(), _REMOTING)
        for group in members.producer_groups()
        for each in members.producers(group)
    )
    labels = ("language", "version", "protocol_type")
    name, meaning = "rocketmq_producer_connections", "producers that are connected, once for each group of theirs"
    yield native.few(name, Kind.GAUGE, meaning, labels, [(key, float(count)) for key, count in producers.items()])
    consumers: Counter[tuple[str, ...]] = Counter()
    for group in members.consumer_groups():
        state = members.state(group)
        mode = "" if state is None else _MODES[state.consume_type]
        for each in members.consumers(group):
            version = version_name(each.version).lower()
            consumers[group, each.language.lower(), version, mode, _REMOTING, flag(is_system_group(group))] += 1
    of_consumers = ("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system")
    name, meaning = "rocketmq_consumer_connections", "consumers that are connected"
    yield native.few(name, Kind.GAUGE, meaning, of_consumers, [(key, float(count)) for key, count in consumers.items()])
    name, meaning = "rocketmq_broker_connections", "open connections"
    yield native.one(name, meaning, seen.server.connection_count)


async def _messages(native: Native, seen: Seen) -> AsyncIterator[Family]:
    topics, statistics = seen.state.topics, seen.state.statistics
    arrived = [
        ((topic, kind, flag(topics.is_system(topic))), each, each.messages)
        for (topic, kind), each in statistics.arrivals
        if topic in topics
    ]
    counter = Kind.COUNTER
    name, meaning = "rocketmq_messages_in", "messages that were stored"
    yield await native.many(name, counter, meaning, _ARRIVED, ((key, count) for key, _, count in arrived))
    name, meaning = "rocketmq_throughput_in", "bytes of stored messages in the log"
    yield await native.many(name, counter, meaning, _ARRIVED, ((key, each.size) for key, each, _ in arrived))
    name, meaning = "rocketmq_message_size", "sizes of stored messages in the log, in bytes"
    sizes = ((key, Histogram(BOUNDS_BYTES, tuple(each.counts), each.size)) for key, each, _ in arrived)
    yield await native.many(name, Kind.HISTOGRAM, meaning, _ARRIVED, sizes)
    for name, kept, meaning in (
        ("rocketmq_messages_out", GROUP_GET_NUMS, "messages that were given to a group"),
        ("rocketmq_throughput_out", GROUP_GET_SIZE, "bytes of messages that were given to a group"),
        ("rocketmq_send_to_dlq_messages", DLQ_PUT_NUMS, "messages that a group has given up"),
        ("rocketmq_broker_lost_messages", GROUP_LOST_NUMS, "messages that were deleted before a group had read them"),
    ):
        yield await native.many(name, counter, meaning, _GIVEN, _by_group(seen, statistics.totals(kept)))


async def _ended(native: Native, seen: Seen) -> AsyncIterator[Family]:
    topics, statistics = seen.state.topics, seen.state.statistics
    for name, kept, meaning in (
        ("rocketmq_commit_messages", TRANSACTION_COMMIT_NUMS, "transactions that were committed"),
        ("rocketmq_rollback_messages", TRANSACTION_ROLLBACK_NUMS, "transactions that were rolled back"),
    ):
        totals = statistics.totals(kept).items()
        samples = (((topic,), float(total)) for topic, total in totals if topic in topics)
        yield await native.many(name, Kind.COUNTER, meaning, ("topic",), samples)


def _by_group(seen: Seen, totals: dict[str, int]) -> Iterator[tuple[tuple[str, ...], float]]:
    topics, groups = seen.state.topics, seen.state.groups
    for key, total in totals.items():
        topic, _, group = key.rpartition("@")
        if topic in topics and groups.get(group) is not None:
            yield (topic, group, flag(topics.is_system(topic) or is_system_group(group))), float(total)


async def _lags(native: Native, seen: Seen, watch: LagWatch) -> list[Family]:
    topics = seen.state.topics
    lags = [
        ((each.group, each.topic, flag(each.is_retry), flag(topics.is_system(each.topic) or is_system_group(each.group))), each)
        for each in await watch.current()
    ]  # fmt: skip
    return [
        await native.many(name, Kind.GAUGE, meaning, _LAG, ((key, float(getattr(each, field))) for key, each in lags))
        for name, field, meaning in (
            ("rocketmq_consumer_lag_messages", "lag", "messages that a group has not acknowledged"),
            ("rocketmq_consumer_lag_latency_milliseconds", "lag_ms", "how long ago the oldest message that a group has not acknowledged was stored"),
            ("rocketmq_consumer_inflight_messages", "inflight", "messages that a group was given and has not acknowledged"),
            ("rocketmq_consumer_queueing_latency_milliseconds", "queueing_ms", "how long ago the oldest message that a group was not given yet was stored"),
            ("rocketmq_consumer_ready_messages", "ready", "messages that a group was not given yet"),
        )
    ]  # fmt: skip


async def _storage(native: Native, seen: Seen, now_ms: int) -> Iterable[Family]:
    store = seen.store
    usage = await asyncio.to_thread(shutil.disk_usage, store.settings.root)
    found = [
        native.stored("rocketmq_storage_size_bytes", "bytes used of the disk on which the store is", usage.used),
        native.stored(
            "rocketmq_storage_flush_behind_bytes", "bytes of the log that are not known to be on disk",
            max(0, store.end - store.synced_to),
        ),
        native.stored("rocketmq_storage_dispatch_behind_bytes", "0: queues are written together with the log", 0),
    ]  # fmt: skip
    earliest_ms = store.reader.earliest_store_time_ms()
    name, meaning = "rocketmq_storage_message_reserve_time_milliseconds", "how long ago the oldest message was stored"
    found.append(native.stored(name, meaning, None if earliest_ms is None else max(0, now_ms - earliest_ms)))
    return found


def _timers(native: Native, seen: Seen, now_ms: int) -> Iterator[Family]:
    timers, delivery, statistics = seen.timers.timers, seen.timers.delivery, seen.state.statistics
    due_ms = timers.next_due_ms()
    behind_ms = 0 if due_ms is None else max(0, now_ms - due_ms)
    yield native.stored("rocketmq_timing_messages", "timer messages that wait", timers.waiting)
    yield native.stored(
        "rocketmq_timer_enqueue_lag", "messages of the timer topic that were not read yet", delivery.behind
    )
    yield native.stored("rocketmq_timer_dequeue_latency_milliseconds", "how late the next timer message is", behind_ms)
    for name, kept, meaning in (
        ("rocketmq_timer_enqueue", TIMER_ENQUEUE_NUMS, "messages of the timer topic that were read"),
        ("rocketmq_timer_dequeue", TIMER_DEQUEUE_NUMS, "timer messages that were due"),
    ):
        yield native.few(name, Kind.COUNTER, meaning, (), [((), float(statistics.total(kept, "")))])
