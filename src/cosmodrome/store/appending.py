"""What is stored in one turn: records, units and keys are gathered, then written together.

Owns: the bytes of a record, made in one go; the place and the number that each message gets.
Must not know: who sends; what is acknowledged when.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from zlib import crc32

from cosmodrome.errors import MessageError
from cosmodrome.protocol.messages.checks import check_stored_sizes
from cosmodrome.protocol.messages.hosts import V4_BYTES, V6_BYTES
from cosmodrome.protocol.messages.properties import MAX_PROPERTIES_BYTES
from cosmodrome.protocol.messages.record import FILLER_BYTES, HEADS
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6, TRANSACTION_MASK
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queue import ConsumeQueue
from cosmodrome.store.consume_queues import ConsumeQueues
from cosmodrome.store.index import Index, IndexedRecord
from cosmodrome.store.recovery import NOT_QUEUED
from cosmodrome.store.settings import StoreSettings
from cosmodrome.store.stored_properties import code_of, due_code_of, index_keys_of, tag_of

_V6: Final = BORN_HOST_V6 | STORE_HOST_V6
_PACKERS: Final[dict[int, Callable[..., bytes]]] = {flags: layout.pack for flags, layout in HEADS.items()}
_OVERHEADS: Final = {flags: layout.size + 2 for flags, layout in HEADS.items()}
"""Of a record beside its body, its properties, and the topic with its length."""
_NUL: Final = b"\0"
_LENGTHS: Final = tuple(length.to_bytes(2, "big") for length in range(MAX_PROPERTIES_BYTES + 1))


class NewMessage(NamedTuple):
    """A message that is to be stored.

    Attributes:
        body: As it is to be stored.
        properties: The text, in UTF-8, with everything that a broker adds.
        born_host: Who sent it, as `hosts.encode_host` gives it. Its length decides the flag's bit.
        prepared_transaction_offset: Where the half message is in the log, of one that is committed.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: bytes
    born_timestamp_ms: int
    born_host: bytes
    sys_flag: int = 0
    flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0


class Position(NamedTuple):
    """Where a message is stored. `end` is what must be synced before it may be acknowledged under SYNC_FLUSH."""

    commit_log_offset: int
    size: int
    queue_offset: int
    store_timestamp_ms: int

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.commit_log_offset + self.size


KnownProperties = tuple[int, Sequence[bytes]]
"""What the properties of a message say to a store: the number of the tag, and the keys by which it is indexed."""


