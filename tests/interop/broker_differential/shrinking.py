"""Make a failing history small: steps are left out while it still fails.

Owns: which smaller histories are tried, and how long.
Must not know: what failing means.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from tests.interop.broker_differential.history import History, Request

Failure = TypeVar("Failure")
SHRINK_S: Final = 20.0


def shrink(history: History, play: Callable[[History], Failure | None], within_s: float = SHRINK_S) -> Failure | None:
    """Give the failure of the smallest history found that still fails, None if none failed again."""
    deadline = time.monotonic() + within_s
    best: Failure | None = None
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for candidate in _smaller(history):
            failure = play(candidate)
            if failure is not None:
                history, best, is_smaller = candidate, failure, True
                break
            if time.monotonic() > deadline:
                break
    return best


def _smaller(history: History) -> Iterator[History]:
    steps = history.steps
    size = len(steps) // 2
    while size:
        for at in range(len(steps) - size, -1, -size):
            yield replace(history, steps=steps[:at] + steps[at + size :])
        size //= 2
    for at, step in enumerate(steps):
        if isinstance(step, Request) and step.codec != "JSON":
            yield replace(history, steps=(*steps[:at], replace(step, codec="JSON"), *steps[at + 1 :]))
