"""The life of a server process: start, announce, wait for a signal, drain, say goodbye.

Owns: their order; the ready line, the pid file and the ready descriptor.
Must not know: what the server does between start and stop.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cosmodrome.cli.banner import Start, banner, own_address
from cosmodrome.cli.bind_errors import explained
from cosmodrome.cli.failures import EXIT_OK
from cosmodrome.cli.signals import ignore_signals, watch_signals
from cosmodrome.errors import BindError, StorageError
from cosmodrome.namesrv.config_file import LoadedConfig
from cosmodrome.namesrv.logs import LineWriter

_LOG = logging.getLogger(__name__)


class StopSummary(Protocol):
    """What there was when a server stopped."""

    @property
    def brokers(self) -> int:
        """Broker addresses that were registered."""

    @property
    def clients(self) -> int:
        """Connections that were not of brokers."""

    @property
    def finished_requests(self) -> int:
        """Requests that were in flight and were answered."""


class Server(Protocol):
    """What is run here."""

    @property
    def address(self) -> str:
        """The address as bound, after `start`."""

    async def start(self) -> None:
        """Open the listener, or raise BindError or StorageError."""

    async def stop(self, reason: str) -> StopSummary:
        """Finish what is in flight, and close; `reason` is for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Where people and scripts read: `stdout` always, `stderr` goes nowhere when no person asked for it."""

    stdout: LineWriter
    stderr: LineWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcer:
    """Tells people, supervisors and tests that a server is ready, and that it has stopped.

    Attributes:
        loaded: The configuration it was started with.
        terminal: Where the lines go.
        pid_file: Holds the process id while the server runs, if any.
        ready_fd: An open descriptor that gets the address once, if any.
        began_s: When the start began, by `time.perf_counter`.
    """

    loaded: LoadedConfig
    terminal: Terminal
    pid_file: Path | None
    ready_fd: int | None
    began_s: float

    def ready(self, address: str) -> None:
        """Announce a listener.

        Raises:
            StorageError: The pid file cannot be written.
        """
        if self.pid_file is not None:
            _write_pid(self.pid_file)
        kind = self.loaded.config.serialize_type.name
        self.terminal.stdout.write(f"The Name Server boot success. serializeType={kind}, address {address}")
        start = Start(loaded=self.loaded, address=address, took_s=time.perf_counter() - self.began_s)
        self.terminal.stderr.write(banner(start, own_address()))
        if self.ready_fd is not None:
            _write_ready(self.ready_fd, address)

    def stopped(self, summary: StopSummary) -> None:
        """Say goodbye."""
        self.terminal.stderr.write(
            f"stopping: {_count(summary.brokers, 'broker')}, {_count(summary.clients, 'client')} connected; "
            f"finished {_count(summary.finished_requests, 'request')} in flight; KV saved. Bye."
        )

    def gone(self) -> None:
        """Remove the pid file, unless another process has taken it over. May be called without `ready`."""
        if self.pid_file is not None:
            with contextlib.suppress(OSError, ValueError):
                if int(self.pid_file.read_text(encoding="ascii")) == os.getpid():
                    self.pid_file.unlink()


def serve(server: Server, announcer: Announcer) -> int:
    """Run a server until SIGTERM or SIGINT, and give the exit code.

    A second signal of these ends the process at once. SIGHUP does nothing.

    Raises:
        BindError: The address cannot be listened on; the text says who does, if that can be found out.
        StorageError: A file cannot be used.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(_serve(server, announcer))
        except BindError as error:
            raise explained(error, announcer.loaded.config) from error
        finally:
            announcer.gone()


async def _serve(server: Server, announcer: Announcer) -> int:
    loop = asyncio.get_running_loop()
    signalled = watch_signals(loop)
    await server.start()
    reason = "failed"
    try:
        announcer.ready(server.address)
        reason = (await signalled).name
    finally:
        summary = await server.stop(reason)
        ignore_signals(loop)
    announcer.stopped(summary)
    return EXIT_OK


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Give the faster event loop where it is installed, else None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def _write_pid(path: Path) -> None:
    try:
        path.write_text(f"{os.getpid()}\n", encoding="ascii")
    except OSError as error:
        raise StorageError(
            f"cannot write the pid file {path}: {error.strerror or error}.",
            remedy="name a file in a folder that exists and is writable.",
        ) from error


def _write_ready(descriptor: int, address: str) -> None:
    try:
        os.write(descriptor, f"{address}\n".encode())
        os.close(descriptor)
    except OSError as error:
        _LOG.warning("nobody reads the ready descriptor %d: %s", descriptor, error.strerror)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
