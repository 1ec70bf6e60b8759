"""Apache's Go client, of the version in programs/go/go.mod.

Owns: how the program is built and run.
Must not know: what it is used for.
"""

from pathlib import Path
from typing import Final

from tests.interop.rig.built_once import Build, built
from tests.interop.rig.client_program import ClientProgram

BUILD: Final = Build(
    name="go",
    steps=[["go", "build", "-mod=readonly", "-o", "client", "."]],
    needs="Go 1.22 or later",
)


def go_client(folder: Path) -> ClientProgram:
    """Return the client; the first call builds it, which takes minutes when nothing is cached."""
    return ClientProgram([str(built(BUILD) / "client")], folder)
