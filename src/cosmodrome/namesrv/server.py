"""NameServer: the parts put together (Java: NamesrvController).

Owns: building the parts, the timers, carrying out Effects, starting and stopping in order.
Must not know: what any request means.
"""

import asyncio
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Self

from cosmodrome import __version__
from cosmodrome.errors import ConfigError, OperatorError
from cosmodrome.metrics.family import Family
from cosmodrome.metrics.loop_lag import LoopLag
from cosmodrome.namesrv.brake import Brakes
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.counters import Counters
from cosmodrome.namesrv.event_history import EventHistory
from cosmodrome.namesrv.events import (
    ConfigReloaded,
    ConfigReloadFailed,
    ConnectionRefused,
    ConnectionsExhausted,
    Event,
    Publish,
    RequestCrashed,
    RequestFailed,
    RouteMissed,
    ServerDraining,
    ServerPaused,
    ServerReady,
    ServerStarted,
    ServerStopped,
    StorageFailed,
    TopicsAdded,
)
from cosmodrome.namesrv.http_service import HttpService
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig, ReadAgain, ReloadOutcome
from cosmodrome.namesrv.memory import MemoryWatch
from cosmodrome.namesrv.metrics.families import families
from cosmodrome.namesrv.metrics.tally import EventTally
from cosmodrome.namesrv.metrics.timings import Timings
from cosmodrome.namesrv.misses import Misses
from cosmodrome.namesrv.name_limits import NameLimits
from cosmodrome.namesrv.notices import NoticeSender
from cosmodrome.namesrv.options import brakes, listen_options, table_limits, table_options
from cosmodrome.namesrv.policy.admission import Admission
from cosmodrome.namesrv.policy.undoing import Undoing, UndoParts
from cosmodrome.namesrv.processors import Processors
from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.processors.kv_config import KVConfigProcessor
from cosmodrome.namesrv.processors.listing import ListingProcessor
from cosmodrome.namesrv.processors.namesrv_config import NamesrvConfigProcessor
from cosmodrome.namesrv.processors.route import RouteProcessor
from cosmodrome.namesrv.processors.topic import TopicProcessor
from cosmodrome.namesrv.product_environment import ProductEnvironment, address_server_url
from cosmodrome.namesrv.program import EMBEDDED, Program
from cosmodrome.namesrv.repeats import EventStream
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.shadow.shadow import Shadow
from cosmodrome.namesrv.shadow.tally import Report
from cosmodrome.namesrv.stored_files import StoredFiles
from cosmodrome.namesrv.tls_settings import ServerTls, client_tls
from cosmodrome.namesrv.turns import Turns
from cosmodrome.namesrv.view import About, Control, View
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.versions import SERVER_RELEASE
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import INTERNAL, STORAGE, Dispatcher, Fault, Peer
from cosmodrome.transport.port_pages import PortPages
from cosmodrome.transport.server import RemotingServer
from cosmodrome.transport.standing_answers import StandingAnswers
from cosmodrome.transport.work_queue import Urgency, WorkQueue

