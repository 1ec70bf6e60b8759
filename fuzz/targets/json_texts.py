"""Documents that may be JSON, and what is read out of them."""

import json
import math
from collections.abc import Callable
from typing import Any, Final

from cosmodrome.errors import MalformedBodyError
from cosmodrome.namesrv.kv_config import decode_kv_file, encode_kv_file
from cosmodrome.protocol.bodies import cluster, route
from cosmodrome.protocol.bodies.data_version import decode_data_version, encode_data_version
from cosmodrome.protocol.json_dialects import JsonDialect, encode_json, parse_integer_keyed, parse_lenient
from cosmodrome.protocol.json_lenient import MAX_DEPTH, parse_lenient_text
from fuzz.script import Script
from fuzz.values import item_count, text_size

_NOW_MS: Final = 1_800_000_000_000
_LONGEST_NUMBER: Final = 300
_OF_NUMBERS: Final = frozenset("0123456789+-.eE")
_GROWTH: Final = 8
"""A number of few characters may become text of more: 1E9 is 1000000000.0."""


def lenient_json(data: bytes) -> None:
    """Any text is a value or refused; all readers agree where more than one can read it; what is read is JSON."""
    text = data.decode("utf-8", "replace")
    lenient = _or_error(lambda: parse_lenient_text(text))
    standard = _or_error(lambda: json.loads(text, parse_constant=_refuse))
    if not isinstance(lenient, MalformedBodyError):
        assert item_count(lenient) <= len(text)
        assert text_size(lenient) <= len(text)
        assert _same(parse_lenient(encode_json(lenient)), lenient)
        if not isinstance(standard, Exception):
            assert _same(standard, lenient)
    elif not isinstance(standard, Exception):
        assert _depth(standard) >= MAX_DEPTH or _has_long_number(text), f"standard JSON is refused: {lenient}"
    for parse in (parse_lenient, parse_integer_keyed):
        value = _or_error(lambda parse=parse: parse(data))  # type: ignore[misc]  # of a lambda in a loop
        if not isinstance(value, Exception) and not isinstance(standard, Exception):
            assert _same(standard, value)
        if not isinstance(lenient, Exception):
            assert _same(lenient, value), parse.__name__


def kv_file(data: bytes) -> None:
    """Any bytes are a KV file or refused; what is read is texts only, and survives writing."""
    try:
        tables = decode_kv_file(data)
    except MalformedBodyError:
        return
    assert text_size(tables) <= _GROWTH * len(data)
    assert all(isinstance(value, str) for table in tables.values() for value in table.values())
    encoded = encode_kv_file(tables)
    json.loads(encoded)
    assert decode_kv_file(encoded) == tables


def client_bodies(data: bytes) -> None:
    """What our client reads of a server: a value or an error; the value survives writing, in either dialect."""
    script = Script(data)
    check = script.choice(_BODIES)
    body = script.rest()
    try:
        value = check(body)
    except MalformedBodyError:
        return
    assert item_count(value) <= len(body) + 8
    assert text_size(value) <= _GROWTH * len(body) + 64


def _topic_route(body: bytes) -> Any:
    value = route.decode_topic_route(body)
    for dialect in JsonDialect:
        encoded = route.encode_topic_route(value, dialect)
        assert route.decode_topic_route(encoded) == value
    return value


def _queue_datas(body: bytes) -> Any:
    value = route.decode_queue_datas(body)
    written = route.TopicRouteData(broker_datas=(), queue_datas=value, filter_server_table={})
    assert route.decode_queue_datas(route.encode_topic_route(written, JsonDialect.STANDARD)) == value
    return value


def _cluster_info(body: bytes) -> Any:
    value = cluster.decode_cluster_info(body)
    again = cluster.decode_cluster_info(
        cluster.encode_cluster_info(value.broker_addr_table.values(), value.cluster_addr_table)
    )
    assert again.cluster_addr_table == value.cluster_addr_table
    assert again.broker_addr_table == {data.broker_name: data for data in value.broker_addr_table.values()}
    return value


def _member_group(body: bytes) -> Any:
    value = cluster.decode_broker_member_group(body)
    encoded = cluster.encode_broker_member_group(value.cluster, value.broker_name, value.broker_addrs)
    assert cluster.decode_broker_member_group(encoded) == value
    return value


def _topic_list(body: bytes) -> Any:
    value = cluster.decode_topic_list(body)
    assert cluster.decode_topic_list(cluster.encode_topic_list(value.topic_list, value.broker_addr)) == value
    return value


def _kv_table(body: bytes) -> Any:
    value = cluster.decode_kv_table(body)
    assert cluster.decode_kv_table(cluster.encode_kv_table(value)) == value
    return value


def _group_list(body: bytes) -> Any:
    value = cluster.decode_group_list(body)
    assert cluster.decode_group_list(encode_json({"groupList": value})) == value
    return value


def _data_version(body: bytes) -> Any:
    value = decode_data_version(body, _NOW_MS)
    if value is not None and value.counter is not None:
        assert decode_data_version(encode_data_version(value), 0) == value
    return value


_BODIES: Final[tuple[Callable[[bytes], Any], ...]] = (
    _topic_route, _cluster_info, _member_group, _topic_list, _kv_table, _group_list, _queue_datas, _data_version,
)  # fmt: skip


def _or_error(read: Callable[[], Any]) -> Any:
    """Give what was read, or the error that is documented for it."""
    try:
        return read()
    except (MalformedBodyError, json.JSONDecodeError, _NotJsonError) as error:
        return error
    except (RecursionError, ValueError) as error:
        # Of the standard library only: our readers raise nothing but MalformedBodyError.
        return error if _is_from_json(error) else _raise(error)


class _NotJsonError(Exception):
    """A word that the standard library reads and JSON does not have."""


def _refuse(word: str) -> Any:
    raise _NotJsonError(word)


def _raise(error: Exception) -> Any:
    raise error


def _is_from_json(error: Exception) -> bool:
    trace = error.__traceback__
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return any(file.endswith(("json/decoder.py", "json/scanner.py", "json/__init__.py")) for file in files)


def _same(one: Any, other: Any) -> bool:
    """Whether two values, however deep, are equal: infinity is no value in JSON, half a surrogate pair none in UTF-8."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            members, others = ({_text(key): each for key, each in side.items()} for side in (left, right))
            if members.keys() != others.keys():
                return False
            pairs += [(member, others[key]) for key, member in members.items()]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs += zip(left, right, strict=True)
        elif not _same_alone(left, right):
            return False
    return True


def _same_alone(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _text(one) == _text(other)
    if _is_infinite(one) or _is_infinite(other):
        return all(value is None or _is_infinite(value) for value in (one, other))
    return type(one) is type(other) and bool(one == other)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [member for each in level for member in (each.values() if isinstance(each, dict) else each)]
    return depth


def _has_long_number(text: str) -> bool:
    run = longest = 0
    for char in text:
        run = run + 1 if char in _OF_NUMBERS else 0
        longest = max(longest, run)
    return longest > _LONGEST_NUMBER
