"""Make a failing history small.

Hypothesis would draw and shrink the steps one choice at a time; here an attempt costs a play on two
servers, and dropping whole steps is what makes a history readable.

Owns: which smaller histories are tried, and how long.
Must not know: what failing means.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from tests.interop.differential.history import History, Request, Step

Failure = TypeVar("Failure")

NEEDED: Final = frozenset({"brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "compressed"})
SHRINK_S: Final = 60.0


def shrink(history: History, play: Callable[[History], Failure | None], within_s: float = SHRINK_S) -> Failure | None:
    """Return the failure of the smallest history found that still fails, None if none failed again."""
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
    for at in range(len(history.setting)):
        yield replace(history, setting=history.setting[:at] + history.setting[at + 1 :])
    for at, step in enumerate(steps):
        for simpler in _simpler(step):
            yield replace(history, steps=(*steps[:at], simpler, *steps[at + 1 :]))


def _simpler(step: Step) -> Iterator[Step]:
    if not isinstance(step, Request):
        return
    if step.codec != "JSON" and not step.header:
        yield replace(step, codec="JSON")
    for plain in (replace(step, header=()), replace(step, more_flags=0), replace(step, version=513)):
        if plain != step:
            yield plain
    if step.body.form == "zip":
        yield replace(step, body=replace(step.body, form="json"), ext=dict(step.ext or {}) | {"compressed": "false"})
    if step.body.form != "text":
        for body in (replace(step.body, filters=()), replace(step.body, mappings=()), replace(step.body, topics=())):
            if body != step.body:
                yield replace(step, body=body)
    for name in step.ext or {}:
        if name not in NEEDED:
            yield replace(step, ext={key: value for key, value in (step.ext or {}).items() if key != name})
