"""The life of a server process: start, announce, wait for a signal, drain, say goodbye.

Owns: their order; the ready line and the ready descriptor; that a hangup reads the configuration again.
Must not know: what the server does between start and stop.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from cosmodrome.cli.banner import Start, banner, own_address
from cosmodrome.cli.bind_errors import explained
from cosmodrome.cli.failures import EXIT_OK
from cosmodrome.cli.pid_file import PidFile
from cosmodrome.cli.sd_notify import ServiceManager
from cosmodrome.cli.signals import ignore_signals, watch_signals
from cosmodrome.errors import BindError
from cosmodrome.namesrv.config_file import LoadedConfig
from cosmodrome.namesrv.events import Publish, UncleanEnd
from cosmodrome.namesrv.live_config import ReadAgain
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.memory import settle

_LOG = logging.getLogger(__name__)

ReadT_contra = TypeVar("ReadT_contra", contravariant=True)


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

    @property
    def http_address(self) -> str:
        """That of HTTP, empty when there is none."""

    async def start(self) -> None:
        """Open the listener, or raise BindError or StorageError."""

    async def reload(self, read: ReadAgain) -> None:
        """Take over what `read` gives, or nothing of it when it raises OperatorError, and log which."""

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
        pid_file: Holds the process id while the server runs.
        ready_fd: An open descriptor that gets the address once, if any.
        began_s: When the start began, by `time.perf_counter`.
        publish: Told when the previous run had no proper end.
        manager: The service manager, if there is one.
    """

    loaded: LoadedConfig
    terminal: Terminal
    pid_file: PidFile
    ready_fd: int | None
    began_s: float
    publish: Publish = lambda _: None
    manager: ServiceManager = field(default_factory=lambda: ServiceManager({}))

    def ready(self, address: str, http_address: str = "") -> None:
        """Announce a listener, and that of HTTP if there is one.

        Raises:
            StorageError: The pid file cannot be written.
        """
        previous = self.pid_file.take()
        if previous is not None:
            self.publish(UncleanEnd(previous_pid=previous, pid_file=str(self.pid_file.path)))
        kind = self.loaded.config.serialize_type.name
        self.terminal.stdout.write(f"The Name Server boot success. serializeType={kind}, address {address}")
        took_s = time.perf_counter() - self.began_s
        start = Start(loaded=self.loaded, address=address, took_s=took_s, http_address=http_address)
        self.terminal.stderr.write(banner(start, own_address()))
        if self.ready_fd is not None:
            write_ready(self.ready_fd, address)
        self.manager.ready(f"listening on {address}")
        self.manager.watch()

    def stopping(self, reason: str) -> None:
        """Tell that it has begun to stop."""
        self.manager.unwatch()
        self.manager.stopping(reason)

    def stopped(self, summary: StopSummary) -> None:
        """Say goodbye."""
        self.terminal.stderr.write(
            f"stopping: {_count(summary.brokers, 'broker')}, {_count(summary.clients, 'client')} connected; "
            f"finished {_count(summary.finished_requests, 'request')} in flight; KV saved. Bye."
        )

    def gone(self) -> None:
        """Remove the pid file, unless another process has taken it over. May be called without `ready`."""
        self.pid_file.release()


def serve(server: Server, announcer: Announcer, read_config: ReadAgain) -> int:
    """Run a server until SIGTERM or SIGINT, and give the exit code.

    A second signal of these ends the process at once. On SIGHUP the server takes over what `read_config` gives then.

    Raises:
        BindError: The address cannot be listened on; the text says who does, if that can be found out.
        StorageError: A file cannot be used.
    """
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        try:
            return runner.run(_serve(server, announcer, read_config))
        except BindError as error:
            raise explained(error, announcer.loaded.config) from error
        finally:
            announcer.gone()


async def _serve(server: Server, announcer: Announcer, read_config: ReadAgain) -> int:
    loop = asyncio.get_running_loop()
    reloading = Reloading(server, announcer.manager, read_config)
    signalled = watch_signals(loop, reloading.soon)
    await server.start()
    reason = "failed"
    try:
        settle()
        announcer.ready(server.address, server.http_address)
        reloading.begin()
        reason = (await signalled).name
    finally:
        announcer.stopping(reason)
        summary = await server.stop(reason)
        ignore_signals(loop)
    announcer.stopped(summary)
    return EXIT_OK


class Reloadable(Protocol[ReadT_contra]):
    """What reads its configuration again."""

    @property
    def address(self) -> str:
        """The address as bound."""

    async def reload(self, read: ReadT_contra) -> None:
        """Take over what `read` gives, or nothing of it, and log which."""


class Reloading(Generic[ReadT_contra]):
    """Reads the configuration again when told to, once at a time; what comes meanwhile is one more time."""

    def __init__(self, server: Reloadable[ReadT_contra], manager: ServiceManager, read_config: ReadT_contra) -> None:
        self._server = server
        self._manager = manager
        self._read_config = read_config
        self._is_wanted = False
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Be told from now on; what was told before counts."""
        self._has_begun = True
        if self._is_wanted:
            self.soon()

    def soon(self) -> None:
        """Read it again."""
        self._is_wanted = True
        if self._has_begun and self._task is None:
            self._task = asyncio.ensure_future(self._reload())

    async def _reload(self) -> None:
        manager = self._manager
        while self._is_wanted:
            self._is_wanted = False
            manager.reloading()
            try:
                await self._server.reload(self._read_config)
            except Exception:  # noqa: BLE001  # outermost: a server goes on
                _LOG.exception("the configuration could not be read again; nothing was changed")
            manager.ready(f"listening on {self._server.address}")
        self._task = None


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Give the faster event loop where it is installed, else None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def write_ready(descriptor: int, address: str) -> None:
    """Write the address into an open descriptor, and close it; say so when nobody reads it."""
    try:
        os.write(descriptor, f"{address}\n".encode())
        os.close(descriptor)
    except OSError as error:
        _LOG.warning("nobody reads the ready descriptor %d: %s", descriptor, error.strerror)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
