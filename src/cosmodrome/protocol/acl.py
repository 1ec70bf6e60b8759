"""Signed requests: what an AccessKey and a Signature in the header prove.

Owns: the content that is signed, its signature, and the comparison.
Must not know: which accounts there are, or what they may do.

Code, flag, opaque, version, language and remark are not signed, and nothing in a request makes it unique: whoever
overhears a signed request can send it again. TLS keeps it from being overheard.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from typing import Final

ACCESS_KEY: Final = "AccessKey"
SIGNATURE: Final = "Signature"
UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"

ExtFields = Mapping[str, str | None]


def signed_content(ext_fields: ExtFields, body: bytes = b"", *, left_out: frozenset[str] = frozenset()) -> bytes:
    """Give what is signed: the values of all fields but the signature, in the order of their names, then the body.

    Names are ordered as Java orders texts. Fields that are null, and those named in `left_out`, do not count.
    """
    names = sorted((name for name in ext_fields if name != SIGNATURE and name not in left_out), key=_utf_16)
    return "".join(ext_fields[name] or "" for name in names).encode("utf-8", "replace") + body


def signature(secret_key: str, content: bytes) -> str:
    """Give the signature of a content: Base64 of HMAC-SHA1."""
    return base64.b64encode(hmac.new(secret_key.encode("utf-8", "replace"), content, hashlib.sha1).digest()).decode()


def is_signed(ext_fields: ExtFields, body: bytes, secret_key: str) -> bool:
    """Tell whether these fields carry the signature that this secret gives.

    `_UNIQUE_KEY_QUERY` may be signed or not: 4.9 servers leave it out, clients and 5.x servers do not. How long the
    comparison takes says nothing about the right signature.
    """
    given = (ext_fields.get(SIGNATURE) or "").encode("utf-8", "replace")
    # All of them, whether one fits or not.
    fits = [hmac.compare_digest(given, signature(secret_key, each).encode()) for each in _contents(ext_fields, body)]
    return any(fits)


def _contents(ext_fields: ExtFields, body: bytes) -> Iterator[bytes]:
    yield signed_content(ext_fields, body)
    if ext_fields.get(UNIQUE_KEY_QUERY) is not None:
        yield signed_content(ext_fields, body, left_out=frozenset({UNIQUE_KEY_QUERY}))


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