DRAIN_TIMEOUT_S: Final = 5.0
TLS_WATCH_INTERVAL_S: Final = 0.5
HOUSEKEEPING_INTERVAL_S: Final = 2.0
_OWN_FAULTS: Final = {STORAGE: StorageFailed, INTERNAL: RequestCrashed}


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
        program: What the program around it gives.
    """

    def __init__(
        self,
        config: NamesrvConfig,
        *,
        config_store: ConfigStore | None = None,
        publish: Publish | None = None,
        program: Program = EMBEDDED,
    ) -> None:
        self._config = LiveConfig(config, config_store)
        self._stored = StoredFiles(config, config_store)
        self._tally = EventTally()
        self._timings = Timings()
        self._history = EventHistory(time.time_ns() // 1000)
        self._events = EventStream(
            publish or (lambda _: None),
            time.monotonic,
            self._count,
            lambda event: self._history.add(event, time.time()),
        )
        self._admission = Admission(config, self._events.publish)
        self._publish: Publish = self._admission.publish
        self._tables = RouteTables(table_options(config), table_limits(config))
        self._client = RemotingClient()
        self._tls: ServerTls | None = None
        self._server: RemotingServer | None = None
        self._server_to_stop: RemotingServer | None = None
        self._shadow: Shadow | None = None
        self._work = WorkQueue()
        self._turns: Turns | None = None
        self._families: Processors | None = None
        self._seen: View | None = None
        self._notices = NoticeSender(self._client, config.serialize_type, self._publish)
        self._scan: asyncio.TimerHandle | None = None
        self._scan_interval_ms = 0
        self._memory = MemoryWatch()
        self._lag = LoopLag()
        self._program = program
        self._misses = Misses()
        self._http = HttpService(config, self._publish, is_offered=program.offers_http)
        self._drained_since_s: float | None = None
        self._ready: asyncio.TimerHandle | None = None
        self._tls_watch: asyncio.TimerHandle | None = None
        self._housekeeping: asyncio.TimerHandle | None = None
        self._started_s = 0.0
        self._is_stopping = False

    @property
    def address(self) -> str:
        """Where it listens, `host:port` as bound; empty before the start."""
        return "" if self._server is None else self._server.address

    @property
    def http_address(self) -> str:
        """Where HTTP is answered, `host:port` as bound; empty when it is not."""
        return self._http.address

    @property
    def no_http(self) -> str:
        """Why there is no HTTP although the default address for it was wanted; empty when nothing is missing."""
        return self._http.missing

    async def start(self) -> None:
        """Read what is on disk, then listen.

        Raises:
            BindError: The address could not be had.
            StorageError: A file of ours cannot be used, or another server uses it.
            TlsError: A certificate or key cannot be used.
            ConfigError: `tls.config.file` or `aclFile` cannot be used.
        """
        kv_config = self._stored.open(time.time_ns() // 1_000_000)
        try:
            await self._start(kv_config)
        except BaseException:
            await self._http.stop()
            self._stored.close()
            raise

    async def _start(self, kv_config: KVConfigStore) -> None:
        config = self._config.current
        kv_config.limits = config.kv_limits
        kv_config.on_written = self._timings.kv_written
        self._admission.start()
        tls = self._tls = ServerTls(config)
        self._client = RemotingClient(tls=client_tls(config))
        self._notices = NoticeSender(self._client, config.serialize_type, self._publish)
        self._started_s = asyncio.get_running_loop().time()
        dispatcher = self._dispatcher(kv_config)
        dispatcher.on_fault = self._request_failed
        self._server = RemotingServer(
            dispatcher,
            listen_options(
                config, replace(tls.policy, pages=PortPages(unready=self._unready, dashboard=self._http.url))
            ),
            self._connection_lost,
            lambda peer, cause, reason: self._publish(ConnectionRefused(peer=peer.address, cause=cause, reason=reason)),
            lambda limit: self._publish(ConnectionsExhausted(open_descriptors_limit=limit)),
        )
        self._server.pauses.subscribe(self._forgive_pause)
        self._http.bind()
        await self._server.start()
        self._server_to_stop = self._server
        if self._shadow is not None:
            self._shadow.start()
        self._config.port_bound(int(self.address.rpartition(":")[2]))
        self._config.subscribe(self._config_changed)
        self._schedule_scan()
        self._watch_tls_files()
        self._keep_house()
        self._lag.start()
        view = self._seen = self._view(self._server, kv_config)
        self._http.start(view)
        self._publish(ServerStarted(address=self.address, pid=os.getpid()))
        self._admission.listening(self.address)
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
        self._history.end()
        if config.enable_shutdown_gracefully:
            server.dispatcher.drain()
            await asyncio.sleep(config.shutdown_wait_time_seconds)
        self._is_stopping = True
        for timer in (self._scan, self._ready, self._tls_watch, self._housekeeping):
            if timer is not None:
                timer.cancel()
        self._lag.stop()
        await self._http.stop()
        await server.stop_listening()
        finished = await server.drain(DRAIN_TIMEOUT_S)
        await server.close()
        if self._shadow is not None:
            await self._shadow.stop()
        await self._notices.stop()
        await self._client.close()
        await self._admission.close()
        self._stored.close()
        self._events.flush()
        self._publish(ServerStopped(reason=reason))
        return StopSummary(brokers=brokers, clients=connections - brokers, finished_requests=finished)

    async def reload(self, read: ReadAgain) -> ReloadOutcome:
        """Take over what `read` gives, as far as it can change while running, or nothing of it when it raises OperatorError."""
        try:
            applied, restart = await self._config.reload(read)
        except OperatorError as error:
            refused = error.keys if isinstance(error, ConfigError) else ()
            self._publish(ConfigReloadFailed(refused=refused or None, reason=error.what))
            return ReloadOutcome(refused=refused, reason=error.what)
        overridden = self._config.overridden()
        self._publish(ConfigReloaded(applied=applied, restart=restart, overridden=tuple(overridden) or None))
        return ReloadOutcome(applied=applied, restart=restart, overridden=overridden)

    @property
    def counters(self) -> Counters:
        """How often what went wrong since this object was made."""
        return self._events.counters

    def families(self) -> Iterator[Family]:
        """Give every metric as it is now.

        Raises:
            RuntimeError: The server was never started.
        """
        if self._seen is None:
            raise RuntimeError("this NameServer is not started")
        return families(self._seen)

    def shadow_report(self) -> Report | None:
        """Give what shadow mode has found so far; None without it, and before the start."""
        return None if self._shadow is None else self._shadow.report()

    def topic_route(self, topic: str) -> TopicRouteData | None:
        """Give the route of a topic as it is now, or None."""
        return self._tables.read.topic_route(topic)

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
            topic=TopicProcessor(tables, self._carry_out, config.started_with.body_limits),
            listing=ListingProcessor(tables.read, config),
            kv_config=KVConfigProcessor(kv_config, self._publish),
            namesrv_config=NamesrvConfigProcessor(config, self._publish),
        )

    def _dispatcher(self, kv_config: KVConfigStore) -> Dispatcher:
        config = self._config.started_with
        families = self._families = self._processors(kv_config)
        turns = self._turns = Turns(
            self._work,
            self._tables.read.topic_count,
            families.broker,
            lambda: self._server,
            brakes(config, self._publish),
        )
        limited = NameLimits(config.max_name_length).guarded(turns.taking(families.by_code()))
        processors = self._admission.guarding(limited, kv_config, self._config, self._tables.read)
        if config.shadow is None:
            return self._with_standing_answers(Dispatcher(processors), families.route)
        client = RemotingClient(tls=client_tls(config))
        self._shadow = Shadow(config.shadow, client, processors, self._publish)
        return self._shadow.dispatcher

    def _with_standing_answers(self, dispatcher: Dispatcher, route: RouteProcessor) -> Dispatcher:
        """Let connections answer routes that stand by themselves, unless something looks at who asks."""
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        if dispatcher.is_served_by(code, route.get_route_info_by_topic):
            standing = dispatcher.standing = StandingAnswers(code, route.standing_body)
            self._config.subscribe(lambda _: standing.clear())
        return dispatcher

    def _view(self, server: RemotingServer, kv_config: KVConfigStore) -> View:
        assert self._turns is not None, "made with the dispatcher"  # noqa: S101
        assert self._families is not None, "made with the dispatcher"  # noqa: S101
        about = About(
            version=__version__,
            compat_version=SERVER_RELEASE,
            python=platform.python_version(),
            event_loop=type(asyncio.get_running_loop()).__module__.partition(".")[0],
            pid=os.getpid(),
            started_s=time.time(),
        )
        return View(
            about=about,
            config=self._config,
            tables=self._tables,
            kv_config=kv_config,
            server=server,
            brakes=Brakes(self._turns.registrations, self._turns.listings),
            processors=self._families,
            tally=self._tally,
            timings=self._timings,
            lag=self._lag,
            history=self._history,
            misses=self._misses,
            gate=self._admission.gate,
            undoing=Undoing(
                self._admission.gate,
                UndoParts(
                    processors=self._families.by_code(),
                    kv_config=kv_config,
                    config=self._config,
                    tables=self._tables,
                    carry_out=self._carry_out,
                ),
            ),
            control=Control(
                reload=self._reload_again if self._program.read_again is not None else None,
                set_drained=self._set_drained,
                drained_since_s=lambda: self._drained_since_s,
                end=self._program.end,
            ),
            client=self._client,
            unready=self._unready,
            now_ms=_steady_ms,
        )

    def _unready(self) -> str:
        """Say why routes are not answered; nothing when they are."""
        config = self._config.current
        left_s = config.wait_seconds_for_service - self._elapsed_s() if config.need_wait_for_service else 0
        if self._server_to_stop is None or self._drained_since_s is not None:
            return "draining"
        return f"waits {left_s:.0f} s more for brokers (needWaitForService)" if left_s > 0 else ""

    async def _reload_again(self) -> ReloadOutcome:
        assert self._program.read_again is not None, "offered only then"  # noqa: S101
        return await self.reload(self._program.read_again)

    def _set_drained(self, is_drained: bool) -> None:  # noqa: FBT001 -- a switch
        """Take this server out of use: it is not ready, and newer clients are sent away; or put it back."""
        server = self._server_to_stop
        if server is None or is_drained == (self._drained_since_s is not None):
            return
        if is_drained:
            self._drained_since_s = time.time()
            server.dispatcher.drain()
            self._publish(ServerDraining(connections=server.connection_count))
        else:
            self._drained_since_s = None
            server.dispatcher.resume()
            self._publish(ServerReady(address=self.address))

    def _count(self, event: Event) -> None:
        """Take note of an event that was published, one that is held back too."""
        self._tally.count(event)
        if isinstance(event, RouteMissed):
            self._misses.add(event.topic, (event.peer or "").rpartition(":")[0], time.time())
        elif isinstance(event, TopicsAdded):
            self._misses.forget(event.topics)

    def _product_environment(self) -> ProductEnvironment:
        def url() -> str:
            config = self._config.current
            return address_server_url(config.namesrv_domain, config.namesrv_domain_subgroup, config.product_env_name)

        return ProductEnvironment(self._client, url, os.environ.get("NAMESRV_ADDR", ""))

    def _elapsed_s(self) -> float:
        """Seconds since the start in which brokers could register."""
        if self._server is not None:
            self._server.pauses.look()
        return asyncio.get_running_loop().time() - self._started_s

    def _forgive_pause(self, pause_s: float) -> None:
        """Count a time in which this process did not run neither as silence of brokers nor as a chance to register."""
        self._started_s += pause_s
        self._tables.postpone_expiry(int(pause_s * 1000), _steady_ms())
        grace_s = 0.0 if self._server is None else self._server.pauses.grace_s()
        self._publish(ServerPaused(seconds=round(pause_s, 1), grace_s=round(grace_s, 1)))

    def _carry_out(self, effects: Effects) -> None:
        for event in effects.events:
            self._publish(event)
        for notice in effects.notices:
            self._notices.send(notice)
        if self._server is not None:
            for connection in effects.close:
                self._server.close_connection(connection)

    def _request_failed(self, fault: Fault) -> None:
        event = _OWN_FAULTS.get(fault.cause, RequestFailed)
        peer, request = fault.peer, fault.request
        self._publish(
            event(code=request.code, peer=peer.address, opaque=request.opaque, cause=fault.cause, reason=fault.reason)
        )

    def _connection_lost(self, peer: Peer) -> None:
        """Unregister its brokers in their turn: a thousand may go at once, and routes must be answered meanwhile.

        A registration of this connection may itself still wait for its turn, which is before. Brokers that lost
        patience in a time in which this process did not run are given time to come back; those that do not come are
        gone then, or when they have been silent for too long.
        """
        connection = ConnectionId(peer.connection_id)
        if self._turns is not None:
            self._turns.peer_gone(connection)
        if len(self._work) or self._tables.is_broker_connection(connection):
            is_idle = self._server is not None and self._server.is_closed_as_idle(connection)
            unregister = partial(self._unregister_in_turn, connection, is_idle=is_idle)
            grace_s = 0.0 if self._server is None else self._server.pauses.grace_s()
            if grace_s > 0:
                asyncio.get_running_loop().call_later(grace_s, unregister)
            else:
                unregister()

    def _unregister_in_turn(self, connection: ConnectionId, *, is_idle: bool) -> None:
        self._work.add(partial(self._unregister_brokers_of, connection, is_idle=is_idle), Urgency.CHANGE)

    def _unregister_brokers_of(self, connection: ConnectionId, *, is_idle: bool) -> None:
        if not self._is_stopping:
            self._carry_out(self._tables.connection_closed(connection, _steady_ms(), is_idle=is_idle))

    def _schedule_scan(self) -> None:
        loop = asyncio.get_running_loop()
        self._scan_interval_ms = self._config.current.scan_not_active_broker_interval
        self._scan = loop.call_at(loop.time() + self._scan_interval_ms / 1000, self._expire_brokers)

    def _expire_brokers(self) -> None:
        """Unregister silent brokers, after the registrations that wait for their turn: theirs may be among them."""
        if self._server is not None:
            self._server.pauses.look()
        self._work.add(self._expire_silent, Urgency.CHANGE)
        self._schedule_scan()

    def _expire_silent(self) -> None:
        if not self._is_stopping:
            begun_s = time.perf_counter()
            self._carry_out(self._tables.expire(_steady_ms()))
            self._timings.expiry_scans.add(time.perf_counter() - begun_s)

    def _keep_house(self) -> None:
        """Tell what was held back, and give back memory that is free."""
        self._events.sweep()
        self._memory.look(self._tables.dropped_count, 0 if self._server is None else self._server.released_bytes)
        self._housekeeping = asyncio.get_running_loop().call_later(HOUSEKEEPING_INTERVAL_S, self._keep_house)

    def _watch_tls_files(self) -> None:
        if self._tls is not None and self._tls.has_files:
            self._tls.refresh()
            self._tls_watch = asyncio.get_running_loop().call_later(TLS_WATCH_INTERVAL_S, self._watch_tls_files)

    def _announce_ready(self) -> None:
        config = self._config.current
        left_s = config.wait_seconds_for_service - self._elapsed_s() if config.need_wait_for_service else 0
        if left_s > 0:
            self._ready = asyncio.get_running_loop().call_later(left_s, self._announce_ready)
        else:
            self._publish(ServerReady(address=self.address))

    def _config_changed(self, config: NamesrvConfig) -> None:
        options = table_options(config)
        if options != self._tables.options:
            self._tables.set_options(options)
        if self._server is not None:
            self._server.set_max_idle(config.server_channel_max_idle_time_seconds)
        if self._scan is not None and config.scan_not_active_broker_interval != self._scan_interval_ms:
            self._scan.cancel()
            self._schedule_scan()


def _steady_ms() -> int:
    """Milliseconds by a clock that never steps."""
    return time.monotonic_ns() // 1_000_000
