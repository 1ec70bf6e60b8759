"""Typed headers and the strings that carry them."""

from dataclasses import dataclass, field

import msgspec
import pytest

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.ext_fields import (
    HeaderFields,
    Int32,
    decode_ext_fields,
    encode_ext_fields,
    require,
    wire_name,
)
from cosmodrome.protocol.headers import broker, kv_config, route, topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    broker_name: str | None = None
    broker_id: int | None = None
    is_on: bool | None = None
    zone_name: str | None = field(default=None, metadata=wire_name("__ZONE_NAME"))


def test_names_on_the_wire_are_camel_case_or_given() -> None:
    header = Example(broker_name="a", broker_id=-1, is_on=True, zone_name="z")
    fields = {"brokerName": "a", "brokerId": "-1", "isOn": "true", "__ZONE_NAME": "z"}

    assert encode_ext_fields(header) == fields
    assert decode_ext_fields(Example, fields) == header


def test_what_is_none_is_left_out() -> None:
    assert encode_ext_fields(Example(is_on=False)) == {"isOn": "false"}
    assert encode_ext_fields(Example()) == {}


@pytest.mark.parametrize("fields", [None, {}, {"other": "x"}, {"brokerName": None}])
def test_what_is_missing_or_null_keeps_its_default(fields: dict[str, str | None] | None) -> None:
    assert decode_ext_fields(Example, fields) == Example()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("+5", 5), ("-5", -5), ("007", 7), (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63)),
        (str(2**63), None), ("", None), (" 5", None), ("5 ", None), ("5.0", None), ("0x5", None), ("1_0", None),
        ("٣", None), ("9" * 20, None), ("9" * 100_000, None), ("-", None), ("null", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_java_reads_them(text: str, number: int | None) -> None:
    """What is none keeps the default."""
    assert decode_ext_fields(Example, {"brokerId": text}).broker_id == number


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("false", False), ("yes", False), ("", False), ("1", False)]
)
def test_anything_but_true_is_false(text: str, *, value: bool) -> None:
    assert decode_ext_fields(Example, {"isOn": text}).is_on is value


def test_a_missing_field_is_named_as_on_the_wire() -> None:
    require(Example(broker_name="", broker_id=0), "broker_name", "broker_id")

    with pytest.raises(RequestRefusedError) as caught:
        require(Example(broker_name="a"), "broker_name", "zone_name", "broker_id")
    assert (caught.value.code, caught.value.remark) == (1, "the custom field <__ZONE_NAME> is null")


def test_every_header_of_the_protocol_survives() -> None:
    """Each field of each header, by the name that Java gives it."""
    names: set[str] = set()
    for module in (broker, kv_config, route, topic):
        for name, kind in vars(module).items():
            if name.endswith("Header"):
                values = {each: _value(kind, each) for each in kind.__dataclass_fields__}
                header = kind(**values)
                fields = encode_ext_fields(header)
                assert decode_ext_fields(kind, fields) == header
                names |= set(fields)
    assert names == {
        "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "heartbeatTimeoutMillis",
        "enableActingMaster", "compressed", "bodyCrc32", "__ZONE_NAME", "__ZONE_MODE", "masterAddr", "changed",
        "wipeTopicCount", "addTopicCount", "minBrokerId", "minBrokerAddr", "offlineBrokerAddr", "haBrokerAddr",
        "namespace", "key", "value", "topic", "acceptStandardJsonOnly", "cluster",
    }  # fmt: skip


def _value(kind: type, name: str) -> object:
    written = str(kind.__dataclass_fields__[name].type)  # type: ignore[attr-defined]  # a dataclass
    return {"str": "x", "int": 7, "bool": True}[written.removesuffix(" | None")]


class ExampleStruct(HeaderFields, frozen=True, kw_only=True):
    broker_name: str | None = None
    broker_id: int | None = None
    queue_id: Int32 | None = None
    is_on: bool | None = None
    zone_name: str | None = msgspec.field(default=None, name="__ZONE_NAME")


def test_structs_are_read_and_written_as_dataclasses_are() -> None:
    header = ExampleStruct(broker_name="a", broker_id=2**40, queue_id=-3, is_on=False, zone_name="z")
    fields = {"brokerName": "a", "brokerId": str(2**40), "queueId": "-3", "isOn": "false", "__ZONE_NAME": "z"}

    assert encode_ext_fields(header) == fields
    assert decode_ext_fields(ExampleStruct, fields) == header
    assert decode_ext_fields(ExampleStruct, {"queueId": str(2**31), "brokerId": "x"}) == ExampleStruct()
    with pytest.raises(RequestRefusedError, match="<__ZONE_NAME>"):
        require(ExampleStruct(broker_name="a"), "broker_name", "zone_name")
