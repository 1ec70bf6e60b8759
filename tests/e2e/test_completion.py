"""What completes words in a shell: the shell's own, where it is installed, and what the command answers it."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from tests.support.server_process import COMMAND, run_command, server_environment

CHECKED: Final = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "-n"]}


@pytest.mark.parametrize("shell", CHECKED)
def test_the_script_is_one_of_that_shell(tmp_path: Path, shell: str) -> None:
    done = run_command("completion", shell, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"_COSMODROME_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(done.stdout)
        checked = subprocess.run([*CHECKED[shell], str(file)], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_another_shell_is_wrong_usage(tmp_path: Path) -> None:
    assert run_command("completion", "tcsh", folder=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cosmodrome do", ["doctor"]),
        ("cosmodrome namesrv --list", ["--listenPort"]),
        ("cosmodrome admin topicRou", ["topicRoute"]),
        ("cosmodrome export sy", ["systemd"]),
        ("cosmodrome stop bro", ["broker"]),
        ("cosmodrome completion f", ["fish"]),
        ("cosmodrome reload --pid", ["--pid-file"]),
        ("cosmodrome export systemd --pro", ["--program"]),
    ],
)
def test_words_are_completed(tmp_path: Path, line: str, expected: list[str]) -> None:
    """Also those of commands that are loaded only then."""
    words = line.split()
    environment = server_environment(tmp_path) | {
        "_COSMODROME_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = subprocess.run(
        [COMMAND[0], "-c", "from cosmodrome.cli import main; main()"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [item.partition(",")[2] for item in done.stdout.split()] == expected, done.stderr
