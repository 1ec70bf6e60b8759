"""A broker of ours in a process of its own, with small files.

Owns: broker.conf, the process, its address, how it ends.
Must not know: what a test claims; the package under test, beyond its command line.
"""

import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.server_process import COMMAND, server_environment

WITHIN_S: Final = 60.0
SMALL: Final = {
    "brokerClusterName": "C", "brokerName": "broker-p", "listenPort": "0", "bindAddress": "127.0.0.1",
    "mappedFileSizeCommitLog": "4194304", "mappedFileSizeConsumeQueue": "60000", "maxHashSlotNum": "5000",
    "maxIndexNum": "20000", "maxMessageSize": "1000000",
}  # fmt: skip


class BrokerProcess:
    """Starts when it is entered. Leaving it kills what is still alive."""

    def __init__(self, folder: Path, **config: object) -> None:
        """Keep its configuration and its store in a folder; `config` has Java's keys."""
        self.folder = folder
        self.address = ""
        texts = {**SMALL, "storePathRootDir": str(folder / "store"), **{key: str(each) for key, each in config.items()}}
        self._conf = folder / "broker.conf"
        self._conf.write_text("".join(f"{key}={text}\n" for key, text in texts.items()), encoding="utf-8")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it, and wait until it serves."""
        with (self.folder / "broker.err").open("a", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [*COMMAND, "broker", "-c", str(self._conf)], cwd=self.folder, env=server_environment(self.folder),
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("The broker["), f"{line}{self.errors[-2000:]}"
        self.address = line.partition("[")[2].partition("]")[0].split(", ")[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it if it is still alive."""
        self.kill()

    @property
    def errors(self) -> str:
        """What it and those before it in this folder have written."""
        return (self.folder / "broker.err").read_text(encoding="utf-8")

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def hang_up(self) -> None:
        """Send it SIGHUP."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """End it with SIGKILL; may be called again."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End it with SIGTERM, and give its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        assert process is not None
        if process.poll() is None:
            process.send_signal(number)
        code = process.wait(WITHIN_S)
        assert process.stdout is not None
        process.stdout.close()
        return code
