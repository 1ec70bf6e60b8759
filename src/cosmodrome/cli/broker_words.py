"""What is said of a broker when it starts and stops, and of settings that it reads again.

Owns: the boot line; the warning of doors that are open; why its port cannot be had.
Must not know: when something is said (serve.py); what the broker does between start and stop.
"""

import errno
import ipaddress
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from cosmodrome.broker.config import OPEN, BrokerConfig
from cosmodrome.broker.running import StopSummary
from cosmodrome.broker.server import Broker
from cosmodrome.errors import BindError, ConfigError, OperatorError
from cosmodrome.namesrv.live_config import ReloadOutcome
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.port_owner import find_port_owner

_LOG = logging.getLogger("cosmodrome.broker.life")


class ReadSettings(Protocol):
    """What was read again: settings, and those of the file that lose to a flag, by key."""

    @property
    def config(self) -> BrokerConfig:
        """The settings."""

    @property
    def overridden(self) -> Mapping[str, str]:
        """By key, the flag that wins over the file."""


Read = Callable[[], ReadSettings]
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 -- compared, not bound


class BrokerProgram:
    """A broker as a program runs it (serve.Server)."""

    def __init__(self, broker: Broker) -> None:
        """Run this."""
        self.broker = broker

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.broker.bound_address

    @property
    def http_address(self) -> str:
        """Where HTTP is answered, empty when it is not."""
        return self.broker.http_address

    async def start(self) -> None:
        """Serve."""
        await self.broker.start()

    async def reload(self, read: Read) -> ReloadOutcome:
        """Take over settings that are read again, or nothing of them, log which, and give it."""
        overridden: dict[str, str] = {}

        def config() -> BrokerConfig:
            found = read()
            overridden.update(found.overridden)
            return found.config

        try:
            change = await self.broker.reload(config)
        except OperatorError as error:
            _LOG.error("the settings stay as they are: %s", error.render(), extra={"event": "config.reload_failed"})
            keys = error.keys if isinstance(error, ConfigError) else ()
            return ReloadOutcome(refused=keys, reason=error.what)
        name = {"event": "config.reloaded"}
        _LOG.info("settings read again; in force: %s", ", ".join(change.applied) or "no other", extra=name)
        if change.restart:
            _LOG.warning("at the next start: %s", ", ".join(change.restart), extra=name)
        if overridden:
            shown = ", ".join(f"{key} by {flag}" for key, flag in overridden.items())
            _LOG.warning("in the file without effect, overridden: %s", shown, extra=name)
        return ReloadOutcome(applied=change.applied, restart=change.restart, overridden=overridden)

    async def stop(self, reason: str) -> StopSummary:
        """Stop; the reason is logged already."""
        del reason
        return await self.broker.stop()


class BrokerWords:
    """Words of a broker (serve.Words)."""

    def __init__(self, broker: Broker, stdout: LineWriter) -> None:
        """Speak of this broker."""
        self._broker = broker
        self._stdout = stdout

    def explained(self, error: BindError) -> BindError:
        """Say who has the port."""
        if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE or error.why is not None:
            return error
        owner = find_port_owner(self._broker.config.listen_port)
        who = f"pid {owner.pid} ({owner.command})" if owner else "another process"
        why = f"{who} is listening there."
        return BindError(error.what, why=why, remedy="stop it, or choose another port: --set listenPort=N")

    def unclean_end(self, previous_pid: str, pid_file: Path) -> None:
        """Log it."""
        _LOG.warning(
            "the previous run, pid %s, had no proper end (%s)", previous_pid, pid_file,
            extra={"event": "server.unclean_end"},
        )  # fmt: skip

    def ready(self, address: str, http_address: str) -> None:
        """Write Java's line, with the address that is announced, and one more where HTTP is."""
        del address
        config = self._broker.config
        _warn_of_open_doors(config)
        known = f" and name server is {config.namesrv_addr}" if config.namesrv_addr else ""
        name = f"{config.broker_name}, {self._broker.address}"
        self._stdout.write(f"The broker[{name}] boot success. serializeType=JSON{known}")
        if http_address:
            self._stdout.write(f"http://{http_address}/readyz /metrics")

    def stopping(self, reason: str) -> None:
        """Log it."""
        _LOG.info("stopping: %s", reason, extra={"event": "broker.stopping"})

    def stopped(self, summary: StopSummary) -> Mapping[str, int]:
        """Log what the stop met."""
        _LOG.info(
            "stopped; %d clients connected, %d requests finished", summary.clients, summary.finished_requests,
            extra={"event": "broker.stopped"},
        )  # fmt: skip
        return {"clients": summary.clients, "finished_requests": summary.finished_requests}


def _warn_of_open_doors(config: BrokerConfig) -> None:
    """Say what everybody who can connect may do, unless only this host can."""
    is_asking = config.acl_enable or config.authentication_enabled
    if is_asking or not _is_reachable(config.bind_address):
        return
    doors = "send, consume and read everything"
    if config.admin_policy == OPEN:
        doors += ", and change topics, groups, offsets and settings (adminPolicy=open)"
    _LOG.warning(
        "whoever can connect may %s; docs/broker-security.md says how to shut it", doors,
        extra={"event": "server.exposed"},
    )  # fmt: skip


def _is_reachable(host: str) -> bool:
    try:
        return host in _EVERYWHERE or not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
