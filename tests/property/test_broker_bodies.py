"""Headers and bodies between clients and brokers: any bytes are read or refused; what is read survives writing."""

import contextlib
import inspect
import tracemalloc
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.golden_broker import selected_broker_frames

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol import subscription
from cosmodrome.protocol.bodies import (
    broker_stats,
    consumer_running_info,
    consumers,
    groups,
    heartbeat,
    locks,
    message_queue,
    offsets,
    pop,
    topics,
)
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.pop import decode_bit_set
from cosmodrome.protocol.ext_fields import HeaderFields, decode_ext_fields, encode_ext_fields
from cosmodrome.protocol.headers import (
    group_admin,
    members,
    pull,
    queries,
    relays,
    replies,
    send,
    statistics,
    topic_admin,
    transactions,
)
from cosmodrome.protocol.headers import offsets as offset_headers
from cosmodrome.protocol.headers import pop as pop_headers
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import BodyFields, decode_body, encode_body
from cosmodrome.protocol.pop_info import decode_message_offsets, decode_receipt_handle, decode_start_offsets


def classes_of(base: type[Any], *modules: ModuleType) -> list[type[Any]]:
    """Give the classes derived of `base` that these modules define."""
    return [
        value
        for module in modules
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, base) and value.__module__ == module.__name__
    ]


BODIES: Final = classes_of(
    BodyFields, broker_stats, consumer_running_info, consumers, groups, heartbeat, locks, message_queue, offsets, pop,
    topics, subscription,
)  # fmt: skip
HEADERS: Final = classes_of(
    HeaderFields, group_admin, members, offset_headers, pop_headers, pull, queries, relays, replies, send, statistics,
    topic_admin, transactions,
)  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**31), 2**31 - 1)
BUILT: Final = {str: texts, int: numbers, float: st.floats(allow_nan=False, allow_infinity=False), bool: st.booleans()}


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Give values of a type that a member of a body or header may have."""
    match getattr(kind, "__origin__", None):
        case origin if origin is tuple:
            return st.lists(strategy(kind.__args__[0]), max_size=3).map(tuple)
        case origin if origin is Mapping:
            return st.dictionaries(strategy(kind.__args__[0]), strategy(kind.__args__[1]), max_size=3)
        case origin if origin in BUILT:  # an Annotated
            return BUILT[origin]
    options = [each for each in getattr(kind, "__args__", ()) if each is not type(None)]
    if options:
        return st.none() | strategy(options[0])
    if kind in BUILT:
        return BUILT[kind]
    return built(kind) if issubclass(kind, msgspec.Struct) else st.sampled_from(list(kind))


def built(struct_type: Any) -> st.SearchStrategy[Any]:
    """Give values of a struct. A null counter of a version is not written, and read as 0."""
    fields = msgspec.structs.fields(struct_type)
    members = {field.name: strategy(field.type) for field in fields}
    return st.builds(struct_type, **(members | ({"counter": numbers} if struct_type is DataVersion else {})))


def test_all_of_them_are_looked_at() -> None:
    assert len(BODIES) > 50
    assert len(HEADERS) > 40


@pytest.mark.parametrize("struct_type", BODIES)
@given(st.data(), st.sampled_from(JsonDialect))
def test_bodies_are_read_as_they_were_written(
    struct_type: type[Any], data: st.DataObject, dialect: JsonDialect
) -> None:
    value = data.draw(built(struct_type))

    assert decode_body(struct_type, encode_body(value, dialect)) == value


@pytest.mark.parametrize("header_type", HEADERS)
@given(st.data())
def test_headers_are_read_as_they_were_written(header_type: type[Any], data: st.DataObject) -> None:
    header = data.draw(built(header_type))

    assert decode_ext_fields(header_type, encode_ext_fields(header)) == header


@pytest.mark.parametrize("header_type", HEADERS)
@given(st.data())
def test_headers_of_any_texts_are_read(header_type: type[Any], data: st.DataObject) -> None:
    """And written to what is read as the same."""
    names = st.sampled_from([field.encode_name for field in msgspec.structs.fields(header_type)]) | texts
    values = (
        st.none()
        | st.text(max_size=12)
        | st.integers().map(str)
        | st.sampled_from(["true", "", "-0", "+1", "1e3", "٣"])
    )
    header = decode_ext_fields(header_type, data.draw(st.dictionaries(names, values, max_size=8)))

    assert decode_ext_fields(header_type, encode_ext_fields(header)) == header


@given(st.dictionaries(st.sampled_from("abcdefghijklmn") | texts, st.none() | st.text(max_size=9), max_size=9))
def test_sends_of_any_names_are_read(ext_fields: dict[str, str | None]) -> None:
    header = send.decode_send_header(ext_fields)

    short = send.encode_short_send_header(header)
    assert header.producer_group is None or send.decode_send_header(short) == header
    assert set(short) <= set("abcdefghijklmn")


def known_bodies() -> tuple[bytes, ...]:
    """Give the recorded bodies that are documents."""
    bodies = {frame.command.body for frame in selected_broker_frames() if frame.command.body[:1] == b"{"}
    assert len(bodies) > 50
    return tuple(sorted(body for body in bodies if len(body) < 1500))


KNOWN: Final = known_bodies()


@st.composite
def near_bodies(draw: st.DrawFn) -> bytes:
    """Give a recorded body with up to four changes; now and then any bytes."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from(KNOWN)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                data[at:at] = draw(
                    st.sampled_from([b"{", b"}", b'"', b"\\", b",", b":", b'{"$ref":"$"}', b"{1:", b"null"])
                )
            case 2:
                del data[at : at + draw(st.integers(1, 40))]
            case _:
                data[at:] = draw(st.sampled_from(KNOWN))[-100:]
    return bytes(data)


