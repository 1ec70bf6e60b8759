"""Frames and both header codecs, for any input."""

import itertools
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import wire

from cosmodrome.errors import MalformedFrameError, MalformedHeaderError, ProtocolError
from cosmodrome.protocol import header_binary, header_json
from cosmodrome.protocol.codes import LanguageCode, SerializeType
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command
from cosmodrome.protocol.frame import Frame, FrameDecoder, encode_frame
from cosmodrome.protocol.header import Header

# UTF-8 carries no half of a surrogate pair, and neither do our readers give one.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
int32s = st.integers(-(2**31), 2**31 - 1)
int16s = st.integers(-(2**15), 2**15 - 1)
ext_fields = st.none() | st.dictionaries(texts, texts, max_size=4)
languages = st.sampled_from(LanguageCode)
json_commands = st.builds(
    RemotingCommand,
    code=int32s,
    opaque=int32s,
    flag=int32s,
    version=int32s,
    language=languages,
    remark=st.none() | texts,
    ext_fields=ext_fields,
    body=st.binary(max_size=64),
    serialize_type=st.just(SerializeType.JSON),
)
filled = texts.filter(bool)
binary_commands = st.builds(
    RemotingCommand,
    code=int16s,
    opaque=int32s,
    flag=int32s,
    version=int16s,
    language=languages,
    # An empty text and no text are the same in this codec.
    remark=st.none() | filled,
    ext_fields=st.none() | st.dictionaries(filled, filled, min_size=1, max_size=4),
    body=st.binary(max_size=64),
    serialize_type=st.just(SerializeType.ROCKETMQ),
)
commands = json_commands | binary_commands


def frames_of(pieces: list[bytes], limit: int = 2**24) -> tuple[list[Frame], type[Exception] | None]:
    """Feed the pieces; give the frames, and the kind of error that ended it."""
    decoder = FrameDecoder(limit)
    frames: list[Frame] = []
    for piece in pieces:
        decoder.feed(piece)
        try:
            while (frame := decoder.next_frame()) is not None:
                frames.append(frame)
        except ProtocolError as error:
            return frames, type(error)
    return frames, None


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(commands)
def test_what_is_written_is_read(command: RemotingCommand) -> None:
    data = encode_command(command)
    [frame], error = frames_of([data])

    assert error is None
    assert decode_command(frame) == command


@given(commands)
def test_the_oracle_reads_it_too(command: RemotingCommand) -> None:
    answer = wire.decode(encode_command(command)[4:])

    assert (answer.code, answer.opaque, answer.flag, answer.version) == (
        command.code, command.opaque, command.flag, command.version,
    )  # fmt: skip
    assert answer.remark == command.remark
    assert (answer.ext or {}) == (command.ext_fields or {})
    assert answer.body == command.body
    assert command.language is not None
    assert answer.language == command.language.name


@given(json_commands)
def test_requests_of_the_oracle_are_read(command: RemotingCommand) -> None:
    assert command.language is not None
    data = wire.encode_request(
        command.code, command.ext_fields, command.body, opaque=command.opaque, version=command.version,
        language=command.language.name, flag=command.flag, remark=command.remark,
    )  # fmt: skip

    [frame], _ = frames_of([data])

    assert decode_command(frame) == command


@given(st.lists(commands, max_size=4), st.binary(max_size=12), st.lists(st.integers(0, 2**16), max_size=8))
def test_any_split_gives_the_same_frames_and_the_same_error(
    sent: list[RemotingCommand], rest: bytes, places: list[int]
) -> None:
    data = b"".join(map(encode_command, sent)) + rest
    whole = frames_of([data])

    assert frames_of(cut(data, places)) == whole
    assert frames_of([bytes([byte]) for byte in data]) == whole
    assert whole[0][: len(sent)] == frames_of([b"".join(map(encode_command, sent))])[0]


@given(st.lists(commands, min_size=2, max_size=3), st.integers(0, 40), st.integers(0, 255))
def test_a_spoiled_byte_gives_a_documented_error_or_other_frames(
    sent: list[RemotingCommand], place: int, byte: int
) -> None:
    data = bytearray(b"".join(map(encode_command, sent)))
    data[place % len(data)] = byte

    frames, error = frames_of([bytes(data)], limit=4096)

    assert error is None or issubclass(error, MalformedFrameError)
    for frame in frames:
        try:
            decode_command(frame)
        except MalformedHeaderError:
            continue


