"""Everything that a broker knows beside its messages.

Owns: making it of what was kept; which table goes to which file.
Must not know: requests; the event loop.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.kept_tables import KeptTables, document_of
from cosmodrome.broker.locks import QueueLocks
from cosmodrome.broker.long_polls import LongPolls
from cosmodrome.broker.members import Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.pop.state import PopState
from cosmodrome.broker.pop.waiting import WaitingLimits, WaitingPops
from cosmodrome.broker.security.admission import Admission
from cosmodrome.broker.statistics import Statistics
from cosmodrome.broker.topics import SCHEDULE_TOPIC, Topics
from cosmodrome.broker.transactions import CheckRules, Transactions
from cosmodrome.protocol.bodies.groups import SubscriptionGroupTable
from cosmodrome.protocol.bodies.offsets import ConsumerOffsetTable, DelayOffsetTable
from cosmodrome.protocol.bodies.pop import MessageRequestModeTable
from cosmodrome.protocol.bodies.pop_orders import OrderInfoTable
from cosmodrome.protocol.bodies.topics import BrokerTopicTable
from cosmodrome.store.config_files import (
    CONSUMER_OFFSETS,
    CONSUMER_ORDER,
    DELAY_OFFSETS,
    GROUPS,
    REQUEST_MODES,
    TOPICS,
)
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """The parts. Members, locks and waiting pulls begin empty: clients come again by themselves."""

    topics: Topics
    groups: Groups
    offsets: Offsets
    delays: Delays
    transactions: Transactions
    members: Members = field(default_factory=Members)
    locks: QueueLocks = field(default_factory=QueueLocks)
    polls: LongPolls = field(default_factory=LongPolls)
    statistics: Statistics = field(default_factory=Statistics)
    admission: Admission = field(default_factory=Admission)
    pop: PopState = field(default_factory=PopState)


def new_state(config: BrokerConfig, now_ms: int) -> BrokerState:
    """Give the state of a broker that begins."""
    template_queues = config.default_topic_queue_nums if config.auto_create_topic_enable else 0
    return BrokerState(
        topics=Topics(config.broker_cluster_name, config.broker_name, template_queues, now_ms),
        groups=Groups(is_creating=config.auto_create_subscription_group, now_ms=now_ms),
        offsets=Offsets(now_ms),
        delays=Delays(config.delays_ms, now_ms),
        transactions=Transactions(check_rules(config)),
        pop=PopState(waiting=WaitingPops(WaitingLimits(config.pop_polling_size, config.max_pop_polling_size))),
    )


def check_rules(config: BrokerConfig) -> CheckRules:
    """Give when a half message is asked about."""
    return CheckRules(
        timeout_ms=config.transaction_time_out,
        most_checks=config.transaction_check_max,
        keep_ms=config.file_reserved_time * 3_600_000,
    )


def load_state(state: BrokerState, kept: KeptTables, reader: Reader, clock: Clock) -> None:
    """Take over what was kept.

    Topics whose file is lost are taken from the folders of their queues.

    Raises:
        StorageError: The disk does not allow it.
    """
    topics = kept.read(TOPICS, BrokerTopicTable)
    if topics is not None:
        state.topics.load(topics)
    elif TOPICS in kept.lost:
        _topics_of_folders(state.topics, reader.queues(), clock.wall_ms())
    groups = kept.read(GROUPS, SubscriptionGroupTable)
    if groups is not None:
        state.groups.load(groups)
    offsets = kept.read(CONSUMER_OFFSETS, ConsumerOffsetTable)
    if offsets is not None:
        state.offsets.load(offsets)
        _fit_offsets(state.offsets, reader)
    delays = kept.read(DELAY_OFFSETS, DelayOffsetTable)
    if delays is not None:
        for line in state.delays.load(delays, lambda level: _bounds(reader, level)):
            logger.warning("%s", line)
    orders = kept.read(CONSUMER_ORDER, OrderInfoTable)
    if orders is not None:
        state.pop.orders.load(orders)
    modes = kept.read(REQUEST_MODES, MessageRequestModeTable)
    if modes is not None:
        state.pop.modes.load(modes)


def sources(state: BrokerState, clock: Clock) -> Mapping[str, Callable[[], dict[str, Any]]]:
    """Give what makes each file's document, of the tables as they are then."""
    return {
        TOPICS: lambda: document_of(state.topics.table()),
        GROUPS: lambda: document_of(state.groups.table()),
        CONSUMER_OFFSETS: lambda: document_of(state.offsets.table(clock.wall_ms())),
        DELAY_OFFSETS: lambda: document_of(state.delays.table(clock.wall_ms())),
        CONSUMER_ORDER: lambda: document_of(state.pop.orders.table(clock.wall_ms())),
        REQUEST_MODES: lambda: document_of(state.pop.modes.table()),
    }


def _topics_of_folders(topics: Topics, queues: Mapping[str, list[int]], now_ms: int) -> None:
    found = {topic: max(numbers) + 1 for topic, numbers in queues.items() if topic not in topics}
    for topic, count in found.items():
        topics.ensure(topic, count, now_ms)
    logger.warning("%d topics are taken from the folders of their queues", len(found))


def _fit_offsets(offsets: Offsets, reader: Reader) -> None:
    ends = {
        (topic, each): reader.max_offset(topic, each) for topic, all_of in reader.queues().items() for each in all_of
    }
    moved = offsets.fit(ends)
    if moved:
        logger.warning("%d offsets of groups were beyond the ends of their queues, and are there now", moved)


def _bounds(reader: Reader, level: int) -> tuple[int, int]:
    queue = (SCHEDULE_TOPIC, level - 1)
    return reader.min_offset(*queue), reader.max_offset(*queue)
