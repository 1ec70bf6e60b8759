"""Reports and transfers of the replication protocol, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.protocol.replication import (
    ReportReader,
    decode_transfer_header,
    encode_report,
    encode_transfer_header,
)

OFFSETS = st.integers(-(2**63), 2**63 - 1)


def test_the_bytes() -> None:
    assert encode_report(90_232) == b"\0\0\0\0\0\x01\x60\x78"
    assert encode_transfer_header(65_536, 24_696) == b"\0\0\0\0\0\x01\0\0\0\0\x60\x78"
    assert encode_transfer_header(90_232, 0) == b"\0\0\0\0\0\x01\x60\x78\0\0\0\0"


@given(st.lists(OFFSETS), st.lists(st.integers(1, 20), min_size=1))
def test_reports_are_found_however_they_are_cut(offsets: list[int], sizes: list[int]) -> None:
    data = b"".join(map(encode_report, offsets))
    found: list[int] = []
    reader, turn = ReportReader(), 0
    while data:
        size = sizes[turn % len(sizes)]
        found += reader.feed(data[:size])
        data, turn = data[size:], turn + 1

    assert found == offsets


@pytest.mark.parametrize("size", range(8))
def test_a_part_of_a_report_is_none(size: int) -> None:
    reader = ReportReader()

    assert reader.feed(encode_report(1)[:size]) == ()
    assert reader.feed(encode_report(1)[size:]) == (1,)


@given(OFFSETS, st.integers(0, 2**31 - 1))
def test_headers_come_back(offset: int, size: int) -> None:
    assert decode_transfer_header(encode_transfer_header(offset, size)) == (offset, size)
