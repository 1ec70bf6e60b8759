"""Manual pages say what the commands say, and are pages to `man`, where there is one."""

import shutil
import subprocess

import pytest
from scripts.manual import ALIASES, FOLDER, pages

from cosmodrome.cli.commands import cosmodrome

PAGES = dict(pages())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "write it anew: python -m scripts.manual"


def test_there_is_a_page_of_each_command_and_program_and_no_other() -> None:
    programs = {"cosmodrome", *ALIASES, *(f"cosmodrome-{name}" for name in cosmodrome.commands)}

    assert {path.name for path in FOLDER.glob("*.1")} == {f"{each}.1" for each in programs}
    assert all(f"{target}.1" in PAGES for target in ALIASES.values())


@pytest.mark.parametrize("name", [name for name in PAGES if not PAGES[name].startswith(".so ")])
def test_a_page_has_its_sections_and_no_stray_request(name: str) -> None:
    lines = PAGES[name].splitlines()
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}

    assert lines[0].startswith(".TH ")
    assert {".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXIT STATUS"} <= set(lines)
    assert requests <= {".TH", ".SH", ".TP", ".PP", ".B", ".BR", ".I", ".br", ".nf", ".fi"}


def test_man_finds_nothing_to_complain_of() -> None:
    man = shutil.which("man")
    if man is None:
        assert PAGES, "without man the test above is all there is"
        return
    for name in ("cosmodrome.1", "cosmodrome-namesrv.1", "cosmodrome-completion.1"):
        shown = subprocess.run(
            [man, "--warnings", "-l", str(FOLDER / name)],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "EXIT STATUS" in shown.stdout
