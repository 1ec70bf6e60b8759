"""Bodies of requests, for any content."""

import zlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import wire

from cosmodrome.errors import MalformedBodyError
from cosmodrome.namesrv.kv_config import decode_kv_file, encode_kv_file
from cosmodrome.protocol.bodies import register_broker
from cosmodrome.protocol.bodies.data_version import DataVersion, decode_data_version, encode_data_version
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body
from cosmodrome.protocol.bodies.route import (
    BrokerData,
    QueueData,
    TopicQueueMappingInfo,
    TopicRouteData,
    decode_queue_datas,
    encode_topic_route,
)
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.slices import at_once

NOW_MS = 1_800_000_000_000

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
data_versions = st.builds(DataVersion, counter=int64s, state_version=int64s, timestamp=int64s)
queue_datas = st.builds(
    QueueData, broker_name=texts, perm=int32s, read_queue_nums=int32s, topic_sys_flag=int32s, write_queue_nums=int32s
)
broker_datas = st.builds(
    BrokerData,
    broker_addrs=st.dictionaries(int64s, texts, min_size=1, max_size=4),
    broker_name=texts,
    cluster=texts,
    enable_acting_master=st.booleans(),
    zone_name=st.none() | texts,
)
mapping_infos = st.builds(
    TopicQueueMappingInfo,
    topic=st.none() | texts,
    bname=st.none() | texts,
    curr_id_map=st.none() | st.dictionaries(int32s, int32s, max_size=4),
    dirty=st.booleans(),
    epoch=int64s,
    scope=st.none() | texts,
    total_queues=int32s,
)
routes = st.builds(
    TopicRouteData,
    broker_datas=st.lists(broker_datas, max_size=3).map(tuple),
    queue_datas=st.lists(queue_datas, max_size=3).map(tuple),
    filter_server_table=st.dictionaries(texts, st.lists(texts, max_size=2).map(tuple), max_size=2),
    order_topic_conf=st.none() | texts,
    topic_queue_mapping_by_broker=st.none() | st.dictionaries(texts, mapping_infos, max_size=2),
)

# Topic texts of compressed registrations are split at blanks.
names = st.text("abcXYZ%_-09é", min_size=1, max_size=8)
topic_configs = st.builds(wire.topic_config, name=names, read=int32s, write=int32s, perm=int32s, sys_flag=st.just(0))
tables = st.lists(topic_configs, max_size=5, unique_by=lambda config: str(config["topicName"]))
versions = st.builds(wire.data_version, int64s, int64s, int64s)
mappings = st.lists(
    st.builds(wire.mapping_info, names, names, st.dictionaries(int32s, int32s, max_size=3)),
    max_size=2,
    unique_by=lambda info: str(info["topic"]),
)
servers = st.lists(texts, max_size=2)
garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def read(body: bytes, *, version: int = 513, compressed: bool = False) -> register_broker.RegisterBrokerBody:
    return decode_register_broker_body(body, version, is_compressed=compressed, now_ms=NOW_MS)


@given(data_versions)
def test_a_data_version_survives(version: DataVersion) -> None:
    assert decode_data_version(encode_data_version(version), NOW_MS) == version


@given(int64s, int64s)
def test_a_data_version_without_counter_reads_as_zero(state_version: int, timestamp: int) -> None:
    """A null counter is not written, and an absent one counts as 0."""
    version = DataVersion(counter=None, state_version=state_version, timestamp=timestamp)

    again = decode_data_version(encode_data_version(version), NOW_MS)

    assert again == DataVersion(counter=0, state_version=state_version, timestamp=timestamp)


@given(routes)
def test_a_route_is_the_same_value_in_both_dialects(route: TopicRouteData) -> None:
    plain, standard = (encode_topic_route(route, dialect) for dialect in JsonDialect)
    value = wire.parse_body(plain)

    assert value == wire.parse_body(standard)
    assert [data["brokerName"] for data in value["brokerDatas"]] == [data.broker_name for data in route.broker_datas]
    assert [data["brokerAddrs"] for data in value["brokerDatas"]] == [
        {str(id_): addr for id_, addr in data.broker_addrs.items()} for data in route.broker_datas
    ]
    assert value.get("orderTopicConf") == route.order_topic_conf
    assert list(value) == sorted(value)


@given(routes)
def test_queue_datas_survive_a_route(route: TopicRouteData) -> None:
    for dialect in JsonDialect:
        assert decode_queue_datas(encode_topic_route(route, dialect)) == route.queue_datas


@given(tables, versions, servers, mappings)
def test_all_forms_of_a_registration_say_the_same(
    table: list[Any], version: Any, filters: list[str], infos: list[Any]
) -> None:
    plain = read(wire.register_body(table, version, filter_servers=filters, mappings=infos))
    small = wire.compressed_register_body(table, version, filter_servers=filters, mappings=infos)

    assert read(small, compressed=True) == plain
    assert read(small, compressed=False) == plain, "5.x brokers say false"
    old = read(wire.old_register_body(table, version), version=36)
    assert old.table.topic_configs == plain.table.topic_configs
    assert old.table.data_version == plain.table.data_version
    assert old.filter_servers is None