def value_or_complaint(struct_type: type[Any], body: bytes) -> tuple[Any, str]:
    """Read a body; None and what is said about it if it cannot be read."""
    try:
        return decode_body(struct_type, body), ""
    except MalformedBodyError as error:
        return None, str(error)


@given(near_bodies())
def test_any_bytes_are_a_body_or_refused(body: bytes) -> None:
    """Whatever kind of body they are taken for; errors are short and printable; what is read survives writing."""
    for struct_type in BODIES:
        value, complaint = value_or_complaint(struct_type, body)
        assert len(complaint) < 200
        assert complaint.isprintable()
        assert value is None or decode_body(struct_type, encode_body(value)) == value
    with contextlib.suppress(MalformedBodyError):
        decoded = offsets.decode_reset_offset_body(body)
        assert all(isinstance(queue, MessageQueue) for queue in decoded.offset_table)


@given(st.text(max_size=40) | st.text("0123456789 ;,-", max_size=40))
def test_any_text_of_pop_mode_is_read_or_refused(text: str) -> None:
    for decode in (
        decode_receipt_handle,
        decode_start_offsets,
        decode_message_offsets,
        lambda text: decode_bit_set(text, 0),
    ):
        with contextlib.suppress(MalformedBodyError):
            decode(text)


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b'\\"' * 100_000, b',{"a' * 50_000, b"{" * 200_000, b'{"\\",' * 40_000, b',{"' * 60_000, b"{1" * 100_000,
        b"{ " * 100_000, b'{"a":1,' * 30_000, b"{{" + b'"a",' * 50_000, b'{"x":{{"a":1}' * 15_000, b"{" + b" " * 200_000,
        b'{"a":[%b]}' % b",".join([b'{"$ref":"$.a[0]"}'] * 10_000),
        b'{"a":[%b],"b":[%b]}' % (b",".join([b"1"] * 9_000), b",".join([b'{"$ref":"$.a"}'] * 10_000)),
        b"[" + b",".join([b'{"$ref":"$%b"}' % (b".a" * 200)] * 400) + b"]",
    ],
    ids=range(14),
)  # fmt: skip
def test_hostile_documents_take_little_memory(body: bytes) -> None:
    """A few times their size; that they come to an end at all says that no part of them is read again and again."""
    tracemalloc.start()
    try:
        with contextlib.suppress(MalformedBodyError):
            parse_keyed(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak <= 40 * len(body) + 2**20
