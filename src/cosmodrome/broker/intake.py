"""Storing a message because of a request.

Owns: which code and remark a request gets for what became of its message.
Must not know: what a message is; which request it was.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import not_available, refused
from cosmodrome.broker.turn import Settle, Stored, Turn
from cosmodrome.errors import MessageError, RequestRefusedError, StoreUnavailableError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.transport.dispatch import Peer

_FAILED: Final = "the disk refuses to take messages"
_CODES: Final[Mapping[Stored, int]] = {
    Stored.SAFE: ResponseCode.SUCCESS,
    Stored.DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
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

    def put(self, message: NewMessage, settle: Settle | None = None, *, waits: bool = True) -> Position:
        """Store a message; `waits` is for who is told only when it is on disk, if the flush mode is like that.

        Raises:
            RequestRefusedError: It is not stored.
        """
        reason = self.refusal()
        if reason is not None:
            raise not_available(reason)
        timeout_ms = self._disk_timeout_ms if waits else None
        try:
            return self._turn.put(message, self._clock.wall_ms(), settle, timeout_ms)
        except MessageError as error:
            raise refused(error.code, error.text) from error
        except StoreUnavailableError as error:
            raise not_available(error.reason) from error

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

        def settle(stored: Stored) -> None:
            if stored is not Stored.FAILED and on_stored is not None:
                on_stored()
            self._outbox.answer(peer.connection_id, request, self._answer(request, stored, fields))

        return settle

    @staticmethod
    def _answer(
        request: RemotingCommand, stored: Stored, fields: Callable[[], dict[str, str | None]] | None
    ) -> RemotingCommand:
        if stored is Stored.FAILED:
            refusal: RequestRefusedError = not_available(_FAILED)
            return response_to(request, refusal.code, refusal.remark)
        return response_to(request, _CODES[stored], None, None if fields is None else fields())
