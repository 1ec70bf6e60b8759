"""The body of REGISTER_BROKER in all its forms.

Owns: which form a body is in; its limits; the value RegisterBrokerBody.
Must not know: what is done with a registration.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.data_version import NO_TABLE, DataVersion, data_version_from_json
from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo, mapping_info_from_json
from cosmodrome.protocol.bodies.topic_config import (
    TopicConfig,
    TopicTable,
    topic_config_from_text,
    topic_table_from_json,
)
from cosmodrome.protocol.json_dialects import parse_lenient, to_text
from cosmodrome.protocol.versions import V3_0_11

MAX_INFLATED_BYTES: Final = 64 * 1024 * 1024
"""Holds over a million topics; an uncompressed body cannot exceed a frame."""

CRC32_MASK: Final = 0x7FFFFFFF
ZLIB_FIRST_BYTE: Final = b"\x78"
_LENGTH: Final = struct.Struct(">i")
_CURR_ID_MAP: Final = re.compile(rb'("currIdMap":\{)([-0-9:,]+)\}')
_BARE_KEY: Final = re.compile(rb"(-?[0-9]+):")


class RegisterBrokerBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker serves. `filter_servers` is None when the broker says nothing about them."""

    table: TopicTable
    filter_servers: tuple[str, ...] | None


def decode_register_broker_body(body: bytes, version: int, *, is_compressed: bool, now_ms: int) -> RegisterBrokerBody:
    """Read a registration body of any release.

    `is_compressed` is what the header says. It is believed for bodies that are not JSON; 5.x brokers with
    `compressedRegister=true` say false over a zlib stream, so the first byte is looked at as well.

    Args:
        body: As received; empty means a broker without topics.
        version: Of the request, already clamped.
        is_compressed: The header's `compressed`.
        now_ms: Wall-clock time, for versions without a timestamp.

    Raises:
        MalformedBodyError: Not readable. Nothing of it may be used.
    """
    if not body:
        return RegisterBrokerBody(table=TopicTable(data_version=NO_TABLE, topic_configs={}), filter_servers=())
    if version < V3_0_11:
        return RegisterBrokerBody(table=topic_table_from_json(parse_lenient(body), now_ms), filter_servers=None)
    if is_compressed or body[:1] == ZLIB_FIRST_BYTE:
        return _decode_compressed(_inflate(body), now_ms)
    return _decode_json(body, now_ms)


def masked_crc32(body: bytes) -> int:
    """Give the checksum as brokers send it: CRC-32 without its top bit; 0 for no body."""
    return zlib.crc32(body) & CRC32_MASK


class _UsualWrapper(msgspec.Struct, rename="camel"):
    data_version: DataVersion
    topic_config_table: dict[str, TopicConfig]
    topic_queue_mapping_info_map: dict[str, Any] | None = None


class _UsualBody(msgspec.Struct, rename="camel"):
    """What Java brokers send; anything else goes the tolerant way."""

    topic_config_serialize_wrapper: _UsualWrapper
    filter_server_list: list[str] | None


_decode_usual: Final = msgspec.json.Decoder(_UsualBody).decode


def _decode_json(body: bytes, now_ms: int) -> RegisterBrokerBody:
    if b'"currIdMap":{' in body:
        body = _quote_curr_id_maps(body)
    try:
        usual = _decode_usual(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_json_tolerantly(body, now_ms)
    wrapper = usual.topic_config_serialize_wrapper
    mappings = wrapper.topic_queue_mapping_info_map or {}
    return RegisterBrokerBody(
        table=TopicTable(
            data_version=wrapper.data_version,
            topic_configs=wrapper.topic_config_table,
            topic_queue_mapping_infos={key: mapping_info_from_json(value) for key, value in mappings.items()},
        ),
        filter_servers=None if usual.filter_server_list is None else tuple(usual.filter_server_list),
    )


def _quote_curr_id_maps(body: bytes) -> bytes:
    """Put quotes around the bare integer keys that every 5.x broker with static topics sends.

    In valid JSON the pattern cannot stand inside a text, where its first quote would be escaped.
    """
    return _CURR_ID_MAP.sub(lambda found: found[1] + _BARE_KEY.sub(rb'"\1":', found[2]) + b"}", body)


def _decode_json_tolerantly(body: bytes, now_ms: int) -> RegisterBrokerBody:
    document = parse_lenient(body)
    if not isinstance(document, dict):
        raise MalformedBodyError("the body is not a RegisterBrokerBody")
    wrapper = document.get("topicConfigSerializeWrapper", {})
    servers = document.get("filterServerList", [])
    return RegisterBrokerBody(table=topic_table_from_json(wrapper, now_ms), filter_servers=_filter_servers(servers))


def _filter_servers(document: Any) -> tuple[str, ...] | None:
    """Read a parsed list of filter servers. COMPAT: what is no list says nothing about them, as in 5.5.0."""
    if not isinstance(document, list):
        return None
    return tuple(text for text in map(to_text, document) if text is not None)


def _inflate(body: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(body, MAX_INFLATED_BYTES)
    except zlib.error as error:
        raise MalformedBodyError(f"the compressed body is damaged: {error}") from error
    if inflater.unconsumed_tail:
        raise MalformedBodyError(f"the compressed body inflates to more than {MAX_INFLATED_BYTES} bytes")
    if not inflater.eof:
        raise MalformedBodyError("the compressed body ends too early")
    if inflater.unused_data:
        raise MalformedBodyError("the compressed body is followed by something else")
    return inflated


def _decode_compressed(inflated: bytes, now_ms: int) -> RegisterBrokerBody:
    pieces = _Pieces(inflated)
    data_version = data_version_from_json(parse_lenient(pieces.next_piece()), now_ms)
    configs: dict[str, TopicConfig] = {}
    for piece in pieces.counted():
        config = topic_config_from_text(_text_of(piece))
        configs[config.topic_name] = config
    filter_servers = _filter_servers(parse_lenient(pieces.next_piece()))
    mappings: dict[str, TopicQueueMappingInfo] = {}
    # By the protocol only writers of 5.0.0 and above append the mappings; bytes that remain are the proof.
    if pieces.has_more:
        for piece in pieces.counted():
            info = mapping_info_from_json(parse_lenient(piece))
            if info.topic is None:
                raise MalformedBodyError("a static-topic mapping has no topic")
            mappings[info.topic] = info
    if pieces.has_more:
        raise MalformedBodyError("bytes follow the compressed body's last part")
    table = TopicTable(data_version=data_version, topic_configs=configs, topic_queue_mapping_infos=mappings)
    return RegisterBrokerBody(table=table, filter_servers=filter_servers)


class _Pieces:
    """Length-prefixed pieces, read in order; no length is believed beyond the bytes that are there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def has_more(self) -> bool:
        return self._position < len(self._data)

    def next_piece(self) -> bytes:
        length = self._length()
        start = self._position
        if start + length > len(self._data):
            raise MalformedBodyError("a length in the compressed body reaches beyond it")
        self._position = start + length
        return self._data[start : start + length]

    def counted(self) -> Iterator[bytes]:
        for _ in range(self._length()):
            yield self.next_piece()

    def _length(self) -> int:
        if self._position + _LENGTH.size > len(self._data):
            raise MalformedBodyError("the compressed body ends inside a length")
        (length,) = _LENGTH.unpack_from(self._data, self._position)
        self._position += _LENGTH.size
        if length < 0:
            raise MalformedBodyError(f"bad length {length} in the compressed body")
        return int(length)


def _text_of(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
