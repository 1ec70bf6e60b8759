"""The life of a server process: start, announce, wait for a signal, drain, say goodbye.

Owns: their order; the ready descriptor; that a hangup reads the configuration again.
Must not know: what the server does between start and stop, and in which words it is spoken of (namesrv_words.py,
    broker_words.py).
"""

import asyncio
import dataclasses
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from cosmodrome.cli.failures import EXIT_OK
from cosmodrome.cli.file_watch import FileWatch
from cosmodrome.cli.sd_notify import ServiceManager
from cosmodrome.cli.signals import ignore_signals, watch_signals
from cosmodrome.errors import BindError
from cosmodrome.namesrv.live_config import ReloadOutcome
from cosmodrome.operating.pid_file import PidFile

_LOG = logging.getLogger(__name__)

ReadT_contra = TypeVar("ReadT_contra", contravariant=True)
SummaryT = TypeVar("SummaryT")
SummaryT_co = TypeVar("SummaryT_co", covariant=True)
SummaryT_contra = TypeVar("SummaryT_contra", contravariant=True)


class Server(Protocol[ReadT_contra, SummaryT_co]):
    """What is run here."""

    @property
    def address(self) -> str:
        """The address as bound, after `start`."""

    @property
    def http_address(self) -> str:
        """That of HTTP, empty when there is none."""

    async def start(self) -> None:
        """Open the listener, or raise BindError or StorageError."""

    async def reload(self, read: ReadT_contra) -> ReloadOutcome:
        """Take over what `read` gives, or nothing of it when it raises OperatorError, log which, and give it."""

    async def stop(self, reason: str) -> SummaryT_co:
        """Finish what is in flight, and close; `reason` is for the log."""


