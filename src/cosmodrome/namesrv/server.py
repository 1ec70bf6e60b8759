"""NameServer: the parts put together (Java: NamesrvController).

Owns: building the parts, the timers, carrying out Effects, starting and stopping in order.
Must not know: what any request means.
"""

import asyncio
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from cosmodrome.errors import RemotingError
from cosmodrome.namesrv.admin_policy import AdminGate
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_file import ConfigStore
from cosmodrome.namesrv.events import (
    ConnectionRefused,
    ConnectionsExhausted,
    NoticeFailed,
    Publish,
    RequestFailed,
    ServerDraining,
    ServerReady,
    ServerStarted,
    ServerStopped,
    StorageFailed,
)
from cosmodrome.namesrv.kv_config import KVConfigStore, load_kv_config
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.memory import WORTH_GIVING_BACK_ENTRIES, give_back
from cosmodrome.namesrv.processors import Processors
from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.processors.kv_config import KVConfigProcessor
from cosmodrome.namesrv.processors.listing import ListingProcessor
from cosmodrome.namesrv.processors.namesrv_config import NamesrvConfigProcessor
from cosmodrome.namesrv.processors.route import RouteProcessor
from cosmodrome.namesrv.processors.topic import TopicProcessor
from cosmodrome.namesrv.product_environment import ProductEnvironment, address_server_url
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects, MinBrokerIdNotice
from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.shadow.shadow import Shadow
from cosmodrome.namesrv.shadow.tally import Report
from cosmodrome.namesrv.tls_settings import ServerTls, client_tls
from cosmodrome.namesrv.turns import Turns
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.connection import ConnectionOptions
from cosmodrome.transport.dispatch import Dispatcher, Fault, Peer
from cosmodrome.transport.entrance import EntrancePolicy
from cosmodrome.transport.server import ListenOptions, RemotingServer
from cosmodrome.transport.work_queue import Urgency, WorkQueue

NOTICE_TIMEOUT_S: Final = 3.0
DRAIN_TIMEOUT_S: Final = 5.0
TLS_WATCH_INTERVAL_S: Final = 0.5
MEMORY_WATCH_INTERVAL_S: Final = 2.0
_PAUSE_NOTICED_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSummary:
    """What a stop met: brokers and other connections at that moment, and requests that were finished for it."""

    brokers: int
    clients: int
    finished_requests: int


