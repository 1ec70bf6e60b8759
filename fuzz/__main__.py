"""Look for bytes with which something does not hold that must hold.

    python -m fuzz TARGET [--seconds N]     one target under atheris (the extra `fuzz`)
    python -m fuzz --all [--seconds N]      every target, one after the other; ends with a table
    python -m fuzz TARGET --replay FILE...  the target with these inputs, without atheris
    python -m fuzz TARGET --merge           put what was found into fuzz/corpus, the least that reaches as much

Found inputs and crashes are in build/fuzz/TARGET; runs read fuzz/corpus/TARGET too.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

from fuzz import engine


def main() -> int:
    """Do what the command line says; give the exit code: 1 after a crash, 2 for a line that makes no sense."""
    if "--here" in sys.argv:
        at = sys.argv.index("--here")
        engine.fuzz_here(sys.argv[1], sys.argv[at + 1 :])
        return 0
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="one of them, see fuzz/targets")
    parser.add_argument("--all", action="store_true", help="every target")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="how long for each target (60)")
    parser.add_argument("--logs", type=Path, default=engine.WORK / "logs", help="folder for the logs of runs")
    parser.add_argument("--replay", nargs="+", type=Path, metavar="FILE", help="inputs to run")
    parser.add_argument("--merge", action="store_true", help="minimise what was found into fuzz/corpus")
    arguments = parser.parse_args()

    from fuzz.targets import TARGETS  # noqa: PLC0415 -- under atheris it is imported where it is watched

    if arguments.all == bool(arguments.target) or (arguments.target and arguments.target not in TARGETS):
        parser.error(f"name one target, or --all: {', '.join(TARGETS)}")
    if arguments.replay:
        for path in arguments.replay:
            TARGETS[arguments.target](path.read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install -e '.[fuzz]' (Linux on x86-64)")
    targets = list(TARGETS) if arguments.all else [arguments.target]
    if arguments.merge:
        for target in targets:
            engine.merge(target, engine.CORPUS / target)
        return 0
    return _fuzz(targets, arguments.seconds, arguments.logs)


def _fuzz(targets: list[str], seconds: int, logs: Path) -> int:
    print(engine.TABLE_HEAD, flush=True)
    is_clean = True
    for target in targets:
        run = engine.fuzz(target, seconds, logs)
        print(run.line(), flush=True)
        is_clean = is_clean and run.is_clean
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
