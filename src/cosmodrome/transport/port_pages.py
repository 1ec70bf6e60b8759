"""What people and supervisors who speak HTTP find on the remoting port: two probes, and a page that says where to go.

Owns: reading the head of one request, and the bytes of its answer. There is one request on a connection, without a body.
Must not know: sockets; what makes a server ready.

It is no HTTP server: whatever is not a GET or HEAD in its plainest form is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

LONGEST_HEAD_BYTES: Final = 8192
_END_OF_HEAD: Final = b"\r\n\r\n"
_METHODS: Final = (b"GET", b"HEAD")
_VERSIONS: Final = (b"HTTP/1.0", b"HTTP/1.1")
_BODY_FIELDS: Final = (b"content-length", b"transfer-encoding", b"expect")
_WHAT: Final = "this port speaks RocketMQ remoting"


class PortAnswer(NamedTuple):
    """The bytes to send before the connection is closed; `refusal` is why it was no probe, empty when it was one."""

    wire: bytes
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPages:
    """What a server says over HTTP on its remoting port.

    Attributes:
        unready: Gives why the server is not ready, empty when it is.
        dashboard: Gives the URL of its HTTP listener, empty when there is none.
    """

    unready: Callable[[], str]
    dashboard: Callable[[], str]

    def answer(self, received: bytes) -> PortAnswer | None:
        """Answer what begins with an HTTP method; None while its head is not whole."""
        method = received.partition(b" ")[0]
        if method not in _METHODS:
            shown = method.decode("latin-1")
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{_WHAT}, not HTTP.\n", f"{shown} on the remoting port")
        end = received.find(_END_OF_HEAD)
        if max(end, len(received) - len(_END_OF_HEAD)) > LONGEST_HEAD_BYTES:
            return _refused_head("too long")
        if end < 0:
            return None
        first, *fields = received[:end].split(b"\r\n")
        words = first.split(b" ")
        fault = _fault_of(words, fields, has_more=len(received) > end + len(_END_OF_HEAD))
        if fault:
            return _refused_head(fault)
        return self._answer_path(words[1].partition(b"?")[0], has_body=method == b"GET")

    def _answer_path(self, path: bytes, *, has_body: bool) -> PortAnswer:
        if path == b"/livez":
            return PortAnswer(_wire(HTTPStatus.OK, "ok\n", has_body=has_body))
        if path == b"/readyz":
            reason = self.unready()
            status = HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK
            return PortAnswer(_wire(status, f"{reason or 'ok'}\n", has_body=has_body))
        url = self.dashboard()
        where = f"the dashboard is at {url}" if url else "there is no dashboard (--http ADDRESS:PORT opens one)"
        page = f"{_WHAT}; {where}\nprobes here: /livez, /readyz\n"
        wire = _wire(HTTPStatus.NOT_FOUND, page, has_body=has_body)
        return PortAnswer(wire, "an HTTP peer on the remoting port, which answers /livez and /readyz only")


def _fault_of(words: list[bytes], fields: list[bytes], *, has_more: bool) -> str:
    """Say what is wrong with a head; nothing when it is one that is answered."""
    if len(words) != 3 or words[2] not in _VERSIONS or not words[1].startswith(b"/"):
        return "malformed"
    if has_more:
        return "followed by more"
    return "of a request with a body" if any(map(_announces_body, fields)) else ""


def _announces_body(field: bytes) -> bool:
    name, _, value = field.partition(b":")
    return name.strip().lower() in _BODY_FIELDS and value.strip() != b"0"


def _refused(status: HTTPStatus, text: str, refusal: str) -> PortAnswer:
    return PortAnswer(_wire(status, text), f"an HTTP peer: {refusal}")


def _refused_head(how: str) -> PortAnswer:
    return _refused(HTTPStatus.BAD_REQUEST, f"{_WHAT}, and this head is {how}.\n", f"a head that is {how}")


def _wire(status: HTTPStatus, text: str, *, has_body: bool = True) -> bytes:
    body = text.encode()
    allowed = "Allow: GET, HEAD\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n{allowed}Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (body if has_body else b"")
