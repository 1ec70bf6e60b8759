"""This broker beside Apache's 5.5.0, in one run: `python -m benchmarks.broker`.

Both are loaded in turn, round by round, by the same Java client and by this one. The figures that count are ratios of one
run; CPU is that of the broker. They are printed and appended to benchmarks/results.md.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.interop.rig.jars import RigError
from tests.interop.rig.process import ProcessError

from benchmarks.broker.measure import CASES, FULL, QUICK, measure, measure_starts
from benchmarks.figures import Figures, markdown
from benchmarks.published import heading, publish
from benchmarks.subjects import APACHE, OURS


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, append. Gives 0, or 2 when it could not run; goals that are missed are only told."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.broker", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer messages, one round: shows that it works")
    parser.add_argument("--rounds", type=int, help="how often each case is measured (5; quick: 1)")
    parser.add_argument("--only", nargs="+", type=int, choices=range(len(CASES)), help=_numbered())
    parser.add_argument("--no-save", dest="save", action="store_false", help="do not append to benchmarks/results.md")
    options = parser.parse_args(arguments)
    rounds = options.rounds or (1 if options.quick else 5)
    cases = CASES if options.only is None else tuple(CASES[number] for number in options.only)
    figures = Figures()
    try:
        with tempfile.TemporaryDirectory(prefix="cosmodrome-bench-") as folder:
            measure(figures, Path(folder), QUICK if options.quick else FULL, rounds, cases)
            if options.only is None and not options.quick:
                measure_starts(figures, Path(folder), rounds)
    except (ProcessError, RigError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    text = f"{heading('broker', rounds, options.quick)}{markdown(figures, (OURS, APACHE))}"
    publish(text, figures, is_saved=options.save)
    return 0


def _numbered() -> str:
    return "some of the cases: " + "; ".join(f"{number} {case.title}" for number, case in enumerate(CASES))


if __name__ == "__main__":
    sys.exit(main())
