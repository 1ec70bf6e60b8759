"""The servers that are measured.

Owns: how each is started, the same for all measures.
Must not know: what is measured.
"""

import itertools
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import V5_5
from tests.interop.rig.java import SERVER_JVM_FLAGS
from tests.interop.rig.name_servers import ApacheNameServer, NameServer, OurNameServer
from tests.interop.rig.ports import HOST, free_port
from tests.support.process_figures import memory_of, ran_s_of
from tests.support.waiting import wait_until

from benchmarks.native import BenchError, Native

OURS: Final = "ours"
APACHE: Final = "apache"
RUST: Final = "rust"
FLOOR: Final = "floor"

# A connection of the benchmark may be silent for long, and a broker must live as long as its measure.
_CONFIG: Final = {"serverChannelMaxIdleTimeSeconds": "86400"}
_SETTLE_S: Final = 0.05


_MIB: Final = 2**20
_DESCRIPTIONS: Final = {
    OURS: "this checkout",
    APACHE: f"Apache RocketMQ {V5_5}, java {' '.join(SERVER_JVM_FLAGS)}",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A running server. `describes` is its release and how it was started."""

    name: str
    port: int
    pid: int
    describes: str

    @property
    def address(self) -> str:
        """Where it listens, `host:port`."""
        return f"{HOST}:{self.port}"

    @property
    def is_floor(self) -> bool:
        """Whether it knows one route only, and nothing else."""
        return self.name == FLOOR

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of registration that it reads, the smallest first.

        rocketmq-rust 1.0.0 takes bare DEFLATE for what Java brokers send as a zlib stream.
        """
        return ("JSON",) if self.name == RUST else ("compressed", "JSON")

    def cpu_ms(self) -> float:
        """CPU time of all its threads that live, in milliseconds, once it has come to rest."""
        time.sleep(_SETTLE_S)
        return ran_s_of(self.pid) * 1000

    def resident_mb(self) -> float:
        """Resident memory now."""
        return memory_of(self.pid) / _MIB


class Starters:
    """Starts the servers, each time in a folder of its own."""

    def __init__(self, native: Native, folder: Path, rust_program: Path | None) -> None:
        self._native = native
        self._folder = folder
        self._rust_program = rust_program
        self._count = itertools.count()

    def running(self, name: str) -> AbstractContextManager[Subject]:
        """Start one; it has answered when this is entered, and is killed when it is left.

        Raises:
            BenchError: It does not start, or its program was not named.
        """
        match name:
            case "ours" | "apache":
                return _running(name, self.name_server(name))
            case "floor":
                return _floor(self._native, self._new_folder(name))
            case "rust":
                return _rust(self._rust_program, self._new_folder(name))
            case _:
                raise AssertionError(name)

    def name_server(self, name: str) -> NameServer:
        """Prepare one of the two that can be started again on the same port: ours or Apache's."""
        if name == OURS:
            return OurNameServer(self._new_folder(name), _CONFIG)
        assert name == APACHE, name
        return ApacheNameServer(V5_5, self._new_folder(name), _CONFIG, jvm_flags=SERVER_JVM_FLAGS)

    def _new_folder(self, name: str) -> Path:
        return self._folder / f"{name}-{next(self._count)}"


@contextmanager
def running(names: Sequence[str], starters: Starters) -> Iterator[list[Subject]]:
    """Start the named servers, all at once; the idle ones cost nothing while another is measured.

    Raises:
        BenchError: One of them does not start.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(starters.running(name)) for name in names]


@contextmanager
def _running(name: str, server: NameServer) -> Iterator[Subject]:
    try:
        server.start()
        port = int(server.address.rpartition(":")[2])
        yield Subject(name, port, server.process.pid, _DESCRIPTIONS[name])
    finally:
        server.kill()


@contextmanager
def _floor(native: Native, folder: Path) -> Iterator[Subject]:
    port = free_port()
    with _process([str(native.path("nsfloor")), str(port)], folder, port) as pid:
        yield Subject(FLOOR, port, pid, "nsfloor.c: one route, nothing checked")


@contextmanager
def _rust(program: Path | None, folder: Path) -> Iterator[Subject]:
    if program is None or not program.is_file():
        raise BenchError("--rust PROGRAM must name rocketmq-rust's NameServer (cargo install rocketmq-namesrv)")
    port = free_port()
    command = [str(program), "--listenPort", str(port), "--bindAddress", HOST]
    with _process(command, folder, port) as pid:
        yield Subject(RUST, port, pid, f"rocketmq-rust, {program.name}")


@contextmanager
def _process(command: Sequence[str], folder: Path, port: int) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "HOME": str(folder), "ROCKETMQ_HOME": str(folder)}
    with (folder / "console.log").open("wb") as console:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=console, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: process.poll() is not None or _is_open(port), f"{command[0]} on port {port}", 30)
        if process.poll() is not None:
            raise BenchError(f"{command[0]} ended at once: {(folder / 'console.log').read_text()[-2000:]}")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _is_open(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True
