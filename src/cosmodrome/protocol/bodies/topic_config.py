"""TopicConfig and the wrapper in which brokers send their table.

Owns: the value TopicConfig; the JSON of TopicConfigSerializeWrapper; the text form of a TopicConfig in
    compressed registrations.
Must not know: what is done with a table.
"""

import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from sys import intern
from typing import Annotated, Any, Final, TypeVar

import msgspec

from cosmodrome.errors import IrregularTableError, MalformedBodyError
from cosmodrome.protocol.bodies.data_version import DataVersion, data_version_from_json
from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo, mapping_info_from_json
from cosmodrome.protocol.bodies.topic_stretches import TopicShape, TopicStretch, WrittenTable
from cosmodrome.protocol.json_dialects import to_int32, to_text
from cosmodrome.protocol.slices import Slices

_DEFAULT_QUEUE_NUMS: Final = 16
_DEFAULT_PERM: Final = 6
_FILTER_TYPES: Final = frozenset({"SINGLE_TAG", "MULTI_TAG"})
_INT32_RANGE: Final = range(-(2**31), 2**31)
_JAVA_INT: Final = re.compile(r"[+-]?[0-9]{1,10}")
_COMPRESSED_FIELDS: Final = 5
_SLICE_MEMBERS: Final = 200

ValueT = TypeVar("ValueT")

_Int32 = Annotated[int, msgspec.Meta(ge=_INT32_RANGE.start, le=_INT32_RANGE.stop - 1)]


class TopicConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """What a broker says about one topic; the members that a NameServer uses."""

    topic_name: str
    read_queue_nums: _Int32 = _DEFAULT_QUEUE_NUMS
    write_queue_nums: _Int32 = _DEFAULT_QUEUE_NUMS
    perm: _Int32 = _DEFAULT_PERM
    topic_sys_flag: _Int32 = 0


_name: Final = attrgetter("topic_name")
shape_of: Final[Callable[[TopicConfig], TopicShape]] = attrgetter(
    "perm", "read_queue_nums", "topic_sys_flag", "write_queue_nums"
)


def stretch_of(configs: dict[str, TopicConfig]) -> TopicStretch:
    """Give a stretch of these topics.

    Raises:
        IrregularTableError: One has another name than its key.
    """
    # The tables hold one text for each topic, and finding the same text again is quick.
    names = tuple(map(intern, configs))
    values = configs.values()
    if tuple(map(_name, values)) != names:
        raise IrregularTableError("a topic is not under its name")
    return TopicStretch(names, list(map(shape_of, values)))


class TopicTable(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's table as a registration carries it.

    `topic_configs` is keyed as on the wire; a topic's name is that inside its TopicConfig. It is empty when the topics
    are in `written`, to be read while they are compared.
    """

    data_version: DataVersion
    topic_configs: Mapping[str, TopicConfig]
    topic_queue_mapping_infos: Mapping[str, TopicQueueMappingInfo] = {}
    written: WrittenTable | None = None


def topic_table_in_slices(document: Any, now_ms: int) -> Slices[TopicTable]:
    """Read a parsed TopicConfigSerializeWrapper. `now_ms` is wall-clock time.

    Raises:
        MalformedBodyError: Not a wrapper, a topic without name, a member of another type.
    """
    if not isinstance(document, dict):
        raise MalformedBodyError("topicConfigSerializeWrapper is not an object")
    configs = _members(document, "topicConfigTable")
    mappings = _members(document, "topicQueueMappingInfoMap")
    return TopicTable(
        data_version=data_version_from_json(document.get("dataVersion"), now_ms),
        topic_configs=(yield from _read_in_slices(configs, topic_config_from_json)),
        topic_queue_mapping_infos=(
            yield from _read_in_slices(mappings, lambda _, value: mapping_info_from_json(value))
        ),
    )


def _read_in_slices(members: dict[str, Any], read: Callable[[str, Any], ValueT]) -> Slices[dict[str, ValueT]]:
    values: dict[str, ValueT] = {}
    for number, (key, member) in enumerate(members.items(), 1):
        values[key] = read(key, member)
        if number % _SLICE_MEMBERS == 0:
            yield
    return values


def topic_config_from_json(key: str, document: Any) -> TopicConfig:
    """Read a parsed TopicConfig; `key` is where it stood in its table, for the error text.

    COMPAT: null and "" for a number count as 0, as in 5.5.0; an absent number has its default.

    Raises:
        MalformedBodyError: Not an object, no topicName, or a member of another type.
    """
    if not isinstance(document, dict):
        raise MalformedBodyError(f"topic config {key[:60]!r} is not an object")
    name = to_text(document.get("topicName"))
    if name is None:
        raise MalformedBodyError(f"topic config {key[:60]!r} has no topicName")
    return TopicConfig(
        topic_name=name,
        read_queue_nums=to_int32(document.get("readQueueNums", _DEFAULT_QUEUE_NUMS)),
        write_queue_nums=to_int32(document.get("writeQueueNums", _DEFAULT_QUEUE_NUMS)),
        perm=to_int32(document.get("perm", _DEFAULT_PERM)),
        topic_sys_flag=to_int32(document.get("topicSysFlag")),
    )


def topic_config_from_text(text: str) -> TopicConfig:
    """Read the form of compressed registrations: `name readNums writeNums perm filterType [attributes]`.

    The sys flag is not in it and counts as 0. What follows the fifth field is not used.

    Raises:
        MalformedBodyError: Fewer fields, a number that is none, an unknown filter type.
    """
    fields = text.split(" ")
    if len(fields) < _COMPRESSED_FIELDS:
        raise MalformedBodyError(f"topic {text[:60]!r} has {len(fields)} fields instead of {_COMPRESSED_FIELDS}")
    name, read_nums, write_nums, perm, filter_type = fields[:_COMPRESSED_FIELDS]
    if filter_type not in _FILTER_TYPES:
        raise MalformedBodyError(f"topic {text[:60]!r} has an unknown filter type")
    return TopicConfig(
        topic_name=name,
        read_queue_nums=_java_int(read_nums, text),
        write_queue_nums=_java_int(write_nums, text),
        perm=_java_int(perm, text),
    )


def _java_int(field: str, text: str) -> int:
    number = int(field) if _JAVA_INT.fullmatch(field) else None
    if number is None or number not in _INT32_RANGE:
        raise MalformedBodyError(f"topic {text[:60]!r} has a field that is not a number")
    return number


def _members(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedBodyError(f"{name} is not an object")
    return value
