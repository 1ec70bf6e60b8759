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
    monkeypatch.setattr(memory, "_malloc_trim", lambda: asked.append(0))
    return asked


@pytest.mark.parametrize("name", ["malloc_trim", "mallopt"])
def test_it_works_here(name: str) -> None:
    assert memory._from_c(name)(0, 0) in (None, 0, 1)


def test_it_is_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._from_c.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")

    assert memory._from_c("malloc_trim")(0) is None
    memory._from_c.cache_clear()


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


def test_buffers_are_worth_it_when_there_are_many(trims: list[int]) -> None:
    watch = MemoryWatch()
    for released in (1, WORTH_GIVING_BACK_BYTES - 1, WORTH_GIVING_BACK_BYTES, WORTH_GIVING_BACK_BYTES + 1):
        watch.look(0, released)
    assert len(trims) == 1


def test_what_lives_from_the_start_is_looked_through_no_more() -> None:
    before = gc.get_freeze_count()
    memory.settle()
    try:
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_large_blocks_come_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """What that gives is a measurement: docs/performance.md."""
    asked: list[tuple[str, int, int]] = []
    monkeypatch.setattr(memory, "_from_c", lambda name: lambda *arguments: asked.append((name, *arguments)))
    memory.settle()
    gc.unfreeze()

    assert asked == [("mallopt", -3, 1 << 20)]
