"""How many connections fit."""

import os

import pytest

from cosmodrome.transport.descriptors import raise_descriptor_limit, room_for_connections


@pytest.mark.parametrize("limit", [1024, 20_000, 1_000_000])
def test_what_is_open_and_some_spare_ones_do_not_count(limit: int) -> None:
    open_now = len(os.listdir("/dev/fd"))  # noqa: PTH208 -- only counted

    assert limit - open_now - 40 < room_for_connections(limit) <= limit - open_now - 31


def test_small_limits_spare_little() -> None:
    now = 64 - room_for_connections(64)

    assert now < len(os.listdir("/dev/fd")) + 8  # noqa: PTH208 -- only counted


def test_there_is_always_room_for_one() -> None:
    assert room_for_connections(0) == 1


def test_a_system_that_does_not_tell_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: object) -> list[str]:
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", refuse)

    assert room_for_connections(1024) == 1024 - 16 - 32


def test_the_limit_is_as_high_as_it_may_be() -> None:
    first = raise_descriptor_limit()

    assert first == raise_descriptor_limit()
    assert first is None or first >= 64
