"""Half messages in the store: reading them, their ends, the copies with which producers are asked.

Owns: the topics of half messages and of their ends, as Apache's brokers write them; what is found at the start.
Must not know: who asks; the event loop.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.groups import TRANSACTION_GROUP
from cosmodrome.broker.members import Members
from cosmodrome.broker.messages import of_record, properties_of, with_properties
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.topics import GIVEN_UP_TOPIC, HALF_TOPIC, OP_TOPIC, Topics
from cosmodrome.broker.transactions import Fate, HalfMessage, Transactions, asked_again
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MalformedBodyError, MessageError, StoreUnavailableError
from cosmodrome.protocol.codes import ClientRequestCode
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.transactions import CheckTransactionStateRequestHeader
from cosmodrome.protocol.messages.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    PGROUP,
    REAL_QID,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    UNIQ_KEY,
    WAIT,
    properties_bytes,
)
from cosmodrome.protocol.messages.record import StoredMessage, decode_record, encode_record
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

_DONE_TAG: Final = "d"
_OP_PROPERTIES: Final = properties_bytes(f"WAIT\x01true\x02TAGS\x01{_DONE_TAG}\x02")
"""Of a record that says which half messages have ended."""


class HalfStore:
    """Reads and writes half messages. `clock` is the broker's."""

    def __init__(
        self, reader: Reader, turn: Turn, clock: Clock, store_host: bytes, disk_timeout_ms: int | None
    ) -> None:
        """Use these parts; `disk_timeout_ms` is how long an end waits for the disk, None if it does not."""
        self._disk_timeout_ms = disk_timeout_ms
        self._reader = reader
        self._turn = turn
        self._clock = clock
        self._store_host = store_host

    def record_at(self, log_offset: int) -> StoredMessage | None:
        """Give the half message at a place in the log; None when none begins there."""
        record = _decoded(self._reader.record_at(log_offset)) if log_offset >= 0 else None
        return record if record is not None and record.topic == HALF_TOPIC else None

    def given_up_at(self, log_offset: int) -> StoredMessage | None:
        """Give the message at a place in the log that was a half message until it was given up; None when none begins there."""
        record = _decoded(self._reader.record_at(log_offset)) if log_offset >= 0 else None
        return record if record is not None and record.topic == GIVEN_UP_TOPIC else None

    def put(self, message: NewMessage, settle: Callable[[Stored], None]) -> Position:
        """Store a message. Raises MessageError and StoreUnavailableError as the turn does."""
        return self._turn.put(message, self._clock.wall_ms(), settle, self._disk_timeout_ms)

    def put_end(self, queue_offset: int, settle: Callable[[Stored], None]) -> None:
        """Store that a half message has ended. Raises as `put`."""
        body = f"{queue_offset},".encode()
        self.put(NewMessage(OP_TOPIC, 0, body, _OP_PROPERTIES, self._clock.wall_ms(), self._store_host), settle)

    def load(self, transactions: Transactions, first_half: int, first_op: int) -> None:
        """Find the half messages that are open, from where both topics were done with."""
        ended: set[int] = set()
        for record in self._records(OP_TOPIC, first_op):
            ended.update(_offsets_in(record.body))
        transactions.load((half_of(record) for record in self._records(HALF_TOPIC, first_half)), ended, first_half)

    def _records(self, topic: str, first: int) -> Iterator[StoredMessage]:
        for offset in range(max(first, self._reader.min_offset(topic, 0)), self._reader.max_offset(topic, 0)):
            unit = self._reader.unit(topic, 0, offset)
            record = None if unit is None else _decoded(self._reader.record_at(unit.log_offset))
            if record is not None:
                yield record

    def op_end(self) -> int:
        """Give where the topic of ends ends."""
        return self._reader.max_offset(OP_TOPIC, 0)


