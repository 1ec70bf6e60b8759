"""The body of REGISTER_BROKER in all its forms."""

import struct
import zlib

import pytest
from tests.support import wire
from tests.support.builders import mapping

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies import register_broker
from cosmodrome.protocol.bodies.register_broker import RegisterBrokerBody, decode_register_broker_body, masked_crc32

NOW_MS = 1_800_000_000_000
TABLE = [wire.topic_config("T1", 8, 8, 6), wire.topic_config("T2", 1, 2, 4, 3)]


def read(body: bytes, *, version: int = 513, compressed: bool = False) -> RegisterBrokerBody:
    return decode_register_broker_body(body, version, is_compressed=compressed, now_ms=NOW_MS)


def test_no_body_is_a_broker_without_topics() -> None:
    body = read(b"")

    assert body.table.topic_configs == {}
    assert body.table.data_version.timestamp == 0
    assert body.filter_servers == ()


def test_json() -> None:
    body = read(wire.register_body(TABLE, filter_servers=["f:1"]))

    assert [
        (config.topic_name, config.perm, config.topic_sys_flag) for config in body.table.topic_configs.values()
    ] == [
        ("T1", 6, 0),
        ("T2", 4, 3),
    ]
    assert body.filter_servers == ("f:1",)


def test_bare_keys_of_static_topics_go_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 5.x broker with static topics sends them."""
    monkeypatch.setattr(register_broker, "_decode_json_tolerantly", lambda *_: pytest.fail("the tolerant way"))
    infos = [wire.mapping_info("T1", "broker-a", {0: 0, 4: 1, -1: 7}), wire.mapping_info("T2", "broker-a", {})]
    sent = wire.register_body(TABLE, mappings=infos)
    assert b'"currIdMap":{0:0,4:1,-1:7}' in sent

    found = read(sent).table.topic_queue_mapping_infos

    assert found["T1"] == mapping("T1", "broker-a", {0: 0, 4: 1, -1: 7})
    assert found["T2"].curr_id_map == {}


def test_a_text_that_looks_like_a_map_is_left_alone() -> None:
    name = '"currIdMap":{0:0}'

    body = read(wire.register_body([wire.topic_config(name), wire.topic_config("T2")]))

    assert list(body.table.topic_configs) == [name, "T2"]


@pytest.mark.parametrize(
    ("servers", "read_as"),
    [("", ()), ('"filterServerList":null,', None), ('"filterServerList":[],', ()), ('"filterServerList":["f",null,7],', ("f", "7")),
     ('"filterServerList":7,', None), ('"filterServerList":"x",', None)],
)  # fmt: skip
def test_filter_servers(servers: str, read_as: tuple[str, ...] | None) -> None:
    """Absent is empty, null is "as they were"; what is no list says nothing, as in 5.5.0."""
    body = f'{{{servers}"topicConfigSerializeWrapper":{{"dataVersion":{{"timestamp":1}}}}}}'

    assert read(body.encode()).filter_servers == read_as


def test_an_empty_object_is_an_empty_table_of_now() -> None:
    assert read(b"{}").table.data_version.timestamp == NOW_MS
    assert read(b'{"topicConfigSerializeWrapper":{}}').table.topic_configs == {}


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"7",
        b"x",
        b" ",
        b'{"topicConfigSerializeWrapper":null}',
        b'{"topicConfigSerializeWrapper":7}',
        b"\xff",
    ],
)
def test_what_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        read(body)


def test_numbers_beyond_a_long_are_refused() -> None:
    for name in ("counter", "stateVersion", "timestamp"):
        version = wire.data_version() | {name: 2**63}
        with pytest.raises(MalformedBodyError, match="out of range"):
            read(wire.register_body(TABLE, version))


@pytest.mark.parametrize("version", [0, 36])
def test_old_bodies_are_the_bare_wrapper(version: int) -> None:
    """They say nothing about filter servers, and `compressed` is ignored, as in Java."""
    body = read(wire.old_register_body(TABLE), version=version, compressed=True)

    assert list(body.table.topic_configs) == ["T1", "T2"]
    assert body.filter_servers is None


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("version", [37, 401, 413, 513])
def test_compressed(*, compressed: bool, version: int) -> None:
    """5.x brokers say `compressed=false` over a zlib stream."""
    infos = [wire.mapping_info("T1", "broker-a", {0: 0})]
    sent = wire.compressed_register_body(TABLE, filter_servers=["f:1"], mappings=infos)

    body = read(sent, version=version, compressed=compressed)

    assert [config.perm for config in body.table.topic_configs.values()] == [6, 4]
    assert [config.topic_sys_flag for config in body.table.topic_configs.values()] == [0, 0]
    assert body.filter_servers == ("f:1",)
    assert body.table.topic_queue_mapping_infos == {"T1": mapping("T1")}


def test_compressed_bodies_of_4x_end_before_the_mappings() -> None:
    body = read(wire.compressed_register_body(TABLE, mappings=None), version=407, compressed=True)

    assert len(body.table.topic_configs) == 2
    assert body.table.topic_queue_mapping_infos == {}


def test_a_body_in_json_though_compressed_is_said() -> None:
    with pytest.raises(MalformedBodyError, match="is damaged"):
        read(wire.register_body(TABLE), compressed=True)


def piece(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


VERSION, NO_TOPICS, SERVERS = piece(b"{}"), struct.pack(">i", 0), piece(b"[]")
SMALL = VERSION + NO_TOPICS + SERVERS


@pytest.mark.parametrize(
    ("inflated", "reason"),
    [
        (b"", "ends inside a length"),
        (b"\0\0", "ends inside a length"),
        (struct.pack(">i", -1), "bad length -1"),
        (struct.pack(">i", 100) + b"{}", "reaches beyond it"),
        (VERSION, "ends inside a length"),
        (VERSION + struct.pack(">i", -5), "bad length -5"),
        (VERSION + struct.pack(">i", 2**31 - 1), "more than 200000 topics in one request"),
        (VERSION + struct.pack(">i", 200_000), "ends inside a length"),
        (VERSION + struct.pack(">i", 1) + piece(b"T 1"), "fields instead of 5"),
        (VERSION + NO_TOPICS, "ends inside a length"),
        (VERSION + NO_TOPICS + piece(b""), "the document ends too early"),
        (SMALL + b"\0", "ends inside a length"),
        (SMALL + struct.pack(">i", 1) + piece(b"{}"), "has no topic"),
        (SMALL + struct.pack(">i", 1) + piece(b"[]"), "is not an object"),
        (SMALL + NO_TOPICS + b"x", "bytes follow"),
        (piece(b"[]") + NO_TOPICS + SERVERS, "is not an object"),
    ],
)
def test_compressed_bodies_that_are_refused(inflated: bytes, reason: str) -> None:
    with pytest.raises(MalformedBodyError, match=reason):
        read(zlib.compress(inflated))


def test_the_smallest_compressed_body() -> None:
    body = read(zlib.compress(SMALL))

    assert body.table.topic_configs == {}
    assert body.table.data_version.timestamp == NOW_MS


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (zlib.compress(SMALL)[:-1], "ends too early"),
        (zlib.compress(SMALL) + b"x", "followed by something else"),
        (b"\x78nonsense", "is damaged"),
        (b"\x78", "ends too early"),
    ],
)
def test_streams_that_are_refused(stream: bytes, reason: str) -> None:
    with pytest.raises(MalformedBodyError, match=reason):
        read(stream)


def test_of_topics_sent_twice_the_last_counts() -> None:
    body = read(wire.compressed_register_body([wire.topic_config("T", perm=6), wire.topic_config("T", perm=4)]))

    assert [config.perm for config in body.table.topic_configs.values()] == [4]


@pytest.mark.parametrize(("body", "crc"), [(b"{}", 598130499), (b"123456789", 1274296614), (b"", 0)])
def test_checksums_have_no_top_bit(body: bytes, crc: int) -> None:
    """The vectors are those of the specification, A5."""
    assert masked_crc32(body) == crc
