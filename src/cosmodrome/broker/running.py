"""A broker between its start and its stop: the parts put together.

Owns: building the parts, the timers, starting and stopping them in order.
Must not know: what any request means; where the store is, and whose socket it is (server.py).
"""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from typing import Final

from cosmodrome.audit.log import AuditLog
from cosmodrome.broker.arrivals import DELAY
from cosmodrome.broker.auditing import Auditing
from cosmodrome.broker.changes import Changes
from cosmodrome.broker.cleaning import Cleaner, CleaningParts
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.cold_reads import ColdReads
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.delivery import DelayedDelivery
from cosmodrome.broker.disk_watch import DiskWatch
from cosmodrome.broker.gate import Gate
from cosmodrome.broker.groups import TRANSACTION_GROUP
from cosmodrome.broker.half_messages import HalfStore, TransactionChecks, done_offsets, half_at
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.live_config import LiveConfig
from cosmodrome.broker.long_polls import QueueKey
from cosmodrome.broker.messages import OwnProperties, born_host
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.plain_sends import PlainSendParts, plain_sends
from cosmodrome.broker.pop.assignments import TopicQueues
from cosmodrome.broker.pop.orders import Orders
from cosmodrome.broker.pop.service import PopParts as PopServiceParts
from cosmodrome.broker.pop.service import PopService
from cosmodrome.broker.processors import NOT_ON_FAST_PORT, Processors
from cosmodrome.broker.processors.assignments import AssignmentParts, AssignmentProcessor
from cosmodrome.broker.processors.auth import AuthProcessor
from cosmodrome.broker.processors.group_admin import GroupAdminParts, GroupAdminProcessor
from cosmodrome.broker.processors.info import InfoParts, InfoProcessor
from cosmodrome.broker.processors.maintenance import MaintenanceParts, MaintenanceProcessor
from cosmodrome.broker.processors.members import LockProcessor, MemberProcessor
from cosmodrome.broker.processors.offsets import OffsetProcessor
from cosmodrome.broker.processors.plain_acl import PlainAclProcessor
from cosmodrome.broker.processors.pop import PopParts, PopProcessor
from cosmodrome.broker.processors.pop_acks import PopAckParts, PopAckProcessor
from cosmodrome.broker.processors.progress import ProgressParts, ProgressProcessor
from cosmodrome.broker.processors.pull import PullParts, PullProcessor
from cosmodrome.broker.processors.queries import QueryProcessor
from cosmodrome.broker.processors.recall import RecallParts, RecallProcessor
from cosmodrome.broker.processors.relays import RelayProcessor
from cosmodrome.broker.processors.replication import ReplicationParts, ReplicationProcessor
from cosmodrome.broker.processors.replies import ReplyParts, ReplyProcessor
from cosmodrome.broker.processors.send import SendParts, SendProcessor
from cosmodrome.broker.processors.send_back import SendBackParts, SendBackProcessor
from cosmodrome.broker.processors.topic_admin import TopicAdminParts, TopicAdminProcessor
from cosmodrome.broker.processors.transactions import TransactionProcessor
from cosmodrome.broker.registration import Identity, Periods, Registrar
from cosmodrome.broker.replication.comparison import Comparison
from cosmodrome.broker.replication.master import ReplicationMaster, StoreLog
from cosmodrome.broker.replication.ports import FAST_CONNECTIONS, HA_ABOVE, SlavePorts
from cosmodrome.broker.replication.settings import ReplicationSettings
from cosmodrome.broker.security.auth_file import inner_credentials
from cosmodrome.broker.security.needs import Needs, needs_of
from cosmodrome.broker.slow_readers import SlowReaders
from cosmodrome.broker.state import BrokerState, check_rules
from cosmodrome.broker.statistics import (
    BROKER_GET_NUMS,
    BROKER_PUT_NUMS,
    TRANSACTION_COMMIT_NUMS,
    TRANSACTION_ROLLBACK_NUMS,
)
from cosmodrome.broker.syncing import Syncing
from cosmodrome.broker.timer_service import TimerService
from cosmodrome.broker.topics import HALF_TOPIC, OP_TOPIC, READ, SCHEDULE_TOPIC, TIMER_TOPIC
from cosmodrome.broker.turn import Turn
from cosmodrome.broker.view import Seen
from cosmodrome.client.addresses import parse_addresses
from cosmodrome.client.credentials import Credentials
from cosmodrome.errors import StorageError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.hosts import Host
from cosmodrome.protocol.messages.ids import UniqueIds
from cosmodrome.protocol.messages.record import decode_record
from cosmodrome.store.config_files import (
    CONSUMER_OFFSETS,
    CONSUMER_ORDER,
    DELAY_OFFSETS,
    GROUPS,
    REQUEST_MODES,
    TOPICS,
)
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import Answer, Express, Peer, Processor
from cosmodrome.transport.server import RemotingServer
from cosmodrome.transport.server_tls import ServerTls, client_tls_of

