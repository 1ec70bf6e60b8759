"""A broker between its start and its stop: the parts put together.

Owns: building the parts, the timers, starting and stopping them in order.
Must not know: what any request means; where the store is, and whose socket it is (server.py).
"""

import asyncio
import logging
import os
import random
from collections.abc import Callable
from datetime import datetime
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delivery import DelayedDelivery
from cosmodrome.broker.disk_watch import DiskWatch
from cosmodrome.broker.gate import Gate
from cosmodrome.broker.groups import TRANSACTION_GROUP
from cosmodrome.broker.half_messages import HalfStore, TransactionChecks, done_offsets, half_at
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.long_polls import QueueKey
from cosmodrome.broker.messages import OwnProperties, born_host
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.processors import Processors
from cosmodrome.broker.processors.group_admin import GroupAdminParts, GroupAdminProcessor
from cosmodrome.broker.processors.info import InfoParts, InfoProcessor
from cosmodrome.broker.processors.maintenance import MaintenanceProcessor
from cosmodrome.broker.processors.members import LockProcessor, MemberProcessor
from cosmodrome.broker.processors.offsets import OffsetProcessor
from cosmodrome.broker.processors.pull import PullParts, PullProcessor
from cosmodrome.broker.processors.queries import QueryProcessor
from cosmodrome.broker.processors.relays import RelayProcessor
from cosmodrome.broker.processors.replies import ReplyParts, ReplyProcessor
from cosmodrome.broker.processors.send import SendParts, SendProcessor
from cosmodrome.broker.processors.send_back import SendBackParts, SendBackProcessor
from cosmodrome.broker.processors.topic_admin import TopicAdminParts, TopicAdminProcessor
from cosmodrome.broker.processors.transactions import TransactionProcessor
from cosmodrome.broker.registration import Identity, Periods, Registrar
from cosmodrome.broker.state import BrokerState
from cosmodrome.broker.syncing import Syncing
from cosmodrome.broker.topics import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC
from cosmodrome.broker.turn import Turn
from cosmodrome.errors import StorageError
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.hosts import Host
from cosmodrome.protocol.messages.ids import UniqueIds
from cosmodrome.store.config_files import CONSUMER_OFFSETS, DELAY_OFFSETS, GROUPS, TOPICS
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.retention import sweep
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.server import RemotingServer

logger = logging.getLogger(__name__)

FIRST_REGISTRATION_S: Final = 3.0
"""How long a start waits for NameServers; it goes on without them."""
DRAIN_TIMEOUT_S: Final = 5.0
TICK_S: Final = 0.1
LOOK_S: Final = 0.5
"""How often the disk is looked at."""
SCAN_S: Final = 10.0
FIRST_SWEEP_S: Final = 60.0
SWEEP_S: Final = 10.0
AFTER_FAILURE_S: Final = 1.0
Timer = asyncio.TimerHandle | None


