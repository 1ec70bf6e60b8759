"""Apache's mqadmin of a release, in one JVM for many commands.

Owns: running commands and returning what they print.
Must not know: which commands there are, and what their output means.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.interop.rig.java import Console, JavaProgram

COMMAND_S: Final = 60.0


class MqAdmin:
    """The operator's tool of a release. A failed command is told by its text alone, as in the shell."""

    def __init__(self, release: str, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        """Prepare the JVM with its home in `folder`; `start` starts it."""
        self.release = release
        self.home = folder
        """Below it are the files that the tool reads, such as `conf/tools.yml`."""
        program = JavaProgram(release=release, main_class="Admin", properties=properties or {})
        self._console = Console(program, folder)

    def start(self) -> None:
        """Start the JVM and wait until it takes commands."""
        self._console.start()

    def run(self, *arguments: str, within_s: float = COMMAND_S) -> str:
        """Run one command line and return all it printed.

        Raises:
            ProcessError: It did not end in time; this JVM takes no further commands then.
        """
        return self._console.run(*arguments, within_s=within_s)

    def run_until(self, text: str, *arguments: str, within_s: float = COMMAND_S) -> str:
        """Run a command that never ends, return what it printed once `text` is there, and end this JVM.

        Raises:
            ProcessError: The text did not come in time.
        """
        try:
            return self._console.run_until(text, *arguments, within_s=within_s)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the JVM."""
        self._console.stop()
