"""Bodies of REGISTER_BROKER in all their forms."""

import hashlib
import zlib
from typing import Any, Final
from unittest import mock

from tests.support import wire

from cosmodrome.errors import IrregularTableError, MalformedBodyError
from cosmodrome.protocol.bodies import json_table, register_broker
from cosmodrome.protocol.bodies.register_broker import (
    RegisterBrokerBody,
    decode_register_broker_body,
    is_json_body,
    outlined_body_in_slices,
)
from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo, TopicRouteData, encode_topic_route
from cosmodrome.protocol.bodies.table_outline import outline_in_slices
from cosmodrome.protocol.bodies.topic_config import TopicConfig, TopicTable, shape_of
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.slices import at_once
from fuzz.script import Script
from fuzz.values import item_count, text_size

_KEYED: Final = hashlib.blake2b(b"of this process")
_NOW_MS: Final = 1_800_000_000_000
_VERSIONS: Final = (513, 401, 37, 36, 0, -1)
_INT32: Final = range(-(2**31), 2**31)
_GROWTH: Final = 8
_NOT_LENIENT: Final = ("nested too deeply", "is not a value", "unreadable")
_SMALLEST_TOPIC_BYTES: Final = 8


def registration_body(data: bytes) -> None:
    """A body is read or refused; all ways of reading JSON agree; what is read can be served and sent again."""
    script = Script(data)
    version = script.choice(_VERSIONS)
    mode = script.byte()
    is_compressed, is_deflated = mode & 1 == 1, mode & 2 == 2
    content = script.rest()
    body = zlib.compress(content, 1) if is_deflated else content
    read = _read(body, version, is_compressed=is_compressed)
    if not is_compressed and body[:1] not in (register_broker.ZLIB_FIRST_BYTE, b""):
        _check_tolerant_way(body, version, read)
    if mode & 0x0C == 0x0C:
        with mock.patch.multiple(json_table, SHORT_BYTES=0, PIECE_BYTES=1 + (mode >> 4) * 8):
            assert _read(body, version, is_compressed=is_compressed) == read, "read in pieces it is another"
            if is_json_body(body, version, is_compressed=is_compressed):
                _check_stretches(body, read)
    if read is not None:
        _check(read, max(len(content), _inflated_size(body)))
        _check_again(read)
        _check_servable(read)


def _read(body: bytes, version: int, *, is_compressed: bool) -> RegisterBrokerBody | None:
    try:
        return decode_register_broker_body(body, version, is_compressed=is_compressed, now_ms=_NOW_MS)
    except MalformedBodyError:
        return None


def _check_tolerant_way(body: bytes, version: int, read: RegisterBrokerBody | None) -> None:
    """With a comment behind it a body takes the slowest way; but for what that cannot read, it is the same body."""
    try:
        tolerant = decode_register_broker_body(body + b"\n//", version, is_compressed=False, now_ms=_NOW_MS)
    except MalformedBodyError as error:
        assert read is None or any(reason in str(error) for reason in _NOT_LENIENT), error
        return
    assert read == tolerant


def _check_stretches(body: bytes, read: RegisterBrokerBody | None) -> None:
    """Read by stretches it is the same body, unless it is irregular; and all of it is known the next time."""
    outline = at_once(outline_in_slices(body, (), _KEYED))
    if outline is None:
        return
    try:
        around = at_once(outlined_body_in_slices(body, outline, None))
        table = around.table.written
        stretches = list(table or ())
    except IrregularTableError:
        return
    except MalformedBodyError:
        assert read is None
        return
    names = [name for stretch in stretches for name in stretch.names]
    if len(set(names)) < len(names):
        return
    assert table is not None
    assert read is not None
    shapes = [shape for stretch in stretches for shape in stretch.shapes or ()]
    configs = read.table.topic_configs
    assert (names, shapes) == (list(configs), list(map(shape_of, configs.values())))
    assert around.filter_servers == read.filter_servers
    assert around.table.topic_queue_mapping_infos == read.table.topic_queue_mapping_infos
    known = table.known_with([stretch.names for stretch in stretches])
    again = at_once(outline_in_slices(body, known, _KEYED))
    assert again is not None
    assert [one.known for one in again.stretches] == list(known) or not known


