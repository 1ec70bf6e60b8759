"""Broker: what a program starts and stops (Java: BrokerController).

Owns: settings given as keywords; the socket, the store and its folder; what a start that fails leaves.
Must not know: the parts of a broker that runs (running.py); what any request means.
"""

import asyncio
import dataclasses
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.kept_tables import KeptTables
from cosmodrome.broker.own_address import published_ip
from cosmodrome.broker.running import RunningBroker
from cosmodrome.broker.state import load_state, new_state, sources
from cosmodrome.client.addresses import parse_addresses
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.store.config_files import ConfigFiles
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.settings import StoreSettings
from cosmodrome.transport.dispatch import Dispatcher, Peer
from cosmodrome.transport.server import ListenOptions, RemotingServer

LOOPBACK: Final = "127.0.0.1"


class Broker:
    """A broker in this process. Start it once, stop it as often as you like, or use it as a context manager.

    Args:
        port: Where it listens; 0 takes a free one.
        namesrv: NameServers to register with, `host:port` with `;` between; empty for none.
        host: The address it listens on and publishes; `0.0.0.0` for all.
        store: Its folder; None for a temporary one, which goes when it stops.
        config: All settings; no others may be given then.
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
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        if config is None:
            folder = "" if store is None else str(store)
            settings = {"broker_name": "broker-a", **settings}
            _refuse_unknown(settings)
            config = BrokerConfig(
                listen_port=port, namesrv_addr=namesrv, bind_address=host, store_path_root_dir=folder, **settings
            )
        self.config = config
        self._servers = tuple(map(str, parse_addresses(config.namesrv_addr))) if config.namesrv_addr else ()
        self._clock = clock or Clock(lambda: time.time_ns() // 1_000_000, lambda: time.monotonic_ns() // 1_000_000)
        self._running: RunningBroker | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def address(self) -> str:
        """The address that it publishes, `host:port`; empty before the start."""
        return "" if self._running is None else self._running.address

    async def start(self) -> None:
        """Open the store, listen, and register.

        Raises:
            BindError: The address could not be had.
            StorageError: The store or a table of ours cannot be used, or another broker uses it.
            RuntimeError: It is started already.
        """
        if self._running is not None:
            raise RuntimeError("this broker is started already")
        dispatcher = Dispatcher({})
        options = ListenOptions(host=self.config.bind_address, port=self.config.listen_port)
        server = RemotingServer(dispatcher, options, self._connection_lost)
        server.bind()
        try:
            await self._start(server)
        except BaseException:
            await server.close()
            self._remove_temporary()
            raise

    async def _start(self, server: RemotingServer) -> None:
        port = int(server.address.rpartition(":")[2])
        first = self._servers[0] if self._servers else None
        ip = self.config.broker_ip1 or published_ip(self.config.bind_address, first)
        config = dataclasses.replace(self.config, broker_ip1=ip, listen_port=port)
        folder = self._folder()
        settings = _store_settings(config, folder)
        store = await asyncio.to_thread(MessageStore.open, settings)
        try:
            state = new_state(config, self._clock.wall_ms())
            kept = KeptTables(ConfigFiles(folder), self._clock.wall_ms)
            load_state(state, kept, store.reader, self._clock)
            running = RunningBroker(config, state, store, server, self._clock)
        except BaseException:
            await asyncio.to_thread(store.close)
            raise
        running.keeper = Keeper(kept, sources(state, self._clock))
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

    async def stop(self) -> None:
        """Leave the NameServers, answer what waits, put everything on disk, and close.

        Raises:
            StorageError: Something is not on disk; everything is closed all the same.
        """
        running, self._running = self._running, None
        if running is None:
            return
        try:
            await running.stop()
        finally:
            self._remove_temporary()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _connection_lost(self, peer: Peer) -> None:
        if self._running is not None:
            self._running.connection_lost(peer)


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
    )
