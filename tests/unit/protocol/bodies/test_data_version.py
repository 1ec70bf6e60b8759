"""DataVersion."""

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.data_version import (
    NO_TABLE,
    DataVersion,
    data_version_from_json,
    decode_data_version,
    encode_data_version,
)

NOW_MS = 1_800_000_000_000


def dv(counter: int | None = 0, state_version: int = 0, timestamp: int = 0) -> DataVersion:
    return DataVersion(counter=counter, state_version=state_version, timestamp=timestamp)


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"counter":5,"stateVersion":2,"timestamp":7}', dv(5, 2, 7)),
        (b'{"counter":5,"timestamp":7}', dv(5, 0, 7)),
        (b'{"counter":null,"timestamp":7}', dv(None, 0, 7)),
        (b'{"timestamp":"7","counter":"5"}', dv(5, 0, 7)),
        (b"{timestamp:7}", dv(0, 0, 7)),
        (b"{}", dv(0, 0, NOW_MS)),
        (b'{"timestamp":null}', dv(0, 0, NOW_MS)),
        (b"null", None),
    ],
)
def test_what_is_read(body: bytes, version: DataVersion | None) -> None:
    """An absent timestamp is now, so that the version equals no other."""
    assert decode_data_version(body, NOW_MS) == version


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b"x", b'{"counter":"x"}', b'{"counter":9223372036854775808}', b'{"timestamp":{}}']
)
def test_what_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_data_version(body, NOW_MS)


def test_a_null_inside_a_registration_is_an_empty_one() -> None:
    assert data_version_from_json(None, NOW_MS) == dv(0, 0, NOW_MS)


def test_what_is_written() -> None:
    assert encode_data_version(dv(5, 2, 7)) == b'{"counter":5,"stateVersion":2,"timestamp":7}'
    assert encode_data_version(dv(None, 0, 7)) == b'{"stateVersion":0,"timestamp":7}'


def test_equality_needs_all_three_members() -> None:
    assert dv(1, 1, 1) == dv(1, 1, 1)
    assert dv(None) == dv(None)
    assert dv(None) != dv(0)
    assert len({dv(1, 1, 1), dv(2, 1, 1), dv(1, 2, 1), dv(1, 1, 2)}) == 4
    assert dv(0, 0, 0) == NO_TABLE