class TransactionChecks:
    """Asks producers about half messages that have waited for too long, and gives up those that wait for ever."""

    def __init__(
        self, transactions: Transactions, halves: HalfStore, members: Members, topics: Topics, outbox: Outbox
    ) -> None:
        """Use these parts."""
        self._transactions = transactions
        self._halves = halves
        self._members = members
        self._topics = topics
        self._outbox = outbox

    def run(self, now_ms: int) -> None:
        """Look at all that are open. One that makes trouble does not stop the others."""
        for half, fate in self._transactions.to_check(now_ms):
            is_asked = fate is Fate.ASK
            claim = self._transactions.begin_copy if is_asked else self._transactions.begin_end
            if not claim(half.queue_offset):
                continue
            try:
                if is_asked:
                    self._ask(half)
                else:
                    self._give_up(half, now_ms)
            except MessageError as error:
                logger.warning("the half message at %d is given up: %s", half.log_offset, error)
                self._transactions.ended(half.queue_offset)
            except StoreUnavailableError:
                self._transactions.not_ended(half.queue_offset)
                return

    def _ask(self, half: HalfMessage) -> None:
        record = self._halves.record_at(half.log_offset)
        if record is None:
            raise MessageError("it cannot be read")
        changes = {TRANSACTION_CHECK_TIMES: str(half.checks + 1), WAIT: "false"}
        message = with_properties(of_record(record), changes)

        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._transactions.not_ended(half.queue_offset)
                return
            copy = asked_again(half, position.queue_offset, position.commit_log_offset, position.store_timestamp_ms)
            self._transactions.replaced(half, copy)
            if self._transactions.is_open(copy.queue_offset):
                self._tell(record, message, position)

        position = self._halves.put(message, settle)

    def _tell(self, record: StoredMessage, message: NewMessage, position: Position) -> None:
        named = record.properties
        producers = self._members.producers(named.get(PGROUP, ""))
        if not producers:
            logger.info("nobody of %s is there to be asked about %s", named.get(PGROUP), named.get(UNIQ_KEY))
            return
        producer = producers[position.queue_offset % len(producers)]
        shown = _shown(record, message, position)
        header = CheckTransactionStateRequestHeader(
            topic=HALF_TOPIC,
            tran_state_table_offset=position.queue_offset,
            commit_log_offset=position.commit_log_offset,
            msg_id=named.get(UNIQ_KEY),
            transaction_id=named.get(UNIQ_KEY),
            offset_msg_id=shown.offset_msg_id,
        )
        code = ClientRequestCode.CHECK_TRANSACTION_STATE
        self._outbox.tell(producer.connection, code, encode_ext_fields(header), encode_record(shown))

    def _give_up(self, half: HalfMessage, now_ms: int) -> None:
        record = self._halves.record_at(half.log_offset)
        if record is None:
            raise MessageError("it cannot be read")
        self._topics.ensure(GIVEN_UP_TOPIC, 1, now_ms)

        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._transactions.not_ended(half.queue_offset)
            else:
                self._transactions.ended(half.queue_offset)

        self._halves.put(of_record(record)._replace(topic=GIVEN_UP_TOPIC, queue_id=0), settle)
        self._halves.put_end(half.queue_offset, lambda _: None)


def half_again(record: StoredMessage) -> NewMessage:
    """Give a message that was given up as a half message that nobody was asked about."""
    message = with_properties(of_record(record), {TRANSACTION_CHECK_TIMES: "0", WAIT: "false"})
    return message._replace(topic=HALF_TOPIC, queue_id=0)


def half_of(record: StoredMessage) -> HalfMessage:
    """Give what is known of a stored half message."""
    position = Position(record.commit_log_offset, 0, record.queue_offset, record.store_timestamp_ms)
    return half_at(of_record(record), position)


def half_at(message: NewMessage, position: Position) -> HalfMessage:
    """Give what is known of a half message that is stored there."""
    named = properties_of(message)
    immunity_s = _number(named.get(CHECK_IMMUNITY_TIME_IN_SECONDS, ""))
    return HalfMessage(
        queue_offset=position.queue_offset,
        log_offset=position.commit_log_offset,
        born_ms=message.born_timestamp_ms,
        stored_ms=position.store_timestamp_ms,
        checks=_number(named.get(TRANSACTION_CHECK_TIMES, "")) or 0,
        immunity_ms=None if immunity_s is None else immunity_s * 1000,
        unique_key=named.get(UNIQ_KEY, ""),
    )


def done_offsets(transactions: Transactions, halves: HalfStore, offsets: Offsets) -> None:
    """Note how far both topics are done with, where Apache's brokers look for it."""
    done = {HALF_TOPIC: transactions.done_to()}
    if not len(transactions):
        done[OP_TOPIC] = halves.op_end()
    for topic, offset in done.items():
        if offset != (offsets.committed(topic, TRANSACTION_GROUP, 0) or 0):
            offsets.commit(topic, TRANSACTION_GROUP, 0, offset)


def _shown(record: StoredMessage, message: NewMessage, position: Position) -> StoredMessage:
    """Give the copy as a producer sees it: in its real place."""
    named = record.properties
    return StoredMessage(
        topic=named.get(REAL_TOPIC, record.topic),
        body=record.body,
        properties_bytes=message.properties,
        queue_id=_number(named.get(REAL_QID, "")) or 0,
        queue_offset=position.queue_offset,
        commit_log_offset=position.commit_log_offset,
        born_timestamp_ms=record.born_timestamp_ms,
        born_host_bytes=record.born_host_bytes,
        store_timestamp_ms=record.store_timestamp_ms,
        store_host_bytes=record.store_host_bytes,
        body_crc=record.body_crc,
        sys_flag=record.sys_flag,
        flag=record.flag,
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
    )


def _decoded(view: memoryview | None) -> StoredMessage | None:
    try:
        return None if view is None else decode_record(view)[0]
    except MalformedBodyError:
        return None


def _offsets_in(body: bytes) -> list[int]:
    pieces = body.decode("ascii", "replace").split(",")
    return [number for piece in pieces if (number := _number(piece)) is not None]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
