"""Structs and the documents that carry them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.json_structs import BodyFields, decode_body, encode_body


class Colour(StrEnum):
    RED = "RED"
    BLUE = "BLUE"


class Key(BodyFields, frozen=True, kw_only=True):
    name: str
    number: Int32 = 0


class Example(BodyFields, frozen=True, kw_only=True):
    group_name: str
    client_id: str | None = msgspec.field(default=None, name="clientID")
    small: Int32 = 7
    large: int = 0
    rate: float = 0.0
    is_on: bool = True
    colour: Colour = Colour.BLUE
    key: Key | None = None
    keys: tuple[Key, ...] = ()
    by_key: Mapping[Key, int] = {}
    by_number: Mapping[int, Mapping[int, str]] = {}
    by_name: Mapping[str, tuple[int, ...]] = {}


WHOLE = Example(
    group_name="g", client_id="c", small=-1, large=2**63 - 1, rate=0.5, is_on=False, colour=Colour.RED,
    key=Key(name="k"), keys=(Key(name="a", number=1),), by_key={Key(name="a"): 1, Key(name="b"): 2},
    by_number={1: {2: "x"}, -1: {}}, by_name={"n": (1, 2)},
)  # fmt: skip


def test_every_kind_of_member_is_written_as_fastjson_does_and_read() -> None:
    """Names in alphabetical order, integer keys bare and in order, objects as keys."""
    written = (
        b'{"byKey":{{"name":"a","number":0}:1,{"name":"b","number":0}:2},"byName":{"n":[1,2]},'
        b'"byNumber":{-1:{},1:{2:"x"}},"clientID":"c","colour":"RED","groupName":"g","isOn":false,'
        b'"key":{"name":"k","number":0},"keys":[{"name":"a","number":1}],"large":9223372036854775807,"rate":0.5,"small":-1}'
    )

    assert encode_body(WHOLE) == written
    assert decode_body(Example, written) == WHOLE


def test_integer_keys_may_be_quoted() -> None:
    written = encode_body(Example(group_name="g", by_number={1: {2: "x"}}), JsonDialect.STANDARD)

    assert b'"byNumber":{"1":{"2":"x"}}' in written
    assert decode_body(Example, written).by_number == {1: {2: "x"}}


def test_what_is_none_is_not_written() -> None:
    assert b"clientID" not in encode_body(Example(group_name="g"))
    assert b'key"' not in encode_body(Example(group_name="g"))


@pytest.mark.parametrize("members", ["", ',"small":null,"colour":null,"key":null,"keys":null,"byKey":null,"new":[{}]'])
def test_what_is_absent_or_null_has_its_default(members: str) -> None:
    assert decode_body(Example, b'{"groupName":"g"%b}' % members.encode()) == Example(group_name="g")


@pytest.mark.parametrize(
    ("member", "name", "value"),
    [
        ('"small":"5"', "small", 5), ('"small":5.9', "small", 5), ('"small":true', "small", 1), ('"small":""', "small", 0),
        ('"large":"1700000000000"', "large", 1700000000000), ('"isOn":"false"', "is_on", False), ('"isOn":0', "is_on", False),
        ('"rate":"1.5"', "rate", 1.5), ('"rate":2', "rate", 2.0), ('"colour":"RED"', "colour", Colour.RED),
        ('"colour":0', "colour", Colour.RED), ('"colour":"1"', "colour", Colour.BLUE), ('"colour":"GREEN"', "colour", Colour.BLUE),
        ('"clientID":5', "client_id", "5"), ('"keys":[null,{"name":"a"}]', "keys", (Key(name="a"),)),
        ('"byName":{"n":null,"m":[]}', "by_name", {"m": ()}),
        ('"byKey":{"{\\"name\\":\\"a\\"}":1}', "by_key", {Key(name="a"): 1}),
        ('"byNumber":{"1":{"2":"x"}}', "by_number", {1: {2: "x"}}),
    ],
)  # fmt: skip
def test_members_are_read_as_fastjson_reads_them(member: str, name: str, value: Any) -> None:
    """An enumeration by name or ordinal; a name that is not known counts as absent."""
    assert getattr(decode_body(Example, b'{"groupName":"g",%b}' % member.encode()), name) == value


@pytest.mark.parametrize(
    "member",
    [
        '"small":2147483648', '"large":9223372036854775808', '"small":[]', '"rate":"x"', '"rate":"1_0"', '"rate":true',
        '"rate":%s' % ("9" * 390), '"rate":"%s"' % ("9" * 500), '"isOn":"maybe"', '"colour":2', '"colour":-1', '"colour":[]',
        '"colour":"99999999999999999999999999"', '"key":[]', '"key":{}', '"keys":{}', '"keys":[1]', '"byKey":[]',
        '"byKey":{"x":1}', '"byKey":{{}:1}', '"byNumber":{"x":{}}', '"byName":{"n":{}}',
    ],
)  # fmt: skip
def test_members_of_other_types_are_malformed(member: str) -> None:
    """The error names the member, in few words."""
    with pytest.raises(MalformedBodyError) as error:
        decode_body(Example, b'{"groupName":"g",%b}' % member.encode())

    assert str(error.value).startswith(member.split('"')[1])
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"groupName":null}', b"nope", b"\xff"])
def test_what_is_no_such_body(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_body(Example, body)


def test_more_values_than_a_document_may_hold() -> None:
    with pytest.raises(BodyLimitError):
        decode_body(Example, b'{"groupName":"g","by":[%b1]}' % (b"1," * 1_000_000))


def test_half_a_surrogate_pair_is_not_written() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode_body(Example(group_name="\ud800"))
