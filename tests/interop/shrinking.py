"""Make a failing history small.

Hypothesis would draw and shrink the steps one choice at a time; here an attempt costs a play on two
servers, and dropping whole steps is what makes a history readable.

Owns: the search: which smaller history is tried next, and how long.
Must not know: what a step is; what failing means.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

Failure = TypeVar("Failure")
History = TypeVar("History")
Step = TypeVar("Step")

SHRINK_S: Final = 60.0


def shrink(
    history: History,
    smaller: Callable[[History], Iterator[History]],
    play: Callable[[History], Failure | None],
    within_s: float = SHRINK_S,
) -> Failure | None:
    """Return the failure of the smallest history found that still fails, None if none failed again.

    `smaller` gives the histories that are one simplification away, those that promise most first.
    """
    deadline = time.monotonic() + within_s
    best: Failure | None = None
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for candidate in smaller(history):
            failure = play(candidate)
            if failure is not None:
                history, best, is_smaller = candidate, failure, True
                break
            if time.monotonic() > deadline:
                break
    return best


def fewer_steps(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """Give the steps without some of them: half first, the last ones first, then ever fewer."""
    size = len(steps) // 2
    while size:
        for at in range(len(steps) - size, -1, -size):
            yield (*steps[:at], *steps[at + size :])
        size //= 2


def simpler_steps(steps: Sequence[Step], simpler: Callable[[Step], Iterator[Step]]) -> Iterator[tuple[Step, ...]]:
    """Give the steps with one of them made simpler."""
    for at, step in enumerate(steps):
        for plain in simpler(step):
            yield (*steps[:at], plain, *steps[at + 1 :])
