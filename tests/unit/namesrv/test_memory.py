"""Giving memory back."""

import gc
import sys

import pytest

from cosmodrome.namesrv import memory
from cosmodrome.namesrv.memory import WORTH_GIVING_BACK_BYTES, WORTH_GIVING_BACK_ENTRIES, MemoryWatch


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the C library was asked for."""
    asked: list[int] = []
    monkeypatch.setattr(memory, "_malloc_trim", lambda: asked.append)
    return asked


def test_it_works_here() -> None:
    assert memory._malloc_trim()(0) in (None, 0, 1)


def test_it_is_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._malloc_trim.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")

    assert memory._malloc_trim()(0) is None
    memory._malloc_trim.cache_clear()


def test_entries_are_worth_it_once_for_each_time_that_enough_have_gone(trims: list[int]) -> None:
    watch = MemoryWatch()
    for dropped in (1, WORTH_GIVING_BACK_ENTRIES - 1):
        watch.look(dropped, 0)
    assert trims == []
    for dropped in (WORTH_GIVING_BACK_ENTRIES, WORTH_GIVING_BACK_ENTRIES + 1, 2 * WORTH_GIVING_BACK_ENTRIES - 1):
        watch.look(dropped, 0)
    assert len(trims) == 1
    watch.look(2 * WORTH_GIVING_BACK_ENTRIES, 0)
    assert len(trims) == 2


def test_buffers_are_looked_after_twice(trims: list[int]) -> None:
    watch = MemoryWatch()
    for _ in range(4):
        watch.look(0, WORTH_GIVING_BACK_BYTES)
    assert len(trims) == 2


def test_what_lives_from_the_start_is_looked_through_no_more() -> None:
    before = gc.get_freeze_count()
    memory.settle()
    try:
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
