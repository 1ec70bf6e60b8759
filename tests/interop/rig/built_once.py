"""Programs that the rig builds from their sources once, and keeps.

Owns: copying sources to the rig folder; building again when they have changed; what to do when a tool is missing.
Must not know: which languages there are (go_client.py and its siblings).
"""

import atexit
import contextlib
import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import RigError, locked, rig_folder

PROGRAMS: Final = Path(__file__).parent / "programs"
STEP_TIMEOUT_S: Final = 1800
"""Of one build step, on a slow machine with nothing in its caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """How a program is made.

    Its sources are the folder programs/<name>. Every step is a command that runs in a copy of them, where it may
    leave what it likes.
    """

    name: str
    steps: Sequence[Sequence[str]]
    needs: str
    """What has to be installed, for the message of a failure."""


def built(build: Build) -> Path:
    """Return the folder in which a program was built, building it when its sources or steps are new.

    Raises:
        RigError: A tool is missing, or a step failed.
    """
    kept = rig_folder() / build.name
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept / "lock"):
        folder = kept / "build"
        wanted = _fingerprint(build)
        # The marker is written last: an interrupted or outdated build is done again.
        marker = kept / "complete"
        if not marker.exists() or marker.read_text(encoding="utf-8") != wanted:
            marker.unlink(missing_ok=True)
            shutil.copytree(PROGRAMS / build.name, folder, dirs_exist_ok=True)
            for step in build.steps:
                _run(build, step, folder)
            marker.write_text(wanted, encoding="utf-8")
    return folder


def build_ahead(builds: Iterable[Build]) -> None:
    """Begin to build programs that tests will want later, beside the tests that come before.

    What fails here fails again, and is told, in the first test that wants the program.
    """
    for build in builds:
        threading.Thread(target=_build_quietly, args=(build,), daemon=True, name=f"build-{build.name}").start()


def tool_of(name: str, needs: str) -> str:
    """Return the path of a command.

    Raises:
        RigError: It is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise RigError(f"`{name}` was not found. The tests of clients in other languages need {needs} on the PATH.")
    return found


def _build_quietly(build: Build) -> None:
    with contextlib.suppress(RigError, OSError):
        built(build)


def _fingerprint(build: Build) -> str:
    digest = hashlib.sha256(repr(build.steps).encode())
    for file in sorted((PROGRAMS / build.name).rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _run(build: Build, step: Sequence[str], folder: Path) -> None:
    command = [*_politely(), tool_of(step[0], build.needs), *step[1:]]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        atexit.register(process.kill)  # a test run that ends early leaves no compiler behind
        try:
            output, _ = process.communicate(timeout=STEP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise RigError(f"no end of `{' '.join(step)}` after {STEP_TIMEOUT_S} s") from error
        finally:
            atexit.unregister(process.kill)
    if process.returncode != 0:
        raise RigError(
            f"the {build.name} client cannot be built (needed: {build.needs}, and a package registry or mirror "
            f"that this machine reaches). `{' '.join(step)}` said:\n{output[-3000:]}"
        )


def _politely() -> list[str]:
    """Give what lets the tests that run meanwhile have the processors first."""
    nice = shutil.which("nice")
    return [nice, "-n", "10"] if nice else []
