"""What a body may hold, in every form that it can have."""

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.support import wire

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.bodies.data_version import decode_data_version
from cosmodrome.protocol.bodies.register_broker import RegisterBrokerBody, decode_register_broker_body
from cosmodrome.protocol.bodies.route import MAX_MAPPED_QUEUES, decode_queue_datas
from cosmodrome.protocol.json_dialects import MAX_VALUES, parse_lenient
from cosmodrome.protocol.limits import BodyLimits

LIMITS = BodyLimits(max_inflated_bytes=100_000, max_topics=10, max_filter_servers=3, max_name_length=20)
LONG = "x" * 20


def topics(*names: str) -> list[dict[str, Any]]:
    return [wire.topic_config(name) for name in names]


def usual(table: list[dict[str, Any]], **more: Any) -> tuple[bytes, int]:
    return wire.register_body(table, **more), 513


def tolerated(table: list[dict[str, Any]], **more: Any) -> tuple[bytes, int]:
    """As a person writes it: numbers as texts."""
    return wire.register_body([each | {"perm": str(each["perm"])} for each in table], **more), 513


def compressed(table: list[dict[str, Any]], **more: Any) -> tuple[bytes, int]:
    return wire.compressed_register_body(table, **more), 513


def old(table: list[dict[str, Any]], **_: Any) -> tuple[bytes, int]:
    return wire.old_register_body(table), 36


Form = Callable[..., tuple[bytes, int]]
FORMS = pytest.mark.parametrize("form", [usual, tolerated, compressed, old])
NEW_FORMS = pytest.mark.parametrize("form", [usual, tolerated, compressed])


def read(body: tuple[bytes, int], limits: BodyLimits = LIMITS) -> RegisterBrokerBody:
    return decode_register_broker_body(body[0], body[1], is_compressed=False, now_ms=1, limits=limits)


@FORMS
def test_topics(form: Form) -> None:
    names = [f"T{number}" for number in range(11)]

    assert len(read(form(topics(*names[:10]))).table.topic_configs) == 10
    with pytest.raises(BodyLimitError, match="more than 10 topics in one request"):
        read(form(topics(*names)))


@NEW_FORMS
def test_mappings(form: Form) -> None:
    infos = [wire.mapping_info(f"T{number}", "b", {0: 0}) for number in range(11)]

    assert len(read(form(topics("T"), mappings=infos[:10])).table.topic_queue_mapping_infos) == 10
    with pytest.raises(BodyLimitError, match="more than 10 topics"):
        read(form(topics("T"), mappings=infos))


@NEW_FORMS
def test_filter_servers(form: Form) -> None:
    assert read(form(topics("T"), filter_servers=["a", "b", "c"])).filter_servers == ("a", "b", "c")
    with pytest.raises(BodyLimitError, match="more than 3 filter servers"):
        read(form(topics("T"), filter_servers=["a", "b", "c", "d"]))


@FORMS
def test_topic_names(form: Form) -> None:
    assert list(read(form(topics(LONG))).table.topic_configs) == [LONG]
    with pytest.raises(BodyLimitError, match="a name of more than 20 characters"):
        read(form(topics(LONG + "x")))


def test_a_short_key_does_not_hide_a_long_name() -> None:
    body = {"topicConfigSerializeWrapper": wire.topic_wrapper(), "filterServerList": []}
    body["topicConfigSerializeWrapper"]["topicConfigTable"] = {"T": wire.topic_config(LONG + "x")}  # type: ignore[index]

    with pytest.raises(BodyLimitError, match="a name of"):
        read((json.dumps(body).encode(), 513))


@NEW_FORMS
@pytest.mark.parametrize(
    "more",
    [
        {"filter_servers": [LONG + "x"]},
        {"mappings": [wire.mapping_info(LONG + "x", "b", {0: 0})]},
        {"mappings": [wire.mapping_info("T", LONG + "x", {0: 0})]},
    ],
)
def test_other_names(form: Form, more: dict[str, Any]) -> None:
    with pytest.raises(BodyLimitError, match="a name of"):
        read(form(topics("T"), **more))


@pytest.mark.parametrize("form", [usual, tolerated])
def test_queues_of_one_mapping(form: Form) -> None:
    def infos(count: int) -> list[dict[str, Any]]:
        return [wire.mapping_info("T", "b", dict.fromkeys(range(count), 0))]

    read(form(topics("T"), mappings=infos(MAX_MAPPED_QUEUES)), BodyLimits())
    with pytest.raises(BodyLimitError, match="more than 16384 queues"):
        read(form(topics("T"), mappings=infos(MAX_MAPPED_QUEUES + 1)), BodyLimits())


