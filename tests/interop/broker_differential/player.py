"""Play a history to two brokers and compare every answer.

Owns: the order of things, when a read is asked again, and what a difference looks like.
Must not know: how histories are made or made smaller.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.interop.broker_differential.differences import explained
from tests.interop.broker_differential.history import Close, History, Request
from tests.interop.broker_differential.reading import Seen, differing
from tests.interop.broker_differential.shrinking import smaller
from tests.interop.broker_differential.side import Side
from tests.interop.shrinking import shrink
from tests.support.wire import Answer

Falsify = Callable[[Request, Answer], Answer]

READS: Final = frozenset(
    {11, 361, 12, 33, 14, 29, 30, 31, 32, 38, 21, 43, 201, 202, 203, 204, 208, 300, 305, 321, 328, 343, 345, 351, 352}
)
LOOKS: Final = 12
BETWEEN_LOOKS_S: Final = 0.05
MOST_REPORTED: Final = 3
SHRINK_S: Final = 20.0
_LONG_RUN: Final = re.compile(r"(\w)\1{40,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The first answers of a history that differ for no wanted reason."""

    history: History
    at: int
    fields: frozenset[str]
    theirs: Seen
    ours: Seen

    def __str__(self) -> str:
        """Give the history up to the difference, and both answers."""
        head = f"seed {self.history.seed}, history {self.history.number}"
        lines = [f"answers differ in {', '.join(sorted(self.fields))} ({head}):"]
        lines += [f"  {step}" for step in self.history.steps[: self.at + 1]]
        text = "\n".join([*lines, f"  Apache: {self.theirs}", f"  ours:   {self.ours}"])
        return _LONG_RUN.sub(lambda run: f"{run[1]}...({len(run[0])} times)", text)


class Player:
    """Plays histories to a pair of brokers; `numbers` never repeats one while the brokers live."""

    def __init__(self, theirs: Side, ours: Side, numbers: Iterator[int], wanted: frozenset[str]) -> None:
        """Compare `ours` with `theirs`; `wanted` names the rules that count."""
        self._theirs = theirs
        self._ours = ours
        self._numbers = numbers
        self._wanted = wanted
        self.compared = 0
        self.is_patient = True
        """Whether a read that differs is asked again."""

    def play(self, history: History) -> Mismatch | None:
        """Play it to both; give the first difference."""
        play = next(self._numbers)
        sides = (self._theirs, self._ours)
        for side in sides:
            side.begin(play)
        try:
            for at, step in enumerate(history.steps):
                if isinstance(step, Close):
                    for side in sides:
                        side.close(step)
                    continue
                theirs, ours, fields = self._compared(step)
                if fields:
                    return Mismatch(history=history, at=at, fields=fields, theirs=theirs, ours=ours)
        finally:
            for side in sides:
                side.end()
        return None

    def _compared(self, step: Request) -> tuple[Seen, Seen, frozenset[str]]:
        for look in range(LOOKS if step.code in READS and self.is_patient else 1):
            if look:  # what Apache's broker does in the background is done soon
                time.sleep(BETWEEN_LOOKS_S)
            theirs, ours = self._theirs.ask(step), self._ours.ask(step)
            fields = differing(theirs, ours) - explained(self._wanted, step, theirs, ours)
            if not fields:
                break
        self.compared += 1
        return theirs, ours, fields


def differences_in(player: Player, histories: Iterable[History], most: int = MOST_REPORTED) -> list[Mismatch]:
    """Play histories until all are done or enough have failed; give the failures, made small."""
    mismatches: list[Mismatch] = []
    for history in histories:
        mismatch = player.play(history)
        if mismatch is not None:
            mismatches.append(shrink(history, smaller, player.play, SHRINK_S) or mismatch)
        if len(mismatches) == most:
            break
    return mismatches
