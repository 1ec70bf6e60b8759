"""The jar files of each Apache RocketMQ release under test.

Owns: which releases there are; the folder the jars are kept in; the one Maven call that fills it.
Must not know: what the jars are used for (java.py).
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

V5_5: Final = "5.5.0"
V5_1: Final = "5.1.4"
V4_9: Final = "4.9.7"
RELEASES: Final = (V5_5, V5_1, V4_9)

ARTIFACTS: Final = ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools")
RESOLVE_TIMEOUT_S: Final = 900

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[3]

_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cosmodrome.interop</groupId>
  <artifactId>rig-{release}</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY: Final = (
    "    <dependency><groupId>org.apache.rocketmq</groupId>"
    "<artifactId>{artifact}</artifactId><version>{release}</version></dependency>"
)


class RigError(Exception):
    """Something that the rig needs is missing; the message says what, and what to do."""


def rig_folder() -> Path:
    """Return the folder that keeps jars and compiled programs between runs (`COSMODROME_RIG`)."""
    return Path(os.environ.get("COSMODROME_RIG") or _PROJECT_ROOT / ".rig").resolve()


def find_tool(name: str) -> str:
    """Return the path of a command of the JDK or of Maven.

    Raises:
        RigError: It is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise RigError(
            f"`{name}` was not found. The interoperability tests start real RocketMQ software: "
            "install a JDK (17 is tested) and Maven, and put `java`, `javac` and `mvn` on the PATH."
        )
    return found


def class_path(release: str) -> str:
    """Return the class path of one release, fetching its jars the first time.

    Raises:
        RigError: A tool is missing, or Maven could not resolve the release.
    """
    folder = rig_folder() / release
    folder.mkdir(parents=True, exist_ok=True)
    pom = _pom_of(release)
    with locked(folder / "lock"):
        # The marker is written last and holds the pom: an interrupted or outdated copy is redone.
        marker = folder / "complete"
        if not marker.exists() or marker.read_text(encoding="utf-8") != pom:
            _copy_dependencies(release, folder, pom)
            marker.write_text(pom, encoding="utf-8")
    return f"{folder / 'lib'}/*"


def _pom_of(release: str) -> str:
    dependencies = (_DEPENDENCY.format(artifact=name, release=release) for name in ARTIFACTS)
    return _POM.format(release=release, dependencies="\n".join(dependencies))


def _copy_dependencies(release: str, folder: Path, pom: str) -> None:
    maven = find_tool("mvn")
    shutil.rmtree(folder / "lib", ignore_errors=True)
    (folder / "pom.xml").write_text(pom, encoding="utf-8")
    command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}/lib"]
    try:
        # Maven's local repository is not made for two that fill it.
        with locked(rig_folder() / "maven.lock"):
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=RESOLVE_TIMEOUT_S, check=False
            )
    except subprocess.TimeoutExpired as error:
        raise RigError(_unresolved(release, f"no end after {RESOLVE_TIMEOUT_S} s")) from error
    if done.returncode != 0:
        raise RigError(_unresolved(release, (done.stdout + done.stderr)[-3000:]))


def _unresolved(release: str, detail: str) -> str:
    return (
        f"Maven could not fetch Apache RocketMQ {release} (once per release, about 100 MB). "
        "Check that this machine reaches a Maven repository (settings.xml names a mirror), "
        f"then run the tests again. Maven said:\n{detail}"
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes: two test runs may want the same jars at once."""
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
