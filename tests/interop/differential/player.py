"""Play a history to two servers and compare every answer.

Owns: the order of things, when to wait for background work, and what a difference looks like.
Must not know: how histories are made or made smaller.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.interop.differential.differences import explained, notices_may_differ
from tests.interop.differential.generator import playable
from tests.interop.differential.history import (
    FULL_REGISTRATION,
    UNREGISTER,
    Close,
    History,
    Request,
    Step,
    Translation,
    shown,
)
from tests.interop.differential.model import LAST_FACT
from tests.interop.differential.old_release import explained as explained_by_age
from tests.interop.differential.old_release import same_form
from tests.interop.differential.reading import Seen, differing
from tests.interop.differential.side import READS, Side

SECOND_LOOK_S: Final = 2.0
BRISK_LOOK_S: Final = 0.1
NOTICE_WAIT_S: Final = 0.02
_LONG_RUN: Final = re.compile(r"(\w)\1{40,}")
Comparison = tuple[Seen | None, Seen | None, frozenset[str]]
"""What both sides answered, and the fields that differ for no wanted reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The first answers of a history that differ for no wanted reason."""

    history: History
    at: int
    fields: frozenset[str]
    theirs: Seen | None
    ours: Seen | None

    def __str__(self) -> str:
        """Return the history up to the difference, and both answers."""
        played = self.history.steps[: self.at + 1]
        head = f"{shown(self.history.setting)}, seed {self.history.seed}, history {self.history.number}"
        lines = [f"answers differ in {', '.join(sorted(self.fields))} ({head}):"]
        for step in played:
            lines.append(f"  {step}")
            lines += [] if step.translation is None else [f"    ({step.translation})"]
        text = "\n".join([*lines, f"  Apache: {self.theirs}", f"  ours:   {self.ours}"])
        return _LONG_RUN.sub(lambda run: f"{run[1]}...({len(run[0])} times)", text)


class Player:
    """Plays histories to a pair of servers; `numbers` never repeats one while the servers live."""

    def __init__(
        self,
        theirs: Side,
        ours: Side,
        numbers: Iterator[int],
        wanted: frozenset[str],
        *,
        translates: bool,
        is_old: bool = False,
    ) -> None:
        """Compare `ours` with `theirs`; `wanted` names the rules of differences.py that count.

        An old `theirs` is 4.9.7. Unless it `translates`, what Apache's server is given in place of a step goes to both.
        """
        self._translates = translates
        self._is_old = is_old
        self._sides = (theirs, ours)
        self._numbers = numbers
        self._wanted = wanted
        self._patience_s = SECOND_LOOK_S
        self._compares_notices = True
        self.answers = 0
        """How many pairs of answers were compared."""

    def play(self, history: History, patience_s: float = SECOND_LOOK_S) -> Mismatch | None:
        """Play what may be played of a history on fresh names; return the first difference.

        A difference that may be due to work still going on counts when it lasts for `patience_s`.
        """
        self._patience_s = patience_s
        history = playable(history)
        number = next(self._numbers)
        try:
            for side in self._sides:
                side.begin(number, history.setting)
            return self._play(history)
        finally:
            for side in self._sides:
                side.end()

    def play_briskly(self, history: History) -> Mismatch | None:
        """Play with little patience, for the many attempts of making a failing history smaller."""
        return self.play(history, BRISK_LOOK_S)

    def _play(self, history: History) -> Mismatch | None:
        self._compares_notices = True
        for at, step in enumerate(history.steps):
            theirs, ours, fields = self._play_step(step)
            self._compares_notices &= not self._excuses_notices(step)
            if not fields and self._compares_notices and _may_notify(step):
                theirs, ours, fields = self._compare_notices()
            if fields:
                return Mismatch(history=history, at=at, fields=fields, theirs=theirs, ours=ours)
        return None

    def _play_step(self, step: Step) -> Comparison:
        if step.translation is not None:
            return self._play_translated(step, step.translation)
        if isinstance(step, Close):
            for side in self._sides:
                side.close(step)
            self._settle(step)
            return None, None, frozenset()
        comparison = self._ask(step)
        if comparison[2] and step.code in READS:
            comparison = self._look_again(step)
        if step.code == UNREGISTER:
            self._settle(step)
        return comparison

    def _play_translated(self, step: Step, translation: Translation) -> Comparison:
        """Give ours the step and Apache's server the translation; compare the answers to the step itself."""
        self.answers += 1
        own = (step,) if self._translates else translation.steps
        theirs, ours = _perform(self._sides[0], translation.steps, step), _perform(self._sides[1], own, step)
        if translation.steps or not self._translates:
            return self._compare(step, theirs, ours)
        expected = None if isinstance(step, Request) and not step.is_answered else Seen(code=translation.expects)
        is_as_expected = (expected is None) == (ours is None) and (ours is None or ours.code == translation.expects)
        return expected, ours, frozenset() if is_as_expected else frozenset({"code"})

    def _ask(self, step: Request) -> Comparison:
        self.answers += 1
        theirs, ours = (side.ask(step) for side in self._sides)
        return self._compare(step, theirs, ours)

    def _compare(self, step: Step, theirs: Seen | None, ours: Seen | None) -> Comparison:
        if theirs is None or ours is None or isinstance(step, Close):
            return theirs, ours, frozenset() if theirs is ours else frozenset({"failure"})
        if self._is_old:
            theirs, ours = same_form(theirs), same_form(ours)
        fields = differing(theirs, ours) - explained(self._wanted, step, theirs, ours)
        return theirs, ours, fields - explained_by_age(self._wanted, step, theirs, ours) if self._is_old else fields

    def _settle(self, step: Step) -> None:
        for side in self._sides:
            side.settle(step)

    def _look_again(self, step: Request) -> Comparison:
        """Ask until the answers agree: one server may still be busy with an earlier step."""
        deadline = time.monotonic() + self._patience_s
        while True:
            comparison = self._ask(step)
            if not comparison[2] or time.monotonic() > deadline:
                return comparison
            self._settle(step)

    def _excuses_notices(self, step: Step) -> bool:
        """Return whether notices differ on purpose from here on in this history."""
        return notices_may_differ(self._wanted, step)

    def _compare_notices(self) -> Comparison:
        """Wait until the brokers of both servers were told the same since the history began."""
        deadline = time.monotonic() + self._patience_s
        while True:
            theirs, ours = (Seen(notices=side.notices()) for side in self._sides)
            if theirs == ours or time.monotonic() > deadline:
                return theirs, ours, differing(theirs, ours)
            for side in self._sides:
                side.notices(wait_s=NOTICE_WAIT_S)


def _perform(side: Side, steps: Sequence[Step], step: Step) -> Seen | None:
    """Play steps on one side; return the answer to the last one that is of the kind of `step`."""
    answer = None
    for each in steps:
        if isinstance(each, Close):
            side.close(each)
            side.settle(each)
            continue
        seen = side.ask(each)
        if isinstance(step, Request) and each.code == step.code:
            answer = seen
        if each.code == UNREGISTER:
            side.settle(each)
    return answer


def _may_notify(step: Step) -> bool:
    if isinstance(step, Close):
        return True
    return step.code in (FULL_REGISTRATION, UNREGISTER) and LAST_FACT not in step.facts
