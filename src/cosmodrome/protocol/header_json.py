"""Header codec SerializeType.JSON.

Owns: the JSON form of a header, as fastjson writes it, and every form of it that real peers send.
Must not know: frames; what a field means.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from cosmodrome.errors import MalformedBodyError, MalformedHeaderError
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.header import INT32_MAX, INT32_MIN, LANGUAGES_BY_CODE, LANGUAGES_BY_NAME, MAX_FIELDS, Header
from cosmodrome.protocol.json_dialects import json_text, parse_lenient, to_int32

_Int32 = Annotated[int, msgspec.Meta(ge=INT32_MIN, le=INT32_MAX)]


class _UsualHeader(msgspec.Struct, rename="camel", gc=False):
    """The header that Java, Go and C++ peers send; anything else goes the tolerant way."""

    code: _Int32
    opaque: _Int32
    flag: _Int32 = 0
    version: _Int32 = 0
    language: str = "JAVA"
    remark: str | None = None
    ext_fields: Annotated[dict[str, str | None], msgspec.Meta(max_length=MAX_FIELDS)] | None = None


Values = tuple[int, int, int, int, LanguageCode | None, str | None, Mapping[str, str | None] | None]
"""What Header and RemotingCommand begin with."""

_decode_usual: Final = msgspec.json.Decoder(_UsualHeader).decode
_encode_text: Final = msgspec.json.Encoder().encode
_LANGUAGE_NAMES: Final = {member: member.name.encode("ascii") for member in LanguageCode} | {None: b"OTHER"}


def decode_header(data: bytes) -> Header:
    """Read a header. Values of `extFields` become strings whatever they were; null stays null.

    A header without `opaque` counts as 0 (Java takes a number of its own, which correlates with nothing).

    Raises:
        MalformedHeaderError: Not a JSON object, a number outside int32, or more than MAX_FIELDS fields.
    """
    return Header(*decode_values(data))


def decode_values(data: bytes) -> Values:
    """Read a header into the values of a Header, in their order. As decode_header."""
    try:
        usual = _decode_usual(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.structs.astuple(_decode_tolerantly(data))
    return (
        usual.code,
        usual.opaque,
        usual.flag,
        usual.version,
        LANGUAGES_BY_NAME.get(usual.language),
        usual.remark,
        usual.ext_fields,
    )


def encode_header(header: Header) -> bytes:
    """Write a header as fastjson does: no white space, members in alphabetical order, nulls left out."""
    ext = _encode_ext_fields(header.ext_fields)
    remark = b"" if header.remark is None else b',"remark":' + encode_json_text(header.remark)
    return b'{"code":%d%b,"flag":%d,"language":"%b","opaque":%d%b,"serializeTypeCurrentRPC":"JSON","version":%d}' % (
        header.code,
        ext,
        header.flag,
        _LANGUAGE_NAMES[header.language],
        header.opaque,
        remark,
        header.version,
    )


def encode_json_text(text: str) -> bytes:
    """Write a JSON string; half a surrogate pair, which UTF-8 cannot carry, becomes `?` as in Java."""
    try:
        return _encode_text(text)
    except UnicodeEncodeError:
        return _encode_text(text.encode("utf-8", "replace").decode("utf-8"))


def _encode_ext_fields(ext_fields: Mapping[str, str | None] | None) -> bytes:
    if ext_fields is None:
        return b""
    members = b",".join(
        encode_json_text(key) + b":" + encode_json_text(value) for key, value in ext_fields.items() if value is not None
    )
    return b',"extFields":{%b}' % members


def _decode_tolerantly(data: bytes) -> Header:
    try:
        document = parse_lenient(data)
        if not isinstance(document, dict):
            raise MalformedHeaderError("the JSON header is not an object")
        return Header(
            to_int32(document.get("code")),
            to_int32(document.get("opaque")),
            to_int32(document.get("flag")),
            to_int32(document.get("version")),
            _language(document.get("language", "JAVA")),
            _optional_text(document.get("remark")),
            _ext_fields(document.get("extFields")),
        )
    except MalformedBodyError as error:
        raise MalformedHeaderError(f"unreadable JSON header: {error}") from error


def _language(value: Any) -> LanguageCode | None:
    if isinstance(value, str):
        return LANGUAGES_BY_NAME.get(value)
    if isinstance(value, int):
        return LANGUAGES_BY_CODE.get(value)
    return None


def _optional_text(value: Any) -> str | None:
    return None if value is None else json_text(value)


def _ext_fields(value: Any) -> dict[str, str | None] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise MalformedHeaderError("extFields is not an object")
    if len(value) > MAX_FIELDS:
        raise MalformedHeaderError(f"more than {MAX_FIELDS} header fields")
    return {key: _optional_text(member) for key, member in value.items()}
