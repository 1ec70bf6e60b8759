"""A broker between its start and its stop.

Owns: the order in which its parts are started and stopped; who is told of what changed; settings that change.
Must not know: what any request means; where the store is, and whose socket it is (server.py).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.audit.log import AuditLog
from cosmodrome.broker.auditing import Auditing
from cosmodrome.broker.background import Background, BackgroundHooks
from cosmodrome.broker.changes import Changes
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.families import Families
from cosmodrome.broker.gate import Gate
from cosmodrome.broker.groups import TRANSACTION_GROUP
from cosmodrome.broker.half_messages import done_offsets
from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.live_config import LiveConfig
from cosmodrome.broker.parts import Given, Hooks, Parts
from cosmodrome.broker.processors import NOT_ON_FAST_PORT, READS_MESSAGES
from cosmodrome.broker.registration import Identity, Periods, Registrar
from cosmodrome.broker.replication.comparison import Comparison
from cosmodrome.broker.replication.ports import FAST_CONNECTIONS, SlavePorts
from cosmodrome.broker.security.needs import Needs, needs_of
from cosmodrome.broker.state import BrokerState, check_rules
from cosmodrome.broker.topics import HALF_TOPIC, OP_TOPIC
from cosmodrome.broker.view import Seen
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.record import decode_record
from cosmodrome.store.config_files import GROUPS, TOPICS
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.server import RemotingServer
from cosmodrome.transport.server_tls import ServerTls

logger = logging.getLogger(__name__)

FIRST_REGISTRATION_S: Final = 3.0
"""How long a start waits for NameServers; it goes on without them."""
DRAIN_TIMEOUT_S: Final = 5.0
SLAVES_TIMEOUT_S: Final = 3.0
"""How long a stop waits for slaves that follow, until they have everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSummary:
    """What a stop met: connections at that moment, and requests that were answered since."""

    clients: int
    finished_requests: int


