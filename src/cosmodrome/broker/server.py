"""Broker: what a program starts and stops (Java: BrokerController).

Owns: settings given as keywords; the socket, the store and its folder; what a start that fails leaves.
Must not know: the parts of a broker that runs (running.py); what any request means.
"""

import asyncio
import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from cosmodrome.broker.auditing import audit_log
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import NO_REPLICATION, SYNC_MASTER, BrokerConfig
from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.kept_tables import KeptTables
from cosmodrome.broker.live_config import Change, SettingsFile
from cosmodrome.broker.own_address import published_ip
from cosmodrome.broker.replication.ports import SlavePorts, bind_slave_ports
from cosmodrome.broker.running import RunningBroker, StopSummary
from cosmodrome.broker.security.admission import open_admission
from cosmodrome.broker.state import BrokerState, load_state, new_state, sources
from cosmodrome.broker.tls import with_tls_config_file
from cosmodrome.broker.watch import Watch
from cosmodrome.client.addresses import parse_addresses
from cosmodrome.errors import BindError, ConfigError, StorageError
from cosmodrome.metrics.family import Family
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.store.config_files import ConfigFiles
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.settings import StoreSettings
from cosmodrome.transport.connection import ConnectionOptions
from cosmodrome.transport.dispatch import Dispatcher, Peer
from cosmodrome.transport.entrance import EntrancePolicy
from cosmodrome.transport.server import ListenOptions, RemotingServer
from cosmodrome.transport.server_tls import ServerTls

LOOPBACK: Final = "127.0.0.1"
_ATTEMPTS: Final = 20
"""At ports that the system chooses."""


