"""Header codec JSON: what peers send, and what is refused."""

import pytest

from cosmodrome.errors import MalformedHeaderError
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.header import MAX_FIELDS, Header
from cosmodrome.protocol.header_json import decode_header, encode_header

HEADER = Header(105, 7, 0, 401, LanguageCode.JAVA, None, None)


def test_members_are_in_alphabetical_order_and_nulls_are_left_out() -> None:
    header = HEADER.replaced(remark="so", ext_fields={"b": "1", "a": None, "c": ""})

    assert encode_header(header) == (
        b'{"code":105,"extFields":{"b":"1","c":""},"flag":0,"language":"JAVA","opaque":7,"remark":"so",'
        b'"serializeTypeCurrentRPC":"JSON","version":401}'
    )


def test_no_fields_and_an_empty_map_are_different() -> None:
    assert b"extFields" not in encode_header(HEADER)
    assert b'"extFields":{}' in encode_header(HEADER.replaced(ext_fields={}))
    assert decode_header(encode_header(HEADER.replaced(ext_fields={}))).ext_fields == {}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("é", "é".encode()),
        ("😀", "😀".encode()),
        ('"\\', b'\\"\\\\'),
        ("a\nb\x0b", b"a\\nb\\u000b"),
        ("/\x7f\u2028", "/\x7f\u2028".encode()),
        ("\ud800", b"?"),
    ],
)
def test_texts_are_written_as_550_does(text: str, written: bytes) -> None:
    header = HEADER.replaced(remark=text, ext_fields={text: text})

    assert b'"remark":"%b"' % written in encode_header(header)
    assert b'"extFields":{"%b":"%b"}' % (written, written) in encode_header(header)


def test_an_unknown_language_of_ours_is_other() -> None:
    assert b'"language":"OTHER"' in encode_header(HEADER.replaced(language=None))


@pytest.mark.parametrize(
    ("document", "header"),
    [
        (b'{"code":105,"opaque":7,"version":401}', HEADER),
        (b' {"code":105,"opaque":7,"version":401,"what":[{}]}\n', HEADER),
        (b'{"code":"105","opaque":7.0,"version":"401"}', HEADER),
        (b'{"code":105,"opaque":7,"version":401,"flag":null}', HEADER),
        (b'{code:105,opaque:7,"version":401,}', HEADER),
        (b'\xef\xbb\xbf{"code":105,"opaque":7,"version":401}', HEADER),
        (b'{"code":105,"opaque":7,"version":401,"serializeTypeCurrentRPC":"ROCKETMQ"}', HEADER),
        (b'{"code":105,"opaque":7,"version":401,"language":"GO"}', HEADER.replaced(language=LanguageCode.GO)),
        (b'{"code":105,"opaque":7,"version":401,"language":9}', HEADER.replaced(language=LanguageCode.GO)),
        (b'{"code":105,"opaque":7,"version":401,"language":"KLINGON"}', HEADER.replaced(language=None)),
        (b'{"code":105,"opaque":7,"version":401,"language":99}', HEADER.replaced(language=None)),
        (b'{"code":105,"opaque":7,"version":401,"language":null}', HEADER.replaced(language=None)),
        (b'{"code":105,"opaque":7,"version":401,"language":{}}', HEADER.replaced(language=None)),
        (b'{"code":105,"opaque":7,"version":401,"remark":""}', HEADER.replaced(remark="")),
        (b'{"code":105,"opaque":7,"version":401,"remark":12}', HEADER.replaced(remark="12")),
        (b'{"code":105,"opaque":7,"version":401,"remark":null,"extFields":null}', HEADER),
        (b'{"code":105,"opaque":7,"version":401,"remark":"\\ud800"}', HEADER.replaced(remark="?")),
        (b'{"code":105,"opaque":7,"version":401,"remark":"\xff"}', HEADER.replaced(remark="\ufffd")),
    ],
)
def test_forms_that_are_read(document: bytes, header: Header) -> None:
    assert decode_header(document) == header


def test_a_header_without_opaque_counts_as_0() -> None:
    assert decode_header(b"{}") == Header(0, 0, 0, 0, LanguageCode.JAVA, None, None)


def test_values_of_fields_become_texts() -> None:
    """Node.js clients send raw values; null is a field that is missing."""
    document = b'{"code":1,"opaque":1,"extFields":{"i":12,"b":true,"n":null,"s":"x","f":1.5,"o":{"a":[1]}}}'

    assert decode_header(document).ext_fields == {
        "i": "12", "b": "true", "n": None, "s": "x", "f": "1.5", "o": '{"a":[1]}',
    }  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [
        b"", b" ", b"null", b"[]", b'"x"', b"12", b"{", b'{"code":1', b'{"code":1}x', b"code", b'{"code":1} {}',
        b'{"code":2147483648,"opaque":1}', b'{"code":1,"opaque":-2147483649}', b'{"code":1,"opaque":1,"flag":1e10}',
        b'{"code":"x"}', b'{"code":[]}', b'{"code":{}}', b'{"opaque":1e400}', b'{"version":"1_0"}',
        b'{"code":1,"extFields":[]}', b'{"code":1,"extFields":"x"}', b"\xff\xfe",
        b'{"code":' + b"1" * 5000 + b"}", b'{"a":' * 2000 + b"1" + b"}" * 2000,
    ],
)  # fmt: skip
def test_what_is_refused(document: bytes) -> None:
    with pytest.raises(MalformedHeaderError):
        decode_header(document)


@pytest.mark.parametrize("number", [-(2**31), 2**31 - 1])
def test_all_of_int32_is_read(number: int) -> None:
    header = Header(number, number, number, number, LanguageCode.JAVA, None, None)

    assert decode_header(encode_header(header)) == header


@pytest.mark.parametrize("value", ['"x"', "1"], ids=["the usual way", "the tolerant way"])
def test_fields_without_end(value: str) -> None:
    def header(count: int) -> bytes:
        fields = ",".join(f'"{number}":{value}' for number in range(count))
        return f'{{"code":1,"opaque":1,"extFields":{{{fields}}}}}'.encode()

    assert len(decode_header(header(MAX_FIELDS)).ext_fields or {}) == MAX_FIELDS
    with pytest.raises(MalformedHeaderError, match="more than 1024 header fields"):
        decode_header(header(MAX_FIELDS + 1))


def test_hints_that_name_classes_are_fields_like_others() -> None:
    document = b'{"@type":"java.lang.Runtime","$ref":"$","code":1,"opaque":2,"extFields":{"@type":"a.B","topic":"T"}}'

    assert decode_header(document).ext_fields == {"@type": "a.B", "topic": "T"}
