"""What came out of it.

Owns: evidence, verdict and what to do next; how they read on a terminal.
Must not know: how a rule comes to it.
"""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

Mark = Literal["ok", "cause", "hint", "warning", "note"]
_SIGNS: Final[dict[Mark, str]] = {"ok": "+", "cause": "x", "hint": "?", "warning": "!", "note": "-"}


class Evidence(msgspec.Struct, frozen=True):
    """One fact that bears on it. `situation` is a word that never changes."""

    situation: str
    mark: Mark
    text: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why something is as it is.

    Attributes:
        subject: The topic or broker.
        server: Who was asked.
        is_well: Whether nothing is wrong with it.
        headline: What is the case, one line.
        evidence: What bears on it; the cause first.
        situation: The word of the likeliest cause.
        verdict: The likeliest cause, one line.
        advice: What to do, one line.
        commands: What to type next.
    """

    subject: str
    server: str
    is_well: bool
    headline: str
    evidence: tuple[Evidence, ...]
    situation: str
    verdict: str
    advice: str
    commands: tuple[str, ...] = ()


def lines_of(diagnosis: Diagnosis) -> Iterator[str]:
    """Give it as a terminal shows it."""
    yield diagnosis.headline
    for each in diagnosis.evidence:
        yield f"  {_SIGNS[each.mark]} {each.text}"
    yield f"Most likely: {diagnosis.verdict} Next: {diagnosis.advice}"
    for command in diagnosis.commands:
        yield f"  {command}"
