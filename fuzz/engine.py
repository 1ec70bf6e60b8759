"""One target under atheris, in a process of its own.

Owns: the limits of a run; where new inputs and crashes go; what of the code is watched.
Must not know: what a target checks.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzz.folder import PLACE, folder_for_another
from fuzz.seeds import write_seeds

ROOT: Final = Path(__file__).resolve().parents[1]
CORPUS: Final = ROOT / "fuzz" / "corpus"
DICTIONARY: Final = ROOT / "fuzz" / "words.dict"
WORK: Final = ROOT / "build" / "fuzz"

WATCHED: Final = ["cosmodrome", "fuzz.targets", "javaproperties", "tomlkit", "ipaddress"]
"""What guides the search. msgspec, zlib, lz4, zstandard and ssl are C and cannot be watched."""

_LONGEST_INPUT: Final = 4096
_SMALL_TARGETS: Final = frozenset(
    {
        "acl_signature", "account_file", "binary_header", "frame_decoder", "properties_file",
        "store_records", "batch_body", "message_properties", "compressed_body",
    }
)  # fmt: skip
"""Their corpus also tells how often an edge is passed; without, it would be a handful of inputs."""
_RSS_LIMIT_MB: Final = 1024
_SECONDS_PER_INPUT: Final = 30
"""Generous: a busy machine is no fault. What is quadratic shows as slow units long before."""

_FINAL: Final = re.compile(r"^stat::(\w+):\s+(\d+)$", re.MULTILINE)
_STATUS: Final = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run of a target came to. `coverage` is in edges of the watched code."""

    target: str
    is_clean: bool
    executions: int
    per_second: int
    coverage: int
    corpus_files: int
    peak_mb: int
    log: Path

    def line(self) -> str:
        """Give it as a row of a table."""
        result = "clean" if self.is_clean else f"CRASHED, see {self.log}"
        return (
            f"| {self.target} | {self.executions:,} | {self.per_second:,} | {self.coverage:,} | {self.corpus_files:,} "
            f"| {self.peak_mb} | {result} |"
        )


TABLE_HEAD: Final = (
    "| target | executions | per second | edges | corpus files | peak MB | result |\n|---|---|---|---|---|---|---|"
)


def fuzz_here(target: str, options: list[str]) -> None:
    """Run a target in this process, which ends with it. `options` are libFuzzer's."""
    import atheris  # noqa: PLC0415 -- the extra `fuzz`

    atheris.enabled_hooks.add("str")  # its hook of `re` fails at patterns of bytes
    with atheris.instrument_imports(include=WATCHED):
        from fuzz.targets import TARGETS  # noqa: PLC0415 -- what is imported here is watched

    # The engine starts itself anew, through a shell, when it merges.
    atheris.Setup([shlex.join(_command(target)), *options], TARGETS[target])
    atheris.Fuzz()


def fuzz(target: str, seconds: int, logs: Path) -> Run:
    """Run a target for so long in another process, its log in `logs`."""
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{target}.log"
    with log.open("wb") as output, folder_for_another() as folder:
        command, environment = _command(target, *_options(target, seconds)), os.environ | {PLACE: folder}
        status = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment, check=False
        )
    return read_log(target, log, is_clean=status.returncode == 0)


def merge(target: str, into: Path) -> None:
    """Put the smallest set of inputs into `into` that reaches what all inputs reach, those in `into` first."""
    into.mkdir(parents=True, exist_ok=True)
    write_seeds(target, WORK / target)
    counters = int(target in _SMALL_TARGETS)
    options = ["-merge=1", f"-use_counters={counters}", f"-max_len={_LONGEST_INPUT}"]
    with folder_for_another() as folder:
        command = _command(target, *options, str(into), str(WORK / target))
        subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {PLACE: folder})


def _command(target: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "fuzz", target, "--here", *options]


def _options(target: str, seconds: int) -> list[str]:
    folder = WORK / target
    write_seeds(target, folder)
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    return [
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST_INPUT}",
        f"-rss_limit_mb={_RSS_LIMIT_MB}",
        f"-timeout={_SECONDS_PER_INPUT}",
        f"-artifact_prefix={folder}{os.sep}",
        f"-dict={DICTIONARY}",
        "-print_final_stats=1",
        str(folder),
        str(CORPUS / target),
    ]


def read_log(target: str, log: Path, *, is_clean: bool) -> Run:
    """Give what the log of a run says; zeros for what it does not say."""
    text = log.read_text(encoding="utf-8", errors="replace")
    final = {name: int(value) for name, value in _FINAL.findall(text)}
    coverage, _, files = (_STATUS.findall(text) or [("0", "0", "0")])[-1]
    return Run(
        target=target,
        is_clean=is_clean,
        executions=final.get("number_of_executed_units", 0),
        per_second=final.get("average_exec_per_sec", 0),
        coverage=int(coverage),
        corpus_files=int(files),
        peak_mb=final.get("peak_rss_mb", 0),
        log=log,
    )