class Words(Protocol[SummaryT_contra]):
    """What is said of one kind of server, each at its moment."""

    def explained(self, error: BindError) -> BindError:
        """Give the same error with a reason and an advice, as far as they can be found out."""

    def unclean_end(self, previous_pid: str, pid_file: Path) -> None:
        """Say that the previous run had no proper end."""

    def ready(self, address: str, http_address: str) -> None:
        """Say that it serves, and where; the first line of standard output is what others wait for."""

    def stopping(self, reason: str) -> None:
        """Say that it has begun to stop."""

    def stopped(self, summary: SummaryT_contra) -> Mapping[str, int]:
        """Say goodbye, and give the figures of it for who asked for the stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcer(Generic[SummaryT]):
    """Tells people, supervisors and tests that a server is ready, and that it has stopped.

    Attributes:
        words: What is said.
        pid_file: Holds the process id while the server runs, if it is to be kept.
        ready_fd: An open descriptor that gets the address once, if any.
        manager: The service manager, if there is one.
    """

    words: Words[SummaryT]
    pid_file: PidFile | None = None
    ready_fd: int | None = None
    manager: ServiceManager = field(default_factory=lambda: ServiceManager({}))

    def ready(self, address: str, http_address: str = "") -> None:
        """Announce a listener, as bound, and that of HTTP if there is one.

        Raises:
            StorageError: The pid file cannot be written.
        """
        if self.pid_file is not None:
            previous = self.pid_file.take()
            self.pid_file.leave_addresses(address, http_address)
            if previous is not None:
                self.words.unclean_end(previous, self.pid_file.path)
        self.words.ready(address, http_address)
        if self.ready_fd is not None:
            _write_ready(self.ready_fd, address)
        self.manager.ready(f"listening on {address}")
        self.manager.watch()

    def reloaded(self, outcome: ReloadOutcome, began_ns: int) -> None:
        """Tell who sent a hangup before `began_ns`, by `time.monotonic_ns`, what came of it."""
        if self.pid_file is not None:
            self.pid_file.leave_outcome(dataclasses.asdict(outcome) | {"began_ns": began_ns})

    def stopping(self, reason: str) -> None:
        """Tell that it has begun to stop."""
        self.manager.unwatch()
        self.manager.stopping(reason)
        self.words.stopping(reason)

    def gone(self, figures: Mapping[str, int]) -> None:
        """Remove the pid file, unless another process has taken it over. May be called without `ready`."""
        if self.pid_file is not None:
            self.pid_file.release(figures)


def serve(
    server: Server[ReadT_contra, SummaryT],
    announcer: Announcer[SummaryT],
    read_config: ReadT_contra,
    watch: FileWatch | None = None,
) -> int:
    """Run a server until SIGTERM or SIGINT, and give the exit code.

    A second signal of these ends the process at once. On SIGHUP, and when a file that is watched was changed, the
    server takes over what `read_config` gives then.

    Raises:
        BindError: The address cannot be listened on; the text says who does, if that can be found out.
        StorageError: A file cannot be used.
    """
    figures: Mapping[str, int] = {}
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            figures = runner.run(_serve(server, announcer, _Reloading(server, announcer, read_config, watch)))
        except BindError as error:
            raise announcer.words.explained(error) from error
        finally:
            announcer.gone(figures)
    return EXIT_OK


async def _serve(
    server: Server[ReadT_contra, SummaryT],
    announcer: Announcer[SummaryT],
    reloading: "_Reloading[ReadT_contra, SummaryT]",
) -> Mapping[str, int]:
    loop = asyncio.get_running_loop()
    signalled = watch_signals(loop, reloading.soon)
    await server.start()
    reason = "failed"
    try:
        announcer.ready(server.address, server.http_address)
        reloading.begin()
        reason = (await signalled).name
    finally:
        reloading.end()
        announcer.stopping(reason)
        summary = await server.stop(reason)
        ignore_signals(loop)
    return announcer.words.stopped(summary)


class _Reloading(Generic[ReadT_contra, SummaryT]):
    """Reads the configuration again when told to, once at a time; what comes meanwhile is one more time."""

    def __init__(
        self,
        server: Server[ReadT_contra, SummaryT],
        announcer: Announcer[SummaryT],
        read_config: ReadT_contra,
        watch: FileWatch | None,
    ) -> None:
        self._watch = watch
        self._watching: asyncio.Task[None] | None = None
        self._server = server
        self._announcer = announcer
        self._read_config = read_config
        self._is_wanted = False
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Be told from now on; what was told before counts."""
        self._has_begun = True
        if self._is_wanted:
            self.soon()
        if self._watch is not None:
            self._watching = asyncio.ensure_future(self._look_at_files(self._watch))

    def end(self) -> None:
        """Look at files no more."""
        if self._watching is not None:
            self._watching.cancel()

    async def _look_at_files(self, watch: FileWatch) -> None:
        while True:
            await asyncio.sleep(watch.interval_s)
            changed = await asyncio.to_thread(watch.look)  # a network disk may take its time
            if changed:
                shown = ", ".join(map(str, changed))
                _LOG.info("%s changed: reading the configuration again", shown, extra={"event": "config.reading"})
                self.soon()

    def soon(self) -> None:
        """Read it again."""
        self._is_wanted = True
        if self._has_begun and self._task is None:
            self._task = asyncio.ensure_future(self._reload())

    async def _reload(self) -> None:
        announcer = self._announcer
        while self._is_wanted:
            self._is_wanted = False
            began_ns = time.monotonic_ns()
            if self._watch is not None:
                await asyncio.to_thread(self._watch.note)
            announcer.manager.reloading()
            try:
                outcome = await self._server.reload(self._read_config)
            except Exception as error:  # noqa: BLE001  # outermost: a server goes on
                what = "the configuration could not be read again; nothing was changed"
                _LOG.exception(what, extra={"event": "config.reload_failed"})
                outcome = ReloadOutcome(reason=f"a fault of this program: {type(error).__name__}, see the server's log")
            announcer.reloaded(outcome, began_ns)
            announcer.manager.ready(f"listening on {self._server.address}")
        self._task = None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Give the faster event loop where it is installed, else None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def _write_ready(descriptor: int, address: str) -> None:
    """Write the address into an open descriptor, and close it; say so when nobody reads it."""
    try:
        os.write(descriptor, f"{address}\n".encode())
        os.close(descriptor)
    except OSError as error:
        _LOG.warning("nobody reads the ready descriptor %d: %s", descriptor, error.strerror)
