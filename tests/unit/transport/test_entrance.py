"""Who may come in, in which layers."""

import ssl
from pathlib import Path

import pytest
from tests.support.certificates import make_pair

from cosmodrome.errors import GreetingRefusedError, ProtocolError
from cosmodrome.transport.entrance import Entrance, EntrancePolicy, TlsMode
from cosmodrome.transport.tls import TlsFiles, server_context

FRAME = b"\x00\x00\x00\x05\x00\x00\x00\x01{"
PROXY = b"PROXY TCP4 10.1.1.1 10.2.2.2 1111 2222\r\n"


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    pair = make_pair(tmp_path)
    return server_context(TlsFiles(cert_path=str(pair.cert), key_path=str(pair.key)))


def hello() -> bytes:
    client = ssl.create_default_context()
    outgoing = ssl.MemoryBIO()
    tls = client.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_a_frame_passes_and_needs_no_layer() -> None:
    entrance = Entrance(EntrancePolicy())

    assert entrance.receive(FRAME).plain == FRAME
    assert entrance.is_bare
    assert entrance.send(b"x") == b"x"
    assert entrance.close() == b""


def test_a_proxy_header_is_taken_off_and_remembered() -> None:
    for cut in range(1, len(PROXY)):
        entrance = Entrance(EntrancePolicy())
        plain = entrance.receive(PROXY[:cut]).plain + entrance.receive(PROXY[cut:] + FRAME).plain
        assert (plain, entrance.source, entrance.is_bare) == (FRAME, "10.1.1.1:1111", True)


def test_only_one_proxy_header() -> None:
    with pytest.raises(ProtocolError, match="a second PROXY header"):
        Entrance(EntrancePolicy()).receive(PROXY + PROXY)


def test_tls_behind_a_proxy_header(context: ssl.SSLContext) -> None:
    entrance = Entrance(EntrancePolicy(tls_mode=TlsMode.PERMISSIVE, context=lambda: context))

    admitted = entrance.receive(PROXY + hello())

    assert admitted.wire.startswith(b"\x16")
    assert entrance.is_waiting
    assert entrance.source == "10.1.1.1:1111"


@pytest.mark.parametrize("mode", [TlsMode.DISABLED, TlsMode.PERMISSIVE])
def test_f062_a_tls_peer_where_tls_is_off_is_told_apart(mode: TlsMode) -> None:
    with pytest.raises(GreetingRefusedError, match="a TLS peer, but TLS is off here"):
        Entrance(EntrancePolicy(tls_mode=mode)).receive(hello())


def test_a_plain_peer_where_tls_is_required_is_refused(context: ssl.SSLContext) -> None:
    entrance = Entrance(EntrancePolicy(tls_mode=TlsMode.ENFORCING, context=lambda: context))

    with pytest.raises(GreetingRefusedError, match="without TLS"):
        entrance.receive(FRAME)


@pytest.mark.parametrize(
    ("greeting", "name", "is_answered"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP", True),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "gRPC", False),
        (b"SSH-2.0-x\r\n", "SSH", False),
        (b"PING\r\n", "Redis", False),
    ],
)
def test_other_protocols_are_named(greeting: bytes, name: str, is_answered: bool) -> None:  # noqa: FBT001 # a table
    with pytest.raises(GreetingRefusedError, match=name) as error:
        Entrance(EntrancePolicy()).receive(greeting)
    assert error.value.reply.startswith(b"HTTP/1.1 400 ") is is_answered


def test_a_broken_handshake_is_refused(context: ssl.SSLContext) -> None:
    entrance = Entrance(EntrancePolicy(tls_mode=TlsMode.PERMISSIVE, context=lambda: context))

    with pytest.raises(GreetingRefusedError, match="TLS failed"):
        entrance.receive(b"\x16\x03\x01\x00\x05hello")
