"""NameServers under one interface: Apache's of a release, and ours.

Owns: their configuration files and when they count as started.
Must not know: what a test asks of them (view.py has the usual questions).
"""

import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.interop.rig.java import JVM_FLAGS, JavaProcess, JavaProgram
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.process import START_S, ProcessError, RigProcess
from tests.interop.rig.view import NOT_YET, NameServerView
from tests.support.waiting import NotInTimeError, wait_until

_MAIN_CLASS: Final = "org.apache.rocketmq.namesrv.NamesrvStartup"


class NameServer:
    """A NameServer on a fixed port of 127.0.0.1; made by its two subclasses."""

    def __init__(self, process: RigProcess, port: int, tls: ssl.SSLContext | None = None) -> None:
        """Wrap a process that is not started yet; with `tls` it is asked over TLS."""
        self.process = process
        self.address = f"{HOST}:{port}"
        self.view = NameServerView(self.address, tls)

    def start(self) -> None:
        """Start it and wait until it answers a request.

        Raises:
            ProcessError: It ended instead, or did not answer in time.
        """
        self.process.start()
        try:
            wait_until(self._answers_or_died, f"an answer from {self.address}", START_S, NOT_YET)
        except NotInTimeError as error:
            raise ProcessError(f"{error}\n{self.process.tail()}") from None
        if not self.process.is_alive:
            raise ProcessError(f"the NameServer ended at once\n{self.process.tail()}")

    def stop(self) -> None:
        """End it with SIGTERM; may be called again."""
        self.process.stop()

    def kill(self) -> None:
        """End it with SIGKILL; may be called again."""
        self.process.kill()

    def restart(self) -> None:
        """End it in good order and start it again on the same port, its tables empty."""
        self.stop()
        self.start()

    def _answers_or_died(self) -> bool:
        return not self.process.is_alive or self.view.broker_groups() is not None


class ApacheNameServer(NameServer):
    """The NameServer of an Apache release."""

    def __init__(
        self,
        release: str,
        folder: Path,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        tls: ssl.SSLContext | None = None,
        *,
        jvm_flags: Sequence[str] = JVM_FLAGS,
    ) -> None:
        """Write its configuration into `folder`; `config` adds or replaces keys."""
        port = port or free_port()
        file = _write_properties(folder, port, config)
        # Java takes what concerns TLS from system properties, ours from the file with everything else.
        properties = {key: value for key, value in (config or {}).items() if key.startswith("tls.")}
        program = JavaProgram(
            release=release,
            main_class=_MAIN_CLASS,
            arguments=["-c", str(file)],
            properties=properties,
            jvm_flags=jvm_flags,
        )
        super().__init__(JavaProcess(program, folder), port, tls)


class OurNameServer(NameServer):
    """Cosmodrome, started as a user starts it: by its command line, from the installed package."""

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Write its configuration into `folder`; `config` adds or replaces keys."""
        port = port or free_port()
        file = _write_properties(folder, port, config)
        command = [sys.executable, "-m", "cosmodrome", "namesrv", "-c", str(file)]
        if "http" not in (config or {}):  # its default port may be one that was handed out here
            command += ["--http", "off"]
        environment = {"HOME": str(folder), "ROCKETMQ_HOME": str(folder)}
        super().__init__(RigProcess(command, folder, environment), port, tls)


def _write_properties(folder: Path, port: int, config: Mapping[str, str] | None) -> Path:
    # 4.9.x has no bindAddress and listens everywhere; 5.x and ours listen on 127.0.0.1 only.
    properties = {
        "bindAddress": HOST,
        "listenPort": str(port),
        "kvConfigPath": str(folder / "kvConfig.json"),
        "configStorePath": str(folder / "namesrv.properties"),
        **(config or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "start.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return file
