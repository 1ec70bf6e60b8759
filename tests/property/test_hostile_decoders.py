"""Whatever comes: a documented error, in time and memory that grow with the size and not faster."""

import contextlib
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.errors import MalformedBodyError, MalformedFrameError, MalformedHeaderError
from cosmodrome.protocol import answer_differences
from cosmodrome.protocol.bodies.cluster import decode_topic_list
from cosmodrome.protocol.bodies.consumer_running_info import ConsumerRunningInfo
from cosmodrome.protocol.bodies.data_version import decode_data_version
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.header_binary import decode_header as decode_binary
from cosmodrome.protocol.header_json import decode_header as decode_json
from cosmodrome.protocol.json_structs import decode_body

LARGER = 8
MAY_TAKE = 4 * LARGER
"""Eight times the size may take 32 times as long, for all the noise; what is quadratic takes 64 times."""
SMALL = 32 * 1024


def register(body: bytes) -> object:
    return decode_register_broker_body(body, 513, is_compressed=False, now_ms=1)


def register_of_old(body: bytes) -> object:
    return decode_register_broker_body(body, 36, is_compressed=False, now_ms=1)


def version(body: bytes) -> object:
    return decode_data_version(body, 1)


def running_info(body: bytes) -> object:
    return decode_body(ConsumerRunningInfo, body)


def wrapped(table: str) -> bytes:
    return (
        '{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"timestamp":1},'
        f'"topicConfigTable":{{{table}}}}}}}'
    ).encode()


def mapped(ids: str) -> bytes:
    return (
        '{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{},'
        f'"topicQueueMappingInfoMap":{{"T":{{"topic":"T","currIdMap":{{{ids}}}}}}}}}}}'
    ).encode()


