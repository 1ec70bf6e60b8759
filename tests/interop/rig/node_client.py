"""The Node client `ali-ons`, of the version in programs/node/package.json.

Owns: how it is installed and run.
Must not know: what it is used for.
"""

from pathlib import Path
from typing import Final

from tests.interop.rig.built_once import Build, built, tool_of
from tests.interop.rig.client_program import ClientProgram

_NEEDS: Final = "Node 18 or later and npm"
# No lock file: it would name the registry of the machine that wrote it.
BUILD: Final = Build(
    name="node",
    steps=[["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]],
    needs=_NEEDS,
)


def node_client(folder: Path) -> ClientProgram:
    """Return the client; the first call installs its packages."""
    return ClientProgram([tool_of("node", _NEEDS), str(built(BUILD) / "client.js")], folder)
