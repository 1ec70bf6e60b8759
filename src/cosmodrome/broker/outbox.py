"""What a broker sends of its own accord: answers that come later, and requests to clients.

Owns: numbers of its requests; who waits for a client's answer.
Must not know: what is asked; sockets.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.protocol.codes import FLAG_ONEWAY
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.protocol.exchange import Exchange

Send = Callable[[int, RemotingCommand], bool]
"""Connection and command → whether the connection is there."""
Heard = Callable[[RemotingCommand | None], None]
"""Given a client's answer, or None when none comes any more."""


class Outbox:
    """Sends over connections that clients opened."""

    def __init__(self, send: Send) -> None:
        """Send with this."""
        self._send: Final = send
        self._exchange: Exchange[tuple[int, Heard]] = Exchange()
        self._asked: dict[int, set[int]] = {}

    def answer(self, connection: int, asked: RemotingCommand, answer: RemotingCommand) -> None:
        """Send the answer to a request, unless it wants none or its connection is gone."""
        if not asked.flag & FLAG_ONEWAY:
            self._send(connection, answer)

    def tell(self, connection: int, code: int, fields: Mapping[str, str | None], body: bytes = b"") -> bool:
        """Send a oneway; tell whether the connection is there."""
        opaque = self._exchange.next_opaque()
        return self._send(connection, request(code, fields, body, opaque=opaque, is_oneway=True))

    def ask(self, connection: int, command: RemotingCommand, deadline_s: float, heard: Heard) -> None:
        """Send a request; `heard` gets its answer, or None after the deadline or without the connection."""
        opaque = self._exchange.next_opaque()
        if not self._send(connection, command.replaced(opaque=opaque)):
            heard(None)
            return
        self._exchange.expect(opaque, (connection, heard), deadline_s)
        self._asked.setdefault(connection, set()).add(opaque)

    def answered(self, connection: int, answer: RemotingCommand) -> None:
        """Pass on a client's answer; what nobody asked is dropped, also from another client than was asked."""
        if answer.opaque not in self._asked.get(connection, ()):
            return
        self._forget(connection, answer.opaque)
        found = self._exchange.settle(answer.opaque)
        if found is not None:
            found[1](answer)

    def overdue(self, now_s: float) -> None:
        """Tell those who have waited for too long."""
        for connection, heard in self._exchange.overdue(now_s):
            self._asked[connection] = {
                each for each in self._asked.get(connection, ()) if self._exchange.is_expected(each)
            }
            if not self._asked[connection]:
                del self._asked[connection]
            heard(None)

    def connection_lost(self, connection: int) -> None:
        """Tell those who wait for a client that is gone."""
        for opaque in self._asked.pop(connection, ()):
            found = self._exchange.settle(opaque)
            if found is not None:
                found[1](None)

    def _forget(self, connection: int, opaque: int) -> None:
        opaques = self._asked.get(connection, set())
        opaques.discard(opaque)
        if not opaques:
            self._asked.pop(connection, None)