class NameServer:
    """A NameServer in this process. Start it once, stop it as often as you like, or use it as a context manager.

    Args:
        config: All settings.
        config_store: Where changes made by requests are kept; None keeps them in memory only.
        publish: Told of every event; None for nobody.
    """

    def __init__(
        self, config: NamesrvConfig, *, config_store: ConfigStore | None = None, publish: Publish | None = None
    ) -> None:
        self._config = LiveConfig(config, config_store)
        self._publish: Publish = publish or (lambda _: None)
        self._tables = RouteTables(_table_options(config))
        self._client = RemotingClient()
        self._tls: ServerTls | None = None
        self._server: RemotingServer | None = None
        self._server_to_stop: RemotingServer | None = None
        self._shadow: Shadow | None = None
        self._work = WorkQueue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._scan: asyncio.TimerHandle | None = None
        self._scan_interval_ms = 0
        self._given_back_at = 0
        self._ready: asyncio.TimerHandle | None = None
        self._tls_watch: asyncio.TimerHandle | None = None
        self._memory_watch: asyncio.TimerHandle | None = None
        self._started_s = 0.0
        self._is_stopping = False

    @property
    def address(self) -> str:
        """Where it listens, `host:port` as bound; empty before the start."""
        return "" if self._server is None else self._server.address

    async def start(self) -> None:
        """Read what is on disk, then listen.

        Raises:
            BindError: The address could not be had.
            StorageError: A file of ours cannot be used.
            TlsError: A certificate or key cannot be used.
            ConfigError: `tls.config.file` cannot be used.
        """
        config = self._config.current
        kv_config = load_kv_config(Path(config.kv_config_path), time.time_ns() // 1_000_000)
        tls = self._tls = ServerTls(config)
        self._client = RemotingClient(tls=client_tls(config))
        self._started_s = asyncio.get_running_loop().time()
        dispatcher = self._dispatcher(kv_config)
        dispatcher.on_fault = self._request_failed
        self._server = RemotingServer(
            dispatcher,
            _listen_options(config, tls.policy),
            self._connection_lost,
            lambda peer, reason: self._publish(ConnectionRefused(peer=peer.address, reason=reason)),
            lambda limit: self._publish(ConnectionsExhausted(open_descriptors_limit=limit)),
        )
        await self._server.start()
        self._server_to_stop = self._server
        if self._shadow is not None:
            self._shadow.start()
        self._config.port_bound(int(self.address.rpartition(":")[2]))
        self._config.subscribe(self._config_changed)
        self._schedule_scan()
        self._watch_tls_files()
        self._give_memory_back()
        self._publish(ServerStarted(address=self.address, pid=os.getpid()))
        self._announce_ready()

    async def stop(self, reason: str = "stopped") -> StopSummary:
        """Send newer clients away if configured, finish what is being worked on, and close everything."""
        server, self._server_to_stop = self._server_to_stop, None
        if server is None:
            return StopSummary(brokers=0, clients=0, finished_requests=0)
        config = self._config.current
        connections = server.connection_count
        brokers = len({info.connection for info in self._tables.live_brokers()})
        self._publish(ServerDraining(connections=connections))
        if config.enable_shutdown_gracefully:
            server.dispatcher.is_draining = True
            await asyncio.sleep(config.shutdown_wait_time_seconds)
        self._is_stopping = True
        for timer in (self._scan, self._ready, self._tls_watch, self._memory_watch):
            if timer is not None:
                timer.cancel()
        await server.stop_listening()
        finished = await server.drain(DRAIN_TIMEOUT_S)
        await server.close()
        if self._shadow is not None:
            await self._shadow.stop()
        await self._stop_sending()
        self._publish(ServerStopped(reason=reason))
        return StopSummary(brokers=brokers, clients=connections - brokers, finished_requests=finished)

    def shadow_report(self) -> Report | None:
        """Give what shadow mode has found so far; None without it, and before the start."""
        return None if self._shadow is None else self._shadow.report()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _processors(self, kv_config: KVConfigStore) -> Processors:
        config, tables = self._config, self._tables
        route = RouteProcessor(tables.read, kv_config, config, self._elapsed_s, self._publish)
        if config.current.cluster_test:
            route.ask_elsewhere(self._product_environment().route)
        return Processors(
            route=route,
            broker=BrokerProcessor(tables, kv_config, config, _steady_ms, self._carry_out),
            topic=TopicProcessor(tables, self._carry_out),
            listing=ListingProcessor(tables.read, config),
            kv_config=KVConfigProcessor(kv_config, self._publish),
            namesrv_config=NamesrvConfigProcessor(config, self._publish),
        )

    def _dispatcher(self, kv_config: KVConfigStore) -> Dispatcher:
        config = self._config.started_with
        turns = Turns(self._work, self._tables.read.topic_count)
        processors = self._gate().guarded(turns.taking(self._processors(kv_config).by_code()))
        if config.shadow is None:
            return Dispatcher(processors)
        client = RemotingClient(tls=client_tls(config))
        self._shadow = Shadow(config.shadow, client, processors, self._publish)
        return self._shadow.dispatcher

    def _gate(self) -> AdminGate:
        config = self._config.started_with
        return AdminGate(
            config.admin_policy,
            config.admin_allow,
            lambda connection_id: self._tables.is_broker_connection(ConnectionId(connection_id)),
            self._publish,
        )

    def _product_environment(self) -> ProductEnvironment:
        def url() -> str:
            config = self._config.current
            return address_server_url(config.namesrv_domain, config.namesrv_domain_subgroup, config.product_env_name)

        return ProductEnvironment(self._client, url, os.environ.get("NAMESRV_ADDR", ""))

    def _elapsed_s(self) -> float:
        return asyncio.get_running_loop().time() - self._started_s

    def _carry_out(self, effects: Effects) -> None:
        for event in effects.events:
            self._publish(event)
        for notice in effects.notices:
            for receiver in notice.receivers:
                self._spawn(self._send_notice(notice, receiver))
        if self._server is not None:
            for connection in effects.close:
                self._server.close_connection(connection)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_notice(self, notice: MinBrokerIdNotice, receiver: str) -> None:
        """Tell one broker; that another one does not listen must not matter to it."""
        command = request(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, encode_ext_fields(notice.header), is_oneway=True)
        command = command._replace(serialize_type=self._config.started_with.serialize_type)
        try:
            await self._client.send_oneway(receiver, command, NOTICE_TIMEOUT_S)
        except RemotingError as error:
            self._publish(NoticeFailed(broker=notice.broker_name, addr=receiver, reason=str(error)))

    async def _stop_sending(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._client.close()

    def _request_failed(self, fault: Fault) -> None:
        event = StorageFailed if fault.is_ours else RequestFailed
        request = fault.request
        self._publish(event(code=request.code, peer=fault.peer.address, opaque=request.opaque, reason=fault.reason))

    def _connection_lost(self, peer: Peer) -> None:
        """Unregister its brokers in their turn: a thousand may go at once, and routes must be answered meanwhile.

        A registration of this connection may itself still wait for its turn, which is before.
        """
        connection = ConnectionId(peer.connection_id)
        if len(self._work) or self._tables.is_broker_connection(connection):
            self._work.add(lambda: self._unregister_brokers_of(connection), Urgency.CHANGE)

    def _unregister_brokers_of(self, connection: ConnectionId) -> None:
        if not self._is_stopping:
            self._carry_out(self._tables.connection_closed(connection, _steady_ms()))

    def _schedule_scan(self) -> None:
        loop = asyncio.get_running_loop()
        self._scan_interval_ms = self._config.current.scan_not_active_broker_interval
        self._scan = loop.call_at(loop.time() + self._scan_interval_ms / 1000, self._expire_brokers)

    def _expire_brokers(self) -> None:
        late_s = 0.0 if self._scan is None else asyncio.get_running_loop().time() - self._scan.when()
        if late_s > _PAUSE_NOTICED_S:
            self._tables.postpone_expiry(int(late_s * 1000))
        self._carry_out(self._tables.expire(_steady_ms()))
        self._schedule_scan()

    def _give_memory_back(self) -> None:
        """Shrink with the tables, when they have dropped a lot since the last time."""
        dropped = self._tables.dropped_count
        if dropped - self._given_back_at >= WORTH_GIVING_BACK_ENTRIES:
            self._given_back_at = dropped
            give_back()
        self._memory_watch = asyncio.get_running_loop().call_later(MEMORY_WATCH_INTERVAL_S, self._give_memory_back)

    def _watch_tls_files(self) -> None:
        if self._tls is not None and self._tls.has_files:
            self._tls.refresh()
            self._tls_watch = asyncio.get_running_loop().call_later(TLS_WATCH_INTERVAL_S, self._watch_tls_files)

    def _announce_ready(self) -> None:
        config = self._config.current
        wait_s = config.wait_seconds_for_service if config.need_wait_for_service else 0
        self._ready = asyncio.get_running_loop().call_later(
            wait_s, lambda: self._publish(ServerReady(address=self.address))
        )

    def _config_changed(self, config: NamesrvConfig) -> None:
        options = _table_options(config)
        if options != self._tables.options:
            self._tables.set_options(options)
        if self._server is not None:
            self._server.set_max_idle(config.server_channel_max_idle_time_seconds)
        if self._scan is not None and config.scan_not_active_broker_interval != self._scan_interval_ms:
            self._scan.cancel()
            self._schedule_scan()


def _table_options(config: NamesrvConfig) -> TableOptions:
    return TableOptions(
        support_acting_master=config.support_acting_master,
        notify_min_broker_id_changed=config.notify_min_broker_id_changed,
        delete_topic_with_broker_registration=config.delete_topic_with_broker_registration,
    )


def _listen_options(config: NamesrvConfig, entrance: EntrancePolicy) -> ListenOptions:
    return ListenOptions(
        host=config.bind_address,
        port=config.listen_port,
        backlog=config.server_socket_backlog,
        max_idle_s=config.server_channel_max_idle_time_seconds,
        greeting_timeout_s=config.greeting_timeout_seconds,
        connection=ConnectionOptions(
            max_frame_bytes=config.frame_max_length,
            send_buffer_bytes=config.server_socket_snd_buf_size,
            receive_buffer_bytes=config.server_socket_rcv_buf_size,
            high_water_bytes=config.write_buffer_high_water_mark,
            low_water_bytes=config.write_buffer_low_water_mark,
            entrance=entrance,
        ),
    )


def _steady_ms() -> int:
    """Milliseconds by a clock that never steps."""
    return time.monotonic_ns() // 1_000_000
