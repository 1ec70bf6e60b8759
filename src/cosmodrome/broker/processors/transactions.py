"""Ends of transactions, and half messages that are asked about anew: 37, 323 (Java: EndTransactionProcessor).

Owns: whether an end fits its half message; that a half message is delivered once.
Must not know: who is asked about half messages.
"""

from collections.abc import Callable

from cosmodrome.broker.half_messages import HalfStore, half_again, half_at, half_of
from cosmodrome.broker.messages import committed
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import not_available, refused
from cosmodrome.broker.topics import HALF_TOPIC
from cosmodrome.broker.transactions import Transactions
from cosmodrome.broker.turn import Stored
from cosmodrome.errors import MessageError, RequestRefusedError, StoreUnavailableError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.transactions import (
    TRANSACTION_COMMIT,
    TRANSACTION_ROLLBACK,
    TRANSACTION_UNKNOWN,
    EndTransactionRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
)
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.properties import PGROUP, REAL_TOPIC
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.transport.dispatch import LATER, Peer


class TransactionProcessor:
    """Commits and rolls back. The first decision stands; another end of the same half message changes nothing."""

    def __init__(self, transactions: Transactions, halves: HalfStore, outbox: Outbox) -> None:
        """Use these parts."""
        self._transactions = transactions
        self._halves = halves
        self._outbox = outbox
        self.on_ended: Callable[[str, bool], None] = lambda _, __: None
        """Told of the topic of each half message that ended, and whether it was committed."""

    def end_transaction(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """37. An unknown end is no end: it has no answer either, as in Java; the producer is asked later."""
        header = decode_ext_fields(EndTransactionRequestHeader, request.ext_fields)
        require(header, "producer_group", "tran_state_table_offset", "commit_log_offset", "commit_or_rollback")
        if header.commit_or_rollback == TRANSACTION_UNKNOWN:
            return LATER
        if header.commit_or_rollback not in (TRANSACTION_COMMIT, TRANSACTION_ROLLBACK):
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "commitOrRollback field wrong", cause="bad_decision")
        record = self._half(header)
        is_commit = header.commit_or_rollback == TRANSACTION_COMMIT

        def end_it() -> None:
            if not self._transactions.begin_end(self._newest(record)):
                answer = response_to(request, ResponseCode.SUCCESS)
                self._outbox.answer(peer.connection_id, request, answer)
                return
            self._end(request, peer, record, is_commit=is_commit)

        def end_after_copy() -> None:
            try:
                end_it()
            except RequestRefusedError as error:
                self._outbox.answer(peer.connection_id, request, response_to(request, error.code, error.remark))

        if not self._transactions.wait_for_copy(self._newest(record), end_after_copy):
            end_it()
        return LATER

    def resume_check_half_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """323: a half message that was given up is asked about anew."""
        header = decode_ext_fields(ResumeCheckHalfMessageRequestHeader, request.ext_fields)
        require(header, "msg_id")
        place = decode_offset_msg_id(header.msg_id or "")
        record = None if place is None else self._halves.given_up_at(place.commit_log_offset)
        if record is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"there is no half message {header.msg_id} that was given up")
        message = half_again(record)

        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                answer = response_to(request, ResponseCode.SYSTEM_ERROR, f"Put message back to {HALF_TOPIC} failed.")
            else:
                self._transactions.opened(half_at(message, position))
                answer = response_to(request, ResponseCode.SUCCESS)
            self._outbox.answer(peer.connection_id, request, answer)

        try:
            position = self._halves.put(message, settle)
        except MessageError as error:
            raise refused(error.code, error.text) from error
        except StoreUnavailableError as error:
            raise not_available(error.reason) from error
        return LATER

    def _newest(self, record: StoredMessage) -> int:
        return self._transactions.newest(record.queue_offset, half_of(record).identity)

    def _half(self, header: EndTransactionRequestHeader) -> StoredMessage:
        record = self._halves.record_at(header.commit_log_offset if header.commit_log_offset is not None else -1)
        if record is None:
            raise refused(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        if record.properties.get(PGROUP) != header.producer_group:
            raise refused(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
        if record.queue_offset != header.tran_state_table_offset:
            raise refused(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
        return record

    def _end(self, request: RemotingCommand, peer: Peer, record: StoredMessage, *, is_commit: bool) -> None:
        """Store the message, then that it has ended: both in one write."""
        offset = self._newest(record)

        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._transactions.not_ended(offset)
                refusal = not_available("the disk refuses to take messages")
                answer = response_to(request, refusal.code, refusal.remark)
            else:
                self._transactions.ended(offset)
                self.on_ended(record.properties.get(REAL_TOPIC) or record.topic, is_commit)
                answer = response_to(request, ResponseCode.SUCCESS, None if is_commit else "not set any response code")
            self._outbox.answer(peer.connection_id, request, answer)

        try:
            message = committed(record) if is_commit else None
            if message is not None:
                self._halves.put(message, lambda _: None)
            self._halves.put_end(offset, settle)
        except StoreUnavailableError as error:
            self._transactions.not_ended(offset)
            raise not_available(error.reason) from error
        except MessageError as error:
            self._transactions.not_ended(offset)
            raise refused(error.code, error.text) from error
