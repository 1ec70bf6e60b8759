"""Prometheus's own checks, of the version in programs/promtool/go.mod.

Owns: how promtool is built and run.
Must not know: what is checked.
"""

import subprocess
from typing import Final

from tests.interop.rig.built_once import Build, built

BUILD: Final = Build(
    name="promtool",
    steps=[["go", "build", "-mod=readonly", "-o", "promtool", "github.com/prometheus/prometheus/cmd/promtool"]],
    needs="Go 1.26 or later",
)
CHECK_S: Final = 120


def promtool(*words: str, text: bytes = b"") -> list[str]:
    """Run a check and give the lines that it complains with; none when all is well. The first call builds it.

    What it says of what is well goes elsewhere.
    """
    command = [str(built(BUILD) / "promtool"), *words]
    done = subprocess.run(command, input=text, capture_output=True, timeout=CHECK_S, check=False)
    said = (done.stderr + done.stdout).decode()
    return [line for line in said.splitlines() if line.strip()] if done.returncode else []
