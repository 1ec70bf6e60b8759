"""The Rust client `rocketmq-client-rust`, of the version in programs/rust/Cargo.toml.

Owns: how the program is built and run.
Must not know: what it is used for.
"""

from pathlib import Path
from typing import Final

from tests.interop.rig.built_once import Build, built
from tests.interop.rig.client_program import ClientProgram

# The folder of the output is set, since a machine's own setting may put it elsewhere.
BUILD: Final = Build(
    name="rust",
    steps=[["cargo", "build", "--quiet", "--target-dir", "target"]],
    needs="Rust 1.95 or later with Cargo, and a C compiler",
)


def rust_client(folder: Path) -> ClientProgram:
    """Return the client; the first call builds it, which takes many minutes."""
    return ClientProgram([str(built(BUILD) / "target" / "debug" / "client")], folder)
