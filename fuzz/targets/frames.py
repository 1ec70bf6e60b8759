"""Frames and the two header codecs."""

import json
from typing import Final, NamedTuple

from cosmodrome.errors import MalformedHeaderError, ProtocolError
from cosmodrome.protocol import header_binary, header_json
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, Frame, FrameDecoder, encode_frame
from cosmodrome.protocol.header import INT32_MAX, INT32_MIN, Header
from fuzz.script import Script, cut
from fuzz.values import text_size

_LIMITS: Final = (DEFAULT_MAX_FRAME_BYTES, 40, 300)
_LONGEST_BINARY_NAME: Final = 2**15 - 1


class _Outcome(NamedTuple):
    frames: list[Frame]
    error: tuple[type[Exception], str] | None
    taken: int


def frame_decoder(data: bytes) -> None:
    """Any split gives the same frames and the same error; what is held is what was fed and not taken."""
    script = Script(data)
    limit, plan = script.choice(_LIMITS), script.short()
    is_eager = script.byte() % 2 == 0
    stream = script.rest()
    whole = _decoded(stream, b"", limit, is_eager=True)
    assert _decoded(stream, plan, limit, is_eager=is_eager) == whole
    again = b"".join(encode_frame(frame.serialize_type, frame.header, frame.body) for frame in whole.frames)
    assert again == stream[: whole.taken], "a frame is not the bytes that it was read from"
    for frame in whole.frames:
        assert len(encode_frame(frame.serialize_type, frame.header, frame.body)) <= limit


def _decoded(stream: bytes, plan: bytes, limit: int, *, is_eager: bool) -> _Outcome:
    decoder = FrameDecoder(limit)
    frames: list[Frame] = []
    fed = taken = 0
    try:
        for piece in cut(stream, plan):
            decoder.feed(piece)
            fed += len(piece)
            if is_eager or fed == len(stream):
                for frame in iter(decoder.next_frame, None):
                    frames.append(frame)
                    taken += 8 + len(frame.header) + len(frame.body)
                    assert decoder.buffered_bytes == fed - taken
            assert decoder.buffered_bytes == fed - taken
    except ProtocolError as error:
        return _Outcome(frames, (type(error), str(error)), taken)
    return _Outcome(frames, None, taken)


def json_header(data: bytes) -> None:
    """A header in JSON is read or refused; the fast and the tolerant way agree; what is read can be written and stays."""
    try:
        header = header_json.decode_header(data)
    except MalformedHeaderError:
        return
    _check_numbers(header, INT32_MIN, INT32_MAX)
    assert _size(header) <= 8 * len(data) + 64
    _check_tolerant_way(data, header)
    encoded = header_json.encode_header(header)
    assert json.loads(encoded)["opaque"] == header.opaque
    again = header_json.decode_header(encoded)
    assert again == _written(header)
    assert header_json.encode_header(again) == encoded


def _check_tolerant_way(data: bytes, header: Header) -> None:
    """With a comment behind it a header takes the slow way; but for what that cannot read, it is the same header."""
    try:
        assert header_json.decode_header(data + b"\n//") == header
    except MalformedHeaderError as error:
        assert "nested too deeply" in str(error) or "is not a value" in str(error), error


def binary_header(data: bytes) -> None:
    """A binary header is read or refused; what is read can be written and stays. It can be written in JSON too."""
    try:
        header = header_binary.decode_header(data)
    except MalformedHeaderError:
        return
    _check_numbers(header, -(2**15), 2**15 - 1)
    assert _size(header) <= len(data)
    written = _written(header)
    assert header_json.decode_header(header_json.encode_header(header)) == written
    try:
        encoded = header_binary.encode_header(header)
    except ValueError:
        assert any(len(name.encode()) > _LONGEST_BINARY_NAME for name in header.ext_fields or {})
        return
    again = header_binary.decode_header(encoded)
    assert again == written.replaced(ext_fields=written.ext_fields or None)
    assert header_binary.encode_header(again) == encoded


def _check_numbers(header: Header, smallest: int, largest: int) -> None:
    assert smallest <= header.code <= largest
    assert smallest <= header.version <= largest
    for number in (header.opaque, header.flag):
        assert INT32_MIN <= number <= INT32_MAX


def _written(header: Header) -> Header:
    """Give what is left of a header when it was written: no field that is null, no language that is unknown."""
    fields = header.ext_fields
    kept = None if fields is None else {name: value for name, value in fields.items() if value is not None}
    language = LanguageCode.OTHER if header.language is None else header.language
    return header.replaced(language=language, ext_fields=kept)


def _size(header: Header) -> int:
    return text_size((header.remark, header.ext_fields))
