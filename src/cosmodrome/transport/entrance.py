"""The layers between a socket and the frames: greeting, PROXY header, TLS.

Owns: which layers a connection has, by its first bytes and the server's policy; who is sent away, and how.
Must not know: sockets; frames.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from cosmodrome.errors import GreetingRefusedError, ProtocolError, TlsFailedError
from cosmodrome.protocol.greeting import Greeting, is_record_begun, recognise
from cosmodrome.protocol.proxy_header import decode_proxy_v1, decode_proxy_v2
from cosmodrome.transport.port_pages import PortPages
from cosmodrome.transport.tls import TlsSession

_HTTP_TEXT: Final = b"This port speaks RocketMQ remoting, not HTTP.\n"
_HTTP_REPLY: Final = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
    % (len(_HTTP_TEXT), _HTTP_TEXT)
)
_MAX_GREETING_BYTES: Final = 16 + 65535
"""The longest PROXY header; nothing else keeps a connection undecided for as long."""

_PROXY_DECODERS: Final = {Greeting.PROXY_V1: decode_proxy_v1, Greeting.PROXY_V2: decode_proxy_v2}


class TlsMode(StrEnum):
    """Whether connections are encrypted (Java: tls.server.mode)."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrancePolicy:
    """Who may come in, and who is answered at the door.

    `context` gives the TLS context for a new connection, None when there is none. `pages` answers HTTP peers in every
    TLS mode; without it they are told that they are wrong here.
    """

    tls_mode: TlsMode = TlsMode.DISABLED
    context: Callable[[], ssl.SSLContext | None] = lambda: None
    pages: PortPages | None = None


class Admitted(NamedTuple):
    """What came of bytes from the socket: bytes for the frames, bytes for the socket, and how it ended, if it did."""

    plain: bytes
    wire: bytes = b""
    end: str | None = None


class Entrance:
    """One connection's way in. Once `is_bare`, bytes need not pass here any more."""

    __slots__ = ("_buffer", "_is_answered", "_policy", "_session", "is_bare", "source")

    def __init__(self, policy: EntrancePolicy) -> None:
        self._policy = policy
        self._buffer = b""
        self._session: TlsSession | None = None
        self._is_answered = False
        self.is_bare = False
        self.source: str | None = None
        """The peer as a PROXY header names it, `host:port`; empty when there is a header that names none."""

    @property
    def is_waiting(self) -> bool:
        """Whether a greeting or a TLS handshake has begun and is not over."""
        return bool(self._buffer) or (self._session is not None and not self._session.is_established)

    def receive(self, data: bytes) -> Admitted:
        """Take bytes from the socket.

        Raises:
            ProtocolError: The peer may not come in; close the connection. A GreetingRefusedError has bytes to
                send before that.
        """
        if self._session is not None:
            return self._decrypt(self._session, data)
        if self._is_answered:
            return Admitted(b"")
        self._buffer += data
        greeting = self._recognise()
        if greeting is None:
            return Admitted(b"")
        if greeting is Greeting.TLS:
            return self._begin_tls()
        if greeting is Greeting.HTTP and self._policy.pages is not None:
            return self._answer_http(self._policy.pages)
        data, self._buffer = self._buffer, b""
        self._refuse_unless_remoting(greeting)
        self.is_bare = True
        return Admitted(data)

    def send(self, data: bytes) -> bytes:
        """Give the bytes for the socket."""
        return data if self._session is None else self._session.send(data)

    def close(self) -> bytes:
        """Give the bytes for the socket that end the layers."""
        return b"" if self._session is None else self._session.close()

    def _recognise(self) -> Greeting | None:
        """Tell what the buffer begins, PROXY headers removed."""
        greeting = recognise(self._buffer)
        decode = _PROXY_DECODERS.get(greeting) if greeting is not None else None
        if decode is None:
            return greeting
        if self.source is not None:
            raise ProtocolError("a second PROXY header")
        header = decode(self._buffer)
        if header is None:
            if len(self._buffer) > _MAX_GREETING_BYTES:
                raise ProtocolError("a PROXY header does not end")
            return None
        self._buffer = self._buffer[header.length :]
        self.source = header.source or ""
        return self._recognise()

    def _begin_tls(self) -> Admitted:
        """Begin a session with the first whole record: it costs 45 KiB, which peers that only begin one do not get."""
        context = self._context()
        if is_record_begun(self._buffer):
            return Admitted(b"")
        self._session = TlsSession(context)
        data, self._buffer = self._buffer, b""
        return self._decrypt(self._session, data)

    def _answer_http(self, pages: PortPages) -> Admitted:
        """Answer a request once its head is whole; what comes after it is not looked at."""
        answer = pages.answer(self._buffer)
        if answer is None:
            return Admitted(b"")
        self._buffer = b""
        self._is_answered = True
        if answer.refusal:
            raise GreetingRefusedError(answer.refusal, answer.wire)
        return Admitted(b"", answer.wire, "answered over HTTP")

    def _context(self) -> ssl.SSLContext:
        context = None if self._policy.tls_mode is TlsMode.DISABLED else self._policy.context()
        if context is None:
            raise GreetingRefusedError(
                "a TLS peer, but TLS is off here (tls.server.mode, tls.server.certPath, tls.test.mode.enable)"
            )
        return context

    def _refuse_unless_remoting(self, greeting: Greeting) -> None:
        if greeting is Greeting.HTTP:
            raise GreetingRefusedError("an HTTP peer on the remoting port", _HTTP_REPLY)
        if greeting is not Greeting.REMOTING:
            raise GreetingRefusedError(f"a peer that speaks {greeting.value} on the remoting port")
        if self._policy.tls_mode is TlsMode.ENFORCING:
            raise GreetingRefusedError("a peer without TLS, which is required here (tls.server.mode=enforcing)")

    @staticmethod
    def _decrypt(session: TlsSession, data: bytes) -> Admitted:
        received = session.receive(data)
        if received.is_failure:
            raise TlsFailedError(received.end or "TLS failed", received.wire)
        return Admitted(received.plain, received.wire, received.end)
