"""Programs of the tests that load a server from a process of their own, so that they measure the server alone.

Owns: starting one of the modules of this folder, and waiting until it is at work.
Must not know: what it does.
"""

import subprocess
import sys
from pathlib import Path


def start_module(module: str, *arguments: str, first_line: str) -> subprocess.Popen[str]:
    """Start `tests.support.<module>`, and return the process once it has printed this line."""
    child = subprocess.Popen(
        [sys.executable, "-m", f"tests.support.{module}", *arguments],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == f"{first_line}\n", child.communicate()
    return child
