"""The two C programs of the benchmarks.

Owns: compiling native/*.c once; running nsload and reading what it prints.
Must not know: which servers there are.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

SOURCES: Final = Path(__file__).parent / "native"


class BenchError(Exception):
    """A measurement cannot be made; the message says why and what to do."""


class Native:
    """nsload and nsfloor, compiled into a folder of their own."""

    def __init__(self) -> None:
        """Compile them.

        Raises:
            BenchError: There is no C compiler, or it refuses the sources.
        """
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise BenchError("no C compiler found; on Debian and Ubuntu: apt-get install gcc libc6-dev")
        self._folder = tempfile.TemporaryDirectory(prefix="cosmodrome-bench-")
        for name in ("nsload", "nsfloor"):
            command = [compiler, "-O2", "-o", str(self.path(name)), str(SOURCES / f"{name}.c")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(f"{name}.c does not compile here:\n{done.stderr}")

    def path(self, name: str) -> Path:
        """Where a program is."""
        return Path(self._folder.name, name)

    def load(self, port: int, pid: int, *, may_fail: bool = False, **options: object) -> dict[str, Any]:
        """Run nsload with these options and give its figures.

        Raises:
            BenchError: It could not run, or an answer was wrong (unless `may_fail`).
        """
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [str(self.path("nsload")), "--port", str(port), "--pid", str(pid), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode == 2 or (done.returncode and not may_fail):
            raise BenchError(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")
        figures: dict[str, Any] = json.loads(done.stdout)
        return figures
