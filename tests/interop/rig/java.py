"""Java programs of a named RocketMQ release.

Owns: the flags of every JVM; the home folder that keeps logs and client files of each; `Console`,
a JVM that takes one command per line.
Must not know: what the programs do (name_servers.py, brokers.py, clients.py, mqadmin.py).
"""

import itertools
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import V4_9, RigError, class_path, find_tool, locked, rig_folder
from tests.interop.rig.process import ProcessError, RigProcess

# Quick to start, small, and open where Netty and the stores reach into the JDK (4.9.x on Java 17).
JVM_FLAGS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Xms64m",
    "-Xmx256m",
    "-XX:MaxDirectMemorySize=256m",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
# As bin/runserver.sh starts a NameServer, with the heap that a measurement names; warm code is compiled fully.
SERVER_JVM_FLAGS: Final = ("-server", "-XX:+UseG1GC", "-XX:G1HeapRegionSize=16m", "-Xms1g", "-Xmx1g")
# Servers make no self-signed certificate at start, which takes up to 4 s; nothing here speaks TLS.
_COMMON_PROPERTIES: Final = {"tls.server.mode": "disabled"}

READY_MARK: Final = "@@READY"
DONE_MARK: Final = "@@DONE"

_PROGRAMS: Final = Path(__file__).parent / "programs"

# 4.9.x does not start without these files; 5.x brings its own and ignores them.
_LOGBACK_FILES: Final = ("logback_namesrv.xml", "logback_broker.xml", "logback_tools.xml")
_LOGBACK: Final = """\
<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>{home}/logs/all.log</file>
    <encoder><pattern>%d %p %t - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaProgram:
    """What to run: a main class of one release, its arguments and system properties."""

    release: str
    main_class: str
    arguments: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: Sequence[str] = JVM_FLAGS


class JavaProcess(RigProcess):
    """A JVM whose home is `folder`: its logs are below `<folder>/logs`."""

    def __init__(self, program: JavaProgram, folder: Path) -> None:
        """Prepare the JVM, and fetch or compile what it needs; nothing is started yet."""
        _prepare_home(folder)
        properties = {
            "user.home": str(folder),
            "java.io.tmpdir": str(folder / "tmp"),
            **_COMMON_PROPERTIES,
            **program.properties,
        }
        command = [
            find_tool("java"),
            *program.jvm_flags,
            *(f"-D{name}={value}" for name, value in properties.items()),
            "-cp",
            f"{_compiled_programs(program.release)}:{class_path(program.release)}",
            program.main_class,
            *program.arguments,
        ]
        super().__init__(command, folder, {"ROCKETMQ_HOME": str(folder)})

    def log_text(self) -> str:
        """Return everything found in the log files of all runs, in no particular order."""
        files = sorted(self.folder.glob("logs/**/*.log"))
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


class Console:
    """A long-lived JVM that runs one tab-separated command after the other.

    Its main class is one of programs/*.java: it prints READY_MARK once, reads a line, runs the
    command, and prints DONE_MARK with the number of the command.
    """

    def __init__(self, program: JavaProgram, folder: Path) -> None:
        """Prepare the JVM; `start` starts it."""
        self._process = JavaProcess(program, folder)
        self._numbers = itertools.count(1)

    def start(self) -> None:
        """Start the JVM and wait until it takes commands."""
        self._process.start()
        self._process.wait_for_text(READY_MARK)

    def run(self, *command: str, within_s: float = 60.0) -> str:
        """Run one command and return all that it printed, Logback's status lines left out.

        Raises:
            ProcessError: The command did not end in time, or ended the JVM.
        """
        done = f"{DONE_MARK} {next(self._numbers)}\n"
        return self.run_until(done, *command, within_s=within_s).partition(done)[0]

    def run_until(self, text: str, *command: str, within_s: float) -> str:
        """Send one command and return what it printed once `text` is there, without waiting for its end.

        Raises:
            ProcessError: The text did not come in time, or the command ended the JVM.
        """
        assert not any("\t" in word or "\n" in word for word in command), command
        begins_at = len(self._process.output())
        self._process.send_line("\t".join(command))
        try:
            return self._process.wait_for_text(text, within_s, after=begins_at)
        except ProcessError as error:
            raise ProcessError(f"command {' '.join(command)}: {error}") from None

    def stop(self) -> None:
        """End the JVM. It holds nothing that is worth an orderly shutdown."""
        self._process.kill()


def _prepare_home(folder: Path) -> None:
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    conf = folder / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for name in _LOGBACK_FILES:
        (conf / name).write_text(_LOGBACK.format(home=folder), encoding="utf-8")


def _compiled_programs(release: str) -> Path:
    """Return the folder of the programs compiled for a release; compile what has changed."""
    classes = rig_folder() / release / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    with locked(classes / "lock"):
        for source in sorted(_PROGRAMS.glob("*.java")):
            text = source.read_text(encoding="utf-8")
            copy = classes / source.name
            if not copy.exists() or copy.read_text(encoding="utf-8") != text:
                _compile(release, source, classes)
                copy.write_text(text, encoding="utf-8")
    return classes


def _compile(release: str, source: Path, classes: Path) -> None:
    command = [find_tool("javac"), "-nowarn", "-cp", class_path(release), "-d", str(classes), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RigError(f"{source.name} does not compile against {release}:\n{done.stdout}{done.stderr}")


def is_4x(release: str) -> bool:
    """Return whether a release is of the 4.x line, without acting masters, 901, 217 and the like."""
    return release == V4_9