class RunningBroker:
    """Everything that lives from start to stop. `keeper` is set before the start."""

    """The parts of a broker between start and stop."""

    keeper: Keeper

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
        self._outbox = Outbox(server.send)
        self._syncing = Syncing(store, self._turn)
        timeout_ms = config.sync_flush_timeout if config.is_sync_flush else None
        host = store.settings.store_host
        self._halves = HalfStore(store.reader, self._turn, clock, host, timeout_ms)
        self._checks = TransactionChecks(state.transactions, self._halves, state.members, state.topics, self._outbox)
        self._delivery = DelayedDelivery(state.delays, store.reader, self._turn, clock)
        self._delivery.on_put_back = self._deliver_again
        self._disk = DiskWatch(config.retention)
        self._processors = self._families()
        self._client = RemotingClient(links=Links(on_closed=self._name_server_lost))
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
        own = OwnProperties(config.broker_cluster_name, config.region_id, is_traced=config.trace_on)
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
        )  # fmt: skip
        reply = ReplyParts(
            topics=state.topics, members=state.members, intake=intake, outbox=self._outbox, own=own,
            store_host=self._store.settings.store_host, born_host=born_host,
        )  # fmt: skip
        info = InfoParts(offsets=state.offsets, delays=state.delays, statistics=state.statistics)
        members = MemberProcessor(state.members, state.groups, state.topics, self._outbox, clock)
        members.is_notifying = config.notify_consumer_ids_changed_enable
        return Processors(
            send=SendProcessor(config, clock, send),
            send_back=SendBackProcessor(config, clock, back),
            pull=PullProcessor(config, clock, pull, self._outbox, self._server.is_writable),
            members=members,
            locks=LockProcessor(state.locks, clock),
            offsets=OffsetProcessor(state.offsets, state.topics, state.groups, reader),
            queries=QueryProcessor(reader, config.default_query_max_num),
            transactions=TransactionProcessor(state.transactions, self._halves, self._outbox),
            replies=ReplyProcessor(clock, reply, is_storing=config.store_reply_message_enable),
            relays=RelayProcessor(state.members, reader, self._outbox, clock),
            maintenance=MaintenanceProcessor(
                config.listing(), clock.wall_ms(), lambda: self._delete_old_now(is_asked=True)
            ),
            topic_admin=self._topic_admin(),
            group_admin=self._group_admin(),
            info=InfoProcessor(config.broker_cluster_name, self._store, clock, info),
        )

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
        return GroupAdminProcessor(broker, self._clock, parts, self._keep_groups)

    async def _keep_groups(self) -> None:
        await self.keeper.keep(GROUPS)
        await self.keeper.keep(CONSUMER_OFFSETS)

    async def start(self, name_servers: tuple[str, ...]) -> None:
        """Serve, and register with these."""
        config, offsets = self._config, self._state.offsets
        firsts = (offsets.committed(topic, TRANSACTION_GROUP, 0) or 0 for topic in (HALF_TOPIC, OP_TOPIC))
        self._halves.load(self._state.transactions, *firsts)
        guarded = Gate(config.admin_networks).guarding(self._processors.by_code())
        self._server.dispatcher.serve({code: self._watched(each) for code, each in guarded.items()})
        self._server.on_response = lambda peer, answer: self._outbox.answered(peer.connection_id, answer)
        self._syncing.start()
        self.keeper.covered = self._syncing.everything
        await self._server.start()
        identity = Identity(
            cluster=config.broker_cluster_name,
            name=config.broker_name,
            broker_id=config.broker_id,
            address=self.address,
            ha_address=str(Host(config.broker_ip1, config.listen_port + 1)),
        )
        periods = Periods(
            period_s=config.register_name_server_period / 1000, timeout_s=config.register_broker_timeout_mills / 1000
        )
        self._registrar = Registrar(
            identity,
            name_servers,
            lambda names: self._state.topics.published(names, config.broker_permission),
            periods,
            self._client,
        )
        await self._registrar.start(FIRST_REGISTRATION_S)
        self._state.topics.take_changed()
        self._tasks = [
            asyncio.create_task(self._keep_up(CONSUMER_OFFSETS, config.flush_consumer_offset_interval / 1000)),
            asyncio.create_task(self._keep_up(DELAY_OFFSETS, config.flush_delay_offset_interval / 1000)),
            asyncio.create_task(self._delete_old(), name="retention"),
            asyncio.create_task(self._check_transactions(config.transaction_check_interval / 1000)),
        ]
        self._deliver()
        self._tick()
        logger.info("broker %s listens on %s", config.broker_name, self.address)

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
        self._processors.pull.end_all()
        await self._server.drain(DRAIN_TIMEOUT_S)
        self._turn.end()
        await self._syncing.settle()
        await asyncio.sleep(0)  # answers of this turn leave at its end
        await self._server.close()
        await self._client.close()
        done_offsets(self._state.transactions, self._halves, self._state.offsets)
        try:
            await self.keeper.stop()
        finally:
            await self._syncing.stop()
            await asyncio.to_thread(self._store.close)

    def connection_lost(self, peer: Peer) -> None:
        """Forget a client whose connection has ended."""
        connection = peer.connection_id
        self._outbox.connection_lost(connection)
        self._state.polls.connection_lost(connection)
        self._processors.members.connection_lost(connection)

    def _watched(self, processor: Processor) -> Processor:
        """Have what a request changes told to others before anything else happens."""

        def run(request: RemotingCommand, peer: Peer) -> Answer:
            try:
                return processor(request, peer)
            finally:
                self._after_request()

        return run

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

    def _tell_of_topics(self, changed: tuple[str, ...]) -> None:
        if self._registrar is not None:
            self._registrar.topics_changed(name for name in changed if name in self._state.topics)
        for topic in changed:
            if topic not in self._state.topics:
                self._processors.pull.topic_removed(topic)

    def _written(self, queues: set[QueueKey]) -> None:
        self._processors.pull.arrived(queues)
        if any(topic == SCHEDULE_TOPIC for topic, _ in queues):
            self._deliver()
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
        self._outbox.overdue(self._clock.steady_ms() / 1000)
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + LOOK_S
            self._disk.look(self._store.used_ratio())
        if now_s >= self._next_scan_s:
            self._next_scan_s = now_s + SCAN_S
            self._state.statistics.sample(self._clock.steady_ms())
            self._state.locks.forget_expired(self._clock.steady_ms())
            for connection in self._state.members.silent(self._clock.steady_ms()):
                self._server.close_connection(connection)
        self._tick_timer = self._loop.call_later(TICK_S, self._tick)

    def _name_server_lost(self, address: str) -> None:
        if self._registrar is not None and not self._is_stopping:
            self._registrar.connection_lost(address)

    async def _keep_up(self, name: str, interval_s: float) -> None:
        """Keep offsets now and then: what is lost of them after a kill comes again."""
        while True:
            await asyncio.sleep(interval_s)
            done_offsets(self._state.transactions, self._halves, self._state.offsets)
            table = self._state.offsets if name == CONSUMER_OFFSETS else self._state.delays
            if table.is_changed:
                table.is_changed = False
                try:
                    await self.keeper.keep(name)
                except StorageError as error:
                    table.is_changed = True
                    logger.warning("%s is not kept: %s", name, error.what)

    async def _delete_old(self) -> None:
        await asyncio.sleep(FIRST_SWEEP_S)
        while True:
            try:
                self._delete_old_now(is_asked=False)
            except StorageError as error:
                logger.warning("old messages cannot be deleted: %s", error.what)
            await asyncio.sleep(SWEEP_S)

    def _delete_old_now(self, *, is_asked: bool) -> None:
        now_ms = self._clock.wall_ms()
        hour = datetime.fromtimestamp(now_ms / 1000).astimezone().hour
        done = sweep(self._store, self._config.retention, now_ms, hour, is_asked=is_asked)
        if done.deleted:
            logger.info("%d files of the log were deleted: %s", done.deleted, done.reason)

    async def _check_transactions(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            self._checks.run(self._clock.wall_ms())
            self._after_request()


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
