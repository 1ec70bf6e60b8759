"""The families of requests, put together from the parts of a broker.

Owns: which part each family gets; what changes in them with the settings.
Must not know: what any request means; timers; the order of a start or a stop.
"""

import os
import random
from collections.abc import Callable
from datetime import datetime

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.half_messages import half_at
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.messages import OwnProperties, born_host
from cosmodrome.broker.parts import Parts
from cosmodrome.broker.plain_sends import PlainSendParts, plain_sends
from cosmodrome.broker.pop.assignments import TopicQueues
from cosmodrome.broker.processors import Processors
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
from cosmodrome.broker.slow_readers import SlowReaders
from cosmodrome.broker.statistics import TRANSACTION_COMMIT_NUMS, TRANSACTION_ROLLBACK_NUMS
from cosmodrome.broker.topics import READ
from cosmodrome.client.addresses import parse_addresses
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.messages.ids import UniqueIds
from cosmodrome.store.config_files import CONSUMER_OFFSETS, GROUPS, REQUEST_MODES, TOPICS
from cosmodrome.transport.dispatch import Express


class Families:
    """Builds the processors, and has settings that change act in them.

    Attributes:
        processors: All of them, from the beginning on.
    """

    def __init__(self, config: BrokerConfig, parts: Parts) -> None:
        """Build them of these parts."""
        self._config = config
        self._parts = parts
        self._intake = Intake(parts.turn, parts.outbox, parts.clock, parts.disk_timeout_ms)
        self._intake.refusal = parts.disk.refusal
        self._intake.copies = parts.replication.copies
        self._intake.traffic = parts.server.dispatcher.traffic
        self._own = OwnProperties(config.broker_cluster_name, config.region_id, is_traced=config.trace_on)
        self.processors = self._all()

    def _all(self) -> Processors:
        config, parts, state, clock = self._config, self._parts, self._parts.state, self._parts.clock
        reader, broker = parts.store.reader, (config.broker_name, parts.address)
        sending = self._sending()
        return Processors(
            send=sending,
            recall=self._recall(sending),
            send_back=self._send_back(),
            pull=self._pull(),
            members=self._members(),
            locks=LockProcessor(state.locks, clock),
            offsets=OffsetProcessor(state.offsets, state.topics, state.groups, reader),
            queries=QueryProcessor(reader, state.members, config.default_query_max_num),
            transactions=self._transactions(),
            replies=self._replies(),
            relays=RelayProcessor(state.members, reader, parts.outbox, clock),
            replication=self._replication(),
            maintenance=self._maintenance(),
            progress=self._progress(broker),
            topic_admin=self._topic_admin(),
            group_admin=self._group_admin(broker),
            auth=AuthProcessor(state.admission.tables),
            plain_acl=PlainAclProcessor(state.admission.plain, (*broker, config.broker_cluster_name)),
            info=self._info(),
            pop=self._popping(),
            pop_acks=self._pop_acks(),
            assignments=self._assignments(),
        )

    def configure(self, config: BrokerConfig) -> None:
        """Have settings that changed act from now on."""
        self._config = config
        families = self.processors
        families.send.configure(config)
        families.send_back.configure(config)
        families.recall.configure(config)
        families.pull.configure(config)
        families.pop.configure(config)
        families.assignments.configure(config)
        self._parts.pop.taking.retry_first_percent = config.pop_from_retry_probability
        families.members.is_notifying = config.notify_consumer_ids_changed_enable
        families.members.is_sql_enabled = config.enable_property_filter
        families.queries.most = config.default_query_max_num
        families.replies.is_storing = config.store_reply_message_enable

    def express(self) -> Express | None:
        """Give the short way of plain sends, if the settings allow one, and nobody is asked for credentials."""
        parts, state = self._parts, self._parts.state
        if state.admission.is_asking:
            return None
        plain = PlainSendParts(
            topics=state.topics, intake=self._intake, turn=parts.turn, own=self._own, statistics=state.statistics,
            store_host=parts.store.settings.store_host, send_frames=parts.server.send_frames,
            traffic=parts.server.dispatcher.traffic,
        )  # fmt: skip
        return plain_sends(self._config, parts.clock, plain)

    def _sending(self) -> SendProcessor:
        parts, state = self._parts, self._parts.state
        send = SendParts(
            topics=state.topics, groups=state.groups, locks=state.locks, intake=self._intake, own=self._own,
            store_host=parts.store.settings.store_host, next_id=_id_maker(self._config.broker_ip1, parts.clock),
            half_stored=lambda message, position: state.transactions.opened(half_at(message, position)),
            statistics=state.statistics,
        )  # fmt: skip
        return SendProcessor(self._config, parts.clock, send)

    def _recall(self, sending: SendProcessor) -> RecallProcessor:
        recall = RecallParts(topics=self._parts.state.topics, intake=self._intake, timed=sending.timed)
        return RecallProcessor(self._config, self._parts.clock, recall)

    def _send_back(self) -> SendBackProcessor:
        parts, state = self._parts, self._parts.state
        back = SendBackParts(
            topics=state.topics, groups=state.groups, reader=parts.store.reader, intake=self._intake,
            statistics=state.statistics,
        )  # fmt: skip
        return SendBackProcessor(self._config, parts.clock, back)

    def _pull(self) -> PullProcessor:
        parts, state, reader = self._parts, self._parts.state, self._parts.store.reader
        pull = PullParts(
            topics=state.topics, groups=state.groups, members=state.members, offsets=state.offsets, polls=state.polls,
            reader=reader, statistics=state.statistics,
            slow_readers=SlowReaders(self._config, reader, lambda: parts.store.end),
        )  # fmt: skip
        return PullProcessor(self._config, parts.clock, pull, parts.outbox, parts.server.is_writable)

    def _members(self) -> MemberProcessor:
        parts, state = self._parts, self._parts.state
        members = MemberProcessor(state.members, state.groups, state.topics, parts.outbox, parts.clock)
        members.is_notifying = self._config.notify_consumer_ids_changed_enable
        members.is_sql_enabled = self._config.enable_property_filter
        return members

    def _transactions(self) -> TransactionProcessor:
        parts, statistics = self._parts, self._parts.state.statistics
        processor = TransactionProcessor(parts.state.transactions, parts.halves, parts.outbox)
        processor.on_ended = lambda topic, is_commit: statistics.count(
            TRANSACTION_COMMIT_NUMS if is_commit else TRANSACTION_ROLLBACK_NUMS, topic
        )
        return processor

    def _replies(self) -> ReplyProcessor:
        parts, state = self._parts, self._parts.state
        reply = ReplyParts(
            topics=state.topics, members=state.members, intake=self._intake, outbox=parts.outbox, own=self._own,
            store_host=parts.store.settings.store_host, born_host=born_host,
        )  # fmt: skip
        return ReplyProcessor(parts.clock, reply, is_storing=self._config.store_reply_message_enable)

    def _info(self) -> InfoProcessor:
        parts, state = self._parts, self._parts.state
        info = InfoParts(
            offsets=state.offsets, delays=state.delays, statistics=state.statistics,
            accepts_from_ms=lambda: self._config.start_accept_send_request_time_stamp, timers=parts.timers.figures,
            deletion=parts.cleaner.outlook,
        )  # fmt: skip
        return InfoProcessor(self._config.broker_cluster_name, parts.store, parts.clock, info)

    def _popping(self) -> PopProcessor:
        parts, state, pop = self._parts, self._parts.state, self._parts.pop
        pop.taking.retry_first_percent = self._config.pop_from_retry_probability
        popping = PopParts(
            topics=state.topics, groups=state.groups, waiting=state.pop.waiting, taking=pop.taking,
            handing_out=pop.handing_out,
        )  # fmt: skip
        return PopProcessor(self._config, parts.clock, popping, parts.outbox, parts.server.is_writable)

    def _pop_acks(self) -> PopAckProcessor:
        parts, state = self._parts, self._parts.state
        acks = PopAckParts(
            topics=state.topics, offsets=state.offsets, orders=state.pop.orders, reader=parts.store.reader,
            acknowledging=parts.pop.acknowledging, outbox=parts.outbox, freed=self._freed,
        )  # fmt: skip
        return PopAckProcessor(parts.clock, acks)

    def _freed(self, topic: str, group: str) -> None:
        self.processors.pop.freed(topic, group)

    def _assignments(self) -> AssignmentProcessor:
        parts, state, config = self._parts, self._parts.state, self._config
        servers = tuple(map(str, parse_addresses(config.namesrv_addr))) if config.namesrv_addr else ()
        assigning = AssignmentParts(
            topics=state.topics, members=state.members, modes=state.pop.modes,
            queues=TopicQueues(parts.client, servers, self._own_queues), keep=lambda: parts.keep(REQUEST_MODES),
        )  # fmt: skip
        return AssignmentProcessor(config, assigning)

    def _own_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        config = self._parts.state.topics.get(topic)
        count = 0 if config is None or not config.perm & READ else config.read_queue_nums
        name = self._config.broker_name
        return tuple(MessageQueue(topic=topic, broker_name=name, queue_id=each) for each in range(count))

    def _maintenance(self) -> MaintenanceProcessor:
        parts, state = self._parts, self._parts.state
        maintaining = MaintenanceParts(
            topics=state.topics, offsets=state.offsets, reader=parts.store.reader, remove_queues=parts.remove_queues,
            sweep_now=lambda: parts.cleaner.sweep(is_asked=True),
        )  # fmt: skip
        return MaintenanceProcessor(parts.live, parts.clock, maintaining)

    def _progress(self, broker: tuple[str, str]) -> ProgressProcessor:
        parts, state = self._parts, self._parts.state
        progress = ProgressParts(
            topics=state.topics, groups=state.groups, offsets=state.offsets, members=state.members,
            reader=parts.store.reader, statistics=state.statistics, outbox=parts.outbox,
        )  # fmt: skip
        return ProgressProcessor(broker, parts.clock, progress)

    def _replication(self) -> ReplicationProcessor:
        parts, replication = self._parts, self._parts.replication
        following = ReplicationParts(
            address=parts.address, ha_address=lambda: parts.ha_address, store=parts.store, slaves=replication.slaves,
            most_behind_bytes=replication.settings.most_behind_bytes, timers=lambda: parts.timers.timers.saved,
        )  # fmt: skip
        return ReplicationProcessor(parts.clock, following)

    def _topic_admin(self) -> TopicAdminProcessor:
        parts, state = self._parts, self._parts.state
        topics = TopicAdminParts(
            topics=state.topics, offsets=state.offsets, members=state.members, locks=state.locks,
            reader=parts.store.reader, remove_queues=parts.remove_queues, statistics=state.statistics,
        )  # fmt: skip
        return TopicAdminProcessor(self._config.broker_name, parts.clock, topics, lambda: parts.keep(TOPICS))

    def _group_admin(self, broker: tuple[str, str]) -> GroupAdminProcessor:
        parts, state = self._parts, self._parts.state
        groups = GroupAdminParts(
            topics=state.topics, groups=state.groups, offsets=state.offsets, members=state.members, locks=state.locks,
            reader=parts.store.reader, statistics=state.statistics,
        )  # fmt: skip
        processor = GroupAdminProcessor(broker, parts.clock, groups, self._keep_groups)
        processor.tell = parts.outbox.tell
        processor.on_removed = lambda group, is_clean: parts.pop.group_removed(group, is_clean=is_clean)
        return processor

    async def _keep_groups(self) -> None:
        await self._parts.keep(GROUPS)
        await self._parts.keep(CONSUMER_OFFSETS)


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
