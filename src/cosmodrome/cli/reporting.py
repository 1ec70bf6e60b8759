"""A server that writes what shadow mode has found.

Owns: when the report is written, and its form as a file.
Must not know: what is in it.
"""

import asyncio
import logging
import signal
import sys
from pathlib import Path

import msgspec

from cosmodrome.durable_file import replace_file
from cosmodrome.errors import StorageError
from cosmodrome.namesrv.live_config import ReadAgain, ReloadOutcome
from cosmodrome.namesrv.server import NameServer, StopSummary

_LOG = logging.getLogger(__name__)


class ReportingServer:
    """A NameServer in shadow mode that writes its report to a file: at its end, and on SIGUSR1 (not on Windows)."""

    def __init__(self, server: NameServer, path: Path) -> None:
        self._server = server
        self._path = path
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """The address as bound, after `start`."""
        return self._server.address

    @property
    def http_address(self) -> str:
        """That of HTTP, empty when there is none."""
        return self._server.http_address

    async def start(self) -> None:
        """Start, and write a first report, so that a path that cannot be written is known at once.

        Raises:
            BindError: As NameServer.
            StorageError: As NameServer, or the report cannot be written.
        """
        await self._server.start()
        try:
            await self._write()
        except StorageError:
            await self._server.stop("failed")
            raise
        if sys.platform == "win32":
            return
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._write_soon)

    async def reload(self, read: ReadAgain) -> ReloadOutcome:
        """As NameServer."""
        return await self._server.reload(read)

    async def stop(self, reason: str) -> StopSummary:
        """Stop, and write the last report; one that cannot be written is logged."""
        summary = await self._server.stop(reason)
        await self._write_or_log()
        return summary

    def _write_soon(self) -> None:
        task = asyncio.ensure_future(self._write_or_log())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_or_log(self) -> None:
        try:
            await self._write()
        except StorageError as error:
            _LOG.error("%s", error.what)

    async def _write(self) -> None:
        async with self._writing:
            report = self._server.shadow_report()
            await asyncio.to_thread(_replace, self._path, report)


def _replace(path: Path, report: object) -> None:
    remedy = "name a file in a folder that exists and is writable: --shadow-report FILE"
    if not path.parent.is_dir():  # a mistyped path must not make folders
        raise StorageError(f"cannot write the shadow report {path}: no such folder.", remedy=remedy)
    try:
        replace_file(path, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    except StorageError as error:
        raise StorageError(
            error.what.replace("cannot write", "cannot write the shadow report"),
            remedy=remedy,
        ) from error
