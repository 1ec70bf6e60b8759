"""Ids of senders and of brokers."""

import pytest

from cosmodrome.protocol.messages.ids import (
    OffsetMessageId,
    UniqueId,
    UniqueIds,
    decode_offset_msg_id,
    decode_unique_id,
    offset_msg_id,
)

NOW_MS, MONTH_MS, BEFORE_MS = 1_700_000_000_123, 1_698_793_200_000, 1_696_111_200_000


def test_the_id_of_a_sender() -> None:
    ids = UniqueIds("10.0.0.5", 0x12345, 0xCAFEBABE)

    first = ids.next(NOW_MS, MONTH_MS)
    assert first == "0A000005" + "2345" + "CAFEBABE" + f"{NOW_MS - MONTH_MS:08X}" + "0000"
    assert decode_unique_id(first) == UniqueId("10.0.0.5", 0x2345, 0xCAFEBABE, NOW_MS - MONTH_MS, 0)
    assert ids.next(NOW_MS, MONTH_MS).endswith("0001")


@pytest.mark.parametrize("ip", ["fd00::1", "fe80::1%eth0"])
def test_c066_ids_on_a_host_with_ipv6_only(ip: str) -> None:
    id_ = UniqueIds(ip, 7, 1).next(NOW_MS, MONTH_MS)

    assert len(id_) == 56
    assert decode_unique_id(id_) == UniqueId(ip.partition("%")[0], 7, 1, NOW_MS - MONTH_MS, 0)


def test_ids_do_not_repeat_while_the_counter_goes_round() -> None:
    ids = UniqueIds("10.0.0.5", 1, 1)
    made = {ids.next(NOW_MS + number // 60_000, MONTH_MS) for number in range(140_000)}

    assert len(made) == 140_000
    assert {len(id_) for id_ in made} == {32}


def test_processes_with_one_address_and_number_differ() -> None:
    one, other = (UniqueIds("172.17.0.2", 1, drawn) for drawn in (1, 2))

    assert one.next(NOW_MS, MONTH_MS) != other.next(NOW_MS, MONTH_MS)


def test_a_clock_before_the_month_gives_an_id_all_the_same() -> None:
    """It was set back between the look at the calendar and the send."""
    assert len(UniqueIds("10.0.0.5", 1, -1).next(MONTH_MS - 5, MONTH_MS)) == 32


def test_when_an_id_was_made() -> None:
    this_month = UniqueId("10.0.0.5", 1, 1, NOW_MS - MONTH_MS, 0)
    last_month = this_month._replace(ms_in_month=NOW_MS - MONTH_MS + 1000)

    assert this_month.made_at_ms(NOW_MS, MONTH_MS, BEFORE_MS) == NOW_MS
    assert last_month.made_at_ms(NOW_MS, MONTH_MS, BEFORE_MS) == BEFORE_MS + NOW_MS - MONTH_MS + 1000


@pytest.mark.parametrize(
    ("host", "length", "text"),
    [
        ("10.0.0.9", 32, "0A00000900002A9F0000000000001000"),
        ("::1", 56, "0" * 31 + "1" + "00002A9F0000000000001000"),
    ],
)
def test_c066_the_id_of_a_broker_in_both_lengths(host: str, length: int, text: str) -> None:
    assert offset_msg_id(host, 10911, 4096) == text
    assert len(text) == length
    assert decode_offset_msg_id(text) == decode_offset_msg_id(text.lower()) == OffsetMessageId(host, 10911, 4096)


@pytest.mark.parametrize("ip", ["10.0.0.5", "fd00::1"])
def test_the_id_of_a_sender_is_not_taken_for_that_of_a_broker(ip: str) -> None:
    """They are equally long; no process has the number that would make a port."""
    for pid in (1, 7, 65_535, 65_537):
        assert decode_offset_msg_id(UniqueIds(ip, pid, 0).next(NOW_MS, MONTH_MS)) is None
    assert decode_offset_msg_id("0A000009" + "0000FFFF" + "0" * 16) == OffsetMessageId("10.0.0.9", 65_535, 0)
    assert decode_offset_msg_id("0A000009" + "00010000" + "0" * 16) is None


@pytest.mark.parametrize(
    "text",
    ["", "0" * 31, "0" * 33, "0" * 40, "0" * 57, "G" + "0" * 31, "0 " * 16, " " * 32, "\u0661" * 32, "0" * 30 + "\n0"],
    ids=repr,
)
def test_what_is_no_id(text: str) -> None:
    assert decode_offset_msg_id(text) is None
    assert decode_unique_id(text) is None
