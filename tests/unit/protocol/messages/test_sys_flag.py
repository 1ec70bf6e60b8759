"""Bits of the system flag."""

import pytest

from cosmodrome.protocol.messages.sys_flag import (
    CompressionType,
    TransactionType,
    compressed,
    compression_type,
    inflated,
    transaction_type,
    with_transaction_type,
)


@pytest.mark.parametrize(
    ("kind", "flag"),
    [(CompressionType.ZLIB, 0x301), (CompressionType.LZ4, 0x101), (CompressionType.ZSTD, 0x201)],
)
def test_a_compressed_body(kind: CompressionType, flag: int) -> None:
    assert compressed(0, kind) == flag
    assert compressed(0x701, kind) == flag
    assert compressed(0x38, kind) == flag | 0x38
    assert compression_type(flag | 0x38) is kind
    assert inflated(flag | 0x38) == 0x38


def test_bits_that_are_not_set_mean_zlib() -> None:
    assert compression_type(0x1) is CompressionType.ZLIB_UNSAID


@pytest.mark.parametrize("number", [4, 5, 6, 7])
def test_numbers_that_are_not_in_use(number: int) -> None:
    assert compression_type(number << 8 | 1) is None


@pytest.mark.parametrize("kind", TransactionType)
def test_transactions(kind: TransactionType) -> None:
    for flag in (0, 0x33D, 0xC, -1):
        changed = with_transaction_type(flag, kind)
        assert transaction_type(changed) is kind
        assert changed & ~0xC == flag & ~0xC
