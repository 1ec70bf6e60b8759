"""Header codec SerializeType.ROCKETMQ.

Owns: the binary form of a header.
Must not know: frames; what a field means.
"""

import struct
from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import MalformedHeaderError
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.header import LANGUAGES_BY_CODE, MAX_FIELDS, Header

_FIXED: Final = struct.Struct(">hbhiii")  # code, language, version, opaque, flag, remark length
_INT: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_SHORT_MAX: Final = 2**15 - 1
_MINIMUM_BYTES: Final = _FIXED.size + _INT.size
_SMALLEST_ENTRY_BYTES: Final = _SHORT.size + _INT.size


def decode_header(data: bytes) -> Header:
    """Read a header. Text of length 0 is null, as in Java; of fields sent twice the last one counts.

    Raises:
        MalformedHeaderError: A length is negative or reaches beyond its part, bytes are left over inside the
            fields, or there are more than MAX_FIELDS of them. Bytes behind the fields are ignored.
    """
    if len(data) < _MINIMUM_BYTES:
        raise MalformedHeaderError(f"a binary header has at least {_MINIMUM_BYTES} bytes, this one {len(data)}")
    code, language, version, opaque, flag, remark_length = _FIXED.unpack_from(data)
    remark_end = _FIXED.size + remark_length
    if remark_length < 0 or remark_end + _INT.size > len(data):
        raise MalformedHeaderError(f"bad remark length {remark_length}")
    remark = data[_FIXED.size : remark_end].decode("utf-8", "replace") or None
    (ext_length,) = _INT.unpack_from(data, remark_end)
    ext_start = remark_end + _INT.size
    if ext_start + ext_length > len(data):
        raise MalformedHeaderError(f"bad extFields length {ext_length}")
    # COMPAT: Java reads a negative length as "no fields".
    ext_fields = _decode_ext_fields(data, ext_start, ext_start + ext_length) if ext_length > 0 else None
    return Header(code, opaque, flag, version, LANGUAGES_BY_CODE.get(language), remark, ext_fields)


def encode_header(header: Header) -> bytes:
    """Write a header. Fields whose key or value is None are left out; no fields at all write a length of 0.

    Raises:
        ValueError: `code` or `version` does not fit 16 bits, or a key has more than 32767 bytes.
    """
    remark = _encode_text(header.remark or "")
    ext = _encode_ext_fields(header.ext_fields or {})
    language = LanguageCode.OTHER if header.language is None else header.language
    try:
        fixed = _FIXED.pack(header.code, language, header.version, header.opaque, header.flag, len(remark))
    except struct.error as error:
        raise ValueError(f"code {header.code} or version {header.version} does not fit a binary header") from error
    return b"".join((fixed, remark, _INT.pack(len(ext)), ext))


def _decode_ext_fields(data: bytes, position: int, end: int) -> dict[str, str | None]:
    if end - position > MAX_FIELDS * _SMALLEST_ENTRY_BYTES:
        _check_count(data, position, end)
    fields: dict[str, str | None] = {}
    while position < end:
        key, position = _decode_text(data, position, end, _SHORT)
        value, position = _decode_text(data, position, end, _INT)
        if key is not None:
            fields[key] = value
    return fields


def _check_count(data: bytes, position: int, end: int) -> None:
    for _ in range(MAX_FIELDS):
        if position >= end:
            return
        for prefix in (_SHORT, _INT):
            _, position = _decode_text(data, position, end, prefix)
    if position < end:
        raise MalformedHeaderError(f"more than {MAX_FIELDS} header fields")


def _decode_text(data: bytes, position: int, end: int, prefix: struct.Struct) -> tuple[str | None, int]:
    start = position + prefix.size
    if start > end:
        raise MalformedHeaderError("extFields end inside a length")
    (length,) = prefix.unpack_from(data, position)
    if length < 0 or start + length > end:
        raise MalformedHeaderError(f"bad field length {length}")
    if length == 0:
        return None, start
    return data[start : start + length].decode("utf-8", "replace"), start + length


def _encode_ext_fields(ext_fields: Mapping[str, str | None]) -> bytes:
    parts: list[bytes] = []
    for key, value in ext_fields.items():
        if value is None:
            continue
        name, text = _encode_text(key), _encode_text(value)
        if len(name) > _SHORT_MAX:
            raise ValueError(f"a field name of {len(name)} bytes does not fit a binary header")
        parts += (_SHORT.pack(len(name)), name, _INT.pack(len(text)), text)
    return b"".join(parts)


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "replace")