class Broker:
    """A broker in this process. Start it once, stop it as often as you like, or use it as a context manager.

    Args:
        port: Where it listens; 0 takes a free one.
        namesrv: NameServers to register with, `host:port` with `;` between; empty for none.
        host: The address it listens on and publishes; `0.0.0.0` for all.
        store: Its folder; None for a temporary one, which goes when it stops.
        config: All settings; no others may be given then.
        settings_file: Where changes of settings that requests make are kept; None keeps them in memory.
        clock: What the time is; None asks the system.
        settings: Fields of BrokerConfig.

    Raises:
        ConfigError: A setting cannot be used.
    """

    def __init__(  # noqa: PLR0913 -- what users set most often, by name
        self,
        *,
        port: int = 0,
        namesrv: str = "",
        host: str = LOOPBACK,
        store: str | Path | None = None,
        config: BrokerConfig | None = None,
        settings_file: SettingsFile | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        if config is None:
            folder = "" if store is None else str(store)
            settings = {"broker_name": "broker-a", "ha_listen_port": _default_ha_port(settings), **settings}
            _refuse_unknown(settings)
            config = BrokerConfig(
                listen_port=port, namesrv_addr=namesrv, bind_address=host, store_path_root_dir=folder, **settings
            )
        self.config = config
        self._servers = tuple(map(str, parse_addresses(config.namesrv_addr))) if config.namesrv_addr else ()
        self._clock = clock or Clock(lambda: time.time_ns() // 1_000_000, lambda: time.monotonic_ns() // 1_000_000)
        self._settings_file = settings_file
        self._tls: ServerTls | None = None
        self._running: RunningBroker | None = None
        self._watch = Watch(config, self._clock)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def address(self) -> str:
        """The address that it publishes, `host:port`; empty before the start."""
        return "" if self._running is None else self._running.address

    @property
    def bound_address(self) -> str:
        """The address that it listens on, `host:port`; empty before the start."""
        return "" if self._running is None else self._running.bound_address

    @property
    def http_address(self) -> str:
        """Where HTTP is answered, `host:port` as bound; empty when it is not."""
        return self._watch.address

    async def start(self) -> None:
        """Open the store, listen, and register.

        Raises:
            BindError: The address could not be had.
            StorageError: The store or a table of ours cannot be used, or another broker uses it.
            TlsError: A certificate or key cannot be used.
            ConfigError: `tls.config.file` or a file of accounts cannot be used.
            RuntimeError: It is started already.
        """
        if self._running is not None:
            raise RuntimeError("this broker is started already")
        self.config = with_tls_config_file(self.config)
        self._tls = ServerTls(self.config)
        server, slave_ports = self._bind()
        self._watch = Watch(self.config, self._clock)
        try:
            self._watch.begin()
            await self._start(server, slave_ports)
            self._watch.started()
        except BaseException:
            await self._watch.end()
            await server.close()
            if slave_ports is not None:
                await slave_ports.close()
            self._remove_temporary()
            raise

    def _bind(self) -> tuple[RemotingServer, SlavePorts | None]:
        """Take the ports. Where any will do, those of slaves beside it must be free too."""
        attempts = 1 if self.config.listen_port else _ATTEMPTS
        while True:
            server = self._server_on(self.config.listen_port)
            bound = server.bind()
            attempts -= 1
            try:
                return server, bind_slave_ports(self.config, _port_of(server), self._server_on)
            except BindError:
                bound.close()
                if not attempts:
                    raise

    def _server_on(self, port: int, first_connection_id: int = 0) -> RemotingServer:
        options = ListenOptions(
            host=self.config.bind_address,
            port=port,
            first_connection_id=first_connection_id,
            connection=ConnectionOptions(entrance=self._tls.policy if self._tls is not None else EntrancePolicy()),
        )
        return RemotingServer(Dispatcher({}), options, self._connection_lost)

    async def _start(self, server: RemotingServer, slave_ports: SlavePorts | None) -> None:
        port = _port_of(server)
        first = self._servers[0] if self._servers else None
        ip = self.config.broker_ip1 or published_ip(self.config.bind_address, first)
        config = dataclasses.replace(self.config, broker_ip1=ip, listen_port=port)
        folder = self._folder()
        settings = _store_settings(config, folder)
        store = await _opened(settings)
        try:
            admission = await asyncio.to_thread(open_admission, config, folder, self._clock)
            state = dataclasses.replace(new_state(config, self._clock.wall_ms()), admission=admission)
            kept = KeptTables(ConfigFiles(folder), self._clock.wall_ms)
            load_state(state, kept, store.reader, self._clock)
            running = RunningBroker(config, state, store, server, self._clock)
        except BaseException:
            await asyncio.to_thread(store.close)
            raise
        running.keeper = Keeper(kept, sources(state, self._clock))
        running.slave_ports = slave_ports
        running.tls = self._tls
        running.live.file = self._settings_file
        running.live.started_with = self.config
        running.before_closing = self._watch.end
        running.audit = audit_log(config, folder)
        self._watch.opened(running.seen())
        self._running = running
        try:
            await running.start(self._servers)
        except BaseException:
            self._running = None
            await running.stop()
            raise

    def _folder(self) -> Path:
        if self.config.store_path_root_dir:
            return Path(self.config.store_path_root_dir).expanduser()
        self._temporary = tempfile.TemporaryDirectory(prefix="cosmodrome-broker-")
        return Path(self._temporary.name)

    def _remove_temporary(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.cleanup()

    async def stop(self) -> StopSummary:
        """Leave the NameServers, answer what waits, put everything on disk, and close.

        Raises:
            StorageError: Something is not on disk; everything is closed all the same.
        """
        running, self._running = self._running, None
        if running is None:
            return StopSummary(clients=0, finished_requests=0)
        self._watch.draining()
        try:
            return await running.stop()
        finally:
            await self._watch.end()
            self._remove_temporary()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def running_state(self) -> BrokerState:
        """What it knows beside its messages, as it is now.

        Raises:
            RuntimeError: It is not started.
        """
        if self._running is None:
            raise RuntimeError("this broker is not started")
        return self._running.state

    async def reload(self, read: Callable[[], BrokerConfig]) -> Change:
        """Take over what `read`, which runs in a thread, gives, as far as it can change while running.

        Raises:
            ConfigError: From `read`; nothing was changed.
            RuntimeError: It is not started.
        """
        if self._running is None:
            raise RuntimeError("this broker is not started")
        return await self._running.live.reload(lambda: with_tls_config_file(read()), self._clock.wall_ms())

    async def measured(self) -> Iterable[Family]:
        """Give every metric as it is now; see cosmodrome.MetricsCollector."""
        return await self._watch.measured()

    def look_at_files(self) -> None:
        """Look now whether files of accounts and certificates were changed, which is done every second anyway."""
        if self._running is not None:
            self._running.look_at_files()

    def _connection_lost(self, peer: Peer) -> None:
        if self._running is not None:
            self._running.connection_lost(peer)


def _default_ha_port(settings: Mapping[str, Any]) -> int:
    """Within a program nobody follows unless it is asked for."""
    return 0 if settings.get("broker_role") == SYNC_MASTER else NO_REPLICATION


def _port_of(server: RemotingServer) -> int:
    return int(server.address.rpartition(":")[2])


def _refuse_unknown(settings: Mapping[str, Any]) -> None:
    known = {each.name for each in dataclasses.fields(BrokerConfig)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ConfigError(f"unknown setting {', '.join(unknown)}.", keys=unknown)


def _store_settings(config: BrokerConfig, folder: Path) -> StoreSettings:
    return StoreSettings(
        root=folder,
        store_host=encode_host(config.broker_ip1, config.listen_port),
        segment_bytes=config.mapped_file_size_commit_log,
        queue_file_bytes=config.mapped_file_size_consume_queue,
        index_slots=config.max_hash_slot_num,
        index_entries=config.max_index_num,
        is_index_enabled=config.message_index_enable,
        max_body_bytes=config.max_message_size,
        delays_ms=config.delays_ms,
        is_read_after_sync=config.is_sync_flush,
    )


async def _opened(settings: StoreSettings) -> MessageStore:
    """Open a store in a thread. Who is cancelled meanwhile leaves it closed, not locked."""
    opening = asyncio.ensure_future(asyncio.to_thread(MessageStore.open, settings))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        with contextlib.suppress(StorageError):
            store = await opening
            await asyncio.to_thread(store.close)
        raise
