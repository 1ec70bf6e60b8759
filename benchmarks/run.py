"""One run of the benchmarks: what every measure is given.

Owns: nothing but the holding together.
Must not know: which measures there are.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.figures import Figures
from benchmarks.native import Native
from benchmarks.subjects import Starters, Subject


@dataclass(slots=True)
class Run:
    """Servers, and how thoroughly to measure them.

    Attributes:
        starters: Start servers anew, for what a server that has done things cannot show.
        subjects: The servers, all running.
        rounds: How often each case is measured; servers take turns within a round.
        seconds: How long one load lasts.
        is_quick: Whether small cases will do.
    """

    native: Native
    starters: Starters
    subjects: list[Subject]
    rounds: int
    seconds: int
    is_quick: bool
    figures: Figures = field(default_factory=Figures)

    @property
    def name_servers(self) -> list[Subject]:
        """The servers that keep a registry: all but the floor."""
        return [subject for subject in self.subjects if not subject.is_floor]

    def on_fresh(self, names: Sequence[str]) -> Iterator[Subject]:
        """Start these servers anew, one after the other, each gone before the next one comes."""
        for name in names:
            with self.starters.running(name) as subject:
                yield subject

    def turns(self, subjects: list[Subject]) -> Iterator[Subject]:
        """Give each server once per round; who begins changes, since the first may find a cooler machine."""
        for turn in range(self.rounds):
            shift = turn % max(1, len(subjects))
            yield from subjects[shift:] + subjects[:shift]

    @staticmethod
    def say(text: str) -> None:
        """Tell the user where the run is."""
        print(text, file=sys.stderr, flush=True)