logger = logging.getLogger(__name__)

FIRST_REGISTRATION_S: Final = 3.0
"""How long a start waits for NameServers; it goes on without them."""
DRAIN_TIMEOUT_S: Final = 5.0
SLAVES_TIMEOUT_S: Final = 3.0
"""How long a stop waits for slaves that follow, until they have everything."""
TICK_S: Final = 0.1
LOOK_S: Final = 0.5
"""How often the disk is looked at."""
SCAN_S: Final = 10.0
AFTER_FAILURE_S: Final = 1.0
_MAX_PORT: Final = 65_535
Timer = asyncio.TimerHandle | None


class RunningBroker:
    """Everything that lives from start to stop. `keeper` is set before the start, and `slave_ports` if there are some.

    `before_closing` is awaited in the stop when everything is answered.
    """

    """The parts of a broker between start and stop."""

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
        self._store = store
        self._server = server
        self._clock = clock
        self.address = str(Host(config.broker_ip1, config.listen_port))
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._turn = Turn(store, loop.call_soon, clock.steady_ms)
        self._turn.on_written = self._written
        self._turn.times = state.statistics.times
        self.live = LiveConfig(config, clock.wall_ms())
        self.live.on_change = self._reconfigured
        self._day = _day_of(clock)
        self._outbox = Outbox(self._send)
        self._cold = ColdReads(server.dispatch, self._outbox)
        self._syncing = Syncing(store, self._turn)
        timeout_ms = config.sync_flush_timeout if config.is_sync_flush else None
        host = store.settings.store_host
        self._halves = HalfStore(store.reader, self._turn, clock, host, timeout_ms)
        self._checks = TransactionChecks(state.transactions, self._halves, state.members, state.topics, self._outbox)
        self._delivery = DelayedDelivery(state.delays, store.reader, self._turn, clock)
        self._delivery.on_put_back = self._deliver_again
        self._delivery.on_delivered = lambda topic, size: state.statistics.arrivals.add(topic, DELAY, (size,))
        self._timers = TimerService(config, store, self._turn, clock, state.statistics)
        self._disk = DiskWatch(config.retention)
        self._cleaner = Cleaner(config.retention, CleaningParts(store, state.offsets, state.statistics, clock))
        self._replication = ReplicationMaster(StoreLog(store), ReplicationSettings.of(config), clock.steady_ms)
        self._turn.on_log_grew = self._replication.log_grew
        self._client = RemotingClient(
            links=Links(on_closed=self._name_server_lost, prepare=_signing(config)), tls=client_tls_of(config)
        )
        self._pop = PopService(
            PopServiceParts(
                state=state.pop, topics=state.topics, groups=state.groups, offsets=state.offsets,
                statistics=state.statistics, reader=store.reader, turn=self._turn, outbox=self._outbox,
                cluster=config.broker_cluster_name, broker_name=config.broker_name, store_host=host,
                disk_timeout_ms=timeout_ms, remove_queues=self._remove_queues,
            ),
            clock,
        )  # fmt: skip
        self._processors = self._families()
        self._pop.due, self._pop.arrived = self._processors.pop.due, self._processors.pop.arrived
        self._pop.revived = self._after_request
        self._processors.transactions.on_ended = lambda topic, is_commit: state.statistics.count(
            TRANSACTION_COMMIT_NUMS if is_commit else TRANSACTION_ROLLBACK_NUMS, topic
        )
        self._gate = Gate(config.admin_networks, state.admission, self._needs, loop.time)
        self._registrar: Registrar | None = None
        self._poll_timer: Timer = None
        self._delay_timer: Timer = None
        self._tick_timer: Timer = None
        self._next_look_s = loop.time()
        self._next_scan_s = loop.time() + SCAN_S
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False

    def _families(self) -> Processors:
        config, state, clock, reader = self._config, self._state, self._clock, self._store.reader
        timeout_ms = config.sync_flush_timeout if config.is_sync_flush else None
        intake = Intake(self._turn, self._outbox, clock, timeout_ms)
        intake.refusal = self._disk.refusal
        intake.copies = self._replication.copies
        intake.traffic = self._server.dispatcher.traffic
        self._intake = intake
        own = self._own = OwnProperties(config.broker_cluster_name, config.region_id, is_traced=config.trace_on)
        send = SendParts(
            topics=state.topics, groups=state.groups, locks=state.locks, intake=intake, own=own,
            store_host=self._store.settings.store_host, next_id=_id_maker(config.broker_ip1, clock),
            half_stored=lambda message, position: state.transactions.opened(half_at(message, position)),
            statistics=state.statistics,
        )  # fmt: skip
        back = SendBackParts(
            topics=state.topics, groups=state.groups, reader=reader, intake=intake, statistics=state.statistics
        )
        pull = PullParts(
            topics=state.topics, groups=state.groups, members=state.members, offsets=state.offsets, polls=state.polls,
            reader=reader, statistics=state.statistics,
            cold=self._cold, slow_readers=SlowReaders(config, reader, lambda: self._store.end),
        )  # fmt: skip
        reply = ReplyParts(
            topics=state.topics, members=state.members, intake=intake, outbox=self._outbox, own=own,
            store_host=self._store.settings.store_host, born_host=born_host,
        )  # fmt: skip
        info = InfoParts(
            offsets=state.offsets, delays=state.delays, statistics=state.statistics,
            accepts_from_ms=lambda: self._config.start_accept_send_request_time_stamp, timers=self._timers.figures,
            deletion=self._cleaner.outlook,
        )  # fmt: skip
        members = MemberProcessor(state.members, state.groups, state.topics, self._outbox, clock)
        members.is_notifying = config.notify_consumer_ids_changed_enable
        members.is_sql_enabled = config.enable_property_filter
        sending = SendProcessor(config, clock, send)
        recall = RecallParts(topics=state.topics, intake=intake, timed=sending.timed)
        return Processors(
            send=sending,
            recall=RecallProcessor(config, clock, recall),
            send_back=SendBackProcessor(config, clock, back),
            pull=PullProcessor(config, clock, pull, self._outbox, self._server.is_writable),
            members=members,
            locks=LockProcessor(state.locks, clock),
            offsets=OffsetProcessor(state.offsets, state.topics, state.groups, reader),
            queries=QueryProcessor(reader, state.members, config.default_query_max_num),
            transactions=TransactionProcessor(state.transactions, self._halves, self._outbox),
            replies=ReplyProcessor(clock, reply, is_storing=config.store_reply_message_enable),
            relays=RelayProcessor(state.members, reader, self._outbox, clock),
            replication=self._replication_processor(),
            maintenance=self._maintenance(),
            progress=self._progress(),
            topic_admin=self._topic_admin(),
            group_admin=self._group_admin(),
            auth=AuthProcessor(state.admission.tables),
            plain_acl=PlainAclProcessor(
                state.admission.plain, (config.broker_name, self.address, config.broker_cluster_name)
            ),
            info=InfoProcessor(config.broker_cluster_name, self._store, clock, info),
            pop=self._popping(),
            pop_acks=self._pop_acks(),
            assignments=self._assignments(),
        )

    def _popping(self) -> PopProcessor:
        state, pop = self._state, self._pop
        pop.taking.retry_first_percent = self._config.pop_from_retry_probability
        parts = PopParts(
            topics=state.topics, groups=state.groups, waiting=state.pop.waiting, taking=pop.taking,
            handing_out=pop.handing_out,
        )  # fmt: skip
        return PopProcessor(self._config, self._clock, parts, self._outbox, self._server.is_writable)

    def _pop_acks(self) -> PopAckProcessor:
        state = self._state
        parts = PopAckParts(
            topics=state.topics, offsets=state.offsets, orders=state.pop.orders, reader=self._store.reader,
            acknowledging=self._pop.acknowledging, outbox=self._outbox,
            freed=self._freed,
        )  # fmt: skip
        return PopAckProcessor(self._clock, parts)

    def _freed(self, topic: str, group: str) -> None:
        self._processors.pop.freed(topic, group)

    def _assignments(self) -> AssignmentProcessor:
        state, config = self._state, self._config
        servers = tuple(map(str, parse_addresses(config.namesrv_addr))) if config.namesrv_addr else ()
        parts = AssignmentParts(
            topics=state.topics, members=state.members, modes=state.pop.modes,
            queues=TopicQueues(self._client, servers, self._own_queues),
            keep=lambda: self.keeper.keep(REQUEST_MODES),
        )  # fmt: skip
        return AssignmentProcessor(config, parts)

    def _own_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        config = self._state.topics.get(topic)
        count = 0 if config is None or not config.perm & READ else config.read_queue_nums
        name = self._config.broker_name
        return tuple(MessageQueue(topic=topic, broker_name=name, queue_id=each) for each in range(count))

    def _maintenance(self) -> MaintenanceProcessor:
        state = self._state
        parts = MaintenanceParts(
            topics=state.topics, offsets=state.offsets, reader=self._store.reader, remove_queues=self._remove_queues,
            sweep_now=lambda: self._cleaner.sweep(is_asked=True),
        )  # fmt: skip
        return MaintenanceProcessor(self.live, self._clock, parts)

    def _progress(self) -> ProgressProcessor:
        state = self._state
        parts = ProgressParts(
            topics=state.topics, groups=state.groups, offsets=state.offsets, members=state.members,
            reader=self._store.reader, statistics=state.statistics, outbox=self._outbox,
        )  # fmt: skip
        return ProgressProcessor((self._config.broker_name, self.address), self._clock, parts)

    def _needs(self, request: RemotingCommand) -> Needs:
        return needs_of(request, self._config.broker_cluster_name, self._topic_at)

    def _topic_at(self, offset: int) -> str | None:
        view = self._store.reader.record_at(offset)
        return None if view is None else decode_record(view)[0].topic

    def _replication_processor(self) -> ReplicationProcessor:
        parts = ReplicationParts(
            address=self.address, ha_address=lambda: self._ha_address, store=self._store,
            slaves=self._replication.slaves, most_behind_bytes=self._replication.settings.most_behind_bytes,
            timers=lambda: self._timers.timers.saved,
        )  # fmt: skip
        return ReplicationProcessor(self._clock, parts)

    @property
    def _ha_address(self) -> str:
        """Where slaves are told to connect; without a port for them, where Java would have one."""
        config = self._config
        port = self._replication.port or config.listen_port + HA_ABOVE
        return str(Host(config.broker_ip2 or config.broker_ip1, min(port, _MAX_PORT)))

    def _express(self) -> Express | None:
        """Give the short way of plain sends, if the settings allow one, and nobody is asked for credentials."""
        if self._state.admission.is_asking:
            return None
        parts = PlainSendParts(
            topics=self._state.topics, intake=self._intake, turn=self._turn, own=self._own, statistics=self._state.statistics,
            store_host=self._store.settings.store_host, send_frames=self._server.send_frames,
            traffic=self._server.dispatcher.traffic,
        )  # fmt: skip
        return plain_sends(self._config, self._clock, parts)

    def _topic_admin(self) -> TopicAdminProcessor:
        state = self._state
        parts = TopicAdminParts(
            topics=state.topics, offsets=state.offsets, members=state.members, locks=state.locks,
            reader=self._store.reader, remove_queues=self._remove_queues, statistics=state.statistics,
        )  # fmt: skip
        return TopicAdminProcessor(self._config.broker_name, self._clock, parts, lambda: self.keeper.keep(TOPICS))

    def _remove_queues(self, topic: str) -> int:
        self._turn.end()  # what was gathered of it is written first
        return self._store.remove_topic(topic)

    def _group_admin(self) -> GroupAdminProcessor:
        state = self._state
        parts = GroupAdminParts(
            topics=state.topics, groups=state.groups, offsets=state.offsets, members=state.members, locks=state.locks,
            reader=self._store.reader, statistics=state.statistics,
        )  # fmt: skip
        broker = (self._config.broker_name, self.address)
        processor = GroupAdminProcessor(broker, self._clock, parts, self._keep_groups)
        processor.tell = self._outbox.tell
        processor.on_removed = lambda group, is_clean: self._pop.group_removed(group, is_clean=is_clean)
        return processor

    async def _keep_groups(self) -> None:
        await self.keeper.keep(GROUPS)
        await self.keeper.keep(CONSUMER_OFFSETS)

    async def start(self, name_servers: tuple[str, ...]) -> None:
        """Serve, and register with these."""
        config, offsets = self._config, self._state.offsets
        firsts = (offsets.committed(topic, TRANSACTION_GROUP, 0) or 0 for topic in (HALF_TOPIC, OP_TOPIC))
        self._halves.load(self._state.transactions, *firsts)
        self._timers.load()
        self._pop.load(offsets.kept_ms, self._store.last_store_ms, is_from_elsewhere=self._store.is_from_elsewhere)
        if self.audit is not None:
            self.audit.start()
            self._gate.auditing = Auditing(self.audit, Changes(self._state, self.live))
        guarded = self._gate.guarding(self._processors.by_code())
        for code in (BrokerRequestCode.PULL_MESSAGE, BrokerRequestCode.LITE_PULL_MESSAGE):
            guarded[code] = self._cold.patient(guarded[code])
        self._server.dispatcher.serve({code: self._watched(each) for code, each in guarded.items()})
        self._server.dispatcher.express = self._express()
        self._server.on_response = lambda peer, answer: self._outbox.answered(peer.connection_id, answer)
        self._syncing.start()
        self.keeper.covered = self._syncing.everything
        await self._server.start()
        await self._serve_slaves(guarded, name_servers)
        identity = Identity(
            cluster=config.broker_cluster_name,
            name=config.broker_name,
            broker_id=config.broker_id,
            address=self.address,
            ha_address=self._ha_address,
        )
        periods = Periods(
            period_s=config.register_name_server_period / 1000, timeout_s=config.register_broker_timeout_mills / 1000
        )
        self._registrar = Registrar(
            identity,
            name_servers,
            lambda names: self._state.topics.published(names, self._config.broker_permission),
            periods,
            self._client,
        )
        await self._registrar.start(FIRST_REGISTRATION_S)
        self._state.topics.take_changed()
        self._tasks = [
            asyncio.create_task(self._keep_up(CONSUMER_OFFSETS, config.flush_consumer_offset_interval / 1000)),
            asyncio.create_task(self._keep_up(DELAY_OFFSETS, config.flush_delay_offset_interval / 1000)),
            asyncio.create_task(self._keep_up(CONSUMER_ORDER, config.flush_consumer_offset_interval / 1000)),
            asyncio.create_task(self._cleaner.run(), name="retention"),
            asyncio.create_task(self._check_transactions()),
        ]
        self._deliver()
        self._timers.start(self._syncing.everything)
        self._pop.start()
        self._tick()
        logger.info("broker %s listens on %s", config.broker_name, self.address)

    async def _serve_slaves(self, guarded: Mapping[int, Processor], name_servers: tuple[str, ...]) -> None:
        """Open the fast port, on which everything is served but what waits for messages, and the one of slaves."""
        ports = self.slave_ports
        if ports is not None:
            served = {code: self._watched(each) for code, each in guarded.items() if code not in NOT_ON_FAST_PORT}
            ports.fast.dispatcher.serve(served)
            ports.fast.on_response = lambda peer, answer: self._outbox.answered(peer.connection_id, answer)
            await ports.fast.start()
            reader = self._store.reader
            comparison = Comparison(self._config.broker_name, name_servers, self._client, reader)
            self._replication.comparison = comparison
            await self._replication.start(ports.replication)

    async def stop(self) -> None:
        """Leave the NameServers, answer what waits, put everything on disk, and close.

        Raises:
            StorageError: Something is not on disk; everything is closed all the same.
        """
        self._is_stopping = True
        if self._registrar is not None:
            await self._registrar.stop()
        await self._server.stop_listening()
        for timer in (self._poll_timer, self._delay_timer, self._tick_timer):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._timers.pause()
        await self._cold.stop()
        self._processors.pull.end_all()
        self._processors.pop.end_all()
        await self._server.drain(DRAIN_TIMEOUT_S)
        if self.slave_ports is not None:
            await self.slave_ports.fast.drain(DRAIN_TIMEOUT_S)
        self._pop.stop()
        self._turn.end()
        await self._syncing.settle()
        await self._replication.settle(self._config.slave_timeout / 1000)
        await asyncio.sleep(0)  # answers of this turn leave at its end
        await self._server.close()
        await self._replication.stop(SLAVES_TIMEOUT_S)
        if self.slave_ports is not None:
            await self.slave_ports.close()
        await self._client.close()
        done_offsets(self._state.transactions, self._halves, self._state.offsets)
        if self.audit is not None:
            await self.audit.close()
        if self.before_closing is not None:
            await self.before_closing()
        try:
            await self._timers.stop()
            await self.keeper.stop()
        finally:
            await self._syncing.stop()
            await asyncio.to_thread(self._store.close)

    def seen(self) -> Seen:
        """Give what may be seen from outside."""
        return Seen(
            config=lambda: self.live.current, state=self._state, store=self._store, timers=self._timers,
            server=self._server, disk_refusal=self._disk.refusal, cold_reads=lambda: len(self._cold),
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
        self._outbox.connection_lost(connection)
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
        self._arm_polls()
        self._pop.arm()

    def _tell_of_topics(self, changed: tuple[str, ...]) -> None:
        if self._registrar is not None:
            self._registrar.topics_changed(name for name in changed if name in self._state.topics)
        for topic in changed:
            if topic not in self._state.topics:
                self._processors.pull.topic_removed(topic)
                self._processors.pop.topic_removed(topic)
                self._pop.topic_removed(topic)

    def _written(self, queues: set[QueueKey]) -> None:
        self._processors.pull.arrived(queues)
        if any(topic == SCHEDULE_TOPIC for topic, _ in queues):
            self._deliver()
        if (TIMER_TOPIC, 0) in queues:
            self._timers.deliver()
        self._pop.written(queues)
        self._arm_polls()

    def _arm_polls(self) -> None:
        deadline_ms = self._state.polls.next_deadline_ms()
        if deadline_ms is None or self._is_stopping:
            return
        at_s = self._loop.time() + max(0, deadline_ms - self._clock.steady_ms()) / 1000
        if self._poll_timer is None or self._poll_timer.when() > at_s:
            if self._poll_timer is not None:
                self._poll_timer.cancel()
            self._poll_timer = self._loop.call_at(at_s, self._polls_due)

    def _polls_due(self) -> None:
        self._poll_timer = None
        self._processors.pull.due()
        self._arm_polls()

    def _deliver(self) -> None:
        """Deliver delayed messages that are due, now and from now on."""
        if self._delay_timer is not None:
            self._delay_timer.cancel()
            self._delay_timer = None
        if self._is_stopping:
            return
        next_ms = self._delivery.run()
        if next_ms is not None:
            wait_s = max(0, next_ms - self._clock.wall_ms()) / 1000
            # The clock may be set: look again in time.
            self._delay_timer = self._loop.call_later(min(wait_s, 1.0), self._deliver)

    def _deliver_again(self) -> None:
        """Try once more, not at once: what could not be stored just now."""
        if self._delay_timer is not None:
            self._delay_timer.cancel()
        self._delay_timer = None if self._is_stopping else self._loop.call_later(AFTER_FAILURE_S, self._deliver)

    def _tick(self) -> None:
        now_s = self._loop.time()
        self._turn.overdue()
        if self._replication.copies is not None:
            self._replication.copies.overdue()
        self._outbox.overdue(self._clock.steady_ms() / 1000)
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + LOOK_S
            self._disk.look(*self._store.fullest())
            self.look_at_files()
        if now_s >= self._next_scan_s:
            self._next_scan_s = now_s + SCAN_S
            self._state.statistics.sample(self._clock.steady_ms())
            self._begin_day()
            self._state.locks.forget_expired(self._clock.steady_ms())
            for connection in self._state.members.silent(self._clock.steady_ms()):
                self._server_of(connection).close_connection(connection)
        self._tick_timer = self._loop.call_later(TICK_S, self._tick)

    def _begin_day(self) -> None:
        day = _day_of(self._clock)
        if day != self._day:
            self._day = day
            statistics, cluster = self._state.statistics, self._config.broker_cluster_name
            statistics.times.begin_day(
                statistics.total(BROKER_PUT_NUMS, cluster), statistics.total(BROKER_GET_NUMS, cluster)
            )

    def _server_of(self, connection: int) -> RemotingServer:
        ports = self.slave_ports
        return self._server if connection < FAST_CONNECTIONS or ports is None else ports.fast

    def _send(self, connection: int, command: RemotingCommand) -> bool:
        return self._server_of(connection).send(connection, command)

    def _reconfigured(self, config: BrokerConfig) -> None:
        """Have settings that changed act from now on."""
        is_published_otherwise = config.broker_permission != self._config.broker_permission
        self._config = config
        families, state = self._processors, self._state
        families.send.configure(config)
        self._server.dispatcher.express = self._express()
        families.send_back.configure(config)
        families.recall.configure(config)
        self._timers.configure(config)
        families.pull.configure(config)
        families.pop.configure(config)
        families.assignments.configure(config)
        self._pop.taking.retry_first_percent = config.pop_from_retry_probability
        families.members.is_notifying = config.notify_consumer_ids_changed_enable
        families.members.is_sql_enabled = config.enable_property_filter
        families.queries.most = config.default_query_max_num
        families.replies.is_storing = config.store_reply_message_enable
        state.groups.is_creating = config.auto_create_subscription_group
        state.transactions.rules = check_rules(config)
        self._disk.judge_by(config.retention)
        self._cleaner.settings = config.retention
        self._gate.networks = config.admin_networks
        if is_published_otherwise and self._registrar is not None:
            state.topics.move_version(self._clock.wall_ms())
            self._registrar.refresh()

    def _name_server_lost(self, address: str) -> None:
        if self._registrar is not None and not self._is_stopping:
            self._registrar.connection_lost(address)

    async def _keep_up(self, name: str, interval_s: float) -> None:
        """Keep offsets now and then: what is lost of them after a kill comes again."""
        while True:
            await asyncio.sleep(interval_s)
            done_offsets(self._state.transactions, self._halves, self._state.offsets)
            self._pop.note_done()
            table = self._changing_table(name)
            if table.is_changed:
                table.is_changed = False
                try:
                    await self.keeper.keep(name)
                except StorageError as error:
                    table.is_changed = True
                    logger.warning("%s is not kept: %s", name, error.what)

    def _changing_table(self, name: str) -> Offsets | Delays | Orders:
        tables: dict[str, Offsets | Delays | Orders] = {
            CONSUMER_OFFSETS: self._state.offsets, DELAY_OFFSETS: self._state.delays,
            CONSUMER_ORDER: self._state.pop.orders,
        }  # fmt: skip
        return tables[name]

    async def _check_transactions(self) -> None:
        while True:
            await asyncio.sleep(self._config.transaction_check_interval / 1000)
            self._checks.run(self._clock.wall_ms())
            self._after_request()


def _signing(config: BrokerConfig) -> Callable[[RemotingCommand], RemotingCommand] | None:
    """Give what signs requests to NameServers; None when nothing does."""
    text = config.inner_client_authentication_credentials
    if not text:
        return None
    own = inner_credentials(text)
    return Credentials(own.access_key, own.secret_key, own.security_token).signed


def _day_of(clock: Clock) -> date:
    """Give the day as people here count it."""
    return datetime.fromtimestamp(clock.wall_ms() / 1000).astimezone().date()


def _id_maker(ip: str, clock: Clock) -> Callable[[], str]:
    """Give what makes ids for messages that come without one."""
    ids = UniqueIds(ip, os.getpid(), random.getrandbits(32))

    def next_id() -> str:
        now_ms = clock.wall_ms()
        month = (
            datetime.fromtimestamp(now_ms / 1000).astimezone().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        )
        return ids.next(now_ms, int(month.timestamp() * 1000))

    return next_id
