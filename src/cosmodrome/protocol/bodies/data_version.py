"""DataVersion: which state of its topic table a broker is talking about.

Owns: the value, its equality, its JSON form.
Must not know: where versions are kept.
"""

from typing import Annotated, Any, Final

import msgspec

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.json_dialects import parse_lenient, to_int64

_MAX_BODY_BYTES: Final = 64 * 1024
"""Of a body that is nothing but a version; brokers send some sixty bytes."""

_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class DataVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A broker's table version. Two are equal iff all three members are; two null counters are equal.

    `state_version` moves with elections (5.x; 0 before), `timestamp` is in wall-clock milliseconds.
    """

    counter: _Int64 | None = 0
    state_version: _Int64 = 0
    timestamp: _Int64


NO_TABLE: Final = DataVersion(counter=0, state_version=0, timestamp=0)
"""What a registration without a body carries."""


def data_version_from_json(document: Any, now_ms: int) -> DataVersion:
    """Read a parsed DataVersion.

    An absent counter or state version is 0; an absent timestamp is now, so that the version equals no other.
    `now_ms` is wall-clock time.

    Raises:
        MalformedBodyError: Not an object, or members that are not numbers.
    """
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise MalformedBodyError("a DataVersion is not an object")
    counter = document.get("counter", 0)
    return DataVersion(
        counter=None if counter is None else to_int64(counter),
        state_version=to_int64(document.get("stateVersion")),
        timestamp=to_int64(document.get("timestamp"), now_ms),
    )


def decode_data_version(body: bytes, now_ms: int) -> DataVersion | None:
    """Read the body of QUERY_DATA_VERSION; None when the document is null.

    Raises:
        MalformedBodyError: Not readable as a DataVersion.
        BodyLimitError: Far longer than any.
    """
    if len(body) > _MAX_BODY_BYTES:
        raise BodyLimitError(f"a DataVersion of more than {_MAX_BODY_BYTES} bytes")
    document = parse_lenient(body)
    return None if document is None else data_version_from_json(document, now_ms)


def encode_data_version(version: DataVersion) -> bytes:
    """Write a version as 5.x does; a null counter is left out."""
    counter = b"" if version.counter is None else b'"counter":%d,' % version.counter
    return b'{%b"stateVersion":%d,"timestamp":%d}' % (counter, version.state_version, version.timestamp)
