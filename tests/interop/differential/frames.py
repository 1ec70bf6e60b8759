"""A request of a history as bytes, whatever is wrong with it.

Owns: header fields of any JSON type, flags, and header members that replace the usual ones.
Must not know: names and addresses of a play (side.py puts them in before).
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

from tests.interop.differential.history import Request
from tests.support import wire

LANGUAGE_AT: Final = 10
_INDENTED: Final = (", ", ": ")


def encode(step: Request, ext: Mapping[str, Any] | None, body: bytes, opaque: int) -> bytes:
    """Return the frame of a step; `ext` and `body` are the step's with the names of the play in place."""
    if step.codec == "ROCKETMQ":
        return _binary(step, ext, body, opaque)
    header: dict[str, Any] = {"code": step.code}
    if ext is not None:
        header["extFields"] = dict(ext)
    header |= {"flag": step.flag, "language": step.language, "opaque": opaque}
    header |= {"serializeTypeCurrentRPC": "JSON", "version": step.version}
    header |= dict(step.header)
    text = json.dumps(header, ensure_ascii=False, separators=_INDENTED if step.header else (",", ":"))
    return wire.frame(text.encode(errors="surrogatepass"), body, header_type=0)


def _binary(step: Request, ext: Mapping[str, Any] | None, body: bytes, opaque: int) -> bytes:
    """Of the members of `header` only the language is taken, as a byte."""
    data = wire.encode_request(
        step.code,
        ext,
        body,
        opaque=opaque,
        version=step.version,
        language=step.language,
        flag=step.flag,
        codec="ROCKETMQ",
    )
    language = dict(step.header).get("language")
    if language is None:
        return data
    return data[:LANGUAGE_AT] + struct.pack("b", language) + data[LANGUAGE_AT + 1 :]
