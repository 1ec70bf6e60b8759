"""`python -m fuzz`, as far as it goes without atheris."""

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import engine

LOG = """\
#17	pulse  cov: 64 ft: 90 corp: 12/300b exec/s: 12 rss: 70Mb
#900	NEW    cov: 66 ft: 99 corp: 14/310b lim: 4 exec/s: 12 rss: 71Mb L: 3/9 MS: 1 EraseBytes-
Done 1234567 runs in 601 second(s)
stat::number_of_executed_units: 1234567
stat::average_exec_per_sec:     2054
stat::new_units_added:          9
stat::slowest_unit_time_sec:    0
stat::peak_rss_mb:              72
"""


def fuzz(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *arguments], capture_output=True, text=True, cwd=engine.ROOT, check=False
    )


def test_a_run_is_read_from_its_log(tmp_path: Path) -> None:
    log = tmp_path / "frame_decoder.log"
    log.write_text(LOG)

    run = engine.read_log("frame_decoder", log, is_clean=True)

    assert run.line() == "| frame_decoder | 1,234,567 | 2,054 | 66 | 14 | 72 | clean |"


def test_a_run_that_ended_early_says_where_to_look(tmp_path: Path) -> None:
    log = tmp_path / "frame_decoder.log"
    log.write_text("Traceback")

    assert engine.read_log("frame_decoder", log, is_clean=False).line().endswith(f"| CRASHED, see {log} |")


def test_inputs_are_replayed_without_atheris() -> None:
    files = sorted(str(path) for path in (engine.CORPUS / "kv_file").iterdir())

    assert fuzz("kv_file", "--replay", *files).returncode == 0


@pytest.mark.parametrize("arguments", [("no_such_target",), (), ("frame_decoder", "--all")])
def test_a_line_that_makes_no_sense_lists_the_targets(arguments: tuple[str, ...]) -> None:
    answer = fuzz(*arguments)

    assert answer.returncode == 2
    assert "frame_decoder, json_header" in answer.stderr
