"""Storing a message because of a request.

Owns: which code and remark a request gets for what became of its message.
Must not know: what a message is; which request it was.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import not_available, refused
from cosmodrome.broker.replication.copies import Copies
from cosmodrome.broker.turn import Settle, Stored, Turn
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.transport.dispatch import Peer
from cosmodrome.transport.traffic import NO_ANSWER, Traffic

_FAILED: Final = "the disk refuses to take messages"
STORED_CODES: Final[Mapping[Stored, int]] = {
    Stored.SAFE: ResponseCode.SUCCESS,
    Stored.DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    Stored.SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    Stored.NO_SLAVE: ResponseCode.SLAVE_NOT_AVAILABLE,
}


class Intake:
    """Puts messages into the turn, and answers when it is known what became of them."""

    def __init__(self, turn: Turn, outbox: Outbox, clock: Clock, disk_timeout_ms: int | None) -> None:
        """Use these; `disk_timeout_ms` is how long an answer waits for the disk, None if it does not."""
        self._turn = turn
        self._outbox = outbox
        self._clock = clock
        self._disk_timeout_ms = disk_timeout_ms
        self.refusal: Callable[[], str | None] = lambda: None
        """Says why nothing may be stored now; None when it may."""
        self.copies: Copies | None = None
        """Who waits for slaves; None when nobody does."""
        self.traffic = Traffic()
        """Told of each answer that is given here."""

    def put(self, message: NewMessage, settle: Settle | None = None, *, waits: bool = True) -> Position:
        """Store a message; `waits` is for who is told only when it is on disk and at slaves, if the settings are like that.

        Raises:
            RequestRefusedError: It is not stored.
        """
        reason = self.refusal()
        if reason is not None:
            raise not_available(reason)
        timeout_ms = self._disk_timeout_ms if waits else None
        copied = self.copies.settling(settle) if waits and settle is not None and self.copies is not None else None
        try:
            position = self._turn.put(message, self._clock.wall_ms(), copied or settle, timeout_ms)
        except MessageError as error:
            raise refused(error.code, error.text) from error
        except StoreUnavailableError as error:
            raise not_available(error.reason) from error
        if copied is not None:
            copied.end = position.end
        return position

    def when_stored(self, settle: Settle) -> None:
        """Have somebody told what became of all that is added to this turn, when it is on disk if the flush mode is like that.

        Slaves are not waited for: who calls this sees to it that there are no `copies`.
        """
        self._turn.when_stored(settle, self._disk_timeout_ms)

    def answering(
        self,
        request: RemotingCommand,
        peer: Peer,
        fields: Callable[[], dict[str, str | None]] | None = None,
        on_stored: Callable[[], None] | None = None,
    ) -> Settle:
        """Give what answers a request when it is known what became of its message.

        Args:
            request: It.
            peer: Who sent it.
            fields: Gives what the answer carries; its remark is None.
            on_stored: Called first when the message is stored.
        """
        begun_s = time.perf_counter()

        def settle(stored: Stored) -> None:
            if stored is not Stored.FAILED and on_stored is not None:
                on_stored()
            answer = self._answer(request, stored, fields)
            self._outbox.answer(peer.connection_id, request, answer)
            code = NO_ANSWER if request.is_oneway else answer.code
            self.traffic.answered(request.code, code, (len(request.body), 0), time.perf_counter() - begun_s)

        return settle

    @staticmethod
    def _answer(
        request: RemotingCommand, stored: Stored, fields: Callable[[], dict[str, str | None]] | None
    ) -> RemotingCommand:
        if stored is Stored.FAILED:
            return not_stored(request)
        return response_to(request, STORED_CODES[stored], None, None if fields is None else fields())


def not_stored(request: RemotingCommand) -> RemotingCommand:
    """Answer a request whose message is not stored, as far as anybody knows."""
    refusal = not_available(_FAILED)
    return response_to(request, refusal.code, refusal.remark)
