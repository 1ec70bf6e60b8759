"""The real command line in a process of its own, on a free port.

Owns: how tests start `cosmodrome namesrv`, see that it is ready, and end it for certain.
Must not know: the package under test, beyond its command line, and what a test asks of the server.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tests.support.waiting import NotInTimeError, wait_until

START_S: Final = 30.0
STOP_S: Final = 60.0
COMMAND: Final = (sys.executable, "-m", "cosmodrome")

_BOOT_LINE: Final = "The Name Server boot success. serializeType="
_EVERYWHERE: Final = ("0.0.0.0", "::", "[::]")  # noqa: S104  # read here, not bound
_SOURCE_FOLDER: Final = Path(__file__).resolve().parents[2] / "src"


class ServerProcess:
    """A NameServer started as a user starts it; `with` waits until it is ready and ends it.

    It listens on a free port of 127.0.0.1 and keeps its data in `<folder>/data`, unless `flags` or
    `config` say otherwise; HTTP is at a free port, and off when the port is chosen. A second instance with the same folder therefore finds the same data.
    """

    def __init__(
        self,
        folder: Path,
        *flags: str,
        config: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        """Prepare a start.

        Args:
            folder: Working directory of the process; made if it is missing.
            flags: Flags of `cosmodrome namesrv`.
            config: Keys for `<folder>/start.properties`, which is then given with `-c`. Values are written
                as they are (booleans in lower case), so a test may write what is not valid. A file that is
                there already is left as it is, so that a second start sees what the first one saved.
            environment: Laid over this process's environment, which is freed of COSMODROME_* first.
            wrapper: A program that becomes the one that its arguments name.
        """
        self.folder = folder
        self.stdout_lines: list[str] = []
        self._stderr_lines: list[str] = []
        self._config = dict(config or {})
        self._flags = (*self._usual_flags(flags), *flags)
        self._environment = server_environment(folder) | dict(environment or {})
        self._wrapper = tuple(wrapper)
        self._child: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Start it and wait until it is ready."""
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, in good order when the test went well and at once when it did not."""
        if error is None:
            self.stop()
        else:
            self.kill()

    @property
    def address(self) -> str:
        """Where a peer on this host connects to, as `host:port`."""
        host, _, port = self._boot_line().rpartition("address ")[2].rpartition(":")
        return f"{'127.0.0.1' if host in _EVERYWHERE else host}:{port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.address.rpartition(":")[2])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._started().pid

    @property
    def stderr(self) -> str:
        """What it has written to standard error so far."""
        return "".join(self._stderr_lines)

    @property
    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the process and return at once; see `wait_ready` and `wait_ended`."""
        assert self._child is None, "already started"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._child = subprocess.Popen(
            [*self._wrapper, *COMMAND, "namesrv", *self._config_flags(), *self._flags],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
        )
        self._readers = [
            _drain(self._child.stdout, self.stdout_lines, strip=True),
            _drain(self._child.stderr, self._stderr_lines, strip=False),
        ]

    def wait_ready(self, within_s: float = START_S) -> None:
        """Wait for the line that names the address.

        Raises:
            AssertionError: The process ended first, or the deadline passed. The message has its output.
        """
        try:
            wait_until(lambda: self._boot_line() or not self.is_alive, "the boot line", within_s)
        except NotInTimeError as error:
            raise AssertionError(f"{error}\n{self._output()}") from None
        if not self._boot_line():
            code = self.wait_ended()
            if not self._boot_line():
                raise AssertionError(f"ended with {code} instead of starting\n{self._output()}")

    def wait_for_stderr(self, text: str, within_s: float = START_S) -> str:
        """Wait until standard error holds `text`, and return all of standard error."""
        wait_until(lambda: text in self.stderr or not self.is_alive, f"{text!r} on standard error", within_s)
        assert text in self.stderr, self._output()
        return self.stderr

    def signal(self, number: signal.Signals) -> None:
        """Send a signal and return at once."""
        self._started().send_signal(number)

    def stop(self, within_s: float = STOP_S) -> int:
        """End it with SIGTERM and return its exit code; when it has ended already, just that."""
        if self.is_alive:
            self._started().terminate()
        return self.wait_ended(within_s)

    def kill(self) -> None:
        """End it with SIGKILL; return when it is gone. May be called again."""
        if self._child is not None:
            self._child.kill()
            self.wait_ended()

    def wait_ended(self, within_s: float = STOP_S) -> int:
        """Wait for its end and the end of its output, and return the exit code.

        Raises:
            AssertionError: It is still alive after the deadline (it is killed then).
        """
        child = self._started()
        try:
            code = child.wait(within_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise AssertionError(f"still alive after {within_s:g} s\n{self._output()}") from None
        for reader in self._readers:
            reader.join(within_s)
        return code

    def _usual_flags(self, flags: tuple[str, ...]) -> list[str]:
        usual = {"--listenPort": ("listenPort", "0"), "--bindAddress": ("bindAddress", "127.0.0.1")}
        usual["--data-dir"] = ("dataDir", str(self.folder / "data"))
        given = {flag.partition("=")[0] for flag in flags}
        if "listenPort" in self._config or "--listenPort" in given:
            # The default, 10,000 ports above a port that a test chose, may be one that another test has chosen.
            usual["--http"] = ("http", "off")
        return [
            part
            for flag, (key, value) in usual.items()
            if not given & {flag, key} and key not in self._config
            for part in (flag, value)
        ]

    def _config_flags(self) -> list[str]:
        if not self._config:
            return []
        file = self.folder / "start.properties"
        if not file.exists():
            lines = (f"{key}={_text(value)}\n" for key, value in self._config.items())
            file.write_text("".join(lines), encoding="utf-8", newline="")
        return ["-c", str(file)]

    def _boot_line(self) -> str:
        return next((line for line in self.stdout_lines if line.startswith(_BOOT_LINE)), "")

    def _started(self) -> subprocess.Popen[str]:
        assert self._child is not None, "never started"
        return self._child

    def _output(self) -> str:
        return f"stdout: {self.stdout_lines}\nstderr:\n{self.stderr[-8000:]}"


def run_command(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None, within_s: float = START_S
) -> subprocess.CompletedProcess[str]:
    """Run `cosmodrome` with these arguments until it ends by itself, and return what it wrote and its code."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=server_environment(folder) | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=within_s,
        check=False,
    )


def server_environment(folder: Path) -> dict[str, str]:
    """Return this process's environment without what would change the server; `folder` is the home folder."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COSMODROME_", "ROCKETMQ_", "XDG_", "COV_"))
    }
    path = os.pathsep.join(filter(None, (str(_SOURCE_FOLDER), kept.get("PYTHONPATH"))))
    return kept | {"HOME": str(folder), "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}


def _drain(stream: IO[str] | None, lines: list[str], *, strip: bool) -> threading.Thread:
    assert stream is not None

    def collect() -> None:
        with stream:
            for line in stream:
                lines.append(line.rstrip("\n") if strip else line)  # noqa: PERF401  # each line as it comes

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    return thread


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
