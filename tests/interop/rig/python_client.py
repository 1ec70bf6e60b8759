"""The PyPI package `rocketmq`: Apache's C++ client, called through ctypes.

Owns: its version; how it is installed, in an environment of its own, and run.
Must not know: what it is used for.
"""

import sys
from pathlib import Path
from typing import Final

from tests.interop.rig.built_once import Build, built
from tests.interop.rig.client_program import ClientProgram

_PACKAGE: Final = "rocketmq==0.4.4"
_PYTHON: Final = "venv/bin/python"
# The environment borrows the installer of the tests' own: making another one takes longer than the package.
BUILD: Final = Build(
    name="python",
    steps=[
        [sys.executable, "-m", "venv", "--without-pip", "venv"],
        [
            *(sys.executable, "-m", "pip", "--python", _PYTHON, "install", "--quiet", "--disable-pip-version-check"),
            *("--only-binary", ":all:", _PACKAGE),
        ],
    ],
    needs="Linux on x86-64, for which its wheel is made",
)


def python_client(folder: Path) -> ClientProgram:
    """Return the client; the first call installs it."""
    place = built(BUILD)
    return ClientProgram([str(environment_python(place)), "-u", str(place / "client.py")], folder)


def environment_python(place: Path) -> Path:
    """Return the interpreter that has the package, of the folder where it was built."""
    return place / _PYTHON