class Appender:
    """Gathers messages. Nothing of them can be read, and nothing is promised, before `write` has returned."""

    def __init__(self, settings: StoreSettings, log: CommitLog, queues: ConsumeQueues, index: Index) -> None:
        """Use these parts; they must be loaded before the first message."""
        self.last_store_ms = 0
        self._settings = settings
        self._log = log
        self._queues = queues
        self._index = index
        self._keys: list[IndexedRecord] = []
        self._has_gathered = False
        self._is_indexed = settings.is_index_enabled
        self._is_tag_indexed = settings.is_tag_indexed
        self._store_host = settings.store_host
        self._store_flag = STORE_HOST_V6 if len(settings.store_host) == V6_BYTES else 0
        self._max_body_bytes = settings.max_body_bytes
        self._max_record_bytes = settings.segment_bytes - FILLER_BYTES

    def add(self, message: NewMessage, now_ms: int, known: KnownProperties | None = None) -> Position:
        """Gather a message and say where it will be.

        Store times never go back: a clock that does is held. Every message that is stored comes this way.

        Args:
            message: It.
            now_ms: Wall-clock time.
            known: What its properties say, if somebody has read them.

        Raises:
            MessageError: It does not fit into a record, or names a queue that cannot be. Nothing of it is gathered.
        """
        (
            topic, queue_id, body, properties, born_ms, born_host, sys_flag, flag, reconsume_times, prepared_offset,
        ) = message  # fmt: skip
        queue = self._queues.table.get((topic, queue_id))
        if queue is None:
            queue = self._new_queue(topic, queue_id)
        hosts = self._store_flag if len(born_host) == V4_BYTES else self._store_flag | BORN_HOST_V6
        body_bytes, properties_bytes, topic_field = len(body), len(properties), queue.topic_field
        size = _OVERHEADS[hosts] + body_bytes + len(topic_field) + properties_bytes
        if (
            size > self._max_record_bytes
            or body_bytes > self._max_body_bytes
            or properties_bytes > MAX_PROPERTIES_BYTES
            or _NUL in properties
            or (hosts & BORN_HOST_V6 and len(born_host) != V6_BYTES)
        ):
            raise self._refusal(message, size)
        if now_ms < self.last_store_ms:  # noqa: PLR1730 -- a call to max costs as much as a unit
            now_ms = self.last_store_ms
        is_queued = (sys_flag & TRANSACTION_MASK) not in NOT_QUEUED
        log = self._log
        if log.reserved + size + FILLER_BYTES > log.room_end:
            log.fill_up()
        position = log.reserved
        queue_offset = queue.next_offset if is_queued else 0
        try:
            head = _PACKERS[hosts](
                size, queue.magic, crc32(body) & 0x7FFFFFFF, queue_id, flag, queue_offset, position,
                sys_flag & ~_V6 | hosts, born_ms, born_host, now_ms, self._store_host, reconsume_times,
                prepared_offset, body_bytes,
            )  # fmt: skip
        except (struct.error, TypeError) as error:
            raise MessageError(f"a number of the message does not fit into a record: {error}") from error
        log.pieces += (head, body, topic_field, _LENGTHS[properties_bytes], properties)
        log.reserved = position + size
        self.last_store_ms = now_ms
        self._has_gathered = True
        if known is None:
            tag = tag_of(properties)
            known = (code_of(tag), index_keys_of(properties, tag if self._is_tag_indexed else b""))
        tag_code, keys = known
        if is_queued:
            queue.put(position, size, self._due_code(properties, now_ms) if queue.is_schedule else tag_code)
            self._queues.touched[queue] = None
        if keys and self._is_indexed:
            self._keys.append((queue.key_hash, keys, position, now_ms))
        return tuple.__new__(Position, (position, size, queue_offset, now_ms))  # half the time of making it by name

    def _refusal(self, message: NewMessage, size: int) -> MessageError:
        """Say why a message is not stored."""
        if len(message.born_host) not in (V4_BYTES, V6_BYTES):
            return MessageError(f"a born host of {len(message.born_host)} bytes")
        if _NUL in message.properties:
            return MessageError("the properties hold a zero byte")
        try:
            check_stored_sizes(len(message.body), len(message.properties), self._max_body_bytes)
        except MessageError as error:
            return error
        return MessageError(f"a record of {size} bytes does not fit into a file of the log")

    def _new_queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        try:
            return self._queues.make(topic, queue_id)
        except ValueError as error:
            raise MessageError(str(error)) from error

    def _due_code(self, properties: bytes, store_ms: int) -> int:
        due = due_code_of(properties, store_ms, self._settings.delays_ms)
        return code_of(tag_of(properties)) if due is None else due

    @property
    def has_gathered(self) -> bool:
        """Whether there is something to write."""
        return self._has_gathered

    def write(self) -> list[tuple[ConsumeQueue, int]]:
        """Write what is gathered; it can be read afterwards. Give the queues that have more, with the end they had.

        Raises:
            OSError: A part of it may be written. Nothing of it may be acknowledged; call `give_up`.
        """
        self._log.write()
        self._queues.write()
        self._log.commit()
        touched = [(queue, queue.max_offset) for queue in self._queues.touched]
        self._queues.commit()
        if self._is_indexed:
            self._index.note(self._keys, self._log.end)
        self._keys.clear()
        self._has_gathered = False
        return touched

    def give_up(self) -> None:
        """Forget what is gathered."""
        self._log.give_up()
        self._queues.give_up()
        self._keys.clear()
        self._has_gathered = False
