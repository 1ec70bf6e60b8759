"""Plain sends, from their frame to their answer, all of one turn together.

Owns: which sends go this way; what they become; their answers.
Must not know: sockets; what is done with all other sends (processors/send.py), which must come to the same.

A send that would be refused, or is not plain, or comes while something is unusual, is left to the way of all others.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cosmodrome.broker.arrivals import FIFO, NORMAL, ORDERED
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.intake import STORED_CODES, Intake, not_stored
from cosmodrome.broker.messages import OwnProperties, born_host
from cosmodrome.broker.statistics import BROKER_PUT_NUMS, TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, Statistics
from cosmodrome.broker.topics import WRITE, Topics
from cosmodrome.broker.turn import Settle, Stored, Turn
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import RemotingCommand, encode_command
from cosmodrome.protocol.frame import Frame
from cosmodrome.protocol.messages.checks import CLOSED_TOPICS, DLQ_PREFIX, RETRY_PREFIX, REVIVE_PREFIX
from cosmodrome.protocol.messages.properties import ENTRY_SEPARATOR, properties_bytes
from cosmodrome.protocol.plain_send import PlainAnswers, PlainSend, decode_plain_send, is_plain
from cosmodrome.store.appending import KnownProperties, NewMessage, Position
from cosmodrome.store.stored_properties import code_of, index_keys_of, tag_of
from cosmodrome.transport.dispatch import Express, Peer
from cosmodrome.transport.traffic import Traffic

MOST_KEPT: Final = 10_000
"""Queues of which the number is kept as it is written; texts of which the meaning is."""
LONGEST_KEPT: Final = 256
"""Of those texts, in characters."""
_END_BYTE: Final = ord(ENTRY_SEPARATOR)


@dataclass(slots=True)
class _Batch:
    """The plain sends of one turn: connection, request, and where the message is."""

    turn: int
    now_ms: int
    begun_s: float = 0.0
    sends: list[tuple[int, PlainSend, Position]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSendParts:
    """What plain sends are decided with; `send_frames` sends frames over a connection."""

    topics: Topics
    intake: Intake
    turn: Turn
    own: OwnProperties
    store_host: bytes
    statistics: Statistics
    send_frames: Callable[[int, list[bytes]], None]
    traffic: Traffic = field(default_factory=Traffic)


def plain_sends(config: BrokerConfig, clock: Clock, parts: PlainSendParts) -> Express | None:
    """Give what takes plain sends; None when settings ask for more of every send."""
    if config.start_accept_send_request_time_stamp or parts.intake.copies is not None:
        return None
    try:
        return PlainSends(config, clock, parts).take
    except ValueError:
        return None


class PlainSends:
    """Takes plain sends. Nothing is kept of one that it does not take."""

    def __init__(self, config: BrokerConfig, clock: Clock, parts: PlainSendParts) -> None:
        """Use these parts. Raises ValueError when texts of the broker do not fit into an answer as they are."""
        own = parts.own
        self._answers: Final = PlainAnswers(parts.store_host.hex().upper(), own.region, own.trace_on)
        self._config = config
        self._clock = clock
        self._topics = parts.topics
        self._intake = parts.intake
        self._turn = parts.turn
        self._statistics = parts.statistics
        self._send_frames = parts.send_frames
        self._own_bytes: Final = properties_bytes(own.text)
        self._own_bytes_behind: Final = ENTRY_SEPARATOR.encode() + self._own_bytes
        self._max_body_bytes = config.max_message_size
        self._batch = _Batch(-1, 0)
        self._queues: dict[tuple[str, str], int] = {}
        self._known: dict[str, KnownProperties] = {}
        self._topics_version = parts.topics.version
        self._sent = parts.traffic.of(BrokerRequestCode.SEND_MESSAGE_V2)
        self._has_ordered = False  # no message had a sharding key yet; once one had, each is looked at

    def take(self, frame: Frame, peer: Peer) -> bool:
        """Store the message of a frame if it is a plain send; tell whether it was taken."""
        sent = decode_plain_send(frame)
        body = frame.body
        if sent is None or not 0 < len(body) <= self._max_body_bytes:
            return False
        if self._topics.version is not self._topics_version:
            self._topics_version = self._topics.version
            self._queues.clear()
        queue_id = self._queues.get((sent.topic, sent.queue))
        if queue_id is None:
            queue_id = self._known_queue(sent)
        known = self._known.get(sent.rest) or self._read(sent.rest)
        if known is None or queue_id is None:
            return False
        text = properties_bytes(sent.properties)
        properties = text + (self._own_bytes if text[-1] == _END_BYTE else self._own_bytes_behind)
        batch, turn = self._batch, self._turn
        if batch.turn != turn.number:
            batch = _Batch(turn.number, self._clock.wall_ms(), time.perf_counter())
            if self._intake.refusal() is not None:
                return False
        tag_code, keys = known
        message = tuple.__new__(  # half the time of making it by name
            NewMessage,
            (sent.topic, queue_id, body, properties, sent.born_timestamp_ms, born_host(peer.address), sent.sys_flag, 0, 0, 0),
        )  # fmt: skip
        try:
            position = turn.add(message, batch.now_ms, (tag_code, (sent.unique_key.encode(), *keys)))
        except (MessageError, StoreUnavailableError):  # which the way of all others tells in the right words
            return False
        if batch is not self._batch:
            self._batch = batch
            self._intake.when_stored(self._settling(batch))
        batch.sends.append((peer.connection_id, sent, position))
        return True

    def _read(self, rest: str) -> KnownProperties | None:
        """Read what properties say beside the unique key, and keep it if others may say the same; None: they ask for more."""
        if not is_plain(rest):
            return None
        if ORDERED in rest:
            self._has_ordered = True
        data = properties_bytes(rest)
        tag = tag_of(data)
        known = (code_of(tag), tuple(index_keys_of(data, tag)))
        if len(known[1]) <= (1 if tag else 0) and len(rest) <= LONGEST_KEPT:  # it has no keys of its own
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[rest] = known
        return known

    def _known_queue(self, sent: PlainSend) -> int | None:
        """Give the number of the queue of a send that is not asked anything about its topic, and keep it."""
        topic, text = sent.topic, sent.queue
        config = self._topics.get(topic)
        if config is None or topic in CLOSED_TOPICS or topic.startswith((RETRY_PREFIX, DLQ_PREFIX, REVIVE_PREFIX)):
            return None
        if config.order and not self._config.broker_permission & WRITE:
            return None
        if not (text.isascii() and text.isdigit()) or str(int(text[:9])) != text:
            return None
        queue_id = int(text)
        if queue_id >= max(config.write_queue_nums, config.read_queue_nums):
            return None
        if len(self._queues) >= MOST_KEPT:
            self._queues.clear()
        self._queues[topic, text] = queue_id
        return queue_id

    def _settling(self, batch: _Batch) -> Settle:
        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._refuse(batch)
            else:
                self._answer(batch, STORED_CODES[stored])

        return settle

    def _answer(self, batch: _Batch, code: int) -> None:
        frames: dict[int, list[bytes]] = {}
        counts: dict[str, list[int]] = {}
        make = self._answers.frame
        last, ready = -1, list[bytes]()
        for connection, sent, (log_offset, size, queue_offset, _) in batch.sends:
            if connection != last:  # what came in one read stands together
                last, ready = connection, frames.setdefault(connection, [])
            ready.append(make(code, sent, log_offset, queue_offset))
            counts.setdefault(sent.topic, []).append(size)
        for topic, sizes in counts.items():
            self._count(topic, len(sizes), sum(sizes))
        self._note(batch, code, counts)
        for connection, ready in frames.items():
            self._send_frames(connection, ready)

    def _count(self, topic: str, messages: int, size: int) -> None:
        statistics = self._statistics
        statistics.count(TOPIC_PUT_NUMS, topic, messages, messages)
        statistics.count(TOPIC_PUT_SIZE, topic, size, messages)
        statistics.count(BROKER_PUT_NUMS, self._config.broker_cluster_name, messages, messages)

    def _note(self, batch: _Batch, code: int, sizes: dict[str, list[int]]) -> None:
        """Count for the metrics: how long the turn took stands for each of its sends."""
        sent, arrivals, messages = self._sent, self._statistics.arrivals, len(batch.sends)
        sent.responses[code] = sent.responses.get(code, 0) + messages
        sent.durations.add(time.perf_counter() - batch.begun_s, messages)
        if not self._has_ordered:
            for topic, each in sizes.items():
                arrivals.add(topic, NORMAL, each)
            return
        kinds: dict[tuple[str, str], list[int]] = {}
        for _, plain, position in batch.sends:
            kind = FIFO if ORDERED in plain.rest else NORMAL
            kinds.setdefault((plain.topic, kind), []).append(position.size)
        for (topic, kind), each in kinds.items():
            arrivals.add(topic, kind, each)

    def _refuse(self, batch: _Batch) -> None:
        for connection, sent, _ in batch.sends:
            request = RemotingCommand(BrokerRequestCode.SEND_MESSAGE_V2, sent.opaque)
            self._send_frames(connection, [encode_command(not_stored(request))])
