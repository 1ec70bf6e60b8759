"""What makes a history of a NameServer's peers smaller.

Owns: the simplifications of a history, its setting and its steps.
Must not know: how the smallest one is looked for (tests/interop/shrinking.py).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.interop.differential.history import History, Request, Step
from tests.interop.shrinking import fewer_steps, simpler_steps

NEEDED: Final = frozenset({"brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "compressed"})


def smaller(history: History) -> Iterator[History]:
    """Give the histories that are one simplification away."""
    for steps in fewer_steps(history.steps):
        yield replace(history, steps=steps)
    for at in range(len(history.setting)):
        yield replace(history, setting=history.setting[:at] + history.setting[at + 1 :])
    for steps in simpler_steps(history.steps, _simpler):
        yield replace(history, steps=steps)


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
