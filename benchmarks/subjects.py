"""The servers that are measured.

Owns: how each is started, the same for all measures; what the system tells about a process.
Must not know: what is measured.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.jars import V5_5
from tests.interop.rig.java import SERVER_JVM_FLAGS
from tests.interop.rig.name_servers import ApacheNameServer, NameServer, OurNameServer
from tests.interop.rig.ports import HOST, free_port
from tests.support.waiting import wait_until

from benchmarks.native import BenchError, Native

OURS: Final = "ours"
APACHE: Final = "apache"
RUST: Final = "rust"
FLOOR: Final = "floor"

# A connection of the benchmark may be silent for long, and a broker must live as long as its measure.
_CONFIG: Final = {"serverChannelMaxIdleTimeSeconds": "86400"}
_SETTLE_S: Final = 0.05


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

    def cpu_ms(self) -> float:
        """CPU time of all its threads that live, in milliseconds, once it has come to rest."""
        time.sleep(_SETTLE_S)
        ran = (file.read_text().split()[0] for file in Path(f"/proc/{self.pid}/task").glob("*/schedstat"))
        return sum(map(int, ran)) / 1e6

    def resident_mb(self) -> float:
        """Resident memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def running(names: Sequence[str], native: Native, folder: Path, rust_program: Path | None) -> Iterator[list[Subject]]:
    """Start the named servers, all at once; the idle ones cost nothing while another is measured.

    Raises:
        BenchError: One of them does not start, or `rust_program` is wanted and is no file.
    """
    starters = {
        OURS: lambda: _ours(folder / OURS),
        APACHE: lambda: _apache(folder / APACHE),
        RUST: lambda: _rust(rust_program, folder / RUST),
        FLOOR: lambda: _floor(native, folder / FLOOR),
    }
    with ExitStack() as stack:
        yield [stack.enter_context(starters[name]()) for name in names]


@contextmanager
def _ours(folder: Path) -> Iterator[Subject]:
    with _name_server(OurNameServer(folder, _CONFIG)) as (port, pid):
        yield Subject(OURS, port, pid, "this checkout")


@contextmanager
def _apache(folder: Path) -> Iterator[Subject]:
    flags = " ".join(SERVER_JVM_FLAGS)
    with _name_server(ApacheNameServer(V5_5, folder, _CONFIG, jvm_flags=SERVER_JVM_FLAGS)) as (port, pid):
        yield Subject(APACHE, port, pid, f"Apache RocketMQ {V5_5}, java {flags}")


@contextmanager
def _name_server(server: NameServer) -> Iterator[tuple[int, int]]:
    try:
        server.start()
        yield int(server.address.rpartition(":")[2]), server.process.pid
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
