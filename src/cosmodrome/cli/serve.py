"""The life of a server process: start, announce, wait for a signal, drain, say goodbye.

Owns: signals; the ready line, the pid file and the ready descriptor; the text for a port that is taken.
Must not know: what the server does between start and stop.
"""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from cosmodrome.cli.banner import Start, banner, own_address
from cosmodrome.cli.failures import EXIT_OK
from cosmodrome.errors import BindError, StorageError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_file import LoadedConfig
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.port_owner import find_port_owner

_LOG = logging.getLogger(__name__)

_STOPPING_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_OTHER_PORTS: Final = range(10, 110, 10)
"""How far from a taken port the proposed one is."""


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
    signalled = _watch_signals()
    await server.start()
    reason = "failed"
    try:
        announcer.ready(server.address)
        reason = (await signalled).name
    finally:
        summary = await server.stop(reason)
    announcer.stopped(summary)
    return EXIT_OK


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Give the faster event loop where it is installed, else None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def _watch_signals() -> "asyncio.Future[signal.Signals]":
    """Give a future for the first signal to stop."""
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[signal.Signals] = loop.create_future()

    def begin_stop(number: signal.Signals) -> None:
        # From here on they do what they do by default: end the process, even if the loop hangs.
        for each in _STOPPING_SIGNALS:
            if sys.platform != "win32":
                loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        if not signalled.done():
            signalled.set_result(number)

    if sys.platform == "win32":
        for number in _STOPPING_SIGNALS:
            signal.signal(number, lambda number, _: loop.call_soon_threadsafe(begin_stop, signal.Signals(number)))
        return signalled
    for number in _STOPPING_SIGNALS:
        loop.add_signal_handler(number, begin_stop, number)
    loop.add_signal_handler(signal.SIGHUP, _LOG.info, "SIGHUP: nothing to do; a changed file is read at the next start")
    return signalled


def explained(error: BindError, config: NamesrvConfig) -> BindError:
    """Give the same error with a reason and an advice, as far as they can be found out."""
    number = getattr(error.__cause__, "errno", None)
    why, remedy = error.why, error.remedy
    if number == errno.EADDRINUSE:
        owner = find_port_owner(config.listen_port)
        why = (
            f"pid {owner.pid} ({owner.command}) is listening there." if owner else "another process is listening there."
        )
        port = _other_port(config)
        remedy = f"stop it, or choose a port: cosmodrome namesrv --listenPort {port}"
    elif number == errno.EADDRNOTAVAIL:
        why = f"{config.bind_address} is not an address of this host."
        remedy = "choose one, or all of them: cosmodrome namesrv --bindAddress 0.0.0.0"
    elif number == errno.EACCES:
        why = "this user may not listen on a port that low."
        remedy = f"choose a port from 1024 on: cosmodrome namesrv --listenPort {NamesrvConfig().listen_port}"
    return BindError(error.what, why=why, remedy=remedy)


def _other_port(config: NamesrvConfig) -> int:
    """Give a port near the configured one that is free now."""
    candidates = [config.listen_port + step for step in _OTHER_PORTS if config.listen_port + step < 65_536]
    return next((port for port in candidates if _is_free(config.bind_address, port)), 0)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return True
    return False


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
