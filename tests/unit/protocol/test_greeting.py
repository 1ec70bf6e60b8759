"""The first bytes of a connection."""

import pytest

from cosmodrome.protocol.greeting import PROXY_V2_SIGNATURE, Greeting, is_record_begun, recognise

WHOLE = [
    (b"\x16\x03\x01\x02\x00", Greeting.TLS),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", Greeting.PROXY_V1),
    (PROXY_V2_SIGNATURE + b"\x21\x11\x00\x0c", Greeting.PROXY_V2),
    (b"GET / HTTP/1.1\r\n", Greeting.HTTP),
    (b"HEAD /readyz HTTP/1.1\r\n", Greeting.HTTP),
    (b"POST / HTTP/1.1\r\n", Greeting.HTTP),
    (b"PUT / HTTP/1.1\r\n", Greeting.HTTP),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Greeting.HTTP2),
    (b"SSH-2.0-OpenSSH_9.2\r\n", Greeting.SSH),
    (b"PING\r\n", Greeting.REDIS),
    (b"*1\r\n$4\r\nPING\r\n", Greeting.REDIS),
    (b"\x00\x00\x00\x61\x00\x00\x00\x5d{", Greeting.REMOTING),
    (b"\xff\xff\xff\xff", Greeting.REMOTING),
    (b"\r\n\r\nhello", Greeting.REMOTING),
    (b"PROPFIND / HTTP/1.1\r\n", Greeting.REMOTING),
    (b"GETTING", Greeting.REMOTING),
]


@pytest.mark.parametrize(("data", "greeting"), WHOLE)
def test_a_greeting_is_recognised(data: bytes, greeting: Greeting) -> None:
    assert recognise(data) is greeting


@pytest.mark.parametrize(("data", "greeting"), WHOLE)
def test_however_it_is_cut_it_is_the_same_greeting(data: bytes, greeting: Greeting) -> None:
    """Bytes that could still become several things wait for more; once told, more bytes change nothing."""
    told = [recognise(data[:length]) for length in range(len(data) + 1)]

    decided = [one for one in told if one is not None]
    assert set(decided) == {greeting}
    assert told == [None] * (len(told) - len(decided)) + decided


def test_the_first_byte_of_a_frame_is_enough() -> None:
    assert recognise(b"\x00") is Greeting.REMOTING
    assert recognise(b"\x16") is Greeting.TLS


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x16", True),
        (b"\x16\3", True),
        (b"\x16\3\1\0", True),
        (b"\x16\3\1\0\4abc", True),
        (b"\x16\3\1\0\4abcd", False),
        (b"\x16\3\1\0\4abcde", False),
        (b"\x16\3\1\x40\0", True),
        (b"\x16\3\1\x40\1", False),
        (b"\x16\2", False),
        (b"\x16\2\1\0\4abc", False),
    ],
)
def test_a_tls_record_that_is_not_all_here(data: bytes, expected: bool) -> None:  # noqa: FBT001 -- a table
    assert is_record_begun(data) is expected
