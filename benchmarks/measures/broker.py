"""Whether the comparison of brokers works: a small part of `python -m benchmarks.broker`, whose figures are the ones to quote.

Owns: which part.
Must not know: how it is measured.
"""

import tempfile
from pathlib import Path
from typing import Final

from benchmarks.broker.measure import CASES, QUICK
from benchmarks.broker.measure import measure as compare
from benchmarks.run import Run

_FIRST: Final = CASES[:1]


def measure(run: Run) -> None:
    """One producer, one round: the broker is measured by a run of its own, and this shows that it can be."""
    with tempfile.TemporaryDirectory(prefix="cosmodrome-bench-") as folder:
        compare(run.figures, Path(folder), QUICK, 1, _FIRST)
