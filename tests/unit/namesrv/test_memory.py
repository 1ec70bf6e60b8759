"""Giving memory back."""

import sys

import pytest

from cosmodrome.namesrv import memory


def test_it_works_here() -> None:
    memory.give_back()
    memory.give_back()


def test_it_is_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._malloc_trim.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")

    memory.give_back()
    memory._malloc_trim.cache_clear()
