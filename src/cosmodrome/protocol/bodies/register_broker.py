"""The body of REGISTER_BROKER in all its forms.

Owns: which form a body is in; its limits; the value RegisterBrokerBody.
Must not know: what is done with a registration.
"""

import re
import zlib
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import msgspec

from cosmodrome.errors import IrregularTableError, MalformedBodyError
from cosmodrome.protocol.bodies.compressed_pieces import CompressedPieces
from cosmodrome.protocol.bodies.data_version import NO_TABLE, DataVersion, data_version_from_json
from cosmodrome.protocol.bodies.json_table import STAND_IN, AroundTable, around_table, cut_body
from cosmodrome.protocol.bodies.outlined_table import OutlinedTable
from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo, mapping_info_from_json
from cosmodrome.protocol.bodies.table_outline import Outline
from cosmodrome.protocol.bodies.text_table import TextTable, TopicTexts
from cosmodrome.protocol.bodies.topic_config import (
    TopicConfig,
    TopicTable,
    topic_table_in_slices,
)
from cosmodrome.protocol.bodies.topic_stretches import WrittenTable
from cosmodrome.protocol.json_dialects import parse_lenient, to_text
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits
from cosmodrome.protocol.slices import Slices, at_once
from cosmodrome.protocol.versions import V3_0_11

CRC32_MASK: Final = 0x7FFFFFFF
ZLIB_FIRST_BYTE: Final = b"\x78"
SLICE_BYTES: Final = 512 * 1024
"""How much of a body is digested without a pause: about half a millisecond."""
# Possessive, and anchored at what stands before a key: a long run of digits is looked at once.
_CURR_ID_MAP: Final = re.compile(rb'("currIdMap":\{)([-0-9:,]++)\}')
_BARE_KEY: Final = re.compile(rb"(?:(?<=,)|^)(-?[0-9]++):")
_SMALLEST_TOPIC_BYTES: Final = len(b'"":{"topicName":""},')
# Its address may hold some.
_COMMAS_PER_SERVER: Final = 4
# A topic has an object and one for its attributes, a mapping likewise; empty ones are none of these.
_OBJECTS_PER_TOPIC: Final = 4
# Each takes well under a millisecond.
_SLICE_TOPICS: Final = 2000
_SLICE_TEXTS: Final = 200
_SLICE_PIECES: Final = 1000
_topic_name: Final = attrgetter("topic_name")


class RegisterBrokerBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker serves. `filter_servers` is None when the broker says nothing about them."""

    table: TopicTable
    filter_servers: tuple[str, ...] | None


def decode_register_broker_body(
    body: bytes, version: int, *, is_compressed: bool, now_ms: int, limits: BodyLimits = DEFAULT_LIMITS
) -> RegisterBrokerBody:
    """Read a registration body of any release.

    `is_compressed` is what the header says. It is believed for bodies that are not JSON; 5.x brokers with
    `compressedRegister=true` say false over a zlib stream, so the first byte is looked at as well.

    Args:
        body: As received; empty means a broker without topics.
        version: Of the request, already clamped.
        is_compressed: The header's `compressed`.
        now_ms: Wall-clock time, for versions without a timestamp.
        limits: How much it may hold.

    Raises:
        MalformedBodyError: Not readable. Nothing of it may be used.
        BodyLimitError: It holds more than `limits` allow.
    """
    return at_once(
        register_broker_body_in_slices(body, version, is_compressed=is_compressed, now_ms=now_ms, limits=limits)
    )


def register_broker_body_in_slices(
    body: bytes, version: int, *, is_compressed: bool, now_ms: int, limits: BodyLimits = DEFAULT_LIMITS
) -> Slices[RegisterBrokerBody]:
    """Read a registration body as `decode_register_broker_body` does, with pauses."""
    if not body:
        return RegisterBrokerBody(table=TopicTable(data_version=NO_TABLE, topic_configs={}), filter_servers=())
    if version < V3_0_11:
        table = yield from topic_table_in_slices(parse_lenient(body), now_ms)
        decoded = RegisterBrokerBody(table=table, filter_servers=None)
    elif is_compressed_body(body, version, is_compressed=is_compressed):
        decoded = yield from compressed_body_in_slices(body, now_ms, limits)
        decoded = yield from _with_configs(decoded)
    else:
        yield from _check_object_count(body, limits)
        decoded = yield from _decode_json(body, now_ms, limits)
    yield from _check(decoded, limits)
    return decoded


def is_json_body(body: bytes, version: int, *, is_compressed: bool) -> bool:
    """Whether a body is to be read as a RegisterBrokerBody in JSON."""
    return bool(body) and version >= V3_0_11 and not is_compressed and body[:1] != ZLIB_FIRST_BYTE


def is_compressed_body(body: bytes, version: int, *, is_compressed: bool) -> bool:
    """Whether a body is to be read as a compressed RegisterBrokerBody."""
    return bool(body) and version >= V3_0_11 and (is_compressed or body[:1] == ZLIB_FIRST_BYTE)


def compressed_body_in_slices(
    body: bytes, now_ms: int, limits: BodyLimits = DEFAULT_LIMITS
) -> Slices[RegisterBrokerBody]:
    """Read a compressed registration body; its topics are in `written`, where a name may be twice.

    Raises:
        MalformedBodyError: As `decode_register_broker_body`.
    """
    decoded = yield from _decode_compressed(CompressedPieces(body, limits.max_inflated_bytes), now_ms, limits)
    yield from _check(decoded, limits)
    return decoded


def _with_configs(body: RegisterBrokerBody) -> Slices[RegisterBrokerBody]:
    """Put the topics of a written table under their names."""
    table, configs = body.table, dict[str, TopicConfig]()
    for number, config in enumerate(TextTable(table.written or ()).configs(), 1):
        configs[config.topic_name] = config
        if number % _SLICE_TOPICS == 0:
            yield
    return msgspec.structs.replace(body, table=msgspec.structs.replace(table, topic_configs=configs, written=None))


def outlined_body_in_slices(
    body: bytes, outline: Outline, replaced: frozenset[str] | None, limits: BodyLimits = DEFAULT_LIMITS
) -> Slices[RegisterBrokerBody]:
    """Read a registration body in JSON but for its table, which is read while it is compared.

    Args:
        body: As received.
        outline: Of this body.
        replaced: As WrittenTable has it.
        limits: How much it may hold.

    Raises:
        IrregularTableError: It must be read by `register_broker_body_in_slices`.
        MalformedBodyError: Not readable. Nothing of it may be used.
    """
    usual = _decode_around(around_table(body, outline.start, outline.end))
    if usual is None:
        raise IrregularTableError("the table is not where it was looked for")
    decoded = yield from _of_usual(usual, limits, OutlinedTable(body, outline, limits, replaced))
    yield from _check(decoded, limits)
    return decoded


def _check_object_count(body: bytes, limits: BodyLimits) -> Slices[None]:
    """Refuse a body that can only hold too many topics, before any of them takes memory."""
    if len(body) > limits.max_topics * _SMALLEST_TOPIC_BYTES:
        objects = 0
        for start in range(0, len(body), SLICE_BYTES):
            end = start + SLICE_BYTES
            objects += body.count(b"{", start, end) - body.count(b"{}", start, end + 1)
            yield
        limits.check_topics(objects // _OBJECTS_PER_TOPIC)


def _check(body: RegisterBrokerBody, limits: BodyLimits) -> Slices[None]:
    table, servers = body.table, body.filter_servers or ()
    mappings = table.topic_queue_mapping_infos
    limits.check_topics(max(len(table.topic_configs), len(mappings)))
    limits.check_filter_servers(len(servers))
    keys, configs = iter(table.topic_configs), iter(table.topic_configs.values())
    while some := list(islice(configs, _SLICE_TOPICS)):
        limits.check_names(islice(keys, _SLICE_TOPICS))
        limits.check_names(map(_topic_name, some))
        yield
    limits.check_names(servers)
    for number, (key, info) in enumerate(mappings.items(), 1):
        limits.check_names(filter(None, (key, info.topic, info.bname, info.scope)))
        if number % _SLICE_TOPICS == 0:
            yield


def masked_crc32(body: bytes) -> int:
    """Give the checksum as brokers send it: CRC-32 without its top bit; 0 for no body."""
    return at_once(masked_crc32_in_slices(body))


def masked_crc32_in_slices(body: bytes) -> Slices[int]:
    """Give the checksum, with pauses."""
    crc = 0
    with memoryview(body) as view:
        for start in range(0, len(body), SLICE_BYTES):
            if start:
                yield
            crc = zlib.crc32(view[start : start + SLICE_BYTES], crc)
    return crc & CRC32_MASK


class _UsualWrapper(msgspec.Struct, rename="camel"):
    data_version: DataVersion
    topic_config_table: dict[str, TopicConfig]
    # Read one by one: what is not known yet may take many times its text.
    topic_queue_mapping_info_map: dict[str, msgspec.Raw] | None = None


class _UsualBody(msgspec.Struct, rename="camel"):
    """What Java brokers send; anything else goes the tolerant way."""

    topic_config_serialize_wrapper: _UsualWrapper
    filter_server_list: msgspec.Raw


_decode_usual: Final = msgspec.json.Decoder(_UsualBody).decode
_decode_table: Final = msgspec.json.Decoder(dict[str, TopicConfig]).decode
_STAND_IN: Final = _decode_table(STAND_IN)
_NOT_USUAL: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def _decode_json(body: bytes, now_ms: int, limits: BodyLimits) -> Slices[RegisterBrokerBody]:
    usual = yield from _decode_usual_in_pieces(body)
    if usual is None:
        if b'"currIdMap":{' in body:
            body = _quote_curr_id_maps(body)
        try:
            usual = _decode_usual(body)
        except _NOT_USUAL:
            return (yield from _decode_json_tolerantly(body, now_ms))
    return (yield from _of_usual(usual, limits))


def _of_usual(usual: _UsualBody, limits: BodyLimits, written: WrittenTable | None = None) -> Slices[RegisterBrokerBody]:
    wrapper = usual.topic_config_serialize_wrapper
    mappings = wrapper.topic_queue_mapping_info_map or {}
    limits.check_topics(max(len(mappings), len(wrapper.topic_config_table)))
    servers = bytes(usual.filter_server_list)
    limits.check_filter_servers(servers.count(b",") // _COMMAS_PER_SERVER)
    infos: dict[str, TopicQueueMappingInfo] = {}
    for number, (key, value) in enumerate(mappings.items(), 1):
        infos[key] = mapping_info_from_json(parse_lenient(bytes(value)))
        if number % _SLICE_TEXTS == 0:
            yield
    return RegisterBrokerBody(
        table=TopicTable(
            data_version=wrapper.data_version,
            topic_configs=wrapper.topic_config_table,
            topic_queue_mapping_infos=infos,
            written=written,
        ),
        filter_servers=_filter_servers(parse_lenient(servers)),
    )


def _decode_usual_in_pieces(body: bytes) -> Slices[_UsualBody | None]:
    """Read a long body of the usual kind; None when it is another, or must be read whole to say what is wrong."""
    cut = yield from cut_body(body)
    if cut is None:
        return None
    usual = _decode_around(cut.around)
    if usual is None:
        return None
    table: dict[str, TopicConfig] = {}
    try:
        for piece in cut.pieces:
            table.update(_decode_table(piece))
            yield
    except _NOT_USUAL:
        return None
    usual.topic_config_serialize_wrapper.topic_config_table = table
    return usual


def _decode_around(around: AroundTable) -> _UsualBody | None:
    """Read what is around a table, which is empty then; None when it is of another kind."""
    try:
        usual = _decode_usual(_quote_curr_id_maps(around.with_stand_in))
        empty = _decode_usual(_quote_curr_id_maps(around.with_none))
    except _NOT_USUAL:
        return None
    is_cut_out = usual.topic_config_serialize_wrapper.topic_config_table == _STAND_IN
    return empty if is_cut_out and not empty.topic_config_serialize_wrapper.topic_config_table else None


def _quote_curr_id_maps(body: bytes) -> bytes:
    """Put quotes around the bare integer keys that every 5.x broker with static topics sends.

    In valid JSON the pattern cannot stand inside a text, where its first quote would be escaped.
    """
    return _CURR_ID_MAP.sub(lambda found: found[1] + _BARE_KEY.sub(rb'"\1":', found[2]) + b"}", body)


def _decode_json_tolerantly(body: bytes, now_ms: int) -> Slices[RegisterBrokerBody]:
    document = parse_lenient(body)
    yield
    if not isinstance(document, dict):
        raise MalformedBodyError("the body is not a RegisterBrokerBody")
    wrapper = document.get("topicConfigSerializeWrapper", {})
    servers = document.get("filterServerList", [])
    table = yield from topic_table_in_slices(wrapper, now_ms)
    return RegisterBrokerBody(table=table, filter_servers=_filter_servers(servers))


def _filter_servers(document: Any) -> tuple[str, ...] | None:
    """Read a parsed list of filter servers. COMPAT: what is no list says nothing about them, as in 5.5.0."""
    if not isinstance(document, list):
        return None
    return tuple(text for text in map(to_text, document) if text is not None)


def _decode_compressed(pieces: CompressedPieces, now_ms: int, limits: BodyLimits) -> Slices[RegisterBrokerBody]:
    data_version = data_version_from_json(parse_lenient(pieces.next_piece()), now_ms)
    table = yield from _read_texts(pieces, limits)
    filter_servers = _filter_servers(parse_lenient(pieces.next_piece()))
    mappings: dict[str, TopicQueueMappingInfo] = {}
    # By the protocol only writers of 5.0.0 and above append the mappings; bytes that remain are the proof.
    if pieces.has_more():
        sliced_bytes = 0
        for number in range(_count(pieces, limits)):
            if number % _SLICE_TEXTS == 0 or pieces.inflated_bytes - sliced_bytes >= SLICE_BYTES:
                sliced_bytes = pieces.inflated_bytes
                yield
            info = mapping_info_from_json(parse_lenient(pieces.next_piece()))
            if info.topic is None:
                raise MalformedBodyError("a static-topic mapping has no topic")
            mappings[info.topic] = info
    pieces.check_end()
    return RegisterBrokerBody(
        table=TopicTable(
            data_version=data_version, topic_configs={}, topic_queue_mapping_infos=mappings, written=table
        ),
        filter_servers=filter_servers,
    )


def _read_texts(pieces: CompressedPieces, limits: BodyLimits) -> Slices[TextTable]:
    texts, table = TopicTexts(), TextTable()
    missing = _count(pieces, limits)
    while missing:
        some = pieces.next_pieces(min(missing, _SLICE_PIECES))
        stretch = texts.stretch(some)
        limits.check_names(stretch.names)
        table.append(stretch)
        missing -= len(some)
        yield
    return table


def _count(pieces: CompressedPieces, limits: BodyLimits) -> int:
    count = pieces.next_count()
    limits.check_topics(count)
    return count