class RunningBroker:
    """Everything that lives from start to stop. `keeper` is set before the start, and `slave_ports` if there are some.

    `before_closing` is awaited in the stop when everything is answered.
    """

    keeper: Keeper
    audit: AuditLog | None = None
    before_closing: Callable[[], Awaitable[None]] | None = None
    slave_ports: SlavePorts | None = None
    tls: ServerTls | None = None

    def __init__(
        self, config: BrokerConfig, state: BrokerState, store: MessageStore, server: RemotingServer, clock: Clock
    ) -> None:
        """Put the parts together."""
        self._config = config
        self._state = state
        self._server = server
        hooks = Hooks(self._send, self._name_server_lost, self._keep)
        self._parts = Parts(config, Given(state, store, server, clock), hooks)
        self.address = self._parts.address
        self._families = Families(config, self._parts)
        self._processors = self._families.processors
        self._parts.live.on_change = self._reconfigured
        pop = self._parts.pop
        pop.due, pop.arrived = self._processors.pop.due, self._processors.pop.arrived
        pop.revived = self._after_request
        self._background = Background(
            self._parts,
            self._processors,
            BackgroundHooks(
                self.look_at_files,
                lambda connection: self._server_of(connection).close_connection(connection),
                self._after_request,
            ),
        )
        self._gate = Gate(config.admin_networks, state.admission, self._needs, asyncio.get_running_loop().time)
        self._registrar: Registrar | None = None
        self._is_stopping = False

    async def _keep(self, name: str) -> None:
        await self.keeper.keep(name)

    @property
    def live(self) -> LiveConfig:
        """The settings in force."""
        return self._parts.live

    def _needs(self, request: RemotingCommand) -> Needs:
        return needs_of(request, self._config.broker_cluster_name, self._topic_at)

    def _topic_at(self, offset: int) -> str | None:
        view = self._parts.store.reader.record_at(offset)
        return None if view is None else decode_record(view)[0].topic

    async def start(self, name_servers: tuple[str, ...]) -> None:
        """Serve, and register with these."""
        self._load()
        parts, server = self._parts, self._server
        if self.audit is not None:
            self.audit.start()
            self._gate.auditing = Auditing(self.audit, Changes(self._state, self.live))
        guarded = self._gate.guarding(self._processors.by_code())
        for code, word in READS_MESSAGES.items():
            guarded[code] = parts.cold.patient(guarded[code], word)
        server.dispatcher.serve({code: self._watched(each) for code, each in guarded.items()})
        server.dispatcher.express = self._families.express()
        server.on_response = lambda peer, answer: parts.outbox.answered(peer.connection_id, answer)
        parts.syncing.start()
        self.keeper.covered = parts.syncing.everything
        await server.start()
        await self._serve_slaves(guarded, name_servers)
        self._registrar = self._new_registrar(name_servers)
        await self._registrar.start(FIRST_REGISTRATION_S)
        self._state.topics.take_changed()
        self._background.start(self._config)
        logger.info(
            "broker %s listens on %s, and is announced as %s", self._config.broker_name, self.bound_address, self.address,
            extra={"event": "broker.started"},
        )  # fmt: skip

    @property
    def bound_address(self) -> str:
        """The address that it listens on; `address` is the one that it publishes."""
        return self._server.address

    def _load(self) -> None:
        """Find in the store what it knows of half messages, timers and pops."""
        parts, offsets, store = self._parts, self._state.offsets, self._parts.store
        firsts = (offsets.committed(topic, TRANSACTION_GROUP, 0) or 0 for topic in (HALF_TOPIC, OP_TOPIC))
        parts.halves.load(self._state.transactions, *firsts)
        parts.timers.load()
        parts.pop.load(offsets.kept_ms, store.last_store_ms, is_from_elsewhere=store.is_from_elsewhere)

    def _new_registrar(self, name_servers: tuple[str, ...]) -> Registrar:
        config, parts = self._config, self._parts
        identity = Identity(
            cluster=config.broker_cluster_name,
            name=config.broker_name,
            broker_id=config.broker_id,
            address=self.address,
            ha_address=parts.ha_address,
        )
        periods = Periods(
            period_s=config.register_name_server_period / 1000, timeout_s=config.register_broker_timeout_mills / 1000
        )
        return Registrar(
            identity,
            name_servers,
            lambda names: self._state.topics.published(names, self._config.broker_permission),
            periods,
            parts.client,
        )

    async def _serve_slaves(self, guarded: Mapping[int, Processor], name_servers: tuple[str, ...]) -> None:
        """Open the fast port, on which everything is served but what waits for messages, and the one of slaves."""
        ports, parts = self.slave_ports, self._parts
        if ports is not None:
            served = {code: self._watched(each) for code, each in guarded.items() if code not in NOT_ON_FAST_PORT}
            ports.fast.dispatcher.serve(served)
            ports.fast.on_response = lambda peer, answer: parts.outbox.answered(peer.connection_id, answer)
            await ports.fast.start()
            comparison = Comparison(self._config.broker_name, name_servers, parts.client, parts.store.reader)
            parts.replication.comparison = comparison
            await parts.replication.start(ports.replication)

    async def stop(self) -> StopSummary:
        """Leave the NameServers, answer what waits, put everything on disk, and close.

        Raises:
            StorageError: Something is not on disk; everything is closed all the same.
        """
        self._is_stopping = True
        self._background.no_more_timers()
        parts, traffic = self._parts, self._server.dispatcher.traffic
        clients, answered = self._server.connection_count, traffic.total
        if self._registrar is not None:
            await self._registrar.stop()
        await self._server.stop_listening()
        await self._background.stop()
        await self._answer_all()
        summary = StopSummary(clients=clients, finished_requests=traffic.total - answered)
        await self._server.close()
        await parts.replication.stop(SLAVES_TIMEOUT_S)
        if self.slave_ports is not None:
            await self.slave_ports.close()
        await parts.client.close()
        done_offsets(self._state.transactions, parts.halves, self._state.offsets)
        if self.audit is not None:
            await self.audit.close()
        if self.before_closing is not None:
            await self.before_closing()
        try:
            await parts.timers.stop()
            await self.keeper.stop()
        finally:
            await parts.syncing.stop()
            await asyncio.to_thread(parts.store.close)
        return summary

    async def _answer_all(self) -> None:
        """Read no more requests, and answer all that were read."""
        parts = self._parts
        servers = [self._server, *([] if self.slave_ports is None else [self.slave_ports.fast])]
        for server in servers:
            await server.drain(DRAIN_TIMEOUT_S)
        await parts.cold.stop()
        self._processors.pull.end_all()
        self._processors.pop.end_all()
        parts.pop.stop()
        parts.turn.end()
        await parts.syncing.settle()
        await parts.replication.settle(self._config.slave_timeout / 1000)
        await asyncio.sleep(0)  # answers of this turn leave at its end
        for server in servers:
            await server.drain(DRAIN_TIMEOUT_S)

    def seen(self) -> Seen:
        """Give what may be seen from outside."""
        parts = self._parts
        return Seen(
            config=lambda: parts.live.current, state=parts.state, store=parts.store, timers=parts.timers,
            server=self._server, disk_refusal=parts.disk.refusal, cold_reads=parts.cold.waiting,
        )  # fmt: skip

    @property
    def state(self) -> BrokerState:
        """What it knows beside its messages."""
        return self._state

    def look_at_files(self) -> None:
        """Use files of accounts and certificates that were changed."""
        self._state.admission.refresh()
        if self.tls is not None:
            self.tls.refresh()

    def connection_lost(self, peer: Peer) -> None:
        """Forget a client whose connection has ended."""
        connection = peer.connection_id
        self._parts.outbox.connection_lost(connection)
        self._state.polls.connection_lost(connection)
        self._state.pop.waiting.connection_lost(connection)
        self._processors.members.connection_lost(connection)

    def _watched(self, processor: Processor) -> Processor:
        """Have what a request changes told to others before anything else happens."""

        def run(request: RemotingCommand, peer: Peer) -> Answer:
            try:
                answer = processor(request, peer)
            finally:
                self._after_request()
            return answer if isinstance(answer, RemotingCommand) else self._watched_later(answer)

        return run

    async def _watched_later(self, answer: Awaitable[RemotingCommand]) -> RemotingCommand:
        try:
            return await answer
        finally:
            self._after_request()

    def _after_request(self) -> None:
        state = self._state
        changed = state.topics.take_changed()
        if changed:
            self.keeper.soon(TOPICS)
            self._tell_of_topics(changed)
        if state.groups.is_changed:
            state.groups.is_changed = False
            self.keeper.soon(GROUPS)
        self._background.arm_polls()
        self._parts.pop.arm()

    def _tell_of_topics(self, changed: tuple[str, ...]) -> None:
        if self._registrar is not None:
            self._registrar.topics_changed(name for name in changed if name in self._state.topics)
        for topic in changed:
            if topic not in self._state.topics:
                self._processors.pull.topic_removed(topic)
                self._processors.pop.topic_removed(topic)
                self._parts.pop.topic_removed(topic)

    def _server_of(self, connection: int) -> RemotingServer:
        ports = self.slave_ports
        return self._server if connection < FAST_CONNECTIONS or ports is None else ports.fast

    def _send(self, connection: int, command: RemotingCommand) -> bool:
        return self._server_of(connection).send(connection, command)

    def _reconfigured(self, config: BrokerConfig) -> None:
        """Have settings that changed act from now on."""
        is_published_otherwise = config.broker_permission != self._config.broker_permission
        self._config = config
        parts, state = self._parts, self._state
        self._families.configure(config)
        self._server.dispatcher.express = self._families.express()
        parts.timers.configure(config)
        state.groups.is_creating = config.auto_create_subscription_group
        state.transactions.rules = check_rules(config)
        parts.disk.judge_by(config.retention)
        parts.cleaner.settings = config.retention
        self._gate.networks = config.admin_networks
        if is_published_otherwise and self._registrar is not None:
            state.topics.move_version(parts.clock.wall_ms())
            self._registrar.refresh()

    def _name_server_lost(self, address: str) -> None:
        if self._registrar is not None and not self._is_stopping:
            self._registrar.connection_lost(address)
