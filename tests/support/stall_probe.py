"""How long a server goes without answering anybody: its longest stall, seen from outside.

A process of its own asks for a route that does not exist, once a millisecond at fixed times; while an answer is
outstanding it waits, and what fell due meanwhile is not asked. The longest time between a question's due time and
its answer is the longest stall that anybody could have met.

On a busy machine a part of that is nobody's fault: the probe, or the server's main thread, was ready to run and others
had the processors. The system counts these times, so the longest stall that is left without them is told too. The
main thread is the event loop of this server; a Java server works in other threads, so there only the probe's is left out.

Owns: the questions and their times; what was found.
Must not know: the package under test; what goes on beside it.
"""

import gc
import json
import os
import select
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.child_program import start_module
from tests.support.wire import encode_request

PACE_NS: Final = 1_000_000
ENDS_S: Final = 60.0
ANSWER_S: Final = 60.0
_ROUTE: Final = 105
_NS_PER_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a probe found, in milliseconds; `longest_of_server_ms` leaves out waiting for a processor."""

    asked: int
    longest_ms: float
    longest_of_server_ms: float


class StallProbe:
    """Asks while `with` lasts, or from `start` to `stop`; `found` is there afterwards."""

    def __init__(self, address: str, pid: int) -> None:
        """Prepare to ask the server at `host:port` whose process this is."""
        self._arguments = (address, str(pid))
        self._child: subprocess.Popen[str] | None = None
        self.found = Found(asked=0, longest_ms=0.0, longest_of_server_ms=0.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        else:
            self.kill()

    def start(self) -> None:
        """Begin; the first answer has come when this returns."""
        self._child = start_module("stall_probe", *self._arguments, first_line="asking")

    def stop(self) -> None:
        """End, and take what was found.

        Raises:
            AssertionError: The server closed the connection, or left a question without an answer.
        """
        child = self._child
        assert child is not None, "not started"
        try:
            output, errors = child.communicate("", timeout=ENDS_S + ANSWER_S)
        finally:
            self.kill()
        assert child.returncode == 0, errors
        self.found = Found(**json.loads(output))

    def kill(self) -> None:
        """End at once and find nothing. May be called again."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


class _Waits:
    """For how long the main threads of this process and of the server were ready to run and did not, in nanoseconds."""

    def __init__(self, pid: int) -> None:
        paths = [Path("/proc/self/schedstat"), Path("/proc", str(pid), "schedstat")]
        self._files = [os.open(path, os.O_RDONLY) for path in paths if path.exists()]

    def so_far(self) -> int:
        """Add up both; only the growth of it means something."""
        total = 0
        for file in self._files:
            try:
                total += int(os.pread(file, 64, 0).split()[1])
            except (OSError, IndexError):  # it has ended
                continue
        return total


def _ask_until_told(address: str, pid: int) -> Found:
    """Ask at a steady pace until standard input ends, once at least."""
    host, _, port = address.rpartition(":")
    question = encode_request(_ROUTE, {"topic": "StallProbe-nowhere"}, opaque=1)
    waits = _Waits(pid)
    asked, longest_ns, longest_of_server_ns = 0, 0, 0
    with socket.create_connection((host, int(port)), ANSWER_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _exchange(connection, question)
        sys.stdout.write("asking\n")
        sys.stdout.flush()
        due_ns = time.monotonic_ns()
        waited_ns = waits.so_far()
        while not asked or not _has_ended(due_ns):
            _exchange(connection, question)
            now_ns = time.monotonic_ns()
            waited_before_ns, waited_ns = waited_ns, waits.so_far()
            took_ns = now_ns - due_ns
            longest_ns = max(longest_ns, took_ns)
            longest_of_server_ns = max(longest_of_server_ns, took_ns - (waited_ns - waited_before_ns))
            asked += 1
            due_ns += (took_ns // PACE_NS + 1) * PACE_NS
    return Found(
        asked=asked, longest_ms=longest_ns / _NS_PER_MS, longest_of_server_ms=longest_of_server_ns / _NS_PER_MS
    )


def _exchange(connection: socket.socket, question: bytes) -> None:
    connection.sendall(question)
    length = int.from_bytes(_exactly(connection, 4), "big")
    _exactly(connection, length)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) != size:
        raise ConnectionResetError("the server closed the connection")
    return data


def _has_ended(due_ns: int) -> bool:
    """Wait until something is due, and tell whether standard input has ended."""
    within_s = max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
    ready, _, _ = select.select([sys.stdin], [], [], within_s)
    return bool(ready)


if __name__ == "__main__":
    gc.disable()
    _found = _ask_until_told(sys.argv[1], int(sys.argv[2]))
    json.dump({name: getattr(_found, name) for name in Found.__dataclass_fields__}, sys.stdout)
