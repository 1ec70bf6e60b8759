"""Header codec ROCKETMQ: what is read, and what is refused."""

import struct

import pytest

from cosmodrome.errors import MalformedHeaderError
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.header import MAX_FIELDS, Header
from cosmodrome.protocol.header_binary import decode_header, encode_header

HEADER = Header(105, 7, 0, 401, LanguageCode.JAVA, None, None)
FIXED = struct.pack(">hbhii", 105, 0, 401, 7, 0)


def entry(key: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value


def header_with(ext: bytes, *, remark: bytes = b"", ext_length: int | None = None) -> bytes:
    length = len(ext) if ext_length is None else ext_length
    return FIXED + struct.pack(">i", len(remark)) + remark + struct.pack(">i", length) + ext


def test_the_smallest_header_has_21_bytes() -> None:
    assert encode_header(HEADER) == header_with(b"")
    assert len(encode_header(HEADER)) == 21
    assert decode_header(encode_header(HEADER)) == HEADER


def test_remark_and_fields() -> None:
    header = HEADER.replaced(remark="só", ext_fields={"topic": "T", "é": "ü"})

    assert encode_header(header) == header_with(
        entry(b"topic", b"T") + entry("é".encode(), "ü".encode()), remark="só".encode()
    )
    assert decode_header(encode_header(header)) == header


def test_fields_that_are_null_are_left_out() -> None:
    """So an empty map and no map are the same, and so is an empty remark and none."""
    for fields in (None, {}, {"a": None}):
        assert encode_header(HEADER.replaced(ext_fields=fields, remark="")) == header_with(b"")


def test_an_empty_text_is_a_missing_one() -> None:
    assert decode_header(header_with(entry(b"a", b"") + entry(b"", b"b"))).ext_fields == {"a": None}


def test_of_fields_sent_twice_the_last_counts() -> None:
    assert decode_header(header_with(entry(b"a", b"1") + entry(b"a", b"2"))).ext_fields == {"a": "2"}


def test_a_negative_length_of_the_fields_is_no_fields() -> None:
    """COMPAT: as in Java."""
    assert decode_header(header_with(b"", ext_length=-1)) == HEADER


def test_junk_behind_the_fields_is_ignored() -> None:
    assert decode_header(header_with(entry(b"a", b"1")) + b"junk").ext_fields == {"a": "1"}


@pytest.mark.parametrize(
    ("byte", "language"), [(9, LanguageCode.GO), (13, LanguageCode.NODE_JS), (14, None), (-1, None)]
)
def test_languages(byte: int, language: LanguageCode | None) -> None:
    data = bytearray(header_with(b""))
    data[2] = byte & 0xFF

    assert decode_header(bytes(data)).language is language


def test_an_unknown_language_of_ours_is_other() -> None:
    assert decode_header(encode_header(HEADER.replaced(language=None))).language is LanguageCode.OTHER


def test_text_that_is_no_utf8_is_replaced() -> None:
    assert decode_header(header_with(entry(b"a", b"\xff"))).ext_fields == {"a": "\ufffd"}


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    header = HEADER.replaced(remark="\ud800", ext_fields={"a": "\udc00"})

    assert decode_header(encode_header(header)) == HEADER.replaced(remark="?", ext_fields={"a": "?"})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "at least 21 bytes"),
        (header_with(b"")[:-1], "at least 21 bytes"),
        (FIXED + struct.pack(">ii", -1, 0), "bad remark length"),
        (FIXED + struct.pack(">ii", 1, 0), "bad remark length"),
        (FIXED + struct.pack(">ii", 2**31 - 1, 0), "bad remark length"),
        (header_with(b"", ext_length=1), "bad extFields length"),
        (header_with(entry(b"a", b"1"), ext_length=100), "bad extFields length"),
        (header_with(b"\0"), "end inside a length"),
        (header_with(b"\0\1a\0"), "end inside a length"),
        (header_with(b"\0\5a"), "bad field length 5"),
        (header_with(b"\xff\xffa"), "bad field length -1"),
        (header_with(b"\0\1a\xff\xff\xff\xff"), "bad field length -1"),
        (header_with(b"\0\1a\0\0\0\2x"), "bad field length 2"),
        # The entries overrun their own length, though the header has the bytes.
        (header_with(entry(b"a", b"12345"), ext_length=9), "bad field length 5"),
    ],
)
def test_what_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedHeaderError, match=reason):
        decode_header(data)


@pytest.mark.parametrize(
    "one", [entry(b"", b""), entry(b"same", b"1"), None], ids=["nameless", "twice", "each its own"]
)
def test_fields_without_end(one: bytes | None) -> None:
    """However little each of them leaves behind."""

    def entries(count: int) -> bytes:
        return b"".join(one if one is not None else entry(b"%d" % number, b"") for number in range(count))

    decode_header(header_with(entries(MAX_FIELDS)))
    with pytest.raises(MalformedHeaderError, match="more than 1024 header fields"):
        decode_header(header_with(entries(MAX_FIELDS + 1)))


@pytest.mark.parametrize("header", [HEADER.replaced(code=32768), HEADER.replaced(version=-32769)])
def test_numbers_that_do_not_fit(header: Header) -> None:
    with pytest.raises(ValueError, match="does not fit a binary header"):
        encode_header(header)


def test_a_name_that_does_not_fit() -> None:
    encode_header(HEADER.replaced(ext_fields={"k" * 32767: "v"}))
    with pytest.raises(ValueError, match="field name of 32768 bytes"):
        encode_header(HEADER.replaced(ext_fields={"k" * 32768: "v"}))