@given(st.binary(max_size=64))
@example(b"\xff\xff\xff\xff")
@example(b"\0\0\0\4\0\0\0\1")
@example(b"\0\0\0\4\2\0\0\0")
def test_any_bytes_are_frames_or_a_documented_error(data: bytes) -> None:
    frames, error = frames_of([data], limit=64)

    assert error is None or issubclass(error, ProtocolError)
    assert all(len(frame.header) + len(frame.body) <= 64 for frame in frames)


@given(st.sampled_from([0, 1]), st.binary(max_size=100))
def test_any_header_is_read_or_refused(kind: int, data: bytes) -> None:
    frame = Frame(SerializeType(kind), data, b"")
    try:
        command = decode_command(frame)
    except MalformedHeaderError:
        return
    assert encode_command(command)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | texts, lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
), max_leaves=8), st.sampled_from(["code", "opaque", "flag", "version", "language", "remark", "extFields", "other"]))  # fmt: skip
def test_any_json_in_any_member_is_read_or_refused(value: object, member: str) -> None:
    header = {"code": 105, "opaque": 7} | {member: value}
    try:
        read = header_json.decode_header(wire.dump(header))
    except MalformedHeaderError:
        return
    assert all(text is None or isinstance(text, str) for text in (read.ext_fields or {}).values())
    assert -(2**31) <= read.opaque < 2**31
    assert header_json.decode_header(header_json.encode_header(read)) == read.replaced(
        language=read.language if read.language is not None else LanguageCode.OTHER,
        ext_fields=None
        if read.ext_fields is None
        else {key: text for key, text in read.ext_fields.items() if text is not None},
    )


@given(st.integers(0, 2**24), st.integers(-(2**31), 2**31 - 1))
def test_a_length_over_the_limit_is_refused_before_its_data_comes(limit: int, length: int) -> None:
    decoder = FrameDecoder(limit)
    decoder.feed(struct.pack(">i", length))

    if 4 <= length <= limit - 4:
        assert decoder.next_frame() is None
    else:
        with pytest.raises(MalformedFrameError):
            decoder.next_frame()


def _header_of(command: RemotingCommand) -> Header:
    return Header(*(getattr(command, name) for name in Header.__struct_fields__))


@given(binary_commands)
def test_a_binary_header_cut_short_anywhere_is_refused(command: RemotingCommand) -> None:
    header = header_binary.encode_header(_header_of(command))

    for end in range(len(header)):
        with pytest.raises(MalformedHeaderError):
            header_binary.decode_header(header[:end])


@given(binary_commands, st.binary(min_size=1, max_size=8))
def test_bytes_behind_a_binary_header_are_ignored(command: RemotingCommand, junk: bytes) -> None:
    header = _header_of(command)

    assert header_binary.decode_header(header_binary.encode_header(header) + junk) == header


@given(json_commands, st.sampled_from([b"\n", b" ", b"\r\n\t "]))
def test_white_space_behind_a_json_header_is_ignored(command: RemotingCommand, blanks: bytes) -> None:
    """The C++ client always ends it with a newline."""
    header = _header_of(command)

    assert header_json.decode_header(header_json.encode_header(header) + blanks) == header


@given(st.binary(max_size=30), st.binary(max_size=30), st.sampled_from(SerializeType))
def test_frames_are_cut_where_they_were_put_together(header: bytes, body: bytes, kind: SerializeType) -> None:
    data = encode_frame(kind, header, body)

    assert frames_of([data + b"\0\0"]) == ([Frame(kind, header, body)], None)


@given(st.integers(980, 1000), st.sampled_from([b"[%b]", b'{"a":%b}']), st.sampled_from(["code", "extFields"]))
def test_nesting_is_read_or_refused(depth: int, form: bytes, member: str) -> None:
    """No depth of nesting, however close to what the interpreter can bear, makes anything else of a header."""
    left, right = form.split(b"%b")
    value = left * depth + b"1" + right * depth
    data = b'{"opaque":1,"code":1,"%b":{"a":%b}}' % (member.encode(), value)
    try:
        header_json.decode_header(data)
    except MalformedHeaderError:
        return
