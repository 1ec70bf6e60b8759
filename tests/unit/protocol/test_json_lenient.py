"""JSON as people write it by hand and fastjson reads it."""

import contextlib
import time

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_lenient import LENIENT_MAX_BYTES, MAX_DEPTH, parse_lenient_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[]", []),
        ("{a:1}", {"a": 1}),
        ("{0:0,-4:1}", {"0": 0, "-4": 1}),
        ("{'a':'b'}", {"a": "b"}),
        ("{'a\"':\"b'\"}", {'a"': "b'"}),
        ("[1,,2,]", [1, 2]),
        ("{,a:1,,b:2,}", {"a": 1, "b": 2}),
        ("/* c */ [1] // end", [1]),
        ("[1 /* , 2 */, 3]", [1, 3]),
        ("// first\n[1]", [1]),
        ("\ufeff[1]", [1]),
        (" \t\r\n[ 1 , 2 ] ", [1, 2]),
        ("[true,false,null,undefined,NaN]", [True, False, None, None, None]),
        ("[1,-1,+1,1.,1.5,1e3,-1E-2,1e+2]", [1, -1, 1, 1.0, 1.5, 1000.0, -0.01, 100.0]),
        ("[123456789012345678901234567890]", [123456789012345678901234567890]),
        (r"['\b\t\n\f\r\v\0\"\'\\\/']", ["\b\t\n\f\r\v\0\"'\\/"]),
        (r"['\u00e9\x41\ud83d\ude00']", ["éA😀"]),
        (r"['\ud800','\udc00\ud800x']", ["?", "??x"]),
        ("{'\\ud800':1}", {"?": 1}),
        ("'x'", "x"),
        ("12", 12),
        ("{'a':1,'a':2}", {"a": 2}),
        ("{a-b.c$:1}", {"a-b.c$": 1}),
    ],
)
def test_documents(text: str, value: object) -> None:
    assert parse_lenient_text(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the document ends too early"),
        (" ", "the document ends too early"),
        ("[", "the document ends too early"),
        ("{", "the document ends too early"),
        ("{a", "expected ':'"),
        ("{a:", "the document ends too early"),
        ("{a:1", "expected ',' or '}'"),
        ("[1", "expected ',' or ']'"),
        ("[1 2]", "expected ',' or ']'"),
        ("{a 1}", "expected ':'"),
        ("{:1}", "expected a value"),
        ("{a:}", "expected a value"),
        ("[1]]", "text after the document"),
        ("1 2", "text after the document"),
        ("{}x", "text after the document"),
        ("x", "'x' is not a value"),
        ("[True]", "'True' is not a value"),
        ("[.5]", "'.5' is not a value"),
        ("[1_0]", "'1_0' is not a value"),
        ("[٣]", "is not a value"),
        ("[0x10]", "is not a value"),
        ("[" + "1" * 401 + "]", "is not a value"),
        ("'x", "a text does not end"),
        ('"x', "a text does not end"),
        ("'x\\", "unknown escape"),
        (r"'\q'", "unknown escape"),
        (r"'\u12'", "unknown escape"),
        (r"'\u+123'", "unknown escape"),
        (r"'\x4'", "unknown escape"),
        ("/* x", "expected a value"),
        ("[1 / 2]", "expected ',' or ']'"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "nested too deeply"),
        ("{a:" * 5000 + "1" + "}" * 5000, "nested too deeply"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedBodyError) as caught:
        parse_lenient_text(text)
    assert reason in str(caught.value)


def test_the_error_says_where() -> None:
    with pytest.raises(MalformedBodyError, match="expected ':' at character 8"):
        parse_lenient_text("{a: 1, b")


@pytest.mark.parametrize(
    "unit",
    ["1,", "a:1,", "[],", "'x',", " ", ",", "/**/", "//\n", "\\n", "/*", "''", "{a:1},", "\\ud83d", "'\\", "1 "],
)
def test_no_document_is_slow_to_read(unit: str) -> None:
    """Whoever can connect may send one; the event loop must not stand still for it."""
    for opening in ("[", "{"):
        text = (opening + unit * LENIENT_MAX_BYTES)[:LENIENT_MAX_BYTES]
        began_s = time.thread_time()
        with contextlib.suppress(MalformedBodyError):
            parse_lenient_text(text)
        assert time.thread_time() - began_s < 2
