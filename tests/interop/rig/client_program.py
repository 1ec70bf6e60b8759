"""A client of another language than Java, as a program with three commands.

Owns: `send`, `recv` and `session` of the programs below programs/, and how their outcome is told.
Must not know: which language and library it is (go_client.py and its siblings).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.interop.rig.process import RigProcess

RECEIVE_S: Final = 60
"""A new consumer waits up to one rebalance period of 20 s for its queues."""
SEND_S: Final = 60.0
END_S: Final = 30.0
READY_MARK: Final = "READY"


class ProducerSession:
    """One producer that goes on living between its sends."""

    def __init__(self, process: RigProcess) -> None:
        """Wrap a process that is not started yet."""
        self._process = process

    def start(self) -> None:
        """Start the producer and wait until it takes topics."""
        self._process.start()
        self._process.wait_for_text(READY_MARK)

    def send(self, topic: str, count: int = 1) -> str:
        """Send messages; return what was printed, `SENT <ok>/<count>` in it and after every failure its reason."""
        begins_at = len(self._process.output())
        self._process.send_line(f"{topic} {count}")
        return self._process.wait_for_text(f"/{count}\n", SEND_S, after=begins_at)


class ClientProgram:
    """The client of one language. Every command is a process of its own, below one folder."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Prepare it; the commands follow on `command`."""
        self._command = list(command)
        self._folder = folder
        self._environment = {"HOME": str(folder), **(environment or {})}
        self._processes: list[RigProcess] = []

    def send(self, name_server: str, topic: str, count: int) -> str:
        """Send messages `m0`, `m1`, ... one by one; return the output, `SENT <ok>/<count>` in it.

        Raises:
            ProcessError: It did not end in time.
        """
        return self._run(SEND_S, "send", name_server, topic, str(count))

    def receive(self, name_server: str, topic: str, count: int) -> str:
        """Receive with a new group from the first offset until `m0` to `m<count-1>` are all there.

        Returns the output, `RECEIVED <seen>/<count>` in it; seen is less after RECEIVE_S seconds.

        Raises:
            ProcessError: It did not end in time.
        """
        words = ("recv", name_server, topic, f"group-{topic}", str(count), str(RECEIVE_S))
        return self._run(RECEIVE_S + END_S, *words)

    def session(self, name_server: str) -> ProducerSession:
        """Start a producer that lives until `stop`."""
        session = ProducerSession(self._process_of("session", name_server))
        session.start()
        return session

    def stop(self) -> None:
        """End everything that is still running."""
        for process in self._processes:
            process.kill()

    def _run(self, within_s: float, *words: str) -> str:
        process = self._process_of(*words)
        process.start()
        process.wait_ended(within_s)
        return process.output()

    def _process_of(self, *words: str) -> RigProcess:
        number = len(self._processes) + 1
        process = RigProcess([*self._command, *words], self._folder / f"{number}-{words[0]}", self._environment)
        self._processes.append(process)
        return process


MakeClient = Callable[[Path], ClientProgram]
"""Makes the client of a language, with a folder for what it writes; builds it when that is needed."""
