"""The life of a broker's process: start, announce, wait for a signal, drain, say goodbye.

Owns: their order; the ready line and the ready descriptor; what is said about settings that are read again, about a
    port that is taken, and about doors that are open.
Must not know: what the broker does between start and stop.
"""

import asyncio
import errno
import ipaddress
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.config import OPEN, BrokerConfig
from cosmodrome.broker.server import Broker
from cosmodrome.cli.failures import EXIT_OK
from cosmodrome.cli.pid_file import PidFile
from cosmodrome.cli.sd_notify import ServiceManager
from cosmodrome.cli.serve import Reloading, loop_factory, write_ready
from cosmodrome.cli.signals import ignore_signals, watch_signals
from cosmodrome.errors import BindError, OperatorError
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.port_owner import find_port_owner

_LOG = logging.getLogger("cosmodrome.broker.life")

Read = Callable[[], BrokerConfig]
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 -- compared, not bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcer:
    """Tells people, supervisors and tests that a broker is ready, and that it has stopped."""

    stdout: LineWriter
    pid_file: PidFile | None
    ready_fd: int | None
    manager: ServiceManager

    def ready(self, broker: Broker) -> None:
        """Announce a broker.

        Raises:
            StorageError: The pid file cannot be written.
        """
        previous = None if self.pid_file is None else self.pid_file.take()
        if previous is not None:
            _LOG.warning("the previous run, pid %s, had no proper end", previous)
        config = broker.config
        known = f" and name server is {config.namesrv_addr}" if config.namesrv_addr else ""
        line = f"The broker[{config.broker_name}, {broker.address}] boot success. serializeType=JSON{known}"
        self.stdout.write(line)
        if broker.http_address:
            self.stdout.write(f"http://{broker.http_address}/readyz /metrics")
        if self.ready_fd is not None:
            write_ready(self.ready_fd, broker.address)
        self.manager.ready(f"listening on {broker.address}")
        self.manager.watch()

    def gone(self) -> None:
        """Remove the pid file."""
        if self.pid_file is not None:
            self.pid_file.release()


class BrokerProgram:
    """A broker as a program reads its settings again."""

    def __init__(self, broker: Broker) -> None:
        """Run this."""
        self.broker = broker

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.broker.address

    async def reload(self, read: Read) -> None:
        """Take over settings that are read again, or nothing of them, and log which."""
        try:
            change = await self.broker.reload(read)
        except OperatorError as error:
            _LOG.error("the settings stay as they are: %s", error.render())
            return
        _LOG.info("settings read again; in force: %s", ", ".join(change.applied) or "no other")
        if change.restart:
            _LOG.warning("at the next start: %s", ", ".join(change.restart))


def serve(program: BrokerProgram, announcer: Announcer, read: Read) -> int:
    """Run a broker until SIGTERM or SIGINT, and give the exit code. On SIGHUP settings are read again.

    Raises:
        BindError: An address cannot be listened on; the text says who does, if that can be found out.
        OperatorError: A file cannot be used.
    """
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        try:
            return runner.run(_serve(program, announcer, read))
        except BindError as error:
            raise _explained(error, program.broker.config) from error
        finally:
            announcer.gone()


async def _serve(program: BrokerProgram, announcer: Announcer, read: Read) -> int:
    loop = asyncio.get_running_loop()
    broker = program.broker
    reloading = Reloading(program, announcer.manager, read)
    signalled = watch_signals(loop, reloading.soon)
    await broker.start()
    reason = "failed"
    try:
        _warn_of_open_doors(broker.config)
        announcer.ready(broker)
        reloading.begin()
        reason = (await signalled).name
    finally:
        announcer.manager.unwatch()
        announcer.manager.stopping(reason)
        _LOG.info("stopping: %s", reason)
        await broker.stop()
        ignore_signals(loop)
    _LOG.info("stopped")
    return EXIT_OK


def _warn_of_open_doors(config: BrokerConfig) -> None:
    """Say what everybody who can connect may do, unless only this host can."""
    is_asking = config.acl_enable or config.authentication_enabled
    if is_asking or not _is_reachable(config.bind_address):
        return
    doors = "send, consume and read everything"
    if config.admin_policy == OPEN:
        doors += ", and change topics, groups, offsets and settings (adminPolicy=open)"
    _LOG.warning("server.exposed: whoever can connect may %s; docs/broker-security.md says how to shut it", doors)


def _is_reachable(host: str) -> bool:
    try:
        return host in _EVERYWHERE or not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def _explained(error: BindError, config: BrokerConfig) -> BindError:
    if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE or error.why is not None:
        return error
    owner = find_port_owner(config.listen_port)
    why = f"pid {owner.pid} ({owner.command}) is listening there." if owner else "another process is listening there."
    return BindError(error.what, why=why, remedy="stop it, or choose another port: --set listenPort=N")
