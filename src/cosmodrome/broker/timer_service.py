"""Timer messages of a running broker: the parts put together, and their time.

Owns: when messages are delivered and when the files of timers are saved; that nothing is saved before what it covers.
Must not know: what is delivered; what the files hold.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delivery import AFTER_FAILURE_MS
from cosmodrome.broker.statistics import TIMER_DEQUEUE_NUMS, TIMER_ENQUEUE_NUMS, Statistics
from cosmodrome.broker.timer_delivery import TimerDelivery
from cosmodrome.broker.timers import Timers
from cosmodrome.broker.topics import TIMER_TOPIC
from cosmodrome.broker.turn import Turn
from cosmodrome.errors import StorageError
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.timer_log import TimerFiles

logger = logging.getLogger(__name__)

SAVE_S: Final = 1.0
"""What was delivered since the last save comes again after a kill."""
_LONGEST_WAIT_S: Final = 1.0


class TimerService:
    """Delivers from `start` to `stop`. Without the timer wheel nothing is delivered, and what waits goes on waiting."""

    def __init__(
        self, config: BrokerConfig, store: MessageStore, turn: Turn, clock: Clock, statistics: Statistics
    ) -> None:
        """Use these; nothing is read yet."""
        self._statistics = statistics
        self._counted = (0, 0)
        files = TimerFiles(store.files, store.settings.root, config.mapped_file_size_timer_log)
        self.timers = Timers(files, config.timer_precision_ms)
        self.delivery = TimerDelivery(self.timers, store.reader, turn, clock, config.timer_precision_ms)
        self.delivery.on_put_back = self._later
        self._is_enabled = config.timer_wheel_enable
        self._store = store
        self._clock = clock
        self._covered: Callable[[], Awaitable[None]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._one_save = asyncio.Lock()

    def load(self) -> None:
        """Take over what the files say.

        Raises:
            StorageError: They cannot be used.
        """
        reader = self._store.reader
        bounds = (reader.min_offset(TIMER_TOPIC, 0), reader.max_offset(TIMER_TOPIC, 0))

        def place_of(offset: int) -> int | None:
            units = (reader.unit(TIMER_TOPIC, 0, each) for each in range(offset, bounds[1]))
            return next((unit.log_offset for unit in units if unit is not None), None)

        try:
            self.timers.load(self._clock.wall_ms(), bounds, place_of, self._store.end)
        except OSError as error:
            raise StorageError(f"the files of timer messages cannot be read: {error.strerror or error}.") from error

    def start(self, covered: Callable[[], Awaitable[None]]) -> None:
        """Begin; `covered` waits until everything that is stored is on disk."""
        self._covered = covered
        self._saving = asyncio.create_task(self._keep_saved(), name="timers")
        self.deliver()

    def configure(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._is_enabled = config.timer_wheel_enable
        self.deliver()

    def deliver(self) -> None:
        """Deliver what is due, now and from now on."""
        self._cancel()
        if self._covered is None or not self._is_enabled:
            return
        next_ms = self.delivery.run()
        self._count()
        if next_ms is not None:
            self._wait(max(0, next_ms - self._clock.wall_ms()) / 1000)

    def _count(self) -> None:
        now = (self.delivery.read, self.delivery.taken)
        if now != self._counted:
            self._statistics.count(TIMER_ENQUEUE_NUMS, "", now[0] - self._counted[0])
            self._statistics.count(TIMER_DEQUEUE_NUMS, "", now[1] - self._counted[1])
            self._counted = now

    def figures(self) -> dict[str, str]:
        """Give what tools want to know, under Java's names: seconds, messages, messages, and both rates."""
        now_ms, due_ms = self._clock.wall_ms(), self.timers.next_due_ms()
        steady_ms = self._clock.steady_ms()
        return {
            "timerReadBehind": str(0 if due_ms is None else max(0, now_ms - due_ms) // 1000),
            "timerOffsetBehind": str(self.delivery.behind),
            "timerCongestNum": str(self.timers.waiting),
            "timerEnqueueTps": f"{self._statistics.rate(TIMER_ENQUEUE_NUMS, '', steady_ms):.1f}",
            "timerDequeueTps": f"{self._statistics.rate(TIMER_DEQUEUE_NUMS, '', steady_ms):.1f}",
        }

    def _later(self) -> None:
        """Try once more, not at once: what could not be stored just now."""
        self._cancel()
        if self._covered is not None:
            self._wait(AFTER_FAILURE_MS / 1000)

    def _wait(self, seconds: float) -> None:
        # The clock may be set: look again in time.
        self._timer = asyncio.get_running_loop().call_later(min(seconds, _LONGEST_WAIT_S), self.deliver)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def pause(self) -> None:
        """Deliver nothing more. May be called again."""
        self._is_enabled = False
        self._cancel()
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)

    async def stop(self) -> None:
        """Save a last time. A failure leaves the files as after a crash: some messages may come again."""
        await self.pause()
        try:
            if self._covered is not None:
                await self._save()
        finally:
            self._covered = None
            self.timers.close()

    async def _keep_saved(self) -> None:
        while True:
            await asyncio.sleep(SAVE_S)
            await asyncio.shield(self._save())

    async def _save(self) -> None:
        async with self._one_save:  # an older check never comes after a newer one
            await self._save_now()

    async def _save_now(self) -> None:
        save = self.timers.begin_save(self._clock.wall_ms())
        if save is None or self._covered is None:
            return
        try:
            await self._covered()
        except StorageError as error:
            save.error = OSError(str(error))
        else:
            await asyncio.to_thread(save.run)
        if not self.timers.end_save(save):
            logger.warning("timer messages are not kept: %s", save.error)