SHAPES: dict[str, Callable[[int], bytes]] = {
    "open brackets": lambda size: b"[" * size,
    "open objects": lambda size: b'{"a":' * (size // 5),
    "digits": lambda size: b"1" * size,
    "numbers of many digits": lambda size: b"[" + b",".join([b"1" * 4000] * (size // 4000)) + b"]",
    "floats of many digits": lambda size: b"[" + b",".join([b"0." + b"1" * 4000] * (size // 4000)) + b"]",
    "quotes": lambda size: b'"' * size,
    "backslashes": lambda size: b'"' + b"\\" * size,
    "escapes": lambda size: b'"' + b"\\ud800" * (size // 6) + b'"',
    "a text of quotes without end": lambda size: b'{"a":"' + b'\\"' * (size // 2),
    "the same after a bare key": lambda size: b'{1:"' + b'\\"' * (size // 2),
    "blanks": lambda size: b" " * size,
    "commas": lambda size: b"[" + b"," * size,
    "comments": lambda size: b"/*" * (size // 2),
    "one key again and again": lambda size: b"{" + b",".join([b'"a":1'] * (size // 6)) + b"}",
    "one long text": lambda size: json.dumps({"queueDatas": "x" * size}).encode(),
    "broken utf-8": lambda size: b'"' + b"\xed\xa0\x80" * (size // 3) + b'"',
    "hints": lambda size: b"[" + b",".join([b'{"@type":"a.B","$ref":"$"}'] * (size // 27)) + b"]",
    "topics": lambda size: wrapped(",".join(f'"{n}":{{"topicName":"{n}"}}' for n in range(size // 24))),
    "topics as people write them": lambda size: wrapped(
        ",".join(f'"{n}":{{"topicName":"{n}","perm":"6"}}' for n in range(size // 36))
    ),
    "ids that are digits": lambda size: mapped("1" * size),
    "ids that are keys": lambda size: mapped(",".join(f"{n}:{n}" for n in range(size // 12))),
    "ids that are signs": lambda size: mapped("-" * size),
    "id maps without end": lambda size: b'{"currIdMap":{' + b'"currIdMap":{1' * (size // 14),
    "keys that are objects": lambda size: (
        b'{"mqTable":{%b}}' % b",".join(b'{"topic":"%d"}:{}' % n for n in range(size // 21))
    ),
    "keys without end": lambda size: b'{"mqTable":{' + b',{"topic":"' * (size // 11),
    "keys that hold keys": lambda size: b'{"mqTable":' + b'{{"a":1}' * (size // 8),
    "references": lambda size: b'{"a":[%b]}' % b",".join([b'{"$ref":"$.a[0]"}'] * (size // 18)),
    "references to a list": lambda size: b'{"b":[1,2,3,4,5],"a":[%b]}' % b",".join([b'{"$ref":"$.b"}'] * (size // 16)),
    "a stream that is all stored": lambda size: zlib.compress(b"\0\0\0\2{}" + b"\0" * size, 0),
    "a stream that inflates": lambda size: zlib.compress(b"\0\0\0\2{}" + b"\0" * (size * 8), 9),
}
DECODERS: dict[str, Callable[[bytes], object]] = {
    "register": register,
    "register of old": register_of_old,
    "queue datas": decode_queue_datas,
    "version": version,
    "running info": running_info,
    "JSON header": decode_json,
    "binary header": decode_binary,
}
ANSWER_READERS: dict[str, Callable[[bytes], object]] = {
    "topic list": decode_topic_list,
    "shadow": lambda body: answer_differences.differences(answer(body), answer(body + b" ")),
}


def answer(body: bytes) -> RemotingCommand:
    return RemotingCommand(0, flag=1, body=body)


def cpu_s(work: Callable[[bytes], object], data: bytes) -> float:
    """Give the processor time of the fastest of three."""
    taken = []
    for _ in range(3):
        begin = time.process_time()
        with contextlib.suppress(MalformedBodyError, MalformedHeaderError):
            work(data)
        taken.append(time.process_time() - begin)
    return min(taken)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("decoder", [*DECODERS.values(), *ANSWER_READERS.values()], ids=[*DECODERS, *ANSWER_READERS])
def test_f097_time_is_linear(shape: Callable[[int], bytes], decoder: Callable[[bytes], object]) -> None:
    small, large = shape(SMALL), shape(SMALL * LARGER)

    assert cpu_s(decoder, large) <= max(cpu_s(decoder, small), 0.002) * MAY_TAKE


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS.keys())
def test_f097_memory_is_a_small_multiple_of_the_size(
    shape: Callable[[int], bytes], decoder: Callable[[bytes], object]
) -> None:
    """Thirty times: a topic of 24 bytes of text is an object, a name and two places in a table."""
    data = shape(SMALL * LARGER)
    tracemalloc.start()
    try:
        decoder(data)
    except (MalformedBodyError, MalformedHeaderError):
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak <= 30 * len(data) + 2**20


lengths = st.sampled_from(
    [0, 1, 2, 3, 4, 5, 17, 20, 21, 22, 32767, 32768, 65535, 2**31 - 1, -1, -(2**31)]
) | st.integers(-(2**31), 2**31 - 1)


def complaint(decoder: Callable[[bytes], object], data: bytes) -> str:
    """Give what is said about bytes that cannot be read, or nothing."""
    try:
        decoder(data)
    except (MalformedBodyError, MalformedHeaderError) as error:
        return str(error)
    return ""


@given(st.sampled_from(list(DECODERS.values())), st.binary(max_size=200))
def test_f066_any_bytes_decode_or_raise_a_documented_error(decoder: Callable[[bytes], object], data: bytes) -> None:
    for whole in (data, zlib.compress(data), b"\x78" + data):
        said = complaint(decoder, whole)
        assert len(said) < 200
        assert said.isprintable()


@given(lengths, lengths, lengths, st.binary(max_size=60))
def test_f065_false_lengths_of_a_binary_header_cost_nothing(remark: int, ext: int, value: int, rest: bytes) -> None:
    """No more is allocated than a few times what was received."""
    fixed = b"\0\x69\0\0\x01\0\0\0\7\0\0\0\0"
    parts = (remark.to_bytes(4, "big", signed=True), ext.to_bytes(4, "big", signed=True), (value & 0xFFFF).to_bytes(2))
    data = fixed + b"".join(parts) + value.to_bytes(4, "big", signed=True) + rest
    tracemalloc.start()
    try:
        decode_binary(data)
    except MalformedHeaderError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 64 * 1024


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=100))
def test_f066_any_frame_is_the_same_on_every_try(length: int, word: int, rest: bytes) -> None:
    data = length.to_bytes(4, "big", signed=True) + word.to_bytes(4, "big") + rest

    def outcome() -> object:
        decoder = FrameDecoder()
        decoder.feed(data)
        try:
            frame = decoder.next_frame()
            return frame if frame is None else decode_command(frame)
        except (MalformedFrameError, MalformedHeaderError) as error:
            return str(error)

    assert outcome() == outcome()