def _inflated_size(body: bytes) -> int:
    try:
        return len(zlib.decompress(body))
    except zlib.error:
        return 0


def _check(read: RegisterBrokerBody, size: int) -> None:
    """What is read is no larger than what was sent, and its numbers fit their fields."""
    configs = read.table.topic_configs
    assert len(configs) * _SMALLEST_TOPIC_BYTES <= size
    assert item_count(read) <= size
    assert text_size(read) <= _GROWTH * size + 16 * len(read.table.topic_queue_mapping_infos)
    for config in configs.values():
        for number in (config.perm, config.read_queue_nums, config.write_queue_nums, config.topic_sys_flag):
            assert number in _INT32


def _check_again(read: RegisterBrokerBody) -> None:
    """Read again what an independent writer makes of it."""
    table = read.table
    version = {"stateVersion": table.data_version.state_version, "timestamp": table.data_version.timestamp}
    wrapper: dict[str, Any] = {
        "dataVersion": version | {"counter": table.data_version.counter},
        "topicConfigTable": {key: _topic_json(config) for key, config in table.topic_configs.items()},
        "topicQueueMappingInfoMap": {key: _mapping_json(info) for key, info in table.topic_queue_mapping_infos.items()},
    }
    servers = None if read.filter_servers is None else list(read.filter_servers)
    body = wire.dump({"filterServerList": servers, "topicConfigSerializeWrapper": wrapper})
    assert decode_register_broker_body(body, 513, is_compressed=False, now_ms=0) == read
    if servers is not None and _fits_compressed_form(read.table):
        topics, mappings = wrapper["topicConfigTable"].values(), wrapper["topicQueueMappingInfoMap"].values()
        body = wire.compressed_register_body(
            topics, wrapper["dataVersion"], filter_servers=servers, mappings=list(mappings)
        )
        assert decode_register_broker_body(body, 513, is_compressed=True, now_ms=0) == read


def _fits_compressed_form(table: TopicTable) -> bool:
    """Whether nothing is lost where a topic is a text cut at blanks, without a key of its own and without flags."""
    topics, mappings = table.topic_configs, table.topic_queue_mapping_infos
    return (
        all(key == each.topic_name and " " not in key and each.topic_sys_flag == 0 for key, each in topics.items())
        and all(key == each.topic for key, each in mappings.items())
    )  # fmt: skip


def _topic_json(config: TopicConfig) -> dict[str, Any]:
    return wire.topic_config(
        config.topic_name, config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag
    )


def _mapping_json(info: TopicQueueMappingInfo) -> dict[str, Any]:
    ids = info.curr_id_map
    return {
        "bname": info.bname, "currIdMap": None if ids is None else {str(key): value for key, value in ids.items()},
        "dirty": info.dirty, "epoch": info.epoch, "scope": info.scope, "topic": info.topic,
        "totalQueues": info.total_queues,
    }  # fmt: skip


def _check_servable(read: RegisterBrokerBody) -> None:
    """Each topic can be put into a route that an independent reader reads."""
    servers = tuple(read.filter_servers or ())
    for config in read.table.topic_configs.values():
        queue = QueueData(
            broker_name=config.topic_name, perm=config.perm, read_queue_nums=config.read_queue_nums,
            topic_sys_flag=config.topic_sys_flag, write_queue_nums=config.write_queue_nums,
        )  # fmt: skip
        route = TopicRouteData(
            broker_datas=(), queue_datas=(queue,), filter_server_table={config.topic_name: servers},
            topic_queue_mapping_by_broker=dict(read.table.topic_queue_mapping_infos),
        )  # fmt: skip
        document = wire.parse_body(encode_topic_route(route, JsonDialect.PLAIN))
        assert document["queueDatas"][0]["brokerName"] == config.topic_name
        assert document["filterServerTable"] == {config.topic_name: list(servers)}
        return