def test_characters_count_not_bytes() -> None:
    assert list(read(usual(topics("火" * 20))).table.topic_configs) == ["火" * 20]


def test_inflated_bytes() -> None:
    body = wire.compressed_register_body(topics("T1", "T2"))
    size = len(zlib.decompress(body))

    read((body, 513), BodyLimits(max_inflated_bytes=size))
    with pytest.raises(BodyLimitError, match=f"inflates to more than {size - 1} bytes"):
        read((body, 513), BodyLimits(max_inflated_bytes=size - 1))


@pytest.mark.parametrize("count", [11, 2**31 - 1])
def test_a_count_is_refused_when_it_is_announced(count: int) -> None:
    version = b'{"counter":1,"timestamp":1}'
    head = struct.pack(">i", len(version)) + version + struct.pack(">i", count)

    with pytest.raises(BodyLimitError, match="more than 10 topics"):
        read((zlib.compress(head + bytes(50_000)), 513))


def test_more_objects_than_topics_can_have_are_not_even_read() -> None:
    """They would be no topics at all: that is not found out."""
    entries = ",".join(f'"{number}":{{"no":"topic"}}' for number in range(100))
    body = f'{{"topicConfigSerializeWrapper":{{"topicConfigTable":{{{entries}}}}}}}'.encode()

    with pytest.raises(BodyLimitError, match="more than 10 topics"):
        read((body, 513))
    with pytest.raises(MalformedBodyError, match="has no topicName"):
        read((body, 513), BodyLimits())


def test_what_a_frame_of_sixteen_mebibytes_can_hold_is_read() -> None:
    """Sixty thousand topics of real length, by the limits that hold when nobody sets any."""
    table = topics(*(f"a-topic-with-a-name-of-usual-length-{number}" for number in range(60_000)))
    body = wire.dump({"topicConfigSerializeWrapper": wire.topic_wrapper(table), "filterServerList": []})

    assert 10 * 2**20 < len(body) < 16 * 2**20
    assert len(read((body, 513), BodyLimits()).table.topic_configs) == 60_000


def test_queue_datas() -> None:
    def body(*names: str) -> bytes:
        item = {"perm": 6, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0}
        return json.dumps({"queueDatas": [item | {"brokerName": name} for name in names]}).encode()

    assert len(decode_queue_datas(body(*"abcdefghij"), LIMITS)) == 10
    with pytest.raises(BodyLimitError, match="more than 10 topics"):
        decode_queue_datas(body(*"abcdefghijk"), LIMITS)
    with pytest.raises(BodyLimitError, match="a name of"):
        decode_queue_datas(body(LONG + "x"), LIMITS)


def test_a_data_version() -> None:
    blanks = b" " * (64 * 1024 - 2)

    assert decode_data_version(b"{" + blanks + b"}", 1) is not None
    with pytest.raises(BodyLimitError, match="more than 65536 bytes"):
        decode_data_version(b"{ " + blanks + b"}", 1)


@pytest.mark.parametrize("item", [b"[]", b"{}", b"1", b'""'])
def test_values_of_a_document_of_unknown_form(item: bytes) -> None:
    """An empty object takes twenty times its text; a text may hold as many commas as it likes, up to there."""
    whole = b"[" + b",".join([item] * (MAX_VALUES // 2 - 1)) + b"]"
    assert len(parse_lenient(whole)) == MAX_VALUES // 2 - 1
    with pytest.raises(BodyLimitError, match="more than 1000000 values"):
        parse_lenient(b"[" + b",".join([item] * (MAX_VALUES + 1)) + b"]")


def test_values_within_values() -> None:
    with pytest.raises(BodyLimitError, match="values"):
        parse_lenient(b'{"a":[' * 300_000 + b"1" + b"]}" * 300_000 + b',"a":' * 400_001)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 30_000, "nested too deeply"),
        (b"x" * 100_000, "not standard JSON at byte 0"),
        (b'"' + b"x" * 100_000, "not standard JSON"),
        (b"1" * 100_000, "not standard JSON"),
        (b"[" + b"1" * 10_000 + b"]", "is not a value"),
    ],
)
def test_reasons_are_in_words_of_ours(document: bytes, reason: str) -> None:
    with pytest.raises(MalformedBodyError, match=f"{reason}( at character \\d+)?$"):
        parse_lenient(document)
