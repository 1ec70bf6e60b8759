"""Cosmodrome's NameServer beside others, in one run: `./bench [--quick]`.

The figures that count are ratios of one run: absolute times are those of the machine. Results are printed and
appended to benchmarks/results.md.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import RigError

from benchmarks.figures import markdown
from benchmarks.measures import broker, latency, memory, reads, registrations, scale, start, warm_start
from benchmarks.native import BenchError, Native
from benchmarks.published import heading, publish
from benchmarks.run import Run
from benchmarks.subjects import APACHE, FLOOR, OURS, RUST, Starters, running

MEASURES: Final[dict[str, Callable[[Run], None]]] = {
    "reads": reads.measure,
    "registrations": registrations.measure,
    "latency": latency.measure,
    "scale": scale.measure,
    "memory": memory.measure,
    "start": start.measure,
    "warm-start": warm_start.measure,
    "broker": broker.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, append. Gives 0, or 2 when it could not run; goals that are missed are only told."""
    options = _options(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # not every server asks for more by itself
    servers = options.servers or [OURS, FLOOR, APACHE, *([RUST] if options.rust else [])]
    try:
        native = Native()
        with (
            tempfile.TemporaryDirectory(prefix="cosmodrome-bench-") as folder,
            ExitStack() as stack,
        ):
            starters = Starters(native, Path(folder), options.rust)
            subjects = stack.enter_context(running(servers, starters))
            run = Run(
                native=native,
                starters=starters,
                subjects=subjects,
                rounds=options.rounds or (1 if options.quick else 5),
                seconds=1 if options.quick else 2,
                is_quick=options.quick,
            )
            for name in options.only or MEASURES:
                begin_s = time.monotonic()
                MEASURES[name](run)
                run.say(f"{name} took {time.monotonic() - begin_s:.0f} s")
            text = _report(run)
    except (BenchError, RigError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    publish(text, run.figures, is_saved=options.save)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small cases, one round: under two minutes")
    parser.add_argument("--rounds", type=int, help="how often each case is measured (5; quick: 1)")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), help="some of the measures")
    parser.add_argument(
        "--servers", nargs="+", choices=[OURS, FLOOR, APACHE, RUST],
        help="what is measured (ours, the floor and Apache's; rocketmq-rust's with --rust)",
    )  # fmt: skip
    parser.add_argument("--rust", type=Path, metavar="PROGRAM", help="rocketmq-rust's NameServer, to measure it too")
    parser.add_argument(
        "--no-save", dest="save", action="store_false", help="do not append the figures to benchmarks/results.md"
    )
    return parser.parse_args(arguments)


def _report(run: Run) -> str:
    subjects = "\n".join(f"- {subject.name}: {subject.describes}" for subject in run.subjects)
    return f"{heading('servers', run.rounds, run.is_quick)}{subjects}\n\n{markdown(run.figures)}"


if __name__ == "__main__":
    sys.exit(main())
