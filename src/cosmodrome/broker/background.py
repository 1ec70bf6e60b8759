"""What a broker does by itself: at its time, or when messages have arrived.

Owns: the timers of waiting pulls, delayed messages and looks around; the tasks that keep tables, delete, and check half messages.
Must not know: requests; the order of a start or a stop.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import date, datetime
from typing import Final, NamedTuple

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.half_messages import done_offsets
from cosmodrome.broker.long_polls import QueueKey
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.parts import Parts
from cosmodrome.broker.pop.orders import Orders
from cosmodrome.broker.processors import Processors
from cosmodrome.broker.statistics import BROKER_GET_NUMS, BROKER_PUT_NUMS
from cosmodrome.broker.topics import SCHEDULE_TOPIC, TIMER_TOPIC
from cosmodrome.errors import StorageError
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.config_files import CONSUMER_OFFSETS, CONSUMER_ORDER, DELAY_OFFSETS

logger = logging.getLogger(__name__)

TICK_S: Final = 0.1
LOOK_S: Final = 0.5
"""How often the disk is looked at."""
SCAN_S: Final = 10.0
AFTER_FAILURE_S: Final = 1.0
Timer = asyncio.TimerHandle | None


class BackgroundHooks(NamedTuple):
    """What is asked of the broker: to look at files, to close a connection, to tell of what changed outside a request."""

    look_at_files: Callable[[], None]
    close_connection: Callable[[int], None]
    changed: Callable[[], None]


class Background:
    """Runs from `start` to `stop`; before the start and after the stop it arms nothing."""

    def __init__(self, parts: Parts, processors: Processors, hooks: BackgroundHooks) -> None:
        """Use these parts; the turn tells of what it has written from now on."""
        self._parts = parts
        self._processors = processors
        self._hooks = hooks
        self._loop = asyncio.get_running_loop()
        self._day = _day_of(parts.clock)
        self._poll_timer: Timer = None
        self._delay_timer: Timer = None
        self._tick_timer: Timer = None
        self._next_look_s = self._loop.time()
        self._next_scan_s = self._loop.time() + SCAN_S
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._is_fetching_delayed = False
        parts.turn.on_written = self._written
        parts.delivery.on_put_back = self._deliver_again

    def start(self, config: BrokerConfig) -> None:
        """Begin with everything that has its own time."""
        parts = self._parts
        self._tasks = [
            asyncio.create_task(self._keep_up(CONSUMER_OFFSETS, config.flush_consumer_offset_interval / 1000)),
            asyncio.create_task(self._keep_up(DELAY_OFFSETS, config.flush_delay_offset_interval / 1000)),
            asyncio.create_task(self._keep_up(CONSUMER_ORDER, config.flush_consumer_offset_interval / 1000)),
            asyncio.create_task(parts.cleaner.run(), name="retention"),
            asyncio.create_task(self._check_transactions()),
        ]
        self._deliver()
        parts.timers.start(parts.syncing.everything)
        parts.pop.start()
        self._tick()

    def no_more_timers(self) -> None:
        """Arm no timer from now on."""
        self._is_stopping = True

    async def stop(self) -> None:
        """End all of it; what is written from now on is told to nobody who waits for a time."""
        self._is_stopping = True
        for timer in (self._poll_timer, self._delay_timer, self._tick_timer):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._parts.timers.pause()

    def _written(self, queues: set[QueueKey]) -> None:
        self._processors.pull.arrived(queues)
        if any(topic == SCHEDULE_TOPIC for topic, _ in queues):
            self._deliver()
        if (TIMER_TOPIC, 0) in queues:
            self._parts.timers.deliver()
        self._parts.pop.written(queues)
        self.arm_polls()

    def arm_polls(self) -> None:
        """Wake up for the waiting pull whose time is over first."""
        deadline_ms = self._parts.state.polls.next_deadline_ms()
        if deadline_ms is None or self._is_stopping:
            return
        at_s = self._loop.time() + max(0, deadline_ms - self._parts.clock.steady_ms()) / 1000
        if self._poll_timer is None or self._poll_timer.when() > at_s:
            if self._poll_timer is not None:
                self._poll_timer.cancel()
            self._poll_timer = self._loop.call_at(at_s, self._polls_due)

    def _polls_due(self) -> None:
        self._poll_timer = None
        self._processors.pull.due()
        self.arm_polls()

    def _deliver(self) -> None:
        """Deliver delayed messages that are due, now and from now on."""
        if self._delay_timer is not None:
            self._delay_timer.cancel()
            self._delay_timer = None
        if self._is_stopping or self._is_fetching_delayed:
            return
        cold_reads, delivery = self._parts.cold, self._parts.delivery
        try:
            with cold_reads.without_waiting():
                next_ms = delivery.run()
        except NotInMemoryError as cold:
            self._is_fetching_delayed = True
            cold_reads.fetch(cold, "delay", self._deliver_fetched)
            return
        if next_ms is not None:
            wait_s = max(0, next_ms - self._parts.clock.wall_ms()) / 1000
            # The clock may be set: look again in time.
            self._delay_timer = self._loop.call_later(min(wait_s, 1.0), self._deliver)

    def _deliver_fetched(self) -> None:
        """Deliver what was on disk only: the first of it whatever became of it meanwhile, so that there is an end."""
        self._is_fetching_delayed = False
        if not self._is_stopping:
            self._parts.delivery.run(1)
        self._deliver()

    def _deliver_again(self) -> None:
        """Try once more, not at once: what could not be stored just now."""
        if self._delay_timer is not None:
            self._delay_timer.cancel()
        self._delay_timer = None if self._is_stopping else self._loop.call_later(AFTER_FAILURE_S, self._deliver)

    def _tick(self) -> None:
        parts, now_s = self._parts, self._loop.time()
        parts.turn.overdue()
        if parts.replication.copies is not None:
            parts.replication.copies.overdue()
        parts.outbox.overdue(parts.clock.steady_ms() / 1000)
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + LOOK_S
            parts.disk.look(*parts.store.fullest())
            self._hooks.look_at_files()
        if now_s >= self._next_scan_s:
            self._next_scan_s = now_s + SCAN_S
            self._scan()
        self._tick_timer = self._loop.call_later(TICK_S, self._tick)

    def _scan(self) -> None:
        state, now_ms = self._parts.state, self._parts.clock.steady_ms()
        state.statistics.sample(now_ms)
        self._begin_day()
        state.locks.forget_expired(now_ms)
        for connection in state.members.silent(now_ms):
            self._hooks.close_connection(connection)

    def _begin_day(self) -> None:
        day = _day_of(self._parts.clock)
        if day != self._day:
            self._day = day
            statistics, cluster = self._parts.state.statistics, self._parts.live.current.broker_cluster_name
            statistics.times.begin_day(
                statistics.total(BROKER_PUT_NUMS, cluster), statistics.total(BROKER_GET_NUMS, cluster)
            )

    async def _keep_up(self, name: str, interval_s: float) -> None:
        """Keep offsets now and then: what is lost of them after a kill comes again."""
        parts = self._parts
        while True:
            await asyncio.sleep(interval_s)
            done_offsets(parts.state.transactions, parts.halves, parts.state.offsets)
            parts.pop.note_done()
            table = self._changing_table(name)
            if table.is_changed:
                table.is_changed = False
                try:
                    await parts.keep(name)
                except StorageError as error:
                    table.is_changed = True
                    logger.warning("%s is not kept: %s", name, error.what)

    def _changing_table(self, name: str) -> Offsets | Delays | Orders:
        state = self._parts.state
        tables: dict[str, Offsets | Delays | Orders] = {
            CONSUMER_OFFSETS: state.offsets, DELAY_OFFSETS: state.delays, CONSUMER_ORDER: state.pop.orders,
        }  # fmt: skip
        return tables[name]

    async def _check_transactions(self) -> None:
        while True:
            await asyncio.sleep(self._parts.live.current.transaction_check_interval / 1000)
            self._parts.checks.run(self._parts.clock.wall_ms())
            self._hooks.changed()


def _day_of(clock: Clock) -> date:
    """Give the day as people here count it."""
    return datetime.fromtimestamp(clock.wall_ms() / 1000).astimezone().date()
