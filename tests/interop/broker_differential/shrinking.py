"""What makes a history of a broker's clients smaller.

Owns: the simplifications of a history and its steps.
Must not know: how the smallest one is looked for (tests/interop/shrinking.py).
"""

from collections.abc import Iterator
from dataclasses import replace

from tests.interop.broker_differential.history import History, Request, Step
from tests.interop.shrinking import fewer_steps, simpler_steps


def smaller(history: History) -> Iterator[History]:
    """Give the histories that are one simplification away."""
    for steps in (*fewer_steps(history.steps), *simpler_steps(history.steps, _simpler)):
        yield replace(history, steps=steps)


def _simpler(step: Step) -> Iterator[Step]:
    if isinstance(step, Request) and step.codec != "JSON":
        yield replace(step, codec="JSON")
