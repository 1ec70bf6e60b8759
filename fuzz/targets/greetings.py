"""The first bytes of a connection."""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from cosmodrome.errors import ProtocolError, TlsError
from cosmodrome.protocol.greeting import Greeting, recognise
from cosmodrome.protocol.proxy_header import ProxyHeader, decode_proxy_v1, decode_proxy_v2
from cosmodrome.transport.entrance import Entrance, EntrancePolicy, TlsMode
from cosmodrome.transport.port_pages import LONGEST_HEAD_BYTES, PortPages
from cosmodrome.transport.throw_away import throw_away_server_context
from fuzz.script import Script, cut

_LONGEST_UNDECIDED_BYTES: Final = 16 + 65535
_DECODERS: Final[Mapping[Greeting, Callable[[bytes], ProxyHeader | None]]] = {
    Greeting.PROXY_V1: decode_proxy_v1,
    Greeting.PROXY_V2: decode_proxy_v2,
}


def _policies() -> tuple[EntrancePolicy, ...]:
    off = EntrancePolicy()
    try:
        context = throw_away_server_context()
    except TlsError:  # without the extra `tls`
        return (off, off, EntrancePolicy(tls_mode=TlsMode.ENFORCING))
    return (off, *(EntrancePolicy(tls_mode=mode, context=lambda: context) for mode in list(TlsMode)[1:]))


_POLICIES: Final = _policies()
_PAGES: Final = PortPages(unready=lambda: "", dashboard=lambda: "")


class _Outcome(NamedTuple):
    plain: bytes
    source: str | None
    error: type[Exception] | None


def greeting(data: bytes) -> None:
    """Any split lets in the same bytes, names the same source, or refuses alike; what is held is bounded."""
    script = Script(data)
    policy, plan = script.choice(_POLICIES), script.short()
    stream = script.rest()
    whole = _entered(policy, stream, b"")
    assert _entered(policy, stream, plan) == whole
    if whole.error is None:
        assert stream.endswith(whole.plain) or recognise(stream[:1]) is Greeting.TLS or whole.source is not None
    if whole.source:
        _check_address(whole.source)
    _check_proxy_header(stream)


def port_page(data: bytes) -> None:
    """However an HTTP peer's bytes are split, there is one answer, whole, and nothing is kept of a head that is too long."""
    script = Script(data)
    plan, stream = script.short(), script.rest()
    if recognise(stream) is not Greeting.HTTP:
        return
    whole = _PAGES.answer(stream)
    if whole is not None:
        _check_page(whole.wire, is_head=stream.startswith(b"HEAD "))
    received = b""
    for piece in cut(stream, plan):
        received += piece
        answer = _PAGES.answer(received) if recognise(received) is Greeting.HTTP else None
        if answer is None:
            assert len(received) <= LONGEST_HEAD_BYTES + 4
            continue
        assert whole is not None
        # Who sends more than a head in one piece is refused for that; piece by piece the rest comes too late to matter.
        assert answer == whole or b"followed by more" in whole.wire or b"too long" in whole.wire
        return
    assert whole is None


def _check_page(wire: bytes, *, is_head: bool) -> None:
    head, _, body = wire.partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    assert first.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 ", b"HTTP/1.1 404 ", b"HTTP/1.1 405 "))
    length = int(next(field for field in fields if field.startswith(b"Content-Length: ")).partition(b": ")[2])
    assert length == len(body) or (is_head and not body)
    assert b"Connection: close" in fields


def _entered(policy: EntrancePolicy, stream: bytes, plan: bytes) -> _Outcome:
    """Pass bytes through an entrance as a connection does."""
    entrance = Entrance(policy)
    plain = b""
    for piece in cut(stream, plan):
        if entrance.is_bare:
            plain += piece
            continue
        try:
            admitted = entrance.receive(piece)
        except ProtocolError as error:
            return _Outcome(plain, entrance.source, type(error))
        plain += admitted.plain
        assert len(entrance._buffer) <= min(len(stream), _LONGEST_UNDECIDED_BYTES + len(piece))
        assert entrance.is_waiting or entrance.is_bare or admitted.plain or admitted.end or not entrance._buffer
        if admitted.end is not None:
            break
    return _Outcome(plain, entrance.source, None)


def _check_proxy_header(stream: bytes) -> None:
    """A header that is whole is read alike whatever follows it; a beginning of it is not read at all."""
    greeting = recognise(stream)
    decode = _DECODERS.get(greeting) if greeting is not None else None
    if decode is None:
        return
    try:
        header = decode(stream)
    except ProtocolError:
        return
    if header is None:
        return
    assert header.length <= len(stream)
    if header.source is not None:
        _check_address(header.source)
    assert decode(stream[: header.length]) == header
    for missing in {1, 2, header.length // 2}:
        assert decode(stream[: header.length - missing]) is None


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    assert 0 <= int(port) <= 65535
    ipaddress.ip_address(host.strip("[]"))