@given(tables, versions, servers, mappings)
def test_the_fast_and_the_tolerant_way_agree(
    table: list[Any], version: Any, filters: list[str], infos: list[Any]
) -> None:
    body = wire.register_body(table, version, filter_servers=filters, mappings=infos)

    assert at_once(register_broker._decode_json_tolerantly(body, NOW_MS)) == read(body)


@given(st.data(), tables, mappings)
def test_any_value_in_any_place_is_read_alike_or_refused(
    data: st.DataObject, table: list[Any], infos: list[Any]
) -> None:
    """What the fast way takes, the tolerant way takes and understands alike."""
    document: Any = {
        "filterServerList": [],
        "topicConfigSerializeWrapper": wire.topic_wrapper(table, wire.data_version(), mappings=infos),
    }
    _spoil(data, document)
    body = wire.dump_bare(document)
    try:
        tolerant = at_once(register_broker._decode_json_tolerantly(body, NOW_MS))
    except MalformedBodyError:
        tolerant = None
    try:
        fast = read(body)
    except MalformedBodyError:
        fast = None
    assert fast == tolerant


def _spoil(data: st.DataObject, document: Any) -> None:
    """Walk to some place of a document, and put something else there or take it away."""
    while True:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = data.draw(st.sampled_from(keys))
        inner = document[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.integers(0, 4)):
            document = inner
            continue
        if isinstance(document, dict) and data.draw(st.integers(0, 3)) == 0:
            del document[key]
        else:
            document[key] = data.draw(garbage)
        return


@given(body=st.binary(max_size=80), version=st.sampled_from([0, 36, 37, 401, 413, 513]), compressed=st.booleans())
def test_any_bytes_are_a_registration_or_a_documented_error(body: bytes, version: int, *, compressed: bool) -> None:
    for candidate in (body, zlib.compress(body), b"\x78" + body):
        try:
            read(candidate, version=version, compressed=compressed)
        except MalformedBodyError:
            continue


@given(tables, st.integers(0, 400), st.integers(0, 255))
def test_a_spoiled_byte_of_a_compressed_registration(table: list[Any], place: int, byte: int) -> None:
    inflated = bytearray(zlib.decompress(wire.compressed_register_body(table)))
    inflated[place % len(inflated)] = byte
    try:
        read(zlib.compress(bytes(inflated)))
    except MalformedBodyError:
        return


@given(tables, st.integers(1, 400))
def test_a_compressed_registration_cut_short_is_refused(table: list[Any], missing: int) -> None:
    """Only a cut at the place where 4.x bodies end, and an empty body, can be read."""
    inflated = zlib.decompress(wire.compressed_register_body(table))
    shorter = inflated[:-missing]
    whole = zlib.decompress(wire.compressed_register_body(table, mappings=None))
    try:
        read(zlib.compress(shorter))
    except MalformedBodyError:
        assert shorter != whole
    else:
        assert shorter == whole


@given(tables, st.integers(1, 40))
def test_a_stream_cut_short_or_followed_by_something_is_refused(table: list[Any], count: int) -> None:
    body = wire.compressed_register_body(table)
    for candidate in (body[:-count], body + b"\0" * count):
        try:
            read(candidate, compressed=True)
        except MalformedBodyError:
            continue
        assert not candidate, "only an absent body means a broker without topics"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_data_version_or_a_documented_error(body: bytes) -> None:
    for decode in (lambda: decode_data_version(body, NOW_MS), lambda: decode_queue_datas(body)):
        try:
            decode()
        except MalformedBodyError:
            continue


@given(garbage)
def test_any_json_is_a_data_version_or_a_documented_error(document: Any) -> None:
    for value in (
        document,
        {"counter": document},
        {"queueDatas": [document]},
        {"queueDatas": [{"brokerName": document}]},
    ):
        body = wire.dump(value)
        for decode in (lambda body=body: decode_data_version(body, NOW_MS), lambda body=body: decode_queue_datas(body)):
            try:
                decode()
            except MalformedBodyError:
                continue


@given(st.dictionaries(texts, st.dictionaries(texts, texts, max_size=3), max_size=3))
def test_a_kv_file_survives(kv_tables: dict[str, dict[str, str]]) -> None:
    assert decode_kv_file(encode_kv_file(kv_tables)) == kv_tables


@given(st.binary(max_size=60))
def test_any_bytes_are_a_kv_file_or_a_documented_error(data: bytes) -> None:
    try:
        decoded = decode_kv_file(data)
    except MalformedBodyError:
        return
    assert decode_kv_file(encode_kv_file(decoded)) == decoded


@given(garbage)
def test_any_json_is_a_kv_file_or_a_documented_error(document: Any) -> None:
    for value in (
        document,
        {"configTable": document},
        {"configTable": {"n": document}},
        {"configTable": {"n": {"k": document}}},
    ):
        try:
            decoded = decode_kv_file(wire.dump(value))
        except MalformedBodyError:
            continue
        assert all(isinstance(text, str) for table in decoded.values() for text in table.values())
