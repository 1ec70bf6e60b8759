"""The command: python -m benchmarks.hostile [--seconds S] [--only ours|apache] [--stage NAME]... [--output FILE].

Starts our NameServer and Apache's 5.5.0 one after the other (the second needs Java and Maven, once), does the same to
both, prints one table and writes it to a file. Exit code 1 when our server did what it must not, 2 when it cannot run.

Owns: arguments, the servers' lives, the file.
Must not know: the stages; the figures.
"""

import argparse
import asyncio
import datetime as dt
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import V5_5, RigError
from tests.interop.rig.java import SERVER_JVM_FLAGS
from tests.interop.rig.name_servers import ApacheNameServer, NameServer, OurNameServer

from benchmarks.hostile.measure import Server, ServerFigures, measure
from benchmarks.hostile.report import faults, markdown
from benchmarks.hostile.stages import STAGES

OURS: Final = "ours"
APACHE: Final = "apache"
OUTPUT: Final = Path(__file__).resolve().parents[2] / "docs" / "hostile.md"
SEED: Final = 5
# Apache's default; the rig turns it off. Both then look at first bytes for TLS.
_CONFIG: Final = {"tls.server.mode": "permissive"}


def main() -> int:
    """Measure both, print and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description="Both servers under attack.")
    parser.add_argument("--seconds", type=float, default=10, help="of each stage (default 10)")
    parser.add_argument("--only", choices=(OURS, APACHE), help="one server alone; nothing is written to a file")
    parser.add_argument("--stage", action="append", help="this stage only, may be given again; nothing is written")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of what random peers send (default {SEED})")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"where the table goes (default {OUTPUT.name})")
    options = parser.parse_args()
    names = [options.only] if options.only else [OURS, APACHE]
    stages = [stage for stage in STAGES if not options.stage or stage.name in options.stage]
    figures: dict[str, ServerFigures] = {}
    try:
        for name in names:
            with tempfile.TemporaryDirectory(prefix="hostile-") as folder, _running(name, Path(folder)) as server:
                figures[name] = asyncio.run(measure(server, stages, options.seconds, options.seed, _say))
    except RigError as error:
        _say(f"hostile: {error}")
        return 2
    when = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%d")
    table = markdown(list(figures.values()), options.seconds, when)
    print(table)
    if not options.only and not options.stage:
        options.output.write_text(f"{_TITLE}{table}", encoding="utf-8")
    found = list(faults(figures[OURS], figures.get(APACHE))) if OURS in figures else []
    for fault in found:
        _say(f"fault: {fault}")
    return 1 if found else 0


@contextmanager
def _running(name: str, folder: Path) -> Iterator[Server]:
    server = _STARTERS[name](folder)
    try:
        server.start()
        yield Server(
            name=name,
            describes=_DESCRIPTIONS[name],
            address=server.address,
            pid=server.process.pid,
            is_alive=lambda: server.process.is_alive,
            folder=folder,
        )
    finally:
        server.kill()


def _ours(folder: Path) -> NameServer:
    return OurNameServer(folder, _CONFIG)


def _apache(folder: Path) -> NameServer:
    return ApacheNameServer(V5_5, folder, _CONFIG, jvm_flags=SERVER_JVM_FLAGS)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


_STARTERS: Final = {OURS: _ours, APACHE: _apache}
_DESCRIPTIONS: Final = {
    OURS: "this checkout, default configuration, one process",
    APACHE: (
        f"Apache RocketMQ NameServer {V5_5}, default configuration, java {' '.join(SERVER_JVM_FLAGS)} (its own start "
        "script gives it 4 GiB of heap; 1 GiB is what bounds its memory here)"
    ),
}
_TITLE: Final = """\
# Side by side with Apache's NameServer under a hostile script

<!-- Written by `python -m benchmarks.hostile`. Do not edit. -->

"""

if __name__ == "__main__":
    sys.exit(main())
